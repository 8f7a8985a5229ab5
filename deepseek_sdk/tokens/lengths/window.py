"""`Window`: the last values of one quantity."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from deepseek_sdk.tokens.lengths.ordered import Ordered

if TYPE_CHECKING:
    from deepseek_sdk.tokens.lengths.quantities import Quantiles

__all__ = ["LENGTHS", "Window"]

# How many answers are remembered.
LENGTHS = 500


class Window:
    """
    The last values of one quantity, in the order of arrival and in the order of size.

    Args:
        size: How many are remembered.
    """

    __slots__ = ("_next", "_ordered", "_ring", "_size")

    def __init__(self, size: int = LENGTHS) -> None:
        self._size = size
        self._next = 0
        self._ring = array("i")
        self._ordered = Ordered()

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def cut(self) -> int:
        """How many were cut."""
        return self._ordered.cut

    def add(self, code: int) -> None:
        """
        Take the next value; a full window forgets the oldest one.

        Args:
            code: It, as `coded()` gives it.
        """
        ring, place = self._ring, self._next
        if len(ring) < self._size:
            ring.append(code)
            self._ordered.add(code)
            return
        leaving, ring[place] = ring[place], code
        self._next = (place + 1) % self._size
        if not self._ordered.swap(leaving, code):
            # An exception of a signal handler, such as Ctrl-C, had come in the middle of an earlier change.
            self._ordered = Ordered(ring)

    def quantiles(self) -> Quantiles:
        """
        Find the three quantiles.

        Returns:
            They.
        """
        return self._ordered.quantiles()

    def values(self) -> list[tuple[int, bool]]:
        """
        List what is remembered.

        Returns:
            The values and whether they were cut, the oldest first.
        """
        codes = (*self._ring[self._next :], *self._ring[: self._next])
        return [(code >> 1, bool(code & 1)) for code in codes]
