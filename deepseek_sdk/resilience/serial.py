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
    """

    __slots__ = ("_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._waiting:
            self._work_off_or_leave()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        # What came meanwhile found the lock taken.
        if self._waiting:
            self._try()

    def soon(self, work: Callable[[], object]) -> None:
        """
        Do something that nobody waits for.

        Args:
            work: A few lines that wait for nothing; what it raises is lost to whoever runs it, so it should not raise.
        """
        self._waiting.append(work)
        self._try()

    def _try(self) -> None:
        # Again and again: what comes between the last look and the release would be left lying.
        while self._waiting and self._lock.acquire(blocking=False):
            try:
                self._work_off()
            finally:
                self._lock.release()

    def _work_off_or_leave(self) -> None:
        try:
            self._work_off()
        except BaseException:
            # Ctrl-C, in a block that has not begun and so will not end.
            self._lock.release()
            raise

    def _work_off(self) -> None:
        while self._waiting:
            self._waiting.popleft()()
