"""`MemoryTier`: the entries that are kept in memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction import MemoryShelf

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.eviction import Policy

__all__ = ["MemoryTier"]


class MemoryTier:
    """
    Entries in memory, up to a number of bytes; threads may share it.

    Args:
        max_bytes: How much they may take together; 0: nothing is kept.
        policy: Which go when there is no more room.

    Attributes:
        gone: Called with each entry that is let go of and not replaced, under the lock: it must be quick; or None.
    """

    def __init__(self, max_bytes: int, policy: Policy) -> None:
        self.max_bytes = max_bytes
        self.policy = policy
        self._lock = threading.Lock()
        self._shelf = MemoryShelf(max_bytes)
        self._entries: dict[str, Entry] = {}
        self.gone: Callable[[Entry], object] | None = None

    @property
    def entries(self) -> int:
        """How many are kept."""
        return len(self._entries)

    @property
    def bytes(self) -> int:
        """How much they take."""
        return self._shelf.size

    def get(self, key: str, *, now_ms: int = 0) -> Entry | None:
        """
        Find an entry, and count a hit; `peek()` counts none.

        Args:
            key: Of the entry.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            The entry; None: there is none.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self.policy.hits(self._shelf, {key: 1}, now_ms)
            return entry

    def peek(self, key: str) -> Entry | None:
        """
        Find an entry that may not be served in the end.

        Args:
            key: Of the entry.

        Returns:
            The entry; None: there is none.
        """
        return self._entries.get(key)

    def put(self, entry: Entry, *, keep_ms: int | None = None, now_ms: int = 0) -> int:
        """
        Keep an entry, in the place of the one with the same key; one larger than all there is room for is not kept.

        Args:
            entry: The entry.
            keep_ms: Until when it is of use, in milliseconds since 1970; None: for ever.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            How many others had to go.
        """
        with self._lock:
            if entry.size > self.max_bytes:
                self._discard(entry.key)
                return 0
            self._entries[entry.key] = entry
            self._shelf.add(entry.key, entry.size, keep_ms)
            self.policy.arrive(self._shelf, entry.key, entry.size)
            gone = self.policy.victims(self._shelf, self._shelf.size - self.max_bytes, now_ms, entry.key)
            for key in gone:
                self._forget(key)
            return len(gone)

    def discard_where(self, predicate: Callable[[Entry], bool]) -> int:
        """
        Let go of entries.

        Args:
            predicate: Tells which; it is called without the lock.

        Returns:
            How many.
        """
        with self._lock:
            entries = list(self._entries.values())
        chosen = [entry for entry in entries if predicate(entry)]
        with self._lock:
            return sum(self._discard(entry.key) for entry in chosen if self._entries.get(entry.key) is entry)

    def clear(self) -> None:
        """Let go of all entries, and of what is remembered of those that are gone."""
        with self._lock:
            for key in list(self._entries):
                self._forget(key)
            self._shelf = MemoryShelf(self.max_bytes)

    def _discard(self, key: str) -> bool:
        self._shelf.remove(key)
        return self._forget(key)

    def _forget(self, key: str) -> bool:
        entry = self._entries.pop(key, None)
        if entry is not None and self.gone is not None:
            self.gone(entry)
        return entry is not None
