"""`MemoryShelf`: a shelf in memory; it serves one thread at a time."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction.orders import KeyOrder, SlotHeap
from deepseek_sdk.caching.eviction.shelf import MAIN, SMALL, Slot, ghost_key

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MemoryShelf"]


class MemoryShelf:
    """
    Slots in two queues; what only some policies ask for is kept from the first time they do.

    Args:
        limit: Bytes there is room for.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._slots: dict[str, Slot] = {}
        # A plain dict that is emptied from its front takes longer and longer to find its first key.
        self._queues = (OrderedDict[str, None](), OrderedDict[str, None]())
        self._sizes = [0, 0]
        self._seq = self._ticks = self._buried = 0
        self._ghosts: OrderedDict[bytes, tuple[int, str]] = OrderedDict()
        self._keep_ms: dict[str, int] = {}
        self._times: SlotHeap[str] = SlotHeap()
        self._uses: SlotHeap[int] | None = None
        self._order: KeyOrder | None = None

    @property
    def size(self) -> int:
        """Bytes that are taken."""
        return sum(self._sizes)

    @property
    def entries(self) -> int:
        """How many stand here."""
        return len(self._slots)

    def size_of(self, queue: int) -> int:
        """Give the bytes that the entries of a queue take."""
        return self._sizes[queue]

    def add(self, key: str, size: int, keep_ms: int | None = None) -> None:
        """
        Put an entry on the shelf: at the end of the small queue, or in its old place if it is there.

        Args:
            key: Of the entry.
            size: Bytes it takes.
            keep_ms: Until when it is of use, in milliseconds since 1970; None: for ever.
        """
        old = self._slots.get(key)
        if old is None:
            self._set(Slot(key, size, SMALL, self.next_seq(), 0, 0, ""))
            if self._order is not None:
                self._order.add(key)
        else:
            self._set(old._replace(size=size))
        self._keep(key, keep_ms)

    def get(self, key: str) -> Slot | None:
        """Find a slot."""
        return self._slots.get(key)

    def first(self, queue: int, spare: str | None = None) -> Slot | None:
        """Give the slot at the head of a queue."""
        return next((self._slots[key] for key in self._queues[queue] if key != spare), None)

    def oldest(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the smallest `seq` of both queues."""
        heads = (self.first(SMALL, spare), self.first(MAIN, spare))
        return min((slot for slot in heads if slot is not None), key=lambda slot: slot.seq, default=None)

    def least_used(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the fewest hits; of these, the one with the smallest `seq`."""
        if self._uses is None:
            self._uses = SlotHeap((slot.hits, slot.seq, slot.key) for slot in self._slots.values())
        key = self._uses.first(self._is_use, spare)
        return None if key is None else self._slots[key]

    def near(self, point: str, spare: str | None = None) -> Slot | None:
        """Give the first slot whose key is *point* or comes after it; after the last key comes the first again."""
        if self._order is None:
            self._order = KeyOrder(self._slots)
        key = self._order.near(point, spare)
        return None if key is None else self._slots[key]

    def expired(self, now_ms: int, spare: str | None = None) -> Slot | None:
        """Give the slot that is past its time for longest."""
        key = self._times.first(self._is_time, spare)
        return None if key is None or self._keep_ms[key] > now_ms else self._slots[key]

    def write(self, slot: Slot) -> None:
        """Put a slot back with another queue, `seq`, hits, time or history; its size stays what it was."""
        self._set(slot)

    def remove(self, key: str) -> None:
        """Take an entry off the shelf."""
        slot = self._slots.pop(key, None)
        if slot is None:
            return
        del self._queues[slot.queue][key]
        self._sizes[slot.queue] -= slot.size
        self._keep_ms.pop(key, None)
        if self._order is not None:
            self._order.remove(key)

    def next_seq(self) -> int:
        """Give a number greater than every `seq` so far."""
        self._seq += 1
        return self._seq

    def tick(self, count: int) -> int:
        """Count arrivals and hits; give how many there have been."""
        self._ticks += count
        return self._ticks

    def remember(self, key: str, history: str, most: int) -> None:
        """Keep the ghost of an entry; of all ghosts, those of the last *most* stay."""
        ghost = ghost_key(key)
        self._buried += 1
        self._ghosts.pop(ghost, None)
        self._ghosts[ghost] = (self._buried, history)
        while self._ghosts and next(iter(self._ghosts.values()))[0] <= self._buried - most:
            self._ghosts.popitem(last=False)

    def recall(self, key: str) -> str | None:
        """Take the ghost of an entry away; give its history, or None where there is no ghost."""
        found = self._ghosts.pop(ghost_key(key), None) if self._ghosts else None
        return None if found is None else found[1]

    @property
    def ghosts(self) -> int:
        """How many ghosts there are."""
        return len(self._ghosts)

    def _set(self, slot: Slot) -> None:
        old = self._slots.get(slot.key)
        self._slots[slot.key] = slot
        if old is not None:
            self._sizes[old.queue] -= old.size
        self._sizes[slot.queue] += slot.size
        if old is None or (old.queue, old.seq) != (slot.queue, slot.seq):
            if old is not None:
                del self._queues[old.queue][slot.key]
            self._queues[slot.queue][slot.key] = None
        if self._uses is not None:
            self._uses.push((slot.hits, slot.seq, slot.key), self._all_uses)

    def _keep(self, key: str, keep_ms: int | None) -> None:
        if keep_ms is None:
            self._keep_ms.pop(key, None)
        elif self._keep_ms.get(key) != keep_ms:
            self._keep_ms[key] = keep_ms
            self._times.push((keep_ms, key, key), self._all_times)

    def _is_use(self, item: tuple[int, int, str]) -> bool:
        slot = self._slots.get(item[2])
        return slot is not None and item[:2] == (slot.hits, slot.seq)

    def _all_uses(self) -> Iterable[tuple[int, int, str]]:
        return ((slot.hits, slot.seq, slot.key) for slot in self._slots.values())

    def _is_time(self, item: tuple[int, str, str]) -> bool:
        return self._keep_ms.get(item[2]) == item[0]

    def _all_times(self) -> Iterable[tuple[int, str, str]]:
        return ((keep_ms, key, key) for key, keep_ms in self._keep_ms.items())
