"""The values of written numbers, Chinese and English."""

from __future__ import annotations

from typing import Final

__all__ = ["ENGLISH", "MULTIPLES", "ORDINALS", "chinese_value", "plain"]

_DIGITS = {
    "零": 0,
    "\u3007": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}
# What a digit after the last place stands for: 一万八 is 18000.
_AFTER = {"百": 10, "千": 100, "万": 1000, "亿": 10_000_000}

ENGLISH: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
MULTIPLES: Final = {
    "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "k": 1000, "百": 100,
    "千": 1000, "万": 10_000, "亿": 100_000_000, "w": 10_000, "lakh": 100_000, "crore": 10**7, "百万": 10**6,
}  # fmt: skip
ORDINALS: Final = {
    "first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "eleventh": 11, "twelfth": 12, "twentieth": 20,
}  # fmt: skip


def chinese_value(text: str) -> float | None:
    """
    Read a Chinese number.

    Args:
        text: Its characters, with "点" for the point and "百分之" before a percentage.

    Returns:
        Its value, or None where it is none, such as "千万".
    """
    text = text.removeprefix("百分之")
    whole, point, part = text.partition("点")
    value = _whole(whole)
    if value is None or not point:
        return value
    return float(f"{value}.{''.join(str(_DIGITS.get(c, 0)) for c in part)}")


def _whole(text: str) -> int | None:
    if not text or text[0] in "百千万亿":
        return None
    if all(character in _DIGITS for character in text):
        return int("".join(str(_DIGITS[character]) for character in text))
    return _placed(text)


def _placed(text: str) -> int:
    total = section = digit = 0
    last = previous = ""
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _PLACES:
            section += (digit or (character == "十")) * _PLACES[character]
            digit, last = 0, character
        else:
            total = (
                (total + section + digit) * _MYRIADS[character]
                if character == "亿"
                else (total + (section + digit) * _MYRIADS[character])
            )
            section, digit, last = 0, 0, character
        previous = character if character in "零〇" else previous * (character in _DIGITS)
    return total + section + digit * (1 if previous or last not in _AFTER else _AFTER[last])


def plain(value: float) -> str:
    """
    Write a value.

    Args:
        value: It.

    Returns:
        Its digits, equal for equal values.
    """
    return f"{value:.10g}"
