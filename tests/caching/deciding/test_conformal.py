"""The threshold keeps its promise, and is no higher than the promise asks."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.deciding.conformal import needed, risk_at, served_at, threshold
from deepseek_sdk.errors import ConfigurationError

SPLITS, PAIRS = 200, 8_000
BOUNDS = (0.005, 0.01, 0.02, 0.05)


@pytest.mark.parametrize(("bound", "count"), [(0.05, 19), (0.02, 49), (0.01, 99), (0.005, 199), (0.001, 999)])
def test_a_bound_needs_so_many_pairs(bound: float, count: int) -> None:
    """With fewer nothing is served; with that many, nothing at or below the best wrong score."""
    assert count == needed(bound)
    assert math.inf == threshold([0.0] * (count - 1), [False] * (count - 1), bound)
    assert 3.0 == threshold([3.0, 5.0] + [0.0] * (count - 2), [True, False] + [True] * (count - 2), bound)


def test_what_is_never_wrong_is_always_served() -> None:
    """Where no pair is wrong there is no threshold."""
    assert -math.inf == threshold([0.0] * 99, [False] * 99, 0.01)


def test_a_score_at_the_threshold_is_not_served() -> None:
    """Ties with the wrong pair that sets the threshold are on its side."""
    scores, wrong = [1.0] * 50 + [2.0] * 149, [True] * 50 + [False] * 149
    bar = threshold(scores, wrong, 0.01)

    assert 1.0 == bar
    assert 0.0 == risk_at(bar, scores, wrong)
    assert 149 / 199 == served_at(bar, scores)


@pytest.mark.parametrize("bound", [0, 1, -0.1, 1.5, True, "1 %", None, math.nan])
def test_a_bound_is_a_share(bound: Any) -> None:
    """Everything else is refused, by its name."""
    with pytest.raises(ConfigurationError, match="max_false_hit must be a share"):
        threshold([], [], bound)


pairs = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), st.booleans()), max_size=60)


@given(pairs, st.sampled_from([0.5, 0.2, 0.1, 0.05]))
def test_no_lower_threshold_would_do(pairs: list[tuple[float, bool]], bound: float) -> None:
    """The threshold is the lowest of all for which the corrected risk stays within the bound."""
    scores, wrong = [score for score, _ in pairs], [is_wrong for _, is_wrong in pairs]
    bar = threshold(scores, wrong, bound)

    def is_within(at: float) -> bool:
        count = sum(is_wrong and score > at for score, is_wrong in pairs)
        return (count + 1) / (len(pairs) + 1) <= bound + 1e-9

    assert bar == math.inf or is_within(bar)
    assert [] == [at for at in (-math.inf, *scores) if at < bar and is_within(at)]


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_bound_holds_over_random_splits(bound: float) -> None:
    """The mean risk on what was not calibrated on is the bound, within 0.1 points."""
    chance = random.Random(5)  # noqa: S311  not a secret
    made = [(is_wrong, chance.gauss(0 if is_wrong else 1.5)) for is_wrong in chance.choices([True, False], k=PAIRS)]
    risks = []
    for _ in range(SPLITS):
        chance.shuffle(made)
        known, unknown = made[: PAIRS // 2], made[PAIRS // 2 :]
        bar = threshold([score for _, score in known], [is_wrong for is_wrong, _ in known], bound)
        risks.append(risk_at(bar, [score for _, score in unknown], [is_wrong for is_wrong, _ in unknown]))

    assert abs(sum(risks) / SPLITS - bound) < 0.001
