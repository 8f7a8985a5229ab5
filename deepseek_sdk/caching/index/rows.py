"""`Rows`: vectors in one array that grows, each with a number; and `RowIndex`, which all indexes are made of."""

from __future__ import annotations

import abc
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.index.base import Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Kept", "RowIndex", "Rows"]

_LEAST_ROOM = 4
# Half as much again: every vector is moved about three times in all.
_GROWTH = 2


class Kept(NamedTuple):
    """
    Vectors at one moment; nobody changes them.

    Attributes:
        numbers: Of each, in rising order.
        values: They themselves.
    """

    numbers: NDArray[np.int64]
    values: NDArray[Any]


class Rows:
    """
    Vectors at positions 0, 1, 2 ..., which they keep; what is removed stays as a tombstone. Not thread-safe.

    Args:
        dimensions: How many numbers a vector has.
        kind: What they are kept as.
    """

    def __init__(self, dimensions: int, kind: str) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        self.count = self.live = 0
        self.numbers = np.empty(0, np.int64)
        self.values: NDArray[Any] = np.empty((0, dimensions), kind)
        self.alive = np.empty(0, np.bool_)

    @property
    def dead(self) -> int:
        """How many tombstones there are."""
        return self.count - self.live

    @property
    def next(self) -> int:
        """The number after the last one."""
        return int(self.numbers[self.count - 1]) + 1 if self.count else 0

    @property
    def bytes(self) -> int:
        """What they take."""
        return self.numbers.nbytes + self.values.nbytes + self.alive.nbytes

    def append(self, values: NDArray[Any], numbers: NDArray[np.int64]) -> None:
        """Put vectors at the end."""
        end = self.count + len(numbers)
        if end > len(self.numbers):
            self._grow(end)
        self.values[self.count : end] = values
        self.numbers[self.count : end] = numbers
        self.alive[self.count : end] = True
        self.count, self.live = end, self.live + len(numbers)

    def bury(self, numbers: NDArray[np.int64]) -> int:
        """Make tombstones of vectors; give how many there were."""
        if not self.count:
            return 0
        at = self.numbers[: self.count].searchsorted(numbers).clip(max=self.count - 1)
        at = at[(self.numbers[at] == numbers) & self.alive[at]]
        self.alive[at] = False
        self.live -= len(at)
        return len(at)

    def _grow(self, least: int) -> None:
        import numpy as np  # noqa: PLC0415  an extra

        room = max(least, _LEAST_ROOM, len(self.numbers) + len(self.numbers) // _GROWTH)
        for name in ("numbers", "values", "alive"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), old.dtype)
            new[: self.count] = old[: self.count]
            setattr(self, name, new)


class RowIndex(abc.ABC):
    """
    An index over `Rows`, with a lock; how the nearest are found is left open.

    Args:
        dimensions: How many numbers a vector has.
        kind: What vectors are kept as.
    """

    def __init__(self, dimensions: int, kind: str = "<f2") -> None:
        self._rows = Rows(dimensions, kind)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._rows.live

    @property
    def dead(self) -> int:
        """How many tombstones there are."""
        return self._rows.dead

    @property
    def bytes(self) -> int:
        """What it takes in memory, about; see `VectorIndex`."""
        return self._rows.bytes

    def add(self, vectors: Any, numbers: Sequence[int] | NDArray[np.int64] | None = None) -> int:
        """Take vectors in; see `VectorIndex`."""
        import numpy as np  # noqa: PLC0415  an extra

        values = np.atleast_2d(np.asarray(vectors, dtype="<f2"))
        with self._lock:
            first = self._rows.next
            told = np.arange(first, first + len(values)) if numbers is None else np.asarray(numbers, np.int64)
            self._rows.append(values, told)
            self._appended(len(values))
        return int(told[0]) if len(told) else first

    def remove(self, *rows: int) -> int:
        """Let vectors be found no more; see `VectorIndex`."""
        import numpy as np  # noqa: PLC0415  an extra

        with self._lock:
            return self._rows.bury(np.unique(np.asarray(rows, np.int64)))

    def search(self, query: Any, k: int) -> list[Hit]:
        """Find the nearest; see `VectorIndex`."""
        import numpy as np  # noqa: PLC0415  an extra

        asked = np.asarray(query, dtype=np.float32).reshape(-1)
        with self._lock:
            most = min(k, self._rows.live)
            if most <= 0:
                return []
            positions = self._near(asked, most)
            # Not `@`: for so little it wakes other threads up, and waits for them where the machine is busy.
            cosines = np.vecdot(self._rows.values[positions].astype(np.float32, copy=False), asked)
            numbers = self._rows.numbers[positions]
        # Equal ones in the order in which they came.
        order = np.lexsort((numbers, -cosines))[:most]
        return [Hit(int(numbers[i]), float(cosines[i])) for i in order]

    def kept(self, after: int = -1) -> Kept:
        """
        Give what is in it.

        Args:
            after: Only what has a higher number.

        Returns:
            The vectors that can be found.
        """
        with self._lock:
            rows = self._rows
            begin = int(rows.numbers[: rows.count].searchsorted(after, side="right"))
            numbers, values = rows.numbers[begin : rows.count], rows.values[begin : rows.count]
            alive = rows.alive[begin : rows.count].copy() if rows.dead else None
        # What stands at a position never changes: it is copied, if at all, while others search.
        return Kept(numbers, values) if alive is None else Kept(numbers[alive], values[alive])

    @abc.abstractmethod
    def _near(self, query: NDArray[np.float32], most: int) -> NDArray[np.int64]:
        """Give positions of vectors that are alive, among which the nearest are."""

    def _appended(self, count: int) -> None:  # noqa: B027  for those who keep something beside the rows
        """Take note of vectors at the end."""
