"""What was said of answers comes before the policy, and is told where nothing is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.judgement import Judged, Judgement
from deepseek_sdk.caching.learning.learner import Learner
from deepseek_sdk.caching.learning.memory import Learnt
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.caching.similar import Wording
from deepseek_sdk.caching.vectors import Candidate
from tests.caching.disks import key_of
from tests.caching.verdicts import WallClock, label_of

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = Wording(text="怎么开启自动续费", tenant="acme", place="place")
NEAR, NEXT, FAR = ("自动续费怎么开启", 0.99, 1), ("如何开启自动续费", 0.98, 2), ("开启续费", 0.9, 3)
FORBIDDEN = ("怎么关闭自动续费", 0.98, 4)


def judged(learnt: Learnt, *near: tuple[str, float, int]) -> Judged:
    """Decide about candidates, the nearest first."""
    policy = Static(0.95, guards=Guards())
    learner = Learner(learnt, threshold_at=policy.threshold_at, now_ms=WallClock())
    found = [
        Candidate(key=key_of(number), text=text, cosine=cosine, is_alias=False, vector=None)
        for text, cosine, number in near
    ]
    return Judgement(policy, learnt, learner, lambda: None).decide(ASKED, found)


def vetoed(learnt: Learnt, text: str = NEAR[0]) -> None:
    """Say that two questions are not the same."""
    learnt.veto("acme", ASKED.text, text)


def refused(learnt: Learnt, number: int = 1) -> None:
    """Say that an answer was wrong for the question."""
    learnt.add(label_of(ASKED.text, number=number))


def quarantined(learnt: Learnt, number: int = 1) -> None:
    """Say that an answer was wrong for two others."""
    learnt.add(label_of("一", number=number), label_of("二", number=number))


SAID = [(vetoed, "vetoed"), (refused, "vetoed"), (quarantined, "quarantined")]


@pytest.mark.parametrize(("say", "reason"), SAID)
@pytest.mark.parametrize(("other", "decided"), [(FAR, "below"), (FORBIDDEN, "guard")])
def test_what_was_said_of_the_nearest_is_told(
    say: Callable[[Learnt], None], reason: str, other: tuple[str, float, int], decided: str
) -> None:
    """Where no other is served, the miss is about the nearest; what the policy decided is there to learn from."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    say(learnt)
    found = judged(learnt, NEAR, other)

    assert (reason, False, 0.99) == (found.told.reason, found.told.serve, found.told.cosine)
    assert (None, None) == (found.told.guard, found.told.score)
    assert found.told.candidate is not None
    assert (key_of(1), NEAR[0]) == (found.told.candidate.key, found.told.candidate.text)
    assert (decided, other[1]) == (found.decision.reason, found.decision.cosine)


@pytest.mark.parametrize(("say", "reason"), SAID)
def test_nothing_is_left(say: Callable[[Learnt], None], reason: str) -> None:
    """Where something was said against all, the policy is not asked."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    say(learnt)
    found = judged(learnt, NEAR)

    assert found.decision is found.told
    assert (reason, 0.99, None) == (found.told.reason, found.told.cosine, found.told.threshold)


@pytest.mark.parametrize(("say", "reason"), SAID)
def test_another_that_is_served(say: Callable[[Learnt], None], reason: str) -> None:
    """Another is served all the same, and told."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    say(learnt)
    found = judged(learnt, NEAR, NEXT)

    assert reason not in {found.decision.reason, found.told.reason}
    assert found.decision is found.told
    assert (True, 0.98) == (found.told.serve, found.told.cosine)


def test_what_was_said_of_another_than_the_nearest() -> None:
    """It is left out, and the miss is about the nearest as before."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    vetoed(learnt, text=FORBIDDEN[0])
    quarantined(learnt, number=FAR[2])
    near = ("开通自动续费", 0.94, 5)

    assert ("below", 0.94) == (judged(learnt, near, FAR).told.reason, judged(learnt, near, FAR).told.cosine)
    assert ("served", 0.99) == (
        judged(learnt, NEAR, FORBIDDEN).told.reason,
        judged(learnt, NEAR, FORBIDDEN).told.cosine,
    )


def test_nothing_near() -> None:
    """Without candidates there is nothing to tell but that."""
    found = judged(Learnt(disk=None, now_ms=WallClock()))

    assert ("no_candidate", "no_candidate", None) == (found.decision.reason, found.told.reason, found.told.candidate)
