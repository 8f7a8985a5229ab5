"""`JudgeBudget`: how often a judge may be asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.resilience.checks import check_number, check_share

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JudgeBudget"]

_HOUR_S = 3_600.0
# Calls are counted in parts of the hour.
_PART_S = 60.0
# Where hardly anybody has asked anything yet, a part of that would be none.
_FREE = 10


class JudgeBudget:
    """
    Counts what was asked within the last hour; any thread may use it. What it costs, the client's own budgets bound.

    Args:
        per_hour: How often the judge may be asked, within any hour.
        max_share: For which part of the calls at most; *free* come before that.
        now: The monotonic clock, in seconds.

    Raises:
        ConfigurationError: A bound cannot be used.
    """

    def __init__(self, per_hour: float = 60, max_share: float = 0.1, now: Callable[[], float] = time.monotonic) -> None:
        check_number("per_hour", per_hour)
        check_share("max_share", max_share)
        self._per_hour = per_hour
        self._max_share = max_share
        self._now = now
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)
        self._taken: deque[float] = deque()
        self._calls: deque[tuple[float, int]] = deque()
        self._sum = 0

    @property
    def taken(self) -> int:
        """How often the judge was asked within the last hour."""
        with self._locks.get():
            self._let_go(self._now())
            return len(self._taken)

    def note_call(self) -> None:
        """Count a call of the client, whatever became of it."""
        part = self._now() // _PART_S * _PART_S
        with self._locks.get():
            count = self._calls.pop()[1] if self._calls and self._calls[-1][0] == part else 0
            self._calls.append((part, count + 1))
            self._sum += 1
            self._let_go(part)

    def take(self) -> bool:
        """
        Ask for one more.

        Returns:
            Whether the judge may be asked; then it counts.
        """
        now = self._now()
        with self._locks.get():
            self._let_go(now)
            if len(self._taken) + 1 > min(self._per_hour, max(_FREE, self._max_share * self._sum)):
                return False
            self._taken.append(now)
            return True

    def give_back(self) -> None:
        """Say that the judge was not asked after all."""
        with self._locks.get():
            if self._taken:
                self._taken.pop()

    def _let_go(self, now: float) -> None:
        while self._taken and self._taken[0] <= now - _HOUR_S:
            self._taken.popleft()
        while self._calls and self._calls[0][0] <= now - _HOUR_S:
            self._sum -= self._calls.popleft()[1]
