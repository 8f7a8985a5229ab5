"""`Partitions`: finds the kept questions that are nearest to one, among those that it may be compared with."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.disk_partition import DiskPartition
from deepseek_sdk.caching.index import GrowingIndex
from deepseek_sdk.caching.index.faiss_threads import faiss_or_none
from deepseek_sdk.caching.ram_partition import RamPartition
from deepseek_sdk.caching.vectors import Candidate, Lacking, Vector, VectorStore, halved
from deepseek_sdk.caching.worker import Worker
from deepseek_sdk.errors import MissingExtraError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.lane import Lane

__all__ = ["Candidate", "Lacking", "Partitions"]

P = TypeVar("P", DiskPartition, RamPartition)

_MAX_ROWS = 400_000
_STEP_ROWS = 10_000
# A partition takes as much memory as so many vectors, however few are in it.
_LEAST_ROWS = 16


class Partitions:
    """
    The vectors of one embedder, by partition: on disk with their entries, and in memory where they are searched.

    A partition comes into memory when it is first asked for, and those that were not asked for longest leave it. With
    None for a tier all of it is in memory alone. All methods block, and may be called from any thread. A forked child
    begins with nothing in memory.

    Args:
        dimensions: How many numbers a vector has.
        fingerprint: Of the embedder: vectors of another one are never compared.
        secret: What rows are signed with, or None.
        max_rows: How many vectors are in memory at most; of a larger partition the newest are.
        step_rows: How many are read at most before a search is answered from what is there.
        load_faiss: Gives faiss, when it is first needed, or None where there is none.
        run: Does work off the path; None: a thread of this object's.

    Raises:
        ConfigurationError: One of them cannot be used.
        MissingExtraError: numpy is not installed.
    """

    def __init__(
        self,
        dimensions: int,
        fingerprint: str,
        *,
        secret: bytes | None = None,
        max_rows: int = _MAX_ROWS,
        step_rows: int = _STEP_ROWS,
        load_faiss: Callable[[], ModuleType | None] = faiss_or_none,
        run: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        for name, value in (("dimensions", dimensions), ("max_rows", max_rows), ("step_rows", step_rows)):
            check_count(name, value, least=1)
        _check_extra()
        self._dimensions = dimensions
        self._max_rows = max_rows
        self._step_rows = step_rows
        self._load_faiss = load_faiss
        self._worker = Worker("deepseek-sdk-cache-vectors")
        self._run = run or self._beside
        self._store = VectorStore(fingerprint, dimensions, secret=secret)
        self._on_disk: PerProcess[_Shelf[DiskPartition]] = PerProcess(lambda: _Shelf(self._disk_partition, max_rows))
        self._in_ram: PerProcess[_Shelf[RamPartition]] = PerProcess(lambda: _Shelf(self._ram_partition, max_rows))
        # Answers that have left memory, whose vectors go as soon as somebody has the time.
        self._left: PerProcess[set[tuple[str, str]]] = PerProcess(set)

    def searched(self, tier: DiskTier | None, partition: str, query: Any, k: int) -> list[Candidate]:
        """
        Find the nearest questions; where there is a disk, this belongs on the thread that reads it.

        What was kept since, by any process, is read first, but no more than *step_rows*: a large partition that is not
        in memory yet takes a few searches until all of it is (see `load()`).

        Args:
            tier: The disk, or None.
            partition: Among which.
            query: A unit vector.
            k: How many at most; several may lead to the same answer.

        Returns:
            Them, the nearest first; those of answers that are gone from the disk are not among them.

        Raises:
            StoreError: The disk cannot be used.
            ValueError: The query has other dimensions, or numbers that are none.
        """
        asked = self._query(query)
        if tier is None:
            self._drop_left()
            known = self._in_ram.get().known(partition)
            return [] if known is None else known.search(asked, k)
        part = self._on_disk.get().get(partition)
        found = tier.read(lambda lane: part.search(lane, asked, k, self._step_rows))
        self._on_disk.get().settle(partition)
        return found

    def load(self, tier: DiskTier, partition: str) -> bool:
        """
        Read the next *step_rows* of a partition into memory; between two steps others may read.

        Args:
            tier: The disk.
            partition: Which.

        Returns:
            Whether all of it is there.

        Raises:
            StoreError: The disk cannot be used.
        """
        part = self._on_disk.get().get(partition)
        is_all = tier.read(lambda lane: part.catch_up(lane, self._step_rows))
        self._on_disk.get().settle(partition)
        return is_all

    def writing(
        self, partition: str, key: str, text: str, vector: Any, *, is_alias: bool = False
    ) -> Callable[[Lane], None]:
        """
        Make what writes a vector with its record: `tier.put(..., beside=partitions.writing(...))`.

        Args:
            partition: Of the record.
            key: Likewise.
            text: What the user said.
            vector: Its vector, of unit length.
            is_alias: The text is another wording than the one that was answered.

        Returns:
            Does it; it may be called twice.

        Raises:
            ValueError: The vector has other dimensions, or numbers that are none.
        """
        return self._store.writing(partition, [Vector(key, text, vector, is_alias)])

    def add(
        self, tier: DiskTier | None, partition: str, key: str, text: str, vector: Any, *, is_alias: bool = False
    ) -> None:
        """
        Keep a vector of an answer that is there already, such as an alias; it takes the place of that of the same text.

        Where there is a disk, this is a transaction of its own, and belongs on the thread that writes. Where there is
        none, this is how all vectors come in.

        Args:
            tier: The disk, or None.
            partition: Of the answer.
            key: Likewise; where it is not there, nothing is kept.
            text: What the user said.
            vector: Its vector, of unit length.
            is_alias: The text is another wording than the one that was answered.

        Raises:
            StoreError: The disk cannot be used.
            ValueError: The vector has other dimensions, or numbers that are none.
        """
        if tier is None:
            self._drop_left()
            self._take_in(partition, Vector(key, text, halved(vector, self._dimensions), is_alias))
            return
        write = self.writing(partition, key, text, vector, is_alias=is_alias)
        tier.write_beside(write)

    def take_out(self, tier: DiskTier | None, partition: str, key: str, text: str) -> None:
        """
        Remove an alias, such as one that was wrong.

        Args:
            tier: The disk, or None.
            partition: Of the answer.
            key: Likewise.
            text: The alias.

        Raises:
            StoreError: The disk cannot be used.
        """
        if tier is not None:
            tier.write_beside(lambda lane: self._store.take_out(lane, key, text))
        elif (known := self._in_ram.get().known(partition)) is not None:
            known.remove(key, text)

    def dropped(self, partition: str, key: str) -> None:
        """
        Forget an answer that is gone from memory; what is gone from the disk, nobody needs to tell.

        Args:
            partition: Of the answer.
            key: Likewise.
        """
        if (known := self._in_ram.get().known(partition)) is not None:
            known.remove(key)

    def left(self, partition: str, key: str) -> None:
        """
        Do the same as soon as somebody has the time; this takes none.

        Args:
            partition: Of the answer.
            key: Likewise.
        """
        shelf = self._in_ram.made()
        part = None if shelf is None else shelf.known(partition, is_asked=False)
        if part is not None and key in part:
            self._left.get().add((partition, key))

    def has_in_ram(self, partition: str) -> bool:
        """
        Tell whether there are vectors of a partition that are on no disk.

        Args:
            partition: Which.

        Returns:
            Whether there are.
        """
        return _has_any(self._in_ram.made(), partition)

    def has_of_disk(self, partition: str) -> bool:
        """
        Tell whether vectors of a partition were read from the disk before, without looking there.

        Args:
            partition: Which.

        Returns:
            Whether some were, and are still in memory.
        """
        return _has_any(self._on_disk.made(), partition)

    def foreign(self, tier: DiskTier, partition: str, limit: int) -> list[Lacking]:
        """
        Give questions that have no vector of this embedder, to be embedded and given to `add()`.

        A process gives each once, as long as it has the partition in memory: to ask often costs little.

        Args:
            tier: The disk.
            partition: Which.
            limit: How many.

        Returns:
            Them.

        Raises:
            StoreError: The disk cannot be used.
        """
        part = self._on_disk.get().get(partition)
        return tier.read(lambda lane: part.lacking(lane, limit))

    def clear(self) -> None:
        """Forget all that is in memory, such as after a flush; what is on the disk is read again."""
        self._on_disk.get().clear()
        self._in_ram.get().clear()
        self._left.get().clear()

    def close(self) -> None:
        """Let go of the thread, when it is done with what it is at; may be called again."""
        self._worker.close(0)

    @property
    def rows(self) -> int:
        """How many vectors are in memory, in this process."""
        return self._on_disk.get().rows + self._in_ram.get().rows

    @property
    def bytes(self) -> int:
        """What they take there, about."""
        return self._on_disk.get().bytes + self._in_ram.get().bytes

    def _take_in(self, partition: str, vector: Vector) -> None:
        shelf = self._in_ram.get()
        while not (part := shelf.get(partition)).add(vector):
            # The last of its vectors went at this moment, and it with them.
            shelf.drop(partition, part)
        shelf.settle(partition)

    def _drop_left(self) -> None:
        shelf, left = self._in_ram.get(), self._left.get()
        while left:
            try:
                partition, key = left.pop()
            except KeyError:
                # Another thread was quicker.
                return
            part = shelf.known(partition, is_asked=False)
            if part is not None:
                part.remove(key)
                shelf.settle(partition)
                if part.ends():
                    shelf.drop(partition, part)

    def _query(self, query: Any) -> Any:
        import numpy as np  # noqa: PLC0415  an extra

        asked = np.asarray(query, dtype=np.float32).reshape(-1)
        if asked.shape != (self._dimensions,) or not np.isfinite(asked).all():
            raise ValueError(f"a query is a vector of {self._dimensions} numbers, not of the shape {asked.shape}")
        return asked

    def _index(self) -> GrowingIndex:
        return GrowingIndex(self._dimensions, load_faiss=self._load_faiss, run=self._run)

    def _disk_partition(self, partition: str) -> DiskPartition:
        return DiskPartition(self._store, partition, self._index, max_rows=self._max_rows)

    def _ram_partition(self, _: str) -> RamPartition:
        return RamPartition(self._index(), max_rows=self._max_rows)

    def _beside(self, work: Callable[[], object]) -> None:
        try:
            self._worker.submit(work)
        except RuntimeError:
            # Closed, or the system has no thread to give: the index goes on as it is.
            return


class _Shelf(Generic[P]):
    """Partitions, those that were asked for last at the end."""

    def __init__(self, make: Callable[[str], P], max_rows: int) -> None:
        self._make: Callable[[str], P] = make
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._parts: OrderedDict[str, P] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._weight = 0

    @property
    def rows(self) -> int:
        with self._lock:
            return sum(map(len, self._parts.values()))

    @property
    def bytes(self) -> int:
        with self._lock:
            return sum(part.bytes for part in self._parts.values())

    def known(self, partition: str, *, is_asked: bool = True) -> P | None:
        """Give one, if it is there."""
        with self._lock:
            if is_asked and partition in self._parts:
                self._parts.move_to_end(partition)
            return self._parts.get(partition)

    def get(self, partition: str) -> P:
        """Give one, and make it where it is not there."""
        with self._lock:
            if partition not in self._parts:
                self._parts[partition] = self._make(partition)
            self._parts.move_to_end(partition)
            return self._parts[partition]

    def settle(self, partition: str) -> None:
        """Weigh one, and let others go until there is room for it."""
        with self._lock:
            if partition not in self._parts:
                return
            weight = len(self._parts[partition]) + _LEAST_ROWS
            self._weight += weight - self._weights.get(partition, 0)
            self._weights[partition] = weight
            while self._weight > self._max_rows and len(self._parts) > 1:
                oldest = next(iter(self._parts))
                del self._parts[oldest]
                self._weight -= self._weights.pop(oldest, 0)

    def drop(self, partition: str, part: P) -> None:
        """Let one go, if it is still the one of that name."""
        with self._lock:
            if self._parts.get(partition) is part:
                del self._parts[partition]
                self._weight -= self._weights.pop(partition, 0)

    def clear(self) -> None:
        """Let all go."""
        with self._lock:
            self._parts.clear()
            self._weights.clear()
            self._weight = 0


def _has_any(shelf: _Shelf[Any] | None, partition: str) -> bool:
    part = None if shelf is None else shelf.known(partition, is_asked=False)
    return part is not None and len(part) > 0


def _check_extra() -> None:
    try:
        import numpy  # noqa: F401, ICN001, PLC0415  only whether it is there
    except ImportError as error:
        raise MissingExtraError("The semantic cache", "cache") from error
