"""`Shelf`: labels and vetoes in RAM, with the bounds that hold on disk."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from deepseek_sdk.caching.learning.table import MOST_LABELS, MOST_PER_KEY, MOST_VETOES

if TYPE_CHECKING:
    from collections.abc import Collection

    from deepseek_sdk.caching.learning.labels import Label

__all__ = ["Shelf"]


class Shelf:
    """
    What is known. Not for several threads at once: its owner holds a lock.

    Attributes:
        taken: How many labels were ever taken.
    """

    __slots__ = ("_by_key", "_labels", "_tape", "_vetoes", "taken")

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str, str, int], Label] = {}
        self._by_key: dict[str, deque[Label]] = {}
        self._vetoes: dict[str, None] = {}
        self._tape: deque[Label] = deque(maxlen=MOST_LABELS)
        self.taken = 0

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self._labels)

    @property
    def vetoes(self) -> int:
        """How many vetoes there are."""
        return len(self._vetoes)

    def add(self, label: Label) -> bool:
        """
        Take a label, unless it is there; the oldest of its entry goes, or the oldest of all, where there are too many.

        Args:
            label: It.

        Returns:
            Whether it is new.
        """
        if label.identity in self._labels:
            return False
        self._labels[label.identity] = label
        said = self._by_key.setdefault(label.key, deque())
        said.append(label)
        self._tape.append(label)
        self.taken += 1
        if len(said) > MOST_PER_KEY:
            del self._labels[said.popleft().identity]
        if len(self._labels) > MOST_LABELS:
            self._drop_oldest()
        return True

    def _drop_oldest(self) -> None:
        oldest = self._labels.pop(next(iter(self._labels)))
        said = self._by_key[oldest.key]
        # Labels of an entry come in the same order here as there.
        said.popleft()
        if not said:
            del self._by_key[oldest.key]

    def of(self, key: str) -> tuple[Label, ...]:
        """
        Give the labels of an entry.

        Args:
            key: Of the entry.

        Returns:
            Them, oldest first.
        """
        return tuple(self._by_key.get(key, ()))

    def recent(self, count: int) -> tuple[Label, ...]:
        """
        Give the newest labels.

        Args:
            count: How many at most.

        Returns:
            Them, oldest first.
        """
        return tuple(islice(self._labels.values(), max(0, len(self._labels) - max(0, count)), None))

    def since(self, taken: int) -> tuple[Label, ...]:
        """
        Give what came after so many.

        Args:
            taken: How many had been taken by then.

        Returns:
            The labels, oldest first; the oldest of very many are missing.
        """
        return tuple(islice(self._tape, max(0, len(self._tape) - (self.taken - taken)), None))

    def veto(self, digest: str) -> bool:
        """
        Take a veto; the oldest goes where there are too many.

        Args:
            digest: Of the pair.

        Returns:
            Whether it is new.
        """
        if digest in self._vetoes:
            return False
        self._vetoes[digest] = None
        if len(self._vetoes) > MOST_VETOES:
            del self._vetoes[next(iter(self._vetoes))]
        return True

    def has_veto(self, digest: str) -> bool:
        """
        Look for a veto.

        Args:
            digest: Of the pair.

        Returns:
            Whether it is there.
        """
        return digest in self._vetoes

    def pardon(self, digest: str) -> bool:
        """
        Take a veto back.

        Args:
            digest: Of the pair.

        Returns:
            Whether it was there.
        """
        return self._vetoes.pop(digest, self) is None

    def forget(self, keys: Collection[str]) -> int:
        """
        Drop the labels of entries.

        Args:
            keys: Of the entries.

        Returns:
            How many went.
        """
        gone = [label for key in keys for label in self._by_key.pop(key, ())]
        for label in gone:
            del self._labels[label.identity]
        if gone:
            self._tape = deque(self._labels.values(), MOST_LABELS)
        return len(gone)
