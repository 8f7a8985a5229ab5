"""The two kinds of shelf behind one way to use them, for the tests of eviction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import diskcache

from deepseek_sdk.caching.eviction import MemoryShelf, Slot, SqlShelf
from deepseek_sdk.caching.eviction.schema import DDL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deepseek_sdk.caching.eviction import Policy


def opened(directory: Path) -> Any:
    """Open a directory of diskcache with the tables of a shelf in it; it never evicts by itself, and keeps no files."""
    cache = diskcache.Cache(
        str(directory),
        eviction_policy="none",
        cull_limit=0,
        size_limit=2**62,
        statistics=0,
        tag_index=0,
        disk_min_file_size=2**31,
    )
    for statement in DDL:
        cache._sql(statement)
    return cache


def tag(size: int, keep_ms: int | None = None, **more: Any) -> str:
    """Say of an entry what the table knows of it."""
    return json.dumps({"size": size, "keep_ms": keep_ms, **more})


class InMemory:
    """Entries in memory."""

    def __init__(self, limit: int, policy: Policy) -> None:
        self.shelf = MemoryShelf(limit)
        self.policy = policy

    def put(self, key: str, size: int, keep_ms: int | None = None, now_ms: int = 0) -> list[str]:
        """Write an entry and make room; give the keys that went."""
        self.shelf.add(key, size, keep_ms)
        return self._settled(key, size, now_ms)

    def hit(self, counts: Mapping[str, int], now_ms: int = 0) -> None:
        """Count hits."""
        self.policy.hits(self.shelf, counts, now_ms)

    def delete(self, key: str) -> None:
        """Delete an entry."""
        self.shelf.remove(key)

    def _settled(self, key: str, size: int, now_ms: int) -> list[str]:
        self.policy.arrive(self.shelf, key, size)
        return self.policy.victims(self.shelf, self.shelf.size - self.shelf.limit, now_ms, key)


class OnDisk:
    """Entries in a directory of diskcache."""

    def __init__(self, cache: Any, limit: int, policy: Policy) -> None:
        self.cache = cache
        self.shelf = SqlShelf(cache._sql, limit)
        self.policy = policy

    def put(self, key: str, size: int, keep_ms: int | None = None, now_ms: int = 0) -> list[str]:
        """Write an entry and make room, in one transaction; give the keys that went."""
        with self.cache.transact():
            self.cache.set(key, b"x", tag=tag(size, keep_ms))
            self.policy.arrive(self.shelf, key, size)
            return self.policy.victims(self.shelf, self.shelf.size - self.shelf.limit, now_ms, key)

    def hit(self, counts: Mapping[str, int], now_ms: int = 0) -> None:
        """Count hits."""
        with self.cache.transact():
            self.policy.hits(self.shelf, counts, now_ms)

    def delete(self, key: str) -> None:
        """Delete an entry, as diskcache does."""
        self.cache.delete(key)


Store = InMemory | OnDisk


def slots(store: Store, keys: tuple[str, ...]) -> dict[str, Slot]:
    """Look up where entries stand."""
    return {key: slot for key in keys if (slot := store.shelf.get(key)) is not None}
