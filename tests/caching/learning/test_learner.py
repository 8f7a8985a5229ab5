from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.drift import Drift
from deepseek_sdk.caching.learning.judge import Verdict
from deepseek_sdk.caching.learning.labels import digest_of
from deepseek_sdk.caching.learning.learner import NOTHING, Consequence, Event, Learner
from deepseek_sdk.caching.learning.memory import Learnt
from tests.caching.disks import NOW_MS, key_of
from tests.caching.verdicts import WallClock, disk_in, facts_of, label_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

# Two wrong hits in a row set it off, two right ones after that end it.
DRIFT = Drift(target=0.01, alarm_at=3.0, calm=2)
YES, NO, UNSURE = Verdict(True), Verdict(False), Verdict(None, "unsure")
VETOED = Consequence(veto=True)


class Class:
    """A learner, with all that it is told and tells."""

    def __init__(self, drift: Drift = DRIFT, learnt: Learnt | None = None, **known: Any) -> None:
        self.clock = WallClock()
        self.learnt = Learnt(disk=None, now_ms=self.clock) if learnt is None else learnt
        self.events: list[Event] = []
        self.learner = Learner(
            self.learnt,
            threshold_at=lambda level: 2.0 + level / 2,
            now_ms=self.clock,
            drift=drift,
            told=self.events.append,
            **known,
        )

    def feedback(self, asked: str, *, good: bool, **known: Any) -> Consequence:
        """Say something of a hit, a millisecond later."""
        self.clock.ms += 1
        return self.learner.feedback(facts_of(asked, **known), good=good)

    def judged(self, asked: str, verdict: Verdict, *, was_served: bool = False, **known: Any) -> Consequence:
        """Have a pair judged, a millisecond later."""
        self.clock.ms += 1
        return self.learner.judged(facts_of(asked, was_served=was_served, **known), verdict)

    @property
    def kinds(self) -> list[str]:
        """What it was told of."""
        return [event.kind for event in self.events]


def test_a_wrong_hit_is_never_served_again() -> None:
    """The pair is vetoed and labelled, for its tenant."""
    found = Class()
    consequence = found.feedback("怎么关闭自动续费", good=False, kept="怎么开启自动续费", own="怎么开启自动续费")
    (label,) = found.learnt.observations(key_of(1))

    assert (VETOED, ["veto"]) == (consequence, found.kinds)
    assert found.learnt.is_vetoed("acme", "怎么开启自动续费", "怎么关闭自动续费")
    assert not found.learnt.is_vetoed("other", "怎么开启自动续费", "怎么关闭自动续费")
    assert (digest_of("怎么关闭自动续费"), 2.0, False, "feedback") == (
        label.text_digest,
        label.score,
        label.is_right,
        label.source,
    )


def test_a_right_hit_changes_nothing() -> None:
    """It is labelled, and that is all; what was vetoed before by mistake is allowed again."""
    found = Class()
    found.feedback("退款流程是什么", good=False)
    consequence = found.feedback("退款流程是什么", good=True)

    assert NOTHING == consequence
    assert not found.learnt.is_vetoed("acme", "如何退款", "退款流程是什么")
    assert [False, True] == [label.is_right for label in found.learnt.observations(key_of(1))]


def test_an_approved_near_miss_is_promoted() -> None:
    """The question becomes an alias of the entry."""
    found = Class()

    assert Consequence(promote=True) == found.judged("退款流程是什么", YES)
    assert ["promotion"] == found.kinds
    assert ["judge"] == [label.source for label in found.learnt.recent(1)]


def test_a_rejected_near_miss_is_vetoed() -> None:
    """Nobody is asked about it again, whatever the threshold becomes; the entry itself did nothing wrong."""
    found = Class()
    consequences = [found.judged(f"换货流程 {number}", NO) for number in range(5)]

    assert [VETOED] * 5 == consequences
    assert not found.learnt.is_quarantined(key_of(1))
    assert 0 == found.learner.level
    assert found.learnt.is_known(key_of(1), digest_of("换货流程 3"))


def test_a_judge_that_does_not_know() -> None:
    """Nothing follows, and nothing is kept."""
    found = Class()

    assert (NOTHING, NOTHING) == (found.judged("a", UNSURE), found.judged("a", UNSURE, was_served=True))
    assert (0, []) == (found.learnt.labels, found.kinds)


def test_people_are_not_overruled() -> None:
    """What a person has called wrong is not promoted because a judge likes it."""
    found = Class()
    found.feedback("换货流程是什么", good=False)

    assert NOTHING == found.judged("换货流程是什么", YES)
    assert found.learnt.is_vetoed("acme", "如何退款", "换货流程是什么")


def test_quarantine_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The second wrong question puts an entry into quarantine; the third changes nothing; right ones end it."""
    found = Class(Drift(alarm_at=99))
    with caplog.at_level(logging.WARNING):
        consequences = [found.feedback(f"错误 {number}", good=False).quarantine for number in range(3)]
        near = [found.judged(f"正确 {number}", YES).promote for number in range(12)]

    assert [False, True, False] == consequences
    assert (1, 1) == (found.kinds.count("quarantine"), len(caplog.records))
    assert key_of(1) in caplog.text
    assert "错误" not in caplog.text
    assert [*[False] * 11, True] == near
    assert not found.learnt.is_quarantined(key_of(1))


def test_a_wrong_alias_goes() -> None:
    """A hit that was found by an alias and is wrong is vetoed for both questions, and the alias goes."""
    found = Class()
    consequence = found.judged("怎么换货", NO, was_served=True, kept="退货流程", own="如何退款")

    assert Consequence(veto=True, demote=True) == consequence
    assert [True, True] == [found.learnt.is_vetoed("acme", "怎么换货", kept) for kept in ("退货流程", "如何退款")]


def test_a_wrong_answer_to_its_own_question() -> None:
    """The entry goes; that says nothing of how near questions are, and vetoes none."""
    found = Class()
    consequences = [found.feedback("如何退款？", good=False), found.judged("如何退款", NO, was_served=True)]

    assert [Consequence(discard=True)] * 2 == consequences
    assert (NOTHING, NOTHING) == (found.feedback("如何退款", good=True), found.judged("如何退款", YES, was_served=True))
    assert (["discard"] * 2, 0, 0) == (found.kinds, found.learnt.labels, found.learnt.vetoes)


def test_the_alarm_names_both_thresholds(caplog: pytest.LogCaptureFixture) -> None:
    """Where hits have become wrong too often, the threshold rises a step, with one warning; right ones take it back."""
    found = Class()
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        consequences = [found.judged(f"错 {n}", NO, was_served=True, key=key_of(n)) for n in range(2)]
        high = found.learner.level
        for number in range(2):
            found.judged(f"对 {number}", YES, was_served=True, key=key_of(9 + number))

    assert ([False, True], 1, 0) == ([one.alarm for one in consequences], high, found.learner.level)
    messages = [record.getMessage() for record in caplog.records]
    assert 2 == len(messages)
    assert "threshold 2.500, was 2.000" in messages[0]
    assert "threshold 2.000, was 2.500" in messages[1]
    assert [Event("alarm", None, 2.0, 2.5), Event("calm", None, 2.5, 2.0)] == [
        event for event in found.events if event.key is None
    ]


def test_a_new_threshold_ends_the_alarm() -> None:
    """What was said of the old one does not count for it."""
    found = Class()
    for number in range(2):
        found.judged(f"错 {number}", NO, was_served=True, key=key_of(number))
    assert 1 == found.learner.level
    found.clock.ms += 1
    found.learner.recalibrated(found.clock.ms)

    assert 0 == found.learner.level
    assert not found.judged("错", NO, was_served=True, key=key_of(3)).alarm
    assert found.judged("又错", NO, was_served=True, key=key_of(4)).alarm


def test_the_alarm_survives_the_process(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another process comes to the same threshold from the same labels, and makes no noise of old news."""
    disk = disk_in(tmp_path / "cache")
    first = Class(learnt=Learnt(disk=disk, now_ms=WallClock()))
    for number in range(2):
        first.judged(f"错 {number}", NO, was_served=True, key=key_of(number))
    disk.close()
    caplog.clear()
    disk = disk_in(tmp_path / "cache")
    later = Learnt(disk=disk, now_ms=WallClock())
    clock = WallClock()
    clock.ms += 1_000
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        second = Learner(later, threshold_at=float, now_ms=clock, drift=DRIFT)
        later.catch_up(disk.tier)

        assert (1, []) == (second.level, caplog.records)
    third = Learner(later, threshold_at=float, now_ms=clock, drift=DRIFT, since_ms=clock.ms)
    assert 0 == third.level
    disk.close()


def test_wrong_hits_of_other_processes_are_heard(caplog: pytest.LogCaptureFixture) -> None:
    """A label that came in from elsewhere counts, and is news here."""
    found = Class()
    found.learnt.add(*(label_of(f"错 {n}", number=n, source="recheck", at_ms=NOW_MS + 1) for n in range(2)))
    with caplog.at_level(logging.WARNING):
        level = found.learner.level

    assert (1, 1, ["alarm"]) == (level, len(caplog.records), found.kinds)


def test_forgetting_takes_back_an_alarm() -> None:
    """What was said of entries that are gone does not count any more."""
    found = Class()
    for number in range(2):
        found.judged(f"错 {number}", NO, was_served=True, key=key_of(number))
    found.learnt.forget([key_of(0), key_of(1)])

    assert 0 == found.learner.level


def test_who_is_told_may_fail() -> None:
    """What a callback raises harms nobody."""

    def told(event: Event) -> None:
        raise ValueError(event.kind)

    learnt = Learnt(disk=None, now_ms=WallClock())
    learner = Learner(learnt, threshold_at=float, now_ms=WallClock(), told=told)

    assert VETOED == learner.feedback(facts_of("别的"), good=False)
    assert VETOED == Learner(learnt, threshold_at=float, now_ms=WallClock()).feedback(
        facts_of("另外"), good=False
    )._replace(quarantine=False)


def test_threads_learn_together() -> None:
    """Threads that report at the same time lose nothing, and each step is told once."""
    found = Class(Drift(alarm_at=1.0, most=4))

    def report(number: int) -> None:
        found.learner.feedback(facts_of(f"问题 {number}", key=key_of(number)), good=False)
        assert found.learner.level <= 4

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(report, range(40)))
    steps = [event for event in found.events if event.kind == "alarm"]

    assert (40, 80 // 2, 4) == (found.learnt.labels, found.learnt.vetoes, found.learner.level)
    assert (2.0, 4.0) == (min(event.before or 9 for event in steps), max(event.after or 0 for event in steps))
    assert 1 <= len(steps) <= 4
