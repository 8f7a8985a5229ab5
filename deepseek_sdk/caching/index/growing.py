"""`GrowingIndex`: the index that suits what is in it, made anew beside the path as that changes."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Literal, cast

from deepseek_sdk.caching.index.binary import BinaryIndex
from deepseek_sdk.caching.index.faiss_threads import faiss_or_none
from deepseek_sdk.caching.index.flat import FlatIndex
from deepseek_sdk.caching.index.ivf import IvfIndex
from deepseek_sdk.caching.index.rows import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from deepseek_sdk.caching.index.base import Hit
    from deepseek_sdk.caching.index.rows import RowIndex

    Kind = Literal["flat", "binary", "ivf"]

__all__ = ["BINARY_ROWS", "FLAT_ROWS", "GrowingIndex"]

_log = logging.getLogger("deepseek_sdk")

# Up to so many vectors all are compared, and up to so many the bits of all.
FLAT_ROWS = 8_192
BINARY_ROWS = 200_000
# One tombstone in so many rows, but not for the sake of a few.
_DEAD_PART, _DEAD_LEAST = 4, 32
# What an index has learnt from the first vectors is learnt again when there are so many times as many.
_RELEARN = 4
# So many vectors that came meanwhile are taken over while others wait.
_LAST_FEW = 256


class GrowingIndex:
    """
    Compares with every vector while these are few, then with their bits, and from 200,000 on with those of some cells.

    Numbers of vectors count up for ever: none is used again.

    Args:
        dimensions: How many numbers a vector has.
        load_faiss: Gives faiss, when it is first needed; None: numpy does it all.
        run: Has something done, beside the path; None: whoever adds or removes does it.
    """

    def __init__(
        self,
        dimensions: int,
        *,
        load_faiss: Callable[[], ModuleType | None] = faiss_or_none,
        run: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self._dimensions = dimensions
        self._load_faiss = load_faiss
        self._run = run or (lambda work: work())
        self._lock = threading.Lock()
        self._index: RowIndex = FlatIndex(dimensions)
        self._kind: Kind = "flat"
        self._learnt = self._next = 0
        self._is_building = False
        # What is removed while another index is being made.
        self._gone: list[int] = []

    def __len__(self) -> int:
        return len(self._index)

    @property
    def bytes(self) -> int:
        """What it takes in memory, about; see `VectorIndex`."""
        return self._index.bytes

    @property
    def kind(self) -> Kind:
        """How it finds the nearest at the moment."""
        return self._kind

    def add(self, vectors: Any, numbers: Sequence[int] | None = None) -> int:
        """Take vectors in; see `VectorIndex`."""
        with self._lock:
            told = range(self._next, self._next + len(vectors)) if numbers is None else numbers
            first = told[0] if len(told) else self._next
            if len(told):
                self._take(vectors, told)
                self._next = int(told[-1]) + 1
        self._mind()
        return int(first)

    def remove(self, *rows: int) -> int:
        """Let vectors be found no more; see `VectorIndex`."""
        with self._lock:
            count = self._index.remove(*rows)
            if self._is_building:
                self._gone += rows
        self._mind()
        return count

    def search(self, query: Any, k: int) -> list[Hit]:
        """Find the nearest; see `VectorIndex`."""
        return self._index.search(query, k)

    def numbers(self) -> list[int]:
        """Give the numbers of all vectors that can be found, in rising order."""
        return cast("list[int]", self._index.kept().numbers.tolist())

    def _take(self, vectors: Any, numbers: Sequence[int]) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        if self._kind == "flat" and not len(self._index) and len(numbers) > FLAT_ROWS and not self._is_building:
            # Many at once: they are never all compared. One that is better is made beside the path.
            kept = Kept(np.asarray(numbers, np.int64), np.asarray(vectors, "<f2"))
            self._index, self._kind, self._learnt = BinaryIndex(kept), "binary", 0
        else:
            self._index.add(vectors, numbers)

    def _mind(self) -> None:
        """Have another index made, if this one no longer suits."""
        with self._lock:
            if self._is_building or not self._is_due():
                return
            self._is_building = True
            self._gone = []
        self._run(self._rebuild)

    def _is_due(self) -> bool:
        live, dead = len(self._index), self._index.dead
        if dead >= _DEAD_LEAST and dead * _DEAD_PART > live + dead:
            return True
        if self._kind == "flat":
            return live > FLAT_ROWS
        # Where it turns out that there is no faiss, `learnt` says that nothing is to be gained.
        return live > _RELEARN * self._learnt or self._learnt <= BINARY_ROWS < live

    def _rebuild(self) -> None:
        try:
            kept = self._index.kept()
            kind, index = self._made(kept)
            self._take_over(kind, index, kept)
        except Exception:  # noqa: BLE001  a search must not fail for want of a better index
            # Such as for want of memory. What there is goes on, and is not made anew again.
            _log.exception("an index of %d vectors could not be made anew", len(self._index))

    def _made(self, kept: Kept) -> tuple[Kind, RowIndex]:
        count = len(kept.numbers)
        if count <= FLAT_ROWS:
            index = FlatIndex(self._dimensions)
            index.add(kept.values, kept.numbers)
            return "flat", index
        faiss = self._load_faiss()
        if count <= BINARY_ROWS or faiss is None:
            return "binary", BinaryIndex(kept, faiss=faiss)
        return "ivf", IvfIndex(kept, faiss=faiss)

    def _take_over(self, kind: Kind, index: RowIndex, kept: Kept) -> None:
        last = int(kept.numbers[-1]) if len(kept.numbers) else -1
        while len(self._index.kept(last).numbers) > _LAST_FEW:
            last = self._follow(index, last)
        with self._lock:
            self._follow(index, last)
            if self._gone:
                index.remove(*self._gone)
            self._index, self._kind, self._learnt = index, kind, len(kept.numbers)
            self._is_building = False

    def _follow(self, index: RowIndex, last: int) -> int:
        more = self._index.kept(last)
        if len(more.numbers):
            index.add(more.values, more.numbers)
            last = int(more.numbers[-1])
        return last
