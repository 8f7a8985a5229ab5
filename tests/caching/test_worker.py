from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from deepseek_sdk.caching.worker import Worker
from tests.caching.disks import run_child


def test_work_is_done_in_its_order() -> None:
    """One thread does everything, one after another, and gives results and errors to who asked."""
    worker, seen = Worker("test-order"), list[int]()
    futures = [worker.submit(seen.append, number) for number in range(100)]
    name = worker.submit(lambda: threading.current_thread().name)
    failed = worker.submit(int, "x")
    futures[-1].result()

    assert [*range(100)] == seen
    assert "test-order" == name.result()
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result()
    assert 3 == worker.submit(int, "11", base=2).result()
    worker.close()


def test_no_thread_before_there_is_work() -> None:
    """A worker that nobody uses has no thread, and closes at once."""
    before = threading.active_count()
    worker = Worker("test-idle")

    assert before == threading.active_count()
    worker.close()


def test_waiting_work_can_be_cancelled() -> None:
    """Work that was cancelled before it began is not done; what comes after it is."""
    worker, gate, seen = Worker("test-cancel"), threading.Event(), list[str]()
    worker.submit(gate.wait)
    cancelled = worker.submit(seen.append, "cancelled")
    later = worker.submit(seen.append, "later")
    assert cancelled.cancel()
    gate.set()
    later.result()

    assert ["later"] == seen
    with pytest.raises(CancelledError):
        cancelled.result()
    worker.close()


def test_close_waits_for_what_was_taken() -> None:
    """What was submitted before the end is done; nothing is taken after it."""
    worker, seen = Worker("test-close"), list[int]()
    for number in range(50):
        worker.submit(seen.append, number)
    worker.close()
    worker.close()

    assert [*range(50)] == seen
    with pytest.raises(RuntimeError, match="test-close is closed"):
        worker.submit(seen.append, 50)
    with pytest.raises(RuntimeError, match="test-close is closed"):
        worker._lines.get().put(print)  # who was a moment faster than close()


def test_work_may_close_its_worker() -> None:
    """The thread does not wait for itself."""
    worker = Worker("test-self")

    worker.submit(worker.close).result()

    with pytest.raises(RuntimeError, match="test-self is closed"):
        worker.submit(print)


FORK = """
import os, sys, threading
from deepseek_sdk.caching.worker import Worker
worker, gate = Worker("w"), threading.Event()
busy, waiting = worker.submit(gate.wait), worker.submit(print, "parent's", flush=True)
pid = os.fork()
if pid == 0:
    print("child", worker.submit(lambda: 1).result(), flush=True)
    worker.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
gate.set()
worker.close()
"""


def test_forked_child_has_a_worker_of_its_own() -> None:
    """A child does its own work while its parent is busy, and leaves the parent's alone."""
    assert "child 1\nparent's\n" == run_child(FORK)
