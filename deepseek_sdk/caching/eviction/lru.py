"""`Lru`: what was not asked for the longest time goes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction.evicting import count_hits, evict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.caching.eviction.shelf import Shelf

__all__ = ["Lru"]


@dataclass(frozen=True, kw_only=True)
class Lru:
    """Evict what was not asked for the longest time; one pass over many new questions empties it."""

    name: str = "lru"

    def arrive(self, shelf: Shelf, key: str, size: int) -> None:
        """Leave an entry where it is: at the end of the queue, or in its place if it was overwritten."""

    def hits(self, shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
        """Move entries to the end of the queue; see `Policy`."""
        count_hits(shelf, counts, now_ms)

    def victims(self, shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None = None) -> list[str]:
        """Make room; see `Policy`."""
        return evict(shelf, needed_bytes, now_ms, spare, lambda: shelf.oldest(spare))
