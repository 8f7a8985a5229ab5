"""`DiskPartition`: what a process has in memory of the vectors of one partition, which all processes write to."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.vectors import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.caching.index import GrowingIndex, Hit
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.vectors import Lacking, Place, Row, VectorStore

__all__ = ["DiskPartition"]

# So many more are looked for than are wanted: some may be gone.
_SPARE = 4
# So many in memory that are gone from the disk are no reason to look which, or one in so many.
_GONE, _PART = 64, 4
# So many rows are looked at after each search, whether they are damaged.
_CHECKED = 16


class DiskPartition:
    """
    An index that follows the table. What was added it sees by its number, what was deleted when it is found.

    Args:
        store: Reads the table.
        partition: Which.
        make: Makes an index.
        max_rows: How many vectors are in memory at most.
    """

    def __init__(self, store: VectorStore, partition: str, make: Callable[[], GrowingIndex], *, max_rows: int) -> None:
        self._store = store
        self._partition = partition
        self._make = make
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._looked_through = self._checked = 0
        self._begin(None)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def bytes(self) -> int:
        """What it takes in memory, about."""
        return self._index.bytes

    def catch_up(self, lane: Lane, most: int) -> bool:
        """
        Read what was added since.

        Args:
            lane: For reading.
            most: How many at most.

        Returns:
            Whether that was all.
        """
        with self._lock:
            return self._catch_up(lane, most)

    def search(self, lane: Lane, query: Any, k: int, most: int) -> list[Candidate]:
        """
        Find the nearest; see `Partitions.searched()`.

        Args:
            lane: For reading.
            query: A unit vector.
            k: How many at most.
            most: How many vectors to read first, at most.

        Returns:
            Them, the nearest first.
        """
        with self._lock:
            self._catch_up(lane, most)
            if self._place is None:
                return []
            return list(self._candidates(lane, self._place, query, k))

    def lacking(self, lane: Lane, most: int) -> list[Lacking]:
        """
        Look through entries that were not looked through before, for those without a vector, or with a damaged one.

        Args:
            lane: For reading.
            most: How many to give; a few more are given where rows are damaged.

        Returns:
            Them.
        """
        with self._lock:
            found, self._looked_through = self._store.lacking(lane, self._partition, self._looked_through, most)
            damaged, self._checked = self._store.damaged(lane, self._partition, self._checked, _CHECKED)
        return found + [one for one in damaged if one not in found]

    def _begin(self, place: Place | None) -> None:
        self._index = self._make()
        self._place = place
        self._seen = 0

    def _catch_up(self, lane: Lane, most: int) -> bool:
        place = self._store.place(lane, self._partition)
        self._follow(lane, place)
        if place is None:
            return True
        if place.last > self._seen:
            seqs, values, self._seen = self._store.after(lane, place.id, self._seen, most)
            self._index.add(values, seqs)
        self._forget(lane, place)
        return self._seen >= place.last

    def _follow(self, lane: Lane, place: Place | None) -> None:
        """Begin anew where all vectors were deleted since, or the database is another one."""
        if self._place is not None and (place is None or place.born != self._place.born):
            self._begin(None)
            # Numbers of entries are used again.
            self._looked_through = self._checked = 0
        if self._place is None and place is not None and place.rows > self._max_rows:
            self._seen = self._store.newest(lane, place.id, self._max_rows)
        self._place = place

    def _forget(self, lane: Lane, place: Place) -> None:
        """Let go of what is gone from the disk once it is much, and of the oldest where there are too many."""
        if len(self._index) > place.rows + max(_GONE, place.rows // _PART):
            self._compare(lane, place)
        if len(self._index) > self._max_rows + self._max_rows // _PART:
            self._index.remove(*self._index.numbers()[: -self._max_rows])

    def _compare(self, lane: Lane, place: Place) -> None:
        there = set(self._store.seqs(lane, place.id, self._seen))
        self._index.remove(*(seq for seq in self._index.numbers() if seq not in there))

    def _candidates(self, lane: Lane, place: Place, query: Any, k: int) -> list[Candidate]:
        while True:
            hits = self._index.search(query, k + _SPARE)
            rows = self._store.rows(lane, place.id, self._partition, [hit.row for hit in hits])
            gone = [hit.row for hit in hits if hit.row not in rows]
            # Others have deleted them, or they are damaged.
            self._index.remove(*gone)
            if not gone or len(rows) >= k:
                return [_candidate(hit, rows[hit.row]) for hit in hits if hit.row in rows][:k]
            if not rows:
                self._compare(lane, place)


def _candidate(hit: Hit, row: Row) -> Candidate:
    import numpy as np  # noqa: PLC0415  an extra

    vector = row.values.astype(np.float32)
    return Candidate(key=row.key, text=row.text, cosine=hit.cosine, is_alias=row.is_alias, vector=vector)
