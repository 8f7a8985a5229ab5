"""`HitBuffer`: hits that were served and are not written down yet; nobody writes for each one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HitBuffer"]

_MANY, _PART = 256, 20
_DUE_MS, _RETRY_MS = 1000, 50
# Where nothing can be written, the oldest are forgotten.
_MOST = 4096


class HitBuffer:
    """Hits in RAM, which go to the disk several at a time: the policies lose little by hearing of them late."""

    def __init__(self) -> None:
        # Held for a few lines; one for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)
        self._counts: dict[str, int] = {}
        self._taken_ms: int | None = None
        self._not_before_ms = 0

    def add(self, key: str, entries: int, now_ms: int) -> bool:
        """
        Count a hit.

        Args:
            key: Of what was served.
            entries: How many entries there are.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            Whether it is time to write hits down: there are many, or the last time is a second ago.
        """
        with self._locks.get():
            self._counts[key] = self._counts.pop(key, 0) + 1
            if len(self._counts) > _MOST:
                del self._counts[next(iter(self._counts))]
            if self._taken_ms is None:
                self._taken_ms = now_ms
            is_due = len(self._counts) >= max(1, min(_MANY, entries // _PART))
            # A clock that was set back counts as one that went on.
            is_due = is_due or abs(now_ms - self._taken_ms) >= _DUE_MS
            return is_due and not 0 < self._not_before_ms - now_ms <= _RETRY_MS

    def take(self, now_ms: int) -> Mapping[str, int]:
        """
        Take all hits, to write them down.

        Args:
            now_ms: The time, in milliseconds since 1970.

        Returns:
            How many for each key, the one served last at the end.
        """
        with self._locks.get():
            counts, self._counts = self._counts, {}
            self._taken_ms = now_ms
            return counts

    def give_back(self, counts: Mapping[str, int], now_ms: int) -> None:
        """
        Take hits back that could not be written; for a moment, nobody is asked to try again.

        Args:
            counts: What `take()` gave.
            now_ms: The time, in milliseconds since 1970.
        """
        if not counts:
            return
        with self._locks.get():
            newer = self._counts
            self._counts = dict(counts)
            for key, count in newer.items():
                self._counts[key] = self._counts.pop(key, 0) + count
        self.defer(now_ms)

    def defer(self, now_ms: int) -> None:
        """
        Keep hits for later: for a moment, nobody is asked to write them.

        Args:
            now_ms: The time, in milliseconds since 1970.
        """
        self._not_before_ms = now_ms + _RETRY_MS
