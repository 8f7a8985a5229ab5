"""What every index of vectors can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Hit", "VectorIndex"]


class Hit(NamedTuple):
    """
    What a search finds.

    Attributes:
        row: The number of a vector.
        cosine: How near it is, from -1 to 1.
    """

    row: int
    cosine: float


class VectorIndex(Protocol):
    """Unit vectors with numbers; all methods may be called from any thread."""

    def add(self, vectors: Any, numbers: Sequence[int] | None = None) -> int:
        """
        Take vectors in.

        Args:
            vectors: One in each row.
            numbers: What they are called, in rising order, after all there were; None: they are counted.

        Returns:
            The number of the first.
        """

    def remove(self, *rows: int) -> int:
        """
        Let vectors be found no more.

        Args:
            rows: Their numbers.

        Returns:
            How many of them there were.
        """

    def search(self, query: Any, k: int) -> list[Hit]:
        """
        Find the nearest.

        Args:
            query: A unit vector.
            k: How many at most.

        Returns:
            Them, the nearest first.
        """

    def __len__(self) -> int:
        """Count the vectors that can be found."""

    @property
    def bytes(self) -> int:
        """What it takes in memory, about."""
