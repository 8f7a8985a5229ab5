"""The per-entry policy does what its mathematics say."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from deepseek_sdk.caching.deciding.correction import Correction
from deepseek_sdk.caching.deciding.decision import Asked
from deepseek_sdk.caching.deciding.sigmoid_fit import Observation, fitted
from deepseek_sdk.caching.deciding.vcache import SEEDS, VCache, explore_chance
from deepseek_sdk.caching.matching.text import analysed
from deepseek_sdk.errors import ConfigurationError


class Observed:
    """What was observed of one entry."""

    level = 0

    def __init__(self, *cosines: float) -> None:
        self.seen = [Observation(cosine, is_right=True) for cosine in cosines]

    def observations(self, _: str, /) -> list[Observation]:
        """Give it."""
        return self.seen

    def correction(self, _: str, /) -> Correction:
        """Give none."""
        return Correction()


def near(cosine: float) -> list[SimpleNamespace]:
    """Make one candidate."""
    return [SimpleNamespace(key="k", text="怎么退款", cosine=cosine, vector=None)]


def asked() -> Asked:
    """Ask something."""
    return Asked(analysed("退款流程是什么"))


def test_four_observations_come_first() -> None:
    """Whatever the chance, an entry's first four questions go to the model."""
    policy, said = VCache(0.05, chance=lambda: 0.999999), Observed()
    for number in range(4):
        decision = policy.decide(asked(), near(0.99), said)
        assert (False, "below") == (decision.serve, decision.reason)
        said.seen.append(Observation(0.9 + number / 100, is_right=True))

    assert policy.decide(asked(), near(0.99), said).serve
    assert policy.decide(asked(), near(0.99), said).serve
    assert not policy.decide(asked(), [], said).serve
    assert not policy.decide(asked(), near(0.99)).serve


def test_asking_is_a_matter_of_chance() -> None:
    """The same state serves one and asks for another, at the probability that it tells."""
    drawn = iter([0.0, 1.0])
    policy, said = VCache(0.01, chance=lambda: next(drawn)), Observed(0.5, 0.6, 0.7, 0.8)
    first, second = policy.decide(asked(), near(0.7), said), policy.decide(asked(), near(0.7), said)

    assert ["below", "served"] == [first.reason, second.reason]
    assert first.score == second.score
    assert "VCache(0.01)" == repr(policy)
    assert 0.0 == policy.threshold_at(3)


def test_the_middle_is_between_what_is_apart() -> None:
    """Where right and wrong do not overlap, the curve's middle is half way, and its variance comes from the table."""
    seen = [*SEEDS, *(Observation(cosine, is_right=cosine > 0.8) for cosine in (0.7, 0.75, 0.9, 0.95))]
    curve = fitted(seen)

    assert (0.825, 0.035445) == pytest.approx((curve.middle, curve.variance))
    assert 0.01 < explore_chance(0.99, curve, 0.01)


def test_the_fit_is_the_most_likely() -> None:
    """Where they overlap, both slopes of the likelihood are zero at the fit."""
    said = [(0.7, False), (0.8, True), (0.82, False), (0.85, True), (0.9, False), (0.95, True), (0.97, True)]
    seen = [*SEEDS, *(Observation(cosine, is_right) for cosine, is_right in said)]
    curve = fitted(seen)
    left = [is_right - 1 / (1 + math.exp(-curve.slope * (c - curve.middle))) for c, is_right in seen]

    assert 0.0 == pytest.approx(sum(left), abs=1e-3)
    assert 0.0 == pytest.approx(sum(one * cosine for one, (cosine, _) in zip(left, seen, strict=True)), abs=1e-3)
    assert 0 < curve.variance < 0.1


def test_more_is_served_the_surer_the_curve_is() -> None:
    """The probability of asking falls with the cosine, the bound, and the number of observations."""
    few = fitted([*SEEDS, *([Observation(0.9, is_right=True)] * 4)])
    many = fitted([*SEEDS, *([Observation(0.9, is_right=True)] * 46)])
    chances = [explore_chance(cosine, few, 0.01) for cosine in (0.5, 0.8, 0.9, 0.99)]

    assert chances == sorted(chances, reverse=True)
    assert explore_chance(0.9, many, 0.01) < explore_chance(0.9, few, 0.01)
    assert explore_chance(0.9, few, 0.05) < explore_chance(0.9, few, 0.01)


def test_an_inverted_entry_is_never_trusted() -> None:
    """Where nearer questions are wrong, the slope is held above zero and the model is asked."""
    seen = [*SEEDS, *(Observation(0.99, is_right=False) for _ in range(10)), *[Observation(0.2, is_right=True)] * 10]
    curve = fitted(seen)

    assert curve.slope > 0
    assert explore_chance(0.995, curve, 0.01) > 0.9


def test_a_bound_is_a_share() -> None:
    """Everything else is refused, by its name."""
    with pytest.raises(ConfigurationError, match="delta must be a share"):
        VCache(0)


def test_what_is_explored() -> None:
    """A miss from which it wants to learn says so; a hit does not, nor a miss without a candidate."""
    drawn = iter([0.0, 1.0])
    policy, said = VCache(0.01, chance=lambda: next(drawn)), Observed(0.5, 0.6, 0.7, 0.8)
    found = [
        policy.decide(asked(), near(0.7)),
        policy.decide(asked(), near(0.7), said),
        policy.decide(asked(), near(0.7), said),
        policy.decide(asked(), []),
    ]

    assert [True, True, False, False] == [decision.is_explored for decision in found]
