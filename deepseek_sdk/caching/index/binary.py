"""`BinaryIndex`: one bit for each number of a vector tells roughly what is near; that is compared exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.caching.index.faiss_threads import one_thread, selecting
from deepseek_sdk.caching.index.rows import Kept, RowIndex

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CANDIDATES", "BinaryIndex"]

# How many are compared exactly. Measured on questions of one domain, whose vectors are close to each other.
CANDIDATES = 256
_WORD_BITS = 64
# So many at a time stay in the cache of the processor.
_BLOCK = 8_192
_FARTHEST = 2**16 - 1


class _Bits(Protocol):
    """Bits of vectors, by position."""

    @property
    def bytes(self) -> int:
        """What they take."""

    def append(self, bits: NDArray[np.uint8]) -> None:
        """Take bits in."""

    def near(self, bits: NDArray[np.uint8], most: int, alive: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Give the positions of those with the fewest that differ; *alive*: only of these, None: of all."""


class BinaryIndex(RowIndex):
    """
    Vectors as float16, and the signs of their numbers as bits.

    Vectors of one embedder point all the same way, more or less. What tells them apart is how they differ from their
    mean, so the bits are of the difference.

    Args:
        kept: What it begins with, which the mean is taken from.
        faiss: The package; None: numpy does it all.
        candidates: How many are compared exactly.
    """

    def __init__(self, kept: Kept, *, faiss: ModuleType | None = None, candidates: int = CANDIDATES) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        dimensions = kept.values.shape[1]
        super().__init__(dimensions)
        self._candidates = candidates
        self._mean = kept.values[:: max(1, len(kept.values) // 20_000)].astype(np.float32).mean(axis=0)
        self._width = -(-dimensions // _WORD_BITS) * _WORD_BITS
        self._bits: _Bits = _NumpyBits(self._width) if faiss is None else _FaissBits(self._width, faiss)
        for first in range(0, len(kept.numbers), _BLOCK):
            self.add(kept.values[first : first + _BLOCK], kept.numbers[first : first + _BLOCK])

    @property
    def bytes(self) -> int:
        """What it takes in memory, about; see `VectorIndex`."""
        return super().bytes + self._bits.bytes

    def _near(self, query: NDArray[np.float32], most: int) -> NDArray[np.int64]:
        rows = self._rows
        wanted = min(rows.live, max(self._candidates, 4 * most))
        return self._bits.near(self._signs(query), wanted, rows.alive[: rows.count] if rows.dead else None)

    def _appended(self, count: int) -> None:
        end = self._rows.count
        self._bits.append(self._signs(self._rows.values[end - count : end]))

    def _signs(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        import numpy as np  # noqa: PLC0415  an extra

        rows = np.atleast_2d(values) > self._mean
        return np.packbits(np.pad(rows, ((0, 0), (0, self._width - rows.shape[1]))), axis=1)


class _NumpyBits:
    """Words of 64 bits; all first words, then all second words, and so on: that is how they are read."""

    def __init__(self, width: int) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        self._count = 0
        self._words = np.empty((width // _WORD_BITS, 0), np.uint64)

    @property
    def bytes(self) -> int:
        return self._words.nbytes

    def append(self, bits: NDArray[np.uint8]) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        end = self._count + len(bits)
        if end > self._words.shape[1]:
            words = np.empty((len(self._words), end + end // 2), np.uint64)
            words[:, : self._count] = self._words[:, : self._count]
            self._words = words
        self._words[:, self._count : end] = bits.view(np.uint64).T
        self._count = end

    def near(self, bits: NDArray[np.uint8], most: int, alive: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        import numpy as np  # noqa: PLC0415  an extra

        distances = self._distances(bits.view(np.uint64)[0])
        if alive is not None:
            distances[~alive] = len(self._words) * _WORD_BITS + 1
        counts = np.bincount(distances).cumsum()
        return np.flatnonzero(distances <= counts.searchsorted(most))

    def _distances(self, asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
        import numpy as np  # noqa: PLC0415  an extra

        distances = np.zeros(self._count, np.uint16)
        for first in range(0, self._count, _BLOCK):
            block = slice(first, min(first + _BLOCK, self._count))
            for words, word in zip(self._words, asked, strict=True):
                distances[block] += np.bitwise_count(words[block] ^ word)
        return distances


class _FaissBits:
    """The same by faiss."""

    def __init__(self, width: int, faiss: ModuleType) -> None:
        self._faiss = faiss
        self._index = faiss.IndexBinaryFlat(width)

    @property
    def bytes(self) -> int:
        return int(self._index.ntotal * self._index.code_size)

    def append(self, bits: NDArray[np.uint8]) -> None:
        self._index.add(bits)

    def near(self, bits: NDArray[np.uint8], most: int, alive: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        with one_thread(self._faiss):
            _, positions = self._index.search(bits, most, params=selecting(self._faiss, alive))
        found: NDArray[np.int64] = positions[0]
        return found[found >= 0]
