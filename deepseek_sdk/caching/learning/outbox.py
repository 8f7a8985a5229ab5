"""`Outbox`: what the disk has still to be told; it may be away, or have much to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.learning.table import Changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepseek_sdk.caching.learning.labels import Label

__all__ = ["Outbox", "Parcel"]

# The oldest goes where the disk has not been told of so many.
_MOST = 8_192


class Parcel(NamedTuple):
    """
    What was in the outbox at some time.

    Attributes:
        changes: To be written.
        numbers: By which each is known, so that what came meanwhile is not taken for written.
    """

    changes: Changes
    numbers: Mapping[tuple[str, str | Label], int]


class Outbox:
    """
    What is to be written. Not for several threads at once: its owner holds a lock.

    What goes is written before what comes: so whatever is to go takes what is to come out of here.
    """

    __slots__ = ("_last", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str | Label], int] = {}
        self._last = 0

    def __len__(self) -> int:
        """
        Count what waits.

        Returns:
            How much.
        """
        return len(self._waiting)

    @property
    def labels(self) -> list[Label]:
        """The labels that are to be kept."""
        return [what for kind, what in self._waiting if kind == "label" and not isinstance(what, str)]

    @property
    def vetoes(self) -> list[str]:
        """The vetoes that are to be kept."""
        return self._of("veto")

    def add(self, labels: Iterable[Label]) -> None:
        """
        Have labels kept.

        Args:
            labels: Which.
        """
        for label in labels:
            self._put("label", label)

    def veto(self, digest: str) -> None:
        """
        Have a veto kept.

        Args:
            digest: Of the pair.
        """
        self._put("veto", digest)

    def pardon(self, digest: str) -> None:
        """
        Have a veto taken back.

        Args:
            digest: Of the pair.
        """
        self._waiting.pop(("veto", digest), None)
        self._put("pardoned", digest)

    def forget(self, keys: Iterable[str]) -> None:
        """
        Have the labels of entries deleted.

        Args:
            keys: Of the entries.
        """
        keys = frozenset(keys)
        for label in [label for label in self.labels if label.key in keys]:
            del self._waiting["label", label]
        for key in keys:
            self._put("forgotten", key)

    def clear(self) -> None:
        """Have everything deleted."""
        self._waiting.clear()
        self._put("cleared", "")

    def packed(self) -> Parcel:
        """
        Copy what waits.

        Returns:
            It; it waits until `sent()`.
        """
        is_cleared = bool(self._of("cleared"))
        changes = Changes(self.labels, self.vetoes, self._of("forgotten"), self._of("pardoned"), is_cleared)
        return Parcel(changes, dict(self._waiting))

    def sent(self, parcel: Parcel) -> None:
        """
        Drop what was written.

        Args:
            parcel: It; what came once more meanwhile stays.
        """
        for one, number in parcel.numbers.items():
            if self._waiting.get(one) == number:
                del self._waiting[one]

    def _of(self, kind: str) -> list[str]:
        return [what for its, what in self._waiting if its == kind and isinstance(what, str)]

    def _put(self, kind: str, what: str | Label) -> None:
        self._last += 1
        self._waiting.pop((kind, what), None)
        self._waiting[kind, what] = self._last
        if len(self._waiting) > _MOST:
            del self._waiting[next(iter(self._waiting))]
