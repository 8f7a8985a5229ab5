"""Orders that a shelf in memory keeps its slots in, where a policy asks for them."""

from __future__ import annotations

import bisect
import heapq
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["KeyOrder", "SlotHeap"]

# What orders slots that are alike in the first number.
Second = TypeVar("Second", int, str)
# A heap this small is never cleaned up.
_FEW = 64


class SlotHeap(Generic[Second]):
    """
    A heap whose items may be out of date: whoever asks says which are not.

    Args:
        items: Numbers that say which is first, and a key.
    """

    def __init__(self, items: Iterable[tuple[int, Second, str]] = ()) -> None:
        self._heap: list[tuple[int, Second, str]] = list(items)
        heapq.heapify(self._heap)
        self._most = max(_FEW, 2 * len(self._heap))

    def push(self, item: tuple[int, Second, str], everything: Callable[[], Iterable[tuple[int, Second, str]]]) -> None:
        """
        Add an item.

        Args:
            item: The item.
            everything: Gives all that are up to date, this one too; asked when most of the heap may be out of date.
        """
        heapq.heappush(self._heap, item)
        if len(self._heap) > self._most:
            self._heap = list(everything())
            heapq.heapify(self._heap)
            self._most = max(_FEW, 2 * len(self._heap))

    def first(self, is_current: Callable[[tuple[int, Second, str]], bool], spare: str | None) -> str | None:
        """
        Find the key of the first item.

        Args:
            is_current: Tells whether an item is up to date.
            spare: A key to look past.

        Returns:
            The key; None: there is none.
        """
        kept: list[tuple[int, Second, str]] = []
        found = None
        while self._heap and found is None:
            item = self._heap[0]
            if not is_current(item):
                heapq.heappop(self._heap)
            elif item[2] == spare:
                kept.append(heapq.heappop(self._heap))
            else:
                found = item[2]
        for item in kept:
            heapq.heappush(self._heap, item)
        return found


class KeyOrder:
    """
    Keys in their order.

    Args:
        keys: The keys.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted(keys)

    def add(self, key: str) -> None:
        """Add a key that is not there yet."""
        bisect.insort(self._keys, key)

    def remove(self, key: str) -> None:
        """Take out a key that is there."""
        del self._keys[bisect.bisect_left(self._keys, key)]

    def near(self, point: str, spare: str | None) -> str | None:
        """
        Find the first key that is *point* or comes after it; after the last key comes the first again.

        Args:
            point: Where to look.
            spare: A key to look past.

        Returns:
            The key; None: there is none.
        """
        at = bisect.bisect_left(self._keys, point)
        for step in range(min(2, len(self._keys))):
            key = self._keys[(at + step) % len(self._keys)]
            if key != spare:
                return key
        return None
