"""What kinds of questions are asked, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.warming.minhash import own_signer
from deepseek_sdk.caching.warming.templates import masked, mined, shingles, template_id
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from deepseek_sdk.caching.warming.minhash import Signer


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("订单 10086 什么时候到？", "订单 <number> 什么时候到?"),
        ("订单１００８６什么时候到?", "订单<number>什么时候到?"),
        ("2024年5月1日到5月3号的报表", "<date>到<date>的报表"),
        ("下午3点半在“东门”等", "下午<time>在<text>等"),
        ("《三体》讲了什么", "<text>讲了什么"),
        ("看看 https://a.example/x?y=1，谢谢", "看看 <url>,谢谢"),
        ("Mail me at a.b+c@example.co.uk", "mail me at <email>"),
        ("Trace 3F2504E0-4F89-11D3-9A0C-0305E82C3301 and deadbeef01", "trace <uuid> and <id>"),
        ("Since 2024-05-01T10:00:00Z,  at 9:30 pm", "since <date>, at <time>"),
        ("Translate 'good day' into Dutch", "translate <text> into dutch"),
        ("I don't know what it's for", "i don't know what it's for"),
        ("涨了 12.5%，共 1,234 元", "涨了 <number>,共 <number> 元"),
        ("decade of facade", "decade of facade"),
    ],
)
def test_gaps(text: str, form: str) -> None:
    """What differs from question to question leaves a gap, in digits of any width; words stay."""
    assert form == masked(text)


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_has_a_form(text: str) -> None:
    """Whatever somebody writes has a form, with something to compare, and a name."""
    form = masked(text)

    assert shingles(form)
    assert 16 == len(template_id(text))
    assert template_id(text) == template_id(f"  {text} ".replace(" ", "  ")) or "  " in text or text != text.strip()


def test_half_a_character() -> None:
    """A text that has no UTF-8 has a name, too."""
    assert template_id("\ud83d 1") == template_id("\ud83d 2")


def test_names_of_kinds() -> None:
    """Texts that differ in their gaps have one name, and another one in another context."""
    assert template_id("订单 1 到了吗") == template_id("订单 \uff12 到了吗")
    assert 3 == len({template_id("订单 1 到了吗"), template_id("订单 1 到了吗", "p"), template_id("订单 1 丢了吗")})


@pytest.mark.parametrize("sign", [None, own_signer()])
def test_kinds_are_mined(sign: Signer | None) -> None:
    """Forms that share most of their words are one kind, named by the most frequent, with examples of all of them."""
    asked = [
        ("订单 1 什么时候到？", 5),
        ("订单 2 什么时候到？", 4),
        ("订单 3 什么时候能到？", 2),
        ("How do I reset my password?", 6),
        ("how do i reset my password", 1),
        ("How do I reset my old password?", 1),
        ("退款", 3),
        ("", 9),
        ("没有人问", 0),
    ]
    kinds = mined(asked, sign=sign)

    assert [("订单 <number> 什么时候到?", 11, 3), ("how do i reset my password?", 8, 3), ("退款", 3, 1)] == [
        (kind.text, kind.count, kind.questions) for kind in kinds
    ]
    assert ("订单 1 什么时候到？", "订单 2 什么时候到？", "订单 3 什么时候能到？") == kinds[0].examples
    assert template_id("订单 7 什么时候到?") == kinds[0].id
    assert ["订单 <number> 什么时候到?"] == [kind.text for kind in mined(asked, 1)]


def test_opposites_are_one_kind_and_one_form_each() -> None:
    """Kinds are for people: what they hold together is not the same question, and keeps its own text."""
    kinds = mined([("请问怎么开启自动续费这个功能", 2), ("请问怎么关闭自动续费这个功能", 1)], threshold=0.5)

    assert [2] == [kind.questions for kind in kinds]
    assert ("请问怎么开启自动续费这个功能", "请问怎么关闭自动续费这个功能") == kinds[0].examples


def test_long_questions_are_cut() -> None:
    """A long text is no example that anybody wants to read all of."""
    kind = mined([("长" * 9_000, 1)])[0]

    assert (300, 300) == (len(kind.text), len(kind.examples[0]))


def test_rare_forms_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many forms, the rarest are forgotten: memory has an end."""
    monkeypatch.setattr("deepseek_sdk.caching.warming.templates._COUNTED", 2)
    words = ["苹果", "退款", "发票", "物流", "密码"]
    kinds = mined([(word, count) for count, word in enumerate(words, start=1)])

    assert {"发票", "物流", "密码"} >= {kind.text for kind in kinds} >= {"物流", "密码"}


@pytest.mark.parametrize("wrong", [{"top": 0}, {"threshold": 0}, {"threshold": 1.5}])
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    """An argument that cannot be used is named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        mined([("a", 1)], **wrong)
