"""`RamPartition`: the vectors of one partition where there is no disk."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.vectors import Candidate

if TYPE_CHECKING:
    from deepseek_sdk.caching.index import GrowingIndex
    from deepseek_sdk.caching.vectors import Vector

__all__ = ["RamPartition"]


class RamPartition:
    """
    An index, and what its vectors belong to.

    Args:
        index: An empty index.
        max_rows: How many vectors there are at most; the oldest go first.
    """

    def __init__(self, index: GrowingIndex, *, max_rows: int) -> None:
        self._index = index
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._known: dict[int, Vector] = {}
        self._rows: dict[str, dict[str, int]] = {}
        self._has_ended = False

    def __contains__(self, key: object) -> bool:
        """Tell whether there are vectors of an answer."""
        return key in self._rows

    def __len__(self) -> int:
        return len(self._known)

    @property
    def bytes(self) -> int:
        """What it takes in memory, about."""
        return self._index.bytes

    def add(self, vector: Vector) -> bool:
        """
        Take a vector in, in place of the one that the same text of the same answer had.

        Args:
            vector: It.

        Returns:
            False where the partition has ended.
        """
        with self._lock:
            if self._has_ended:
                return False
            self._remove(vector.key, vector.text)
            row = self._index.add(vector.values)
            self._known[row] = vector
            self._rows.setdefault(vector.key, {})[vector.text] = row
            while len(self._known) > self._max_rows:
                oldest = next(iter(self._known.values()))
                self._remove(oldest.key, oldest.text)
            return True

    def ends(self) -> bool:
        """
        Take in no more, if nothing is left.

        Returns:
            Whether that is so.
        """
        with self._lock:
            self._has_ended = not self._known
            return self._has_ended

    def remove(self, key: str, text: str | None = None) -> None:
        """
        Let vectors go.

        Args:
            key: Of the answer.
            text: Whose vector, if it is an alias; None: all of the answer.
        """
        with self._lock:
            for found, row in list(self._rows.get(key, {}).items()):
                if text is None or (text == found and self._known[row].is_alias):
                    self._remove(key, found)

    def search(self, query: Any, k: int) -> list[Candidate]:
        """
        Find the nearest; see `Partitions.searched()`.

        Args:
            query: A unit vector.
            k: How many at most.

        Returns:
            Them, the nearest first.
        """
        with self._lock:
            return [_candidate(self._known[hit.row], hit.cosine) for hit in self._index.search(query, k)]

    def _remove(self, key: str, text: str) -> None:
        texts = self._rows.get(key, {})
        row = texts.pop(text, None)
        if row is not None:
            del self._known[row]
            self._index.remove(row)
        if not texts:
            self._rows.pop(key, None)


def _candidate(vector: Vector, cosine: float) -> Candidate:
    import numpy as np  # noqa: PLC0415  an extra

    values = vector.values.reshape(-1).astype(np.float32)
    return Candidate(key=vector.key, text=vector.text, cosine=cosine, is_alias=vector.is_alias, vector=values)
