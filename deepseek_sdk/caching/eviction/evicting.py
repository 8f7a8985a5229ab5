"""What policies share: what is past its time goes first; and for some, what is asked for goes to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk.caching.eviction.shelf import Shelf, Slot

__all__ = ["count_hits", "evict"]


def evict(
    shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None, choose: Callable[[], Slot | None]
) -> list[str]:
    """
    Take entries off a shelf until there is room.

    Args:
        shelf: Where.
        needed_bytes: How much to free.
        now_ms: The time, in milliseconds since 1970.
        spare: The key that must stay.
        choose: Gives the next to go, if any, when none is past its time.

    Returns:
        Their keys.
    """
    gone: list[str] = []
    while needed_bytes > 0:
        slot = shelf.expired(now_ms, spare) or choose()
        if slot is None:
            break
        shelf.remove(slot.key)
        gone.append(slot.key)
        needed_bytes -= slot.size
    return gone


def count_hits(shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
    """
    Count hits, and move what was asked for to the end of its queue.

    Args:
        shelf: Where.
        counts: How many for each key; see `Policy`.
        now_ms: The time, in milliseconds since 1970.
    """
    for key, count in counts.items():
        slot = shelf.get(key)
        if slot is not None:
            shelf.write(slot._replace(seq=shelf.next_seq(), hits=slot.hits + count, used_ms=now_ms))
