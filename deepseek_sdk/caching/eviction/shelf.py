"""What policies and shelves know of each other."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAIN", "SMALL", "Policy", "Shelf", "Slot", "ghost_key"]

# The queues: whatever comes is in the small one until its policy moves it.
SMALL = 0
MAIN = 1
_GHOST_BYTES = 16


class Slot(NamedTuple):
    """
    The place of an entry on a shelf.

    Attributes:
        key: Of the entry.
        size: Bytes it takes.
        queue: `SMALL` or `MAIN`.
        seq: Its place in its queue; the smallest goes first. No two slots of a shelf have the same.
        hits: How often it was served, as far as the policy counts.
        used_ms: When the policy last counted a hit, in milliseconds since 1970.
        history: What else the policy remembers.
    """

    key: str
    size: int
    queue: int
    seq: int
    hits: int
    used_ms: int
    history: str


class Shelf(Protocol):
    """
    Where entries stand, and what is remembered of those that are gone; each step is cheap, however many there are.

    *spare* is always a key that is looked past.
    """

    @property
    def limit(self) -> int:
        """Bytes there is room for."""

    @property
    def size(self) -> int:
        """Bytes that are taken."""

    @property
    def entries(self) -> int:
        """How many stand here."""

    def size_of(self, queue: int) -> int:
        """Give the bytes that the entries of a queue take."""

    def get(self, key: str) -> Slot | None:
        """Find a slot."""

    def first(self, queue: int, spare: str | None = None) -> Slot | None:
        """Give the slot at the head of a queue."""

    def oldest(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the smallest `seq` of both queues."""

    def least_used(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the fewest hits; of these, the one with the smallest `seq`."""

    def near(self, point: str, spare: str | None = None) -> Slot | None:
        """Give the first slot whose key is *point* or comes after it; after the last key comes the first again."""

    def expired(self, now_ms: int, spare: str | None = None) -> Slot | None:
        """Give the slot that is past its time for longest."""

    def write(self, slot: Slot) -> None:
        """Put a slot back with another queue, `seq`, hits, time or history; its size stays what it was."""

    def remove(self, key: str) -> None:
        """Take an entry off the shelf."""

    def next_seq(self) -> int:
        """Give a number greater than every `seq` so far."""

    def tick(self, count: int) -> int:
        """Count arrivals and hits; give how many there have been."""

    def remember(self, key: str, history: str, most: int) -> None:
        """Keep the ghost of an entry; of all ghosts, those of the last *most* stay."""

    def recall(self, key: str) -> str | None:
        """Take the ghost of an entry away; give its history, or None where there is no ghost."""


class Policy(Protocol):
    """Which entries go; it holds nothing itself, so that threads and shelves may share it."""

    @property
    def name(self) -> str:
        """What it is called."""

    def arrive(self, shelf: Shelf, key: str, size: int) -> None:
        """
        Give an entry its place, once it stands on the shelf; one that was overwritten keeps the place it has.

        Args:
            shelf: Where.
            key: Of the entry.
            size: Bytes it takes.
        """

    def hits(self, shelf: Shelf, counts: Mapping[str, int], now_ms: int) -> None:
        """
        Count hits, which may have been served a while ago.

        Args:
            shelf: Where.
            counts: How many for each key, the key that was served last at the end; keys that are gone are passed over.
            now_ms: The time, in milliseconds since 1970.
        """

    def victims(self, shelf: Shelf, needed_bytes: int, now_ms: int, spare: str | None = None) -> list[str]:
        """
        Make room: entries that are past their time first.

        Args:
            shelf: Where.
            needed_bytes: How much to free; 0 or less frees nothing.
            now_ms: The time, in milliseconds since 1970.
            spare: The key that must stay: the one that was just written.

        Returns:
            The keys that are gone from the shelf.
        """


def ghost_key(key: str) -> bytes:
    """
    Shorten a key for the memory of those that are gone.

    Args:
        key: Any text.

    Returns:
        16 bytes.
    """
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_GHOST_BYTES).digest()
