"""
`LruK`: the use before the last one, and a count of uses that fades, decide together.

After O'Neil et al., "The LRU-K page replacement algorithm for database disk buffering" (SIGMOD 1993), with K = 2.
Time is counted in arrivals and hits, so that a quiet night changes nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.eviction.evicting import evict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deepseek_sdk.caching.eviction.shelf import Shelf, Slot

__all__ = ["LruK"]

_SAMPLE = 20
_POINT_DIGITS = 8
_GHOSTS = 2
# A use counts half after ten times as many arrivals and hits as there are entries.
_HALF_LIFE = 10


class _History(NamedTuple):
    """The tick of the last use and of the one before (0: there was none), and how many there were: a sum that fades."""

    last: int
    before: int
    uses: float

    @classmethod
    def parse(cls, text: str) -> _History:
        last, before, uses = text.split()
        return cls(int(last), int(before), float(uses))

    def __str__(self) -> str:
        # repr() of a float reads back as the same float, in any process.
        return f"{self.last} {self.before} {self.uses!r}"

    def used(self, tick: int, times: int, half_life: int) -> _History:
        before = tick if times > 1 else self.last
        return _History(tick, before, self.uses * _faded(tick - self.last, half_life) + times)

    def worth(self, tick: int, half_life: int) -> float:
        uses = self.uses * _faded(tick - self.last, half_life)
        recency = _faded(tick - self.before, half_life) if self.before else 0.0
        return uses / (1 + uses) + recency


@dataclass(frozen=True, kw_only=True)
class LruK:
    """
    Of twenty entries taken by chance, evict the one worth least.

    Args:
        seed: Another one takes other entries.
    """

    name: str = "lru-k"
    seed: int = 0

    def arrive(self, shelf: Shelf, key: str, size: int) -> None:  # noqa: ARG002  for policies that ask for it
        """Begin the history of an entry, or go on with that of its ghost; see `Policy`."""
        slot = shelf.get(key)
        if slot is None or slot.history:
            return
        ghost, tick = shelf.recall(key), shelf.tick(1)
        history = _History.parse(ghost) if ghost else _History(0, 0, 0.0)
        shelf.write(slot._replace(history=str(history.used(tick, 1, _half_life(shelf)))))

    def hits(self, shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
        """Write uses into the histories; see `Policy`."""
        half_life = _half_life(shelf)
        for key, count in counts.items():
            tick, slot = shelf.tick(count), shelf.get(key)
            if slot is not None:
                history = str(_history(slot).used(tick, count, half_life))
                shelf.write(slot._replace(hits=slot.hits + count, used_ms=now_ms, history=history))

    def victims(self, shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None = None) -> list[str]:
        """Make room; see `Policy`."""
        return evict(shelf, needed_bytes, now_ms, spare, lambda: self._choose(shelf, spare))

    def _choose(self, shelf: Shelf, spare: str | None) -> Slot | None:
        tick, entries, half_life = shelf.tick(0), shelf.entries, _half_life(shelf)
        points = _points(f"{self.seed} {tick} {entries}")
        found = (slot for point in points if (slot := shelf.near(point, spare)) is not None)
        slot = min(found, key=lambda slot: (_history(slot).worth(tick, half_life), slot.seq), default=None)
        if slot is not None:
            shelf.remember(slot.key, slot.history, _GHOSTS * entries)
        return slot


def _history(slot: Slot) -> _History:
    """Read a history; entries that another policy placed have none."""
    return _History.parse(slot.history) if slot.history else _History(0, 0, float(slot.hits))


def _half_life(shelf: Shelf) -> int:
    return _HALF_LIFE * max(1, shelf.entries)


def _faded(age: int, half_life: int) -> float:
    return float(2.0 ** (-age / half_life))


def _points(state: str) -> Iterator[str]:
    """Draw places among keys that are hexadecimal digits, the same in every process that finds the same shelf."""
    digits = hashlib.shake_128(state.encode()).hexdigest(_SAMPLE * _POINT_DIGITS // 2)
    return (digits[at : at + _POINT_DIGITS] for at in range(0, len(digits), _POINT_DIGITS))
