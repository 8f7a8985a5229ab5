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

        with serial.lock:       now; waits for others, who are a few lines from their end
            ...
        serial.work_off()

        serial.soon(work)       when nobody is in the middle of anything, at best at once; never waits for itself

    The lock is taken by nothing but `with`: an exception that a signal handler raises, such as Ctrl-C, could come
    between any other way of taking it and the block that gives it back.

    Attributes:
        lock: Held by whoever is in the middle of something.
        waiting: What came while the lock was taken.
    """

    __slots__ = ("lock", "waiting")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[Callable[[], object]] = deque()

    def soon(self, work: Callable[[], object]) -> None:
        """
        Do something that nobody waits for.

        Args:
            work: A few lines that wait for nothing, raise nothing, and do no harm when they are done twice.
        """
        self.waiting.append(work)
        self.work_off()

    def work_off(self) -> None:
        """Do what came while the lock was taken, unless somebody is in the middle of something: he will."""
        # Again and again: what comes between the last look and the release would be left lying.
        while self.waiting and not self.lock.locked():
            with self.lock:
                while self.waiting:
                    try:
                        self.waiting[0]()
                    finally:
                        self.waiting.popleft()
