from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from deepseek_sdk.resilience.serial import Serial


def test_work_is_done_at_once() -> None:
    """Where nobody is in the middle of anything, work is done before `soon()` returns."""
    serial, done = Serial(), []
    serial.soon(lambda: done.append(1))

    assert [1] == done


def test_work_that_comes_in_the_middle_waits() -> None:
    """What comes while the lock is held, in the same thread too, is done in its order afterwards."""
    serial, done = Serial(), []
    with serial.lock:
        serial.soon(lambda: done.append(1))
        serial.soon(lambda: done.append(2))
        assert [] == done
    serial.work_off()

    assert [1, 2] == done


def test_work_may_bring_more_work() -> None:
    """What work brings is done, too, and not inside of it."""
    serial, done = Serial(), []

    def first() -> None:
        serial.soon(lambda: done.append("second"))
        done.append("first")

    serial.soon(first)

    assert ["first", "second"] == done


def test_nothing_is_left_lying() -> None:
    """However many threads bring work at once, all of it is done, one piece at a time."""
    serial, counts = Serial(), {"now": 0, "most": 0, "done": 0}

    def work() -> None:
        counts["now"] += 1
        counts["most"] = max(counts["most"], counts["now"])
        counts["done"] += 1
        counts["now"] -= 1

    def bring() -> None:
        for _ in range(500):
            serial.soon(work)

    threads = [threading.Thread(target=bring) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {"now": 0, "most": 1, "done": 4000} == counts


class Interrupted(Exception):  # noqa: N818  what a signal handler raises
    """Comes at any moment, as Ctrl-C does."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer here")
def test_no_interruption_leaves_it_locked() -> None:
    """An exception that a signal handler raises, wherever it comes, leaves the lock free."""
    serial, ends_at, interruptions = Serial(), time.monotonic() + 1.5, 0

    def interrupt(*_: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while time.monotonic() < ends_at:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                while True:
                    serial.soon(int)
                    with serial.lock:
                        pass
                    serial.work_off()
            except Interrupted:
                interruptions += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert interruptions > 10
    assert serial.lock.acquire(timeout=1)
    serial.lock.release()
