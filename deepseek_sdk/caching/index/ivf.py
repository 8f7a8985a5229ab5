"""`IvfIndex`: looks only where the nearest are likely to be; for hundreds of thousands of vectors, by faiss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deepseek_sdk.caching.index.faiss_threads import one_thread, selecting
from deepseek_sdk.caching.index.rows import Kept, RowIndex

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "PROBES", "IvfIndex"]

# How many are compared exactly, and in how many cells they are looked for.
CANDIDATES = 256
PROBES = 64
# Vectors that the cells are made from, for each cell.
_SAMPLE = 50
_BLOCK = 8_192


class IvfIndex(RowIndex):
    """
    Vectors as float16, and as bytes in cells around centres that are learnt from them, which takes a while.

    Args:
        kept: What it begins with.
        faiss: The package.
        probes: In how many cells to look.
    """

    def __init__(self, kept: Kept, *, faiss: ModuleType, probes: int = PROBES) -> None:
        dimensions = kept.values.shape[1]
        super().__init__(dimensions)
        self._faiss = faiss
        self._probes = probes
        cells = 2 * math.isqrt(len(kept.values))
        # By distance, not by cosine: all vectors point the same way more or less, and distances do not see that.
        self._centres = faiss.IndexFlatL2(dimensions)
        self._cells = faiss.IndexIVFScalarQuantizer(self._centres, dimensions, cells, faiss.ScalarQuantizer.QT_8bit)
        with one_thread(faiss):
            self._cells.train(self._sample(kept, cells))
        for first in range(0, len(kept.numbers), _BLOCK):
            self.add(kept.values[first : first + _BLOCK], kept.numbers[first : first + _BLOCK])

    @property
    def bytes(self) -> int:
        """What it takes in memory, about; see `VectorIndex`."""
        # A byte for each number, and the position.
        return super().bytes + int(self._cells.ntotal * (self._cells.d + 8))

    @staticmethod
    def _sample(kept: Kept, cells: int) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415  an extra

        return kept.values[:: max(1, len(kept.values) // (_SAMPLE * cells))].astype(np.float32)

    def _near(self, query: NDArray[np.float32], most: int) -> NDArray[np.int64]:
        rows = self._rows
        wanted = min(rows.live, max(CANDIDATES, 4 * most))
        alive = rows.alive[: rows.count] if rows.dead else None
        with one_thread(self._faiss):
            where = selecting(self._faiss, alive, nprobe=self._probes)
            _, positions = self._cells.search(query[None], wanted, params=where)
        found: NDArray[np.int64] = positions[0]
        return found[found >= 0]

    def _appended(self, count: int) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        end = self._rows.count
        with one_thread(self._faiss):
            self._cells.add(self._rows.values[end - count : end].astype(np.float32))
