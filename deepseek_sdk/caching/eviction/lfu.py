"""`Lfu`: what was asked for least often goes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction.evicting import count_hits, evict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.caching.eviction.shelf import Shelf

__all__ = ["Lfu"]


@dataclass(frozen=True, kw_only=True)
class Lfu:
    """Evict what was asked for least often, the oldest first; what was popular once stays for long."""

    name: str = "lfu"

    def arrive(self, shelf: Shelf, key: str, size: int) -> None:
        """Leave an entry where it is: its hits are its place."""

    def hits(self, shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
        """Count hits; see `Policy`."""
        count_hits(shelf, counts, now_ms)

    def victims(self, shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None = None) -> list[str]:
        """Make room; see `Policy`."""
        return evict(shelf, needed_bytes, now_ms, spare, lambda: shelf.least_used(spare))
