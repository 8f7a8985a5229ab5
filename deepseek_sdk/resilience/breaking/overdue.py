"""`FirstTokens`: which calls wait too long for their first token, found without a timer."""

from __future__ import annotations

import heapq
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepseek_sdk.resilience.breaking.permit import Permit

__all__ = ["FirstTokens"]

# Fewer calls than this are not worth tidying up after.
_FEW = 64


class FirstTokens:
    """
    The calls whose first token is waited for, in the order in which it is due.

    Calls that got it, or have ended, are dropped when their turn comes, or when half of what is kept are such.

    Attributes:
        next_at: When it is worth looking, in seconds of the monotonic clock; `inf` where nothing is waited for.
    """

    __slots__ = ("_entries", "_heap", "_tidy_at", "next_at")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Permit]] = []
        self._entries = 0
        self._tidy_at = _FEW
        self.next_at = inf

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, permit: Permit, due_at: float) -> None:
        """
        Wait for a first token.

        Args:
            permit: Of the call.
            due_at: When it is due, at the earliest, in seconds of the monotonic clock.
        """
        if len(self._heap) >= self._tidy_at:
            self._tidy()
        self._entries += 1
        # The number decides between two that are due at once: permits have no order.
        heapq.heappush(self._heap, (due_at, self._entries, permit))
        self.next_at = self._heap[0][0]

    def take_overdue(self, now: float) -> Permit | None:
        """
        Take out one call whose first token is overdue.

        Args:
            now: The time.

        Returns:
            Its permit, or None where there is none.
        """
        while self.next_at <= now:
            permit = heapq.heappop(self._heap)[2]
            self.next_at = self._heap[0][0] if self._heap else inf
            if not _is_awaited(permit):
                continue
            due_at = permit.due_at(now)
            if due_at <= now:
                return permit
            # It began later than it was let through, or its caller was away.
            self.add(permit, due_at)
        return None

    def clear(self) -> None:
        """Wait for nothing."""
        self._heap.clear()
        self._tidy_at, self.next_at = _FEW, inf

    def _tidy(self) -> None:
        self._heap = [entry for entry in self._heap if _is_awaited(entry[2])]
        heapq.heapify(self._heap)
        self._tidy_at = max(_FEW, 2 * len(self._heap))


def _is_awaited(permit: Permit) -> bool:
    return not permit.has_token and not permit.is_settled
