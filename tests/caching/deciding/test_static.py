"""The policy with one threshold serves the nearest that no guard forbids."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from deepseek_sdk.caching.deciding.correction import Correction
from deepseek_sdk.caching.deciding.decision import Asked, Decision
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.caching.matching.text import analysed


class Kept(NamedTuple):
    """A candidate."""

    text: str
    cosine: float
    key: str = "k"
    vector: None = None


class Alarmed:
    """What was said where hits were wrong too often: the threshold is two steps higher."""

    level = 2

    def correction(self, _: str, /) -> Correction:
        """Give none."""
        return Correction()

    def observations(self, _: str, /) -> tuple[()]:
        """Give none."""
        return ()


CLOSE, ALSO_CLOSE = Kept("怎么关闭自动续费", 0.99, "a"), Kept("如何关闭自动续费", 0.985, "b")
OPEN, FAR = Kept("自动续费怎么开启", 0.98, "c"), Kept("自动续费如何开启", 0.96, "d")


def decided(policy: Static, *near: Kept) -> tuple[str, str | None, str | None]:
    """Decide; give the reason, the entry and the guard."""
    decision = policy.decide(Asked(analysed("怎么开启自动续费")), near)
    return _told(decision)


def _told(decision: Decision) -> tuple[str, str | None, str | None]:
    return decision.reason, None if decision.candidate is None else decision.candidate.key, decision.guard


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ([], ("no_candidate", None, None)),
        ([OPEN, FAR], ("served", "c", None)),
        ([FAR], ("below", "d", None)),
        ([CLOSE], ("guard", "a", "antonym")),
        ([CLOSE, OPEN], ("served", "c", None)),
        ([CLOSE, ALSO_CLOSE, OPEN, FAR], ("served", "c", None)),
        ([CLOSE, ALSO_CLOSE], ("guard", "a", "antonym")),
        ([CLOSE, FAR], ("guard", "a", "antonym")),
    ],
)
def test_the_nearest_that_may_be_served_is(near: list[Kept], expected: tuple[str, str | None, str | None]) -> None:
    """What a guard forbids gives way to the next above the threshold; where there is none, the guard is told."""
    assert expected == decided(Static(0.97, guards=Guards()), *near)


def test_the_decision_is_about_what_is_served() -> None:
    """Score and similarity are those of the candidate that is told."""
    decision = Static(0.97, guards=Guards()).decide(Asked(analysed("怎么开启自动续费")), [CLOSE, OPEN])

    assert (True, 0.98, 0.98, 0.97) == (decision.serve, decision.score, decision.cosine, decision.threshold)


def test_without_guards_the_nearest_is_served() -> None:
    """Nothing but the cosine counts."""
    assert ("served", "a", None) == decided(Static(0.97), CLOSE, OPEN)


def test_the_next_is_held_to_the_threshold_of_an_alarm() -> None:
    """A step of an alarm raises what the next has to be above, too."""
    policy, asked = Static(0.975, guards=Guards()), Asked(analysed("怎么开启自动续费"))

    assert ("served", "c", None) == _told(policy.decide(asked, [CLOSE, OPEN]))
    assert ("guard", "a", "antonym") == _told(policy.decide(asked, [CLOSE, OPEN], Alarmed()))
