from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.learning.answers import same_answer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Paris.", "paris"),
        ("**Paris**", "Paris"),
        ("打开订单，点击退款。", "打开订单，点击退款"),
        ("1. 打开订单\n2. 点击退款", "- 打开订单\n- 点击退款"),
        ("42", "\uff14\uff12"),
        ("The capital is Paris", "Capital is the Paris"),
    ],
)
def test_same_answers(one: str, other: str) -> None:
    """Markup, capitals, widths and words that say nothing make no difference."""
    assert same_answer(one, other) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Yes, you can.", "No, you cannot."),
        ("可以，七天内都可以退。", "不可以，已经超过七天。"),
        ("是的。", "不是。"),
        ("It takes 3 days.", "It takes 5 days."),
        ("需要三天。", "需要5天。"),
    ],
)
def test_other_answers(one: str, other: str) -> None:
    """A yes and a no differ, and so do short answers with different numbers."""
    assert same_answer(one, other) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("Paris", ""),
        ("打开订单，点击退款。", "联系客服办理。"),
        ("Alice is faster than Bob", "Bob is faster than Alice"),
        ("不支持自动续费", "支持自动续费"),
        ("a" * 3_000, "b" * 3_000),
        ("It takes 3 days", "It takes some days"),
    ],
)
def test_answers_that_have_to_be_judged(one: str, other: str) -> None:
    """What cannot be seen without understanding is not decided."""
    assert same_answer(one, other) is None


@settings(max_examples=50)
@given(st.text(), st.text())
def test_the_order_of_answers_does_not_count(one: str, other: str) -> None:
    """Any two texts can be compared, either way round; a text is the same as itself."""
    assert same_answer(one, other) is same_answer(other, one)
    assert same_answer(one, one) is not False
