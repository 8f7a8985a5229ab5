"""`FlatIndex`: compares with every vector; for the few that most partitions have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.index.rows import RowIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FlatIndex"]


class FlatIndex(RowIndex):
    """
    All vectors, rounded to float16 and kept as float32: there is no fast product of the former.

    Args:
        dimensions: How many numbers a vector has.
    """

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions, "<f4")

    def _near(self, query: NDArray[np.float32], most: int) -> NDArray[np.int64]:
        import numpy as np  # noqa: PLC0415  an extra

        rows = self._rows
        cosines = np.vecdot(rows.values[: rows.count], query)
        if rows.dead:
            cosines[~rows.alive[: rows.count]] = -np.inf
        if most >= rows.live:
            return np.flatnonzero(rows.alive[: rows.count])
        # All that are as near as the last one: which of them come first is not for chance to say.
        return np.flatnonzero(cosines >= np.partition(cosines, -most)[-most])
