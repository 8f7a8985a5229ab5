from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.learning.labels import digest_of
from deepseek_sdk.caching.learning.memory import EVERYBODY, Learnt
from tests.caching.disks import NOW_MS, key_of, run_child
from tests.caching.verdicts import COLOURS, WallClock, disk_in, label_of, run_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.caching.guarded import GuardedDisk


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Callable[[], GuardedDisk]]:
    """Open the same cache as often as is wanted, as processes would."""
    opened: list[GuardedDisk] = []

    def open_one() -> GuardedDisk:
        opened.append(disk_in(tmp_path / "cache"))
        return opened[-1]

    yield open_one
    for disk in opened:
        disk.close()


def settle(disk: GuardedDisk) -> None:
    """Wait until what is to be written stands there."""
    disk._writer.submit(lambda: None).result(timeout=30)


def catch_up(learnt: Learnt, disk: GuardedDisk, colour: str = "sync") -> None:
    """Take in what others have learnt as a lookup does: on the thread that reads, whatever the disk is like."""
    run_in(colour, lambda io: disk.read(io, learnt.catch_up, None))


def test_without_a_disk() -> None:
    """Everything works in RAM alone."""
    learnt = Learnt(disk=None, now_ms=WallClock())

    assert (True, False) == (learnt.add(label_of()), learnt.add(label_of()))
    assert (label_of(),) == learnt.observations(key_of(1)) == learnt.recent(10)
    assert (1, ()) == (learnt.labels, learnt.observations(key_of(2)))
    assert (True, False) == (learnt.veto("acme", "如何退款", "如何换货"), learnt.veto("acme", "如何换货", "如何退款？"))
    assert learnt.is_vetoed("acme", "如何换货", "如何退款")
    assert not learnt.is_vetoed("other", "如何换货", "如何退款")
    assert not learnt.is_vetoed("acme", "如何换货", "如何付款")
    assert (True, False) == (
        learnt.pardon("acme", "如何退款", "如何换货"),
        learnt.pardon("acme", "如何退款", "如何换货"),
    )
    assert (0, False) == (learnt.vetoes, learnt.is_vetoed("acme", "如何退款", "如何换货"))


def test_what_is_no_number_is_not_kept() -> None:
    """A label without finite figures is not taken."""
    learnt = Learnt(disk=None, now_ms=WallClock())

    assert not learnt.add(label_of(score=float("nan")))
    assert not learnt.add()
    assert 0 == learnt.labels


def test_a_pair_is_known() -> None:
    """It can be told whether a pair was judged already."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    learnt.add(label_of("一"))

    assert (True, False) == (learnt.is_known(key_of(1), digest_of("一")), learnt.is_known(key_of(1), digest_of("二")))


def test_a_veto_for_everybody() -> None:
    """What nobody may be given, no tenant is given."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    learnt.veto(EVERYBODY, "开启花呗", "关闭花呗")

    assert [True, True, False] == [
        learnt.is_vetoed(*pair)
        for pair in (
            ("acme", "关闭花呗", "开启花呗"),
            (EVERYBODY, "开启花呗", "关闭花呗"),
            ("acme", "开启花呗", "开通花呗"),
        )
    ]


def test_a_question_that_got_a_wrong_answer() -> None:
    """An entry is refused for a question that its answer was wrong for, until somebody says that it is right."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    refused = []
    for at, (source, is_right) in enumerate(
        [("calibration", False), ("judge", False), ("feedback", False), ("judge", True), ("feedback", True)]
    ):
        learnt.add(label_of("一", at_ms=at, source=source, is_right=is_right))
        refused.append(learnt.is_refused(key_of(1), digest_of("一")))

    assert [False, True, True, True, False] == refused
    assert not learnt.is_refused(key_of(1), digest_of("二"))
    assert not learnt.is_refused(key_of(2), digest_of("一"))


def test_entries_are_corrected() -> None:
    """Each wrong verdict lowers the score of its entry, each right one raises it; two wrong ones bar it."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    shifts = [learnt.correction(key_of(1)).shift]
    for text in "一二":
        learnt.add(label_of(text))
        shifts.append(learnt.correction(key_of(1)).shift)
    learnt.add(label_of("一", number=2, is_right=True, source="judge", score=-1.0))

    assert (0.0, sorted(shifts, reverse=True)) == (shifts[0], shifts)
    assert shifts[1] < -0.5
    assert learnt.correction(key_of(2)).shift > 0.3
    assert learnt.correction(key_of(1)) is learnt.correction(key_of(1))
    assert (True, False) == (learnt.is_quarantined(key_of(1)), learnt.is_quarantined(key_of(2)))


def test_calibration_corrects_nothing() -> None:
    """Pairs that came labelled are in the coefficients already."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    learnt.add(label_of(source="calibration"))

    assert 0.0 == learnt.correction(key_of(1)).shift


def test_forgetting() -> None:
    """Nothing is left of an entry that is forgotten, and nothing at all after clearing."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    learnt.add(label_of("一"), label_of("二"), label_of("一", number=2))
    learnt.veto("acme", "一", "二")
    learnt.correction(key_of(1))

    assert 2 == learnt.forget([key_of(1), key_of(3)])
    assert (0.0, ()) == (learnt.correction(key_of(1)).shift, learnt.observations(key_of(1)))
    assert (1, 1) == (learnt.labels, learnt.vetoes)
    learnt.clear()
    assert (0, 0) == (learnt.labels, learnt.vetoes)


def test_what_one_has_not_seen() -> None:
    """Labels are given out once, and all of them again after some were taken away."""
    learnt = Learnt(disk=None, now_ms=WallClock())
    learnt.add(label_of("一"), label_of("二", number=2))
    first, cursor, _ = learnt.since()
    learnt.add(label_of("三"))
    second, cursor, _ = learnt.since(cursor)
    nothing = learnt.since(cursor)
    learnt.forget([key_of(2)])

    assert ([label_of("一"), label_of("二", number=2)], [label_of("三")]) == ([*first], [*second])
    assert ((), cursor, False) == nothing
    assert learnt.since(cursor)[2]


@pytest.mark.parametrize("colour", COLOURS)
def test_what_is_learnt_is_there_tomorrow(colour: str, disks: Callable[[], GuardedDisk]) -> None:
    """Another process, later, knows labels and vetoes when it has read the disk once; in either colour."""
    disk = disks()
    first = Learnt(disk=disk, now_ms=WallClock())
    first.add(label_of("一"), label_of("二", number=2))
    first.veto("acme", "如何退款", "如何换货")
    settle(disk)
    again = disks()
    later = Learnt(disk=again, now_ms=WallClock())
    later.add(label_of("三"))
    assert not later.is_vetoed("acme", "如何退款", "如何换货")
    catch_up(later, again, colour)

    assert {label_of("一"), label_of("二", number=2), label_of("三")} == {*later.recent(10)}
    assert later.is_vetoed("acme", "如何换货", "如何退款")


def test_other_processes_are_heard_within_a_second(disks: Callable[[], GuardedDisk]) -> None:
    """Nobody looks twice within a second; what was taken away elsewhere is taken away here."""
    mine, theirs, clock = disks(), disks(), WallClock()
    here, there = Learnt(disk=mine, now_ms=clock), Learnt(disk=theirs, now_ms=WallClock())

    def look(later_ms: int) -> int:
        clock.ms += later_ms
        here.catch_up(mine.tier)
        return here.labels

    look(0)
    there.add(label_of("一"), label_of("二", number=2))
    there.veto("acme", "a", "b")
    settle(theirs)
    assert [0, 2, 2] == [look(999), look(1), look(-5_000)]
    assert here.is_vetoed("acme", "a", "b")
    there.forget([key_of(2)])
    there.pardon("acme", "a", "b")
    settle(theirs)
    assert 1 == look(1_000)
    assert not here.is_vetoed("acme", "a", "b")
    assert (label_of("一"),) == here.observations(key_of(1))
    there.clear()
    settle(theirs)
    assert 0 == look(1_000)


def test_what_is_not_written_yet_is_not_lost(disks: Callable[[], GuardedDisk]) -> None:
    """A label and a veto that still wait for the disk are known after all else was read again."""
    disk, other, gate, clock = disks(), disks(), threading.Event(), WallClock()
    learnt, there = Learnt(disk=disk, now_ms=clock), Learnt(disk=other, now_ms=WallClock())
    there.add(label_of("一"), label_of("二", number=2))
    settle(other)
    learnt.catch_up(disk.tier)
    disk.write_soon(lambda _: gate.wait(30))
    learnt.add(label_of("三"))
    learnt.add(label_of("四", number=4))
    learnt.forget([key_of(4)])
    learnt.veto("acme", "a", "b")
    there.forget([key_of(2)])
    settle(other)
    clock.ms += 1_000
    learnt.catch_up(disk.tier)
    gate.set()

    assert [label_of("一"), label_of("三")] == [*learnt.recent(10)]
    assert learnt.is_vetoed("acme", "b", "a")
    settle(disk)
    clock.ms += 1_000
    learnt.catch_up(disk.tier)
    assert [label_of("一"), label_of("三")] == [*learnt.recent(10)]
    assert 0 == len(learnt._outbox)


def test_a_disk_that_cannot_be_used(tmp_path: Path) -> None:
    """What is learnt is kept in RAM, and written where the disk can be used again."""
    (tmp_path / "cache").write_text("no directory")
    reasons: list[str] = []
    disk, clock = disk_in(tmp_path / "cache", reasons.append), WallClock()
    learnt = Learnt(disk=disk, now_ms=clock)
    learnt.add(label_of())
    catch_up(learnt, disk)
    assert ({"foreign"}, 1) == ({*reasons}, learnt.labels)
    (tmp_path / "cache").unlink()
    disk._rests_until = 0.0
    clock.ms += 1_000
    catch_up(learnt, disk)
    settle(disk)
    other = Learnt(disk=disk, now_ms=clock)
    catch_up(other, disk)

    assert (label_of(),) == other.recent(10)
    disk.close()


def test_many_threads(disks: Callable[[], GuardedDisk]) -> None:
    """Threads that learn, decide, forget and read the disk at once lose nothing."""
    disk, clock = disks(), WallClock()
    learnt = Learnt(disk=disk, now_ms=clock)

    def work(thread: int) -> None:
        for step in range(40):
            learnt.add(label_of(f"{step}", number=thread, at_ms=NOW_MS + step))
            learnt.veto("acme", f"{thread}", f"问题 {step}")
            learnt.correction(key_of(thread))
            learnt.since()
            clock.ms += 400
            learnt.catch_up(disk.tier)
            learnt.forget([key_of(99)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    settle(disk)
    again = disks()
    other = Learnt(disk=again, now_ms=clock)
    catch_up(other, again)

    assert [40] * 4 == [len(learnt.observations(key_of(thread))) for thread in range(4)]
    assert {*learnt.recent(200)} == {*other.recent(200)}
    assert (160, 160) == (learnt.vetoes, other.vetoes)


CHILD = """
import sys
from pathlib import Path
from deepseek_sdk.caching.learning.memory import EVERYBODY, Learnt
from tests.caching.verdicts import WallClock, disk_in, label_of
disk = disk_in(Path(sys.argv[1]))
learnt = Learnt(disk=disk, now_ms=WallClock())
for number in range(25):
    learnt.add(label_of(f"{sys.argv[2]} {number}", number=number))
    learnt.veto("acme", sys.argv[2], str(number))
disk.close()
"""


@pytest.mark.slow
def test_several_processes(disks: Callable[[], GuardedDisk]) -> None:
    """What two processes learn at the same time is all there."""
    disk, clock = disks(), WallClock()
    learnt = Learnt(disk=disk, now_ms=clock)
    with ThreadPoolExecutor(1) as pool:
        child = pool.submit(run_child, CHILD, disk.tier.directory, "子")
        # Until the child has ended, however long it takes to begin.
        count = 0
        while not child.done() and count < 1_000:
            learnt.add(label_of(f"父 {count}", number=count))
            settle(disk)
            count += 1
        child.result()
    again = disks()
    other = Learnt(disk=again, now_ms=clock)
    catch_up(other, again)

    assert (count + 25, 25) == (other.labels, other.vetoes)


FORK = """
import os, sys, threading
from deepseek_sdk.caching.learning.memory import EVERYBODY, Learnt
from tests.caching.verdicts import WallClock, label_of
learnt = Learnt(disk=None, now_ms=WallClock())
learnt.add(label_of("一"))
with learnt._locks.get():
    pid = os.fork()
    if not pid:
        learnt.add(label_of("二"))
        os._exit(learnt.labels)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')")
def test_a_child_needs_no_lock_of_its_parent() -> None:
    """A fork while a thread is in the middle of something holds nobody up."""
    assert "2" == run_child(FORK).strip()
