"""One form for questions that differ in nothing but how they are put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.matching.canonical import canonical
from deepseek_sdk.caching.matching.text import analysed

ALIKE = [
    ("如何退款", "退款流程是什么", "怎么退款？", "怎样进行退款", "退款怎么操作", "请问怎么退款呢", "如何退款 。"),
    ("怎么申请信用卡", "信用卡怎么办理", "如何办理信用卡", "申请信用卡的流程是什么"),
    ("如何重置密码", "重置密码的步骤有哪些", "怎么才能重置密码", "重置密码该怎么操作？"),
    ("什么是机器学习", "机器学习是什么", "请问机器学习是什么？", "啥是机器学习"),
    ("How do I get a refund?", "What is the refund process?", "how can I request a refund", "How to get the refund?"),
    ("How to reset the password", "What are the steps to reset the password?", "please, how do I reset password"),
    ("What's the capital of France?", "what is the capital of france", "WHAT IS THE CAPITAL OF FRANCE ?!"),
]
UNLIKE = [
    ("怎么开启自动续费", "怎么关闭自动续费"),
    ("怎么退款", "退款多久到账"),
    ("怎么申请退款", "怎么取消退款"),
    ("什么是机器学习", "怎么学习机器学习"),
    ("怎么在北京办理签证", "怎么在上海办理签证"),
    ("How do I get a refund?", "How do I get a receipt?"),
    ("What is the refund process?", "What is the refund policy?"),
    ("How to parse C", "How to parse C++"),
    ("How do I add it to my site?", "How do I add it to your site?"),
    ("How can you help?", "How can I help?"),
    ("How do I get a quote?", "How do I quote?"),
    ("How do I get a copy?", "How do I copy?"),
    ("如何操作股票账户", "如何申请股票账户"),
    ("How to take vitamin a daily", "How to take vitamin daily"),
    ("What is 5!", "What is 5?"),
    ("?", "你好"),
    ("x≥5", "x>5"),
    ("2²", "22"),
    ("10⁶", "106"),
]


def form(raw: str) -> str:
    """Bring a text into its form."""
    return canonical(analysed(raw))


@pytest.mark.parametrize("texts", ALIKE)
def test_one_form(texts: tuple[str, ...]) -> None:
    """Ways to put one question have one form."""
    assert {form(texts[0])} == {form(text) for text in texts}


@pytest.mark.parametrize("texts", UNLIKE)
def test_other_forms(texts: tuple[str, str]) -> None:
    """Every word that says something stays in the form."""
    one, other = texts

    assert form(one) != form(other)


@given(st.text(max_size=200))
def test_any_text(raw: str) -> None:
    """Any text has a form, and so has the form."""
    assert isinstance(form(form(raw)), str)


@given(st.text(alphabet="怎么如何退款流程是什 ?？", max_size=40))
def test_ends_do_not_matter(raw: str) -> None:
    """What a question ends with is no part of its form."""
    assert form(f"退{raw}") == form(f"退{raw}？")
