"""`Serial`: one thing at a time, also for what the garbage collector does in the middle of another."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Serial"]


class Serial:
    """
    Guards state that hooks change.

    A hook of a forgotten stream runs inside the garbage collector, in a thread that may be in the middle of the guarded
    lines already: a lock would wait for itself, and one that may be taken twice would let it see a state half changed.

        with serial:            now; wait for others, for a few lines
            ...
        serial.soon(work)       as soon as nobody else is in the middle of anything, at best at once; never waits

        with serial.lock:       the first of these where every call passes: half as long
            ...
        if serial.waiting:
            serial.work_off()

    Attributes:
        lock: Held by whoever is in the middle of something.
        waiting: What came while the lock was taken.
    """

    __slots__ = ("lock", "waiting")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[Callable[[], object]] = deque()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()
        if self.waiting:
            self.work_off()

    def soon(self, work: Callable[[], object]) -> None:
        """
        Do something that nobody waits for.

        Args:
            work: A few lines that wait for nothing; what it raises is lost to whoever runs it, so it should not raise.
        """
        if self.waiting or not self.lock.acquire(blocking=False):
            self.waiting.append(work)
        else:
            try:
                work()
            finally:
                self.lock.release()
        if self.waiting:
            self.work_off()

    def work_off(self) -> None:
        """Do what came while the lock was taken, unless somebody else is about to."""
        # Again and again: what comes between the last look and the release would be left lying.
        while self.waiting and self.lock.acquire(blocking=False):
            try:
                while self.waiting:
                    self.waiting.popleft()()
            finally:
                self.lock.release()
