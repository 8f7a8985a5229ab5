"""`RetryBudget`: how many retries all calls together may have, so that an outage is not answered with more traffic."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.resilience.checks import check_number
from deepseek_sdk.resilience.registry import Registry
from deepseek_sdk.resilience.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.resilience.account import Account

__all__ = ["Budget", "Budgets", "RetryBudget"]

# How long calls wait to be counted together.
_TOGETHER_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudget:
    """
    How many retries the calls of a client may have within a minute, for each model, endpoint and key.

        RetryBudget()                           one for every ten calls, and three besides
        RetryBudget(ratio=0.5)                  one for every two calls
        RetryBudget(ratio=0, per_minute=10)     ten, however many calls there are

    Attributes:
        ratio: How many for each call of the last minute.
        per_minute: How many besides, so that a program with few calls has some.
    """

    ratio: float = 0.1
    per_minute: float = 3

    def __post_init__(self) -> None:
        check_number("ratio", self.ratio)
        check_number("per_minute", self.per_minute)

    def allows(self, *, calls: int, retries: int, least: float = 0) -> bool:
        """
        Decide whether there may be one more retry.

        Args:
            calls: How many calls there were in the last minute.
            retries: How many retries there were.
            least: How many one call may have, by what it says itself: never fewer than that besides.

        Returns:
            Whether there may.
        """
        return retries < self.ratio * calls + max(self.per_minute, least)


class Budget:
    """
    What is left of a budget, for one account. Any thread may use it.

    Args:
        policy: How much there is.
        now: Tells the time, for those who ask whether it is idle.
    """

    __slots__ = ("_lock", "_now", "_policy", "_window")

    def __init__(self, policy: RetryBudget, now: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._now = now
        self._lock = threading.Lock()
        self._window = Window("calls", "retries")

    @property
    def is_idle(self) -> bool:
        """Whether nothing happened in the last minute."""
        with self._lock:
            return not any(self._window.sums(self._now()).values())

    def earn(self, calls: int, now: float) -> None:
        """
        Count calls.

        Args:
            calls: How many.
            now: When.
        """
        with self._lock:
            self._window.add("calls", now, calls)

    def spend(self, now: float, least: float = 0) -> bool:
        """
        Take one retry.

        Args:
            now: When.
            least: How many one call may have, by what it says itself.

        Returns:
            False where none is left.
        """
        with self._lock:
            sums = self._window.sums(now)
            is_allowed = self._policy.allows(calls=sums["calls"], retries=sums["retries"], least=least)
            if is_allowed:
                self._window.add("retries", now)
            return is_allowed


class Budgets:
    """
    A budget for each account. Any thread may use them.

    Args:
        policy: How much each has.
        now: Tells the time, for those who ask whether one is idle.
    """

    def __init__(self, policy: RetryBudget, now: Callable[[], float] = time.monotonic) -> None:
        self._budgets = Registry(lambda _: Budget(policy, now))
        self._new: deque[Account] = deque()
        self._counted_at = 0.0

    def earn(self, account: Account, now: float) -> None:
        """
        Count a call.

        Args:
            account: What it asks.
            now: When it began.
        """
        # Every call passes here, and few need to know the count: it is made for many at once, without a lock for each.
        if now >= self._counted_at + _TOGETHER_S:
            self._count(now)
        self._new.append(account)

    def spend(self, account: Account, now: float, least: float = 0) -> bool:
        """
        Take one retry.

        Args:
            account: What is asked again.
            now: When.
            least: How many one call may have, by what it says itself.

        Returns:
            False where none is left.
        """
        self._count(now)
        return self._budgets[account].spend(now, least)

    def _count(self, now: float) -> None:
        # After a pause what came before it is not of now.
        at, self._counted_at = min(now, self._counted_at + _TOGETHER_S), now
        for account, calls in Counter(self._taken()).items():
            self._budgets[account].earn(calls, at)

    def _taken(self) -> Iterator[Account]:
        with contextlib.suppress(IndexError):
            while True:
                yield self._new.popleft()
