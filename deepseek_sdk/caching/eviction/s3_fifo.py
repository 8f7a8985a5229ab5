"""
`S3Fifo`: a small queue for what is new, a main queue for what was asked for again, and ghosts of what was not.

After Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023).
One hit is enough to reach the main queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction.evicting import evict
from deepseek_sdk.caching.eviction.shelf import MAIN, SMALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.caching.eviction.shelf import Shelf, Slot

__all__ = ["S3Fifo"]

_MOST_HITS = 3
# The small queue has a tenth of the bytes; there are twice as many ghosts as entries.
_SMALL_PART = 10
_GHOSTS = 2
# How many slots one choice looks at: where all were asked for again, a full turn would hold the lock for seconds.
_PATIENCE = 128


@dataclass(frozen=True, kw_only=True)
class S3Fifo:
    """Evict what nobody asked for a second time; entries too large for the small queue go straight to the main one."""

    name: str = "s3-fifo"

    def arrive(self, shelf: Shelf, key: str, size: int) -> None:
        """Place an entry; see `Policy`."""
        slot = shelf.get(key)
        if slot is None or slot.queue != SMALL:
            return
        # Whatever its size: what stands on the shelf has no ghost.
        was_here = shelf.recall(key) is not None
        if was_here or size > _small(shelf):
            shelf.write(slot._replace(queue=MAIN, seq=shelf.next_seq()))

    def hits(self, shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
        """Count hits up to three; see `Policy`."""
        for key, count in counts.items():
            slot = shelf.get(key)
            if slot is not None and slot.hits < _MOST_HITS:
                shelf.write(slot._replace(hits=min(_MOST_HITS, slot.hits + count), used_ms=now_ms))

    def victims(self, shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None = None) -> list[str]:
        """Make room; see `Policy`."""
        return evict(shelf, needed_bytes, now_ms, spare, lambda: _choose(shelf, spare))


def _small(shelf: Shelf) -> int:
    return shelf.limit // _SMALL_PART


def _choose(shelf: Shelf, spare: str | None) -> Slot | None:
    weakest = None
    for _ in range(_PATIENCE):
        slot = _head(shelf, spare)
        if slot is None or slot.hits == 0:
            break
        weakest = slot if weakest is None or slot.hits < weakest.hits else weakest
        shelf.write(_another_turn(shelf, slot))
    else:
        slot = weakest
    if slot is not None and slot.queue == SMALL:
        shelf.remember(slot.key, "", _GHOSTS * shelf.entries)
    return slot


def _head(shelf: Shelf, spare: str | None) -> Slot | None:
    queue = SMALL if shelf.size_of(SMALL) > _small(shelf) else MAIN
    return shelf.first(queue, spare) or shelf.first(MAIN + SMALL - queue, spare)


def _another_turn(shelf: Shelf, slot: Slot) -> Slot:
    """Move a slot to the end of the main queue; what it had in the small one got it there."""
    hits = 0 if slot.queue == SMALL else slot.hits - 1
    return slot._replace(queue=MAIN, seq=shelf.next_seq(), hits=hits)
