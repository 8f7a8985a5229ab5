"""`Neighbours`: which kept questions are near to one, and how a new one comes to be among them."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.entry import BadRecordError, decode
from deepseek_sdk.caching.selection import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.embedding.base import Vectors
    from deepseek_sdk.caching.embedding.service import EmbeddingService
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.guarded import GuardedDisk
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.partitions import Candidate, Lacking, Partitions
    from deepseek_sdk.caching.store import Store

__all__ = ["Neighbours", "row_of"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# So many kept questions that have no vector yet get one after each lookup among them.
_AT_ONCE = 64
_ANY = 'SELECT 1 FROM vector_place WHERE "partition" = ? UNION ALL SELECT 1 FROM entry WHERE "partition" = ? LIMIT 1'
_RECORD = "SELECT value FROM Cache WHERE key = ? AND raw = 1 AND mode = 1"


class Judge(Protocol[T_co]):
    """Decides about kept questions."""

    def __call__(self, tier: DiskTier | None, near: list[Candidate], /) -> T_co:
        """
        Decide.

        Args:
            tier: The disk, on the thread that reads it, or None.
            near: The nearest first.
        """
        ...


class Neighbours:
    """
    The vectors of a cache; any thread may use it.

    Where there is a disk they are on it, beside the answers; in memory are those of answers that it has not taken.

    Args:
        service: Makes vectors.
        make: Makes where they are kept and searched, once it is known what they are like.
        disk: Where the answers are, or None: in memory alone.
        secret: What records are signed with, or None.
        is_eligible: Tells by its text whether a question that was kept without a vector may have one.
    """

    def __init__(
        self,
        service: EmbeddingService,
        make: Callable[[], Partitions],
        disk: GuardedDisk | None,
        *,
        secret: bytes | None,
        is_eligible: Callable[[str], bool],
    ) -> None:
        self._service = service
        self._partitions = PerProcess(make)
        self._disk = disk
        self._secret = secret
        self._is_eligible = is_eligible
        self._coming = PerProcess(_Coming)
        self._store: Store | None = None

    @property
    def partitions(self) -> Partitions:
        """Where the vectors are; only to be asked for when the service is ready."""
        return self._partitions.get()

    def follow(self, store: Store) -> None:
        """
        Keep vectors in memory for the answers that are in memory alone, as long as they are.

        Args:
            store: Where the answers are.
        """
        if self._store is not store:
            self._store = store
            store.gone = self._left

    async def has_any(self, io: IO, place: str) -> bool:
        """
        Tell whether there is anything to compare with.

        Args:
            io: The caller's.
            place: Where.

        Returns:
            False: surely not.

        Raises:
            RuntimeError: The disk cannot be used, and nothing of the kind is in memory alone.
        """
        if self._coming.get().of(place) is not None or self._has_in_memory(place):
            return True
        if self._disk is None:
            return False
        found = await self._disk.read(io, partial(_has_any, place), None)
        if found is None:
            raise RuntimeError("the cache on disk cannot be used")
        return found

    async def judged(
        self, io: IO, place: str, row: Any, most: int, judge: Judge[T], *, makes_up: bool = True
    ) -> T | None:
        """
        Find the nearest kept questions, and have them judged in the same thread.

        Args:
            io: The caller's.
            place: Where.
            row: The vector of what is asked.
            most: How many.
            judge: What to do with them, the nearest first, given the disk, too.
            makes_up: What was kept without a vector gets one, in the background.

        Returns:
            What *judge* makes of them, or None: the disk cannot be used, and nothing is in memory.
        """

        def look(tier: DiskTier | None) -> T:
            return judge(tier, self._near(tier, place, row, most, makes_up=makes_up))

        if self._disk is not None:
            judged = await self._disk.read(io, look, None)
            if judged is not None or not self._has_in_ram(place):
                return judged
        return await io.offload(look, None)

    def _near(self, tier: DiskTier | None, place: str, row: Any, most: int, *, makes_up: bool) -> list[Candidate]:
        alone = self.partitions.searched(None, place, row, most) if self._has_in_ram(place) else []
        if tier is None:
            return alone
        near = self.partitions.searched(tier, place, row, most)
        if makes_up:
            self._make_up_for(self.partitions.foreign(tier, place, _AT_ONCE), tier, place)
        return _merged(near, alone, most) if alone else near

    def writing(self, place: str, key: str, text: str, row: Any) -> Callable[[Lane], None]:
        """
        Make what writes a vector in the transaction of its answer.

        Args:
            place: Where.
            key: Of the answer.
            text: What was asked.
            row: The vector.

        Returns:
            Does it.
        """
        return self.partitions.writing(place, key, text, row)

    def add(self, place: str, key: str, text: str, row: Any, *, is_alias: bool = False) -> Future[Any] | None:
        """
        Keep a vector for an answer that is there; nobody waits for it.

        Args:
            place: Where.
            key: Of the answer.
            text: What was asked.
            row: The vector.
            is_alias: The text is another wording than the one that was answered.

        Returns:
            Done when it is kept; None: it is, or nothing can be.
        """
        if self._disk is None or (self._store is not None and self._store.is_alone(key)):
            self._remember(place, key, text, row, is_alias=is_alias)
            return None
        return self._disk.write_soon(lambda tier: self.partitions.add(tier, place, key, text, row, is_alias=is_alias))

    def add_later(self, place: str, key: str, text: str, vector: Future[Vectors], *, is_alias: bool = False) -> None:
        """
        Keep a vector that is being made, as soon as it is there.

        Args:
            place: Where.
            key: Of the answer, which is kept already.
            text: What was asked.
            vector: It.
            is_alias: The text is another wording than the one that was answered.
        """
        kept = self._coming.get().begin(place)

        def add(done: Future[Vectors]) -> None:
            row = row_of(done)
            written = None if row is None else self.add(place, key, text, row, is_alias=is_alias)
            if written is None:
                kept()
            else:
                written.add_done_callback(lambda _: kept())

        vector.add_done_callback(add)

    def take_out(self, place: str, key: str, text: str) -> None:
        """
        Remove an alias that was wrong; nobody waits for it.

        Args:
            place: Where.
            key: Of its answer.
            text: Its text.
        """
        if (made := self._partitions.made()) is not None:
            made.take_out(None, place, key, text)
        if self._disk is not None:
            self._disk.write_soon(lambda tier: self.partitions.take_out(tier, place, key, text))

    def dropped(self, place: str, key: str) -> None:
        """
        Forget an answer that is gone.

        Args:
            place: Where.
            key: Of the answer.
        """
        self.partitions.dropped(place, key)

    async def settled(self, io: IO, place: str, limit_s: float) -> None:
        """
        Wait until the vectors that this process makes for answers of a place are kept.

        Args:
            io: The caller's.
            place: Where.
            limit_s: How long at most, in seconds.

        Raises:
            TimeoutError: It takes longer.
        """
        coming = self._coming.get().of(place)
        if coming is not None:
            await io.wait(coming, limit_s)

    def clear(self) -> None:
        """Forget what is in memory."""
        if (made := self._partitions.made()) is not None:
            made.clear()

    def close(self) -> None:
        """Let go of threads."""
        if (made := self._partitions.made()) is not None:
            made.close()

    def _has_in_memory(self, place: str) -> bool:
        # What was on the disk a moment ago: where it is gone since, the search finds nothing.
        made = self._partitions.made()
        return made is not None and (made.has_in_ram(place) or made.has_of_disk(place))

    def _has_in_ram(self, place: str) -> bool:
        made = self._partitions.made()
        return made is not None and made.has_in_ram(place)

    def _remember(self, place: str, key: str, text: str, row: Any, *, is_alias: bool) -> None:
        if self._is_there(key):
            self.partitions.add(None, place, key, text, row, is_alias=is_alias)
            # It may have left meanwhile, and who let it go knew of no vector.
            if not self._is_there(key):
                self.dropped(place, key)

    def _is_there(self, key: str) -> bool:
        return self._store is None or self._store.is_alone(key)

    def _left(self, entry: Entry) -> None:
        made = self._partitions.made()
        if made is not None:
            made.left(entry.partition, entry.key)

    def _make_up_for(self, lacking: list[Lacking], tier: DiskTier, place: str) -> None:
        """Have vectors made for what was kept without, or with those of another embedder."""
        told = [(one, self._text(tier, one.key) if one.text is None else one.text) for one in lacking]
        # What had a vector was looked at when it was asked.
        wanted = [(one, text) for one, text in told if text and (one.text is not None or self._is_eligible(text))]
        if not wanted:
            return
        made = self._service.submit([text for _, text in wanted], is_urgent=False)
        if made is not None:
            made.add_done_callback(partial(self._made_up, wanted, place))

    def _made_up(self, wanted: list[tuple[Lacking, str]], place: str, made: Future[Vectors]) -> None:
        if row_of(made) is not None:
            for (one, text), row in zip(wanted, made.result(), strict=True):
                self.add(place, one.key, text, row, is_alias=one.is_alias)

    def _text(self, tier: DiskTier, key: str) -> str | None:
        record = tier.read(lambda lane: lane.execute(_RECORD, (key,)).fetchone())
        if record is None or type(record[0]) is not bytes:
            return None
        try:
            return decode(record[0], key, secret=self._secret).text
        except BadRecordError:
            return None


def row_of(future: Future[Vectors] | None) -> Any:
    """
    Give a vector that was made.

    Args:
        future: Of one text, or None.

    Returns:
        It, or None: it is not there yet, or never will be.
    """
    if future is None or not future.done() or future.cancelled() or future.exception() is not None:
        return None
    return future.result()[0]


def _merged(near: list[Candidate], alone: list[Candidate], most: int) -> list[Candidate]:
    """Put what is on disk and what is in memory alone together; what is both counts once."""
    known = {(one.key, one.text) for one in near}
    new = [one for one in alone if (one.key, one.text) not in known]
    return sorted([*near, *new], key=lambda one: -one.cosine)[:most]


def _has_any(place: str, tier: DiskTier) -> bool:
    return tier.read(lambda lane: lane.execute(_ANY, (clean(place), clean(place))).fetchone()) is not None


class _Coming:
    """How many answers of each place have no vector yet, which this process makes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._empty: dict[str, Future[None]] = {}

    def begin(self, place: str) -> Callable[[], None]:
        """Count one; what is returned counts it off, once."""
        with self._lock:
            self._counts[place] += 1
            self._empty.setdefault(place, Future())
        return partial(self._end, place)

    def of(self, place: str) -> Future[None] | None:
        """Give what is done as soon as none is left, or None: none is."""
        return self._empty.get(place)

    def _end(self, place: str) -> None:
        with self._lock:
            self._counts[place] -= 1
            empty = None if self._counts[place] else self._empty.pop(place)
            if empty is not None:
                del self._counts[place]
        if empty is not None:
            empty.set_result(None)
