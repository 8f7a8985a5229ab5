"""Texts whose tokens are stored, so that an encoder shows by them whether it can be believed."""

from __future__ import annotations

__all__ = ["GOLDEN"]

# Each text, its tokens, and the CRC-32 of their ids, joined by commas, as `tokenizers` gives them for DeepSeek V4.
GOLDEN: tuple[tuple[str, int, int], ...] = (
    ("", 0, 0),
    ("x", 1, 1770303465),
    ("Hello, world!", 4, 2285318632),
    ("The quick brown fox jumps over the lazy dog.", 10, 236584174),
    ("深度求索推出了新的模型，价格更低。", 10, 1896903675),
    ("你好，世界！Hello 2026 年 11 月。", 15, 1280570502),
    ("<｜User｜>", 5, 4096294231),
    ("<｜Assistant｜>", 5, 3917372257),
    ("<think>", 3, 2809963315),
    ("</think>", 3, 845825609),
    ("｜DSML｜", 4, 627481130),
    ("<｜begin▁of▁sentence｜>", 12, 101752679),
    ("12345678901234567890", 7, 2574440046),
    (" \uff11\uff12\uff13 \u2460\u2461 \xbd \u2167", 10, 2289601475),
    ("   leading and trailing   ", 5, 452528734),
    ("\n\n\t \r\n  x\r\r\n", 9, 2303073547),
    ("a\xa0b\u2003c\u3000d\u200be", 9, 4122104397),
    ("\u2028\u2029\x85\x00\x1f\x7f", 9, 34950621),
    ("e\u0301 \u0301e a\u0300\u0323", 8, 3228384173),
    (
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44d\U0001f3fd",
        17,
        1297266743,
    ),
    (
        "\U0001d518\U0001d52b\U0001d526\U0001d520\U0001d52c\U0001d521\U0001d522 \U00020000\U0002a736 \U0010ffff",
        34,
        1710138496,
    ),
    ("ひらがなカタカナー漢字々〆", 13, 589239172),
    ("한국어 텍스트", 6, 4259120741),
    ("\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \ufdfa \u0639\u0631\u0628\u064a", 7, 3659485816),
    ("हिन्दी देवनागरी", 8, 902889244),
    ("ไทยไม่มีช่องว่าง", 6, 2324185717),
    ("\u0395\u03bb\u03bb\u03b7\u03bd \u0420\u0443\u0441\u0441\u043a", 4, 1501020463),
    ('def f(x: int) -> str:\n    return f"{x!r}"  # ok\n', 21, 3335520281),
    ('{"key": [1, 2.5e-3, null, "\\u4e2d"]}', 24, 245032706),
    ("https://example.com/a?b=c&d=%E4%B8%AD#e", 19, 1590415395),
    ("....----====****", 4, 3610192872),
    ("!!!???。。。，，，", 5, 2911191585),
    ("don't I'll we're", 6, 2978593983),
    ("camelCaseAndSNAKE_CASE-kebab", 11, 381583410),
    ("\ufffd\ufeff\u180e\u2060", 6, 2527074927),
    ("\ufb01 \ufb00 \u01c6 \xdf \u1e9e \u0130 \u0131", 14, 962720797),
    ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 5, 2187040091),
    (
        "                                                                                                   ",
        2,
        3877393228,
    ),
    ("，，，，，，，，，，，，，，，，，，，，", 10, 965727385),
    ("龘靐齉爩", 8, 4025948256),
)
