from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.learning.labels import digest_of, is_finite, latest, normalised, pair_digest
from tests.caching.verdicts import label_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I get a refund?", "  how do i get\ta refund "),
        ("如何退款？", "如何退款"),
        ("如何 退款。", "如何 退款"),
        ("\uff21\uff30\uff29\u3000\uff11\uff12\uff13", "api 123"),
        ("Straße", "STRASSE"),
    ],
)
def test_small_differences_make_no_other_text(one: str, other: str) -> None:
    """Capitals, widths, blanks and the mark at the end are not looked at."""
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [("开启花呗", "关闭花呗"), ("1.5", "15"), ("C++", "C"), ("do not", "do")])
def test_other_texts_stay_others(one: str, other: str) -> None:
    """What means something else is another text."""
    assert normalised(one) != normalised(other)


@given(st.text(), st.text(), st.text())
def test_a_pair_has_one_name(tenant: str, one: str, other: str) -> None:
    """It is the same whichever text comes first, and another one for another tenant; any text has one."""
    name = pair_digest(tenant, one, other)

    assert name == pair_digest(tenant, other, one)
    assert name != pair_digest(f"{tenant}x", one, other)
    assert 64 == len(name)


def test_half_of_a_pair_has_a_name() -> None:
    """A text that has no UTF-8 has a digest."""
    assert 2 == len({digest_of("\ud800"), pair_digest("acme", "\ud800", "x")})


def test_parts_do_not_run_into_each_other() -> None:
    """Other parts that make the same whole have other names."""
    assert pair_digest("a", "b", "cd") != pair_digest("a", "bc", "d")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none(number: float) -> None:
    """A label whose figures are not finite is told from others."""
    assert is_finite(label_of())
    assert not is_finite(label_of(score=number))
    assert not is_finite(label_of(cosine=number))


def test_people_speak_before_judges() -> None:
    """Each question counts once: with its last word, but a judge does not overrule a person."""
    person = label_of("一", source="feedback", is_right=False)
    judge = label_of("一", source="judge", is_right=True, at_ms=2)
    first, last = (
        label_of("二", source="recheck", is_right=is_right, at_ms=at) for is_right, at in ((True, 1), (False, 2))
    )
    changed = label_of("一", source="feedback", is_right=True, at_ms=3)

    assert [person, last] == latest([person, first, judge, last])
    assert [changed] == latest([judge, person, changed])
