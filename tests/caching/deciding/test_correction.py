"""What feedback on one entry changes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.deciding.correction import Correction, Verdict, sigmoid, stepped


def test_one_wrong_answer_costs_about_a_logit() -> None:
    """A hit that was sure and wrong lowers its entry."""
    after = Correction().after(Verdict(3.5, is_right=False))

    assert -1.0 < after.shift < -0.85


def test_right_answers_raise_an_entry_less_and_less() -> None:
    """What is right as expected says little."""
    doubted = Correction().after(Verdict(-0.5, is_right=True))
    expected = Correction().after(Verdict(4.0, is_right=True))

    assert 0 < expected.shift < 0.1 < doubted.shift


def test_steps_end_at_the_most_probable_shift() -> None:
    """Stepping on with the same verdicts comes to where the slope of the posterior is zero."""
    verdicts = [Verdict(1.0, is_right=True), Verdict(-0.5, is_right=True), Verdict(2.0, is_right=False)]
    shift = 0.0
    for _ in range(50):
        shift = stepped(shift, verdicts)

    slope = sum(is_right - sigmoid(logit + shift) for logit, is_right in verdicts) - shift
    assert abs(slope) < 1e-9


@given(st.lists(st.tuples(st.floats(-30, 30), st.booleans()), max_size=80))
def test_a_shift_stays_finite(said: list[tuple[float, bool]]) -> None:
    """No row of verdicts moves an entry without bound, and the oldest are forgotten."""
    correction = Correction()
    for logit, is_right in said:
        correction = correction.after(Verdict(logit, is_right=is_right))

    assert -8.0 <= correction.shift <= 3.0
    assert min(len(said), 32) == len(correction.verdicts)


@pytest.mark.parametrize(("logit", "p"), [(0.0, 0.5), (math.inf, 1.0), (-math.inf, 0.0), (-1e9, 0.0), (1e9, 1.0)])
def test_a_probability_never_overflows(logit: float, p: float) -> None:
    """The ends are the ends."""
    assert p == sigmoid(logit)
