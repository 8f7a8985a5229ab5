"""`Store`: where answers are kept, memory before disk."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.entry import BadRecordError, Entry, decode, encode
from deepseek_sdk.caching.expiry import SKEW_MS
from deepseek_sdk.caching.flushing import flushed_ms
from deepseek_sdk.caching.meta import Meta

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.guarded import GuardedDisk
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.memory import MemoryTier

__all__ = ["Found", "Store", "meta_of"]

# A look at a file lets go of the interpreter, and an event loop may wait milliseconds until it has it back. Of lookups
# at the same moment, one looks.
_AGAIN_S = 0.001

Level = Literal["memory", "disk"]


class Found(NamedTuple):
    """A kept answer, and where it was."""

    entry: Entry
    level: Level


class Store:
    """
    The tiers of a cache.

    Args:
        memory: Makes the first, or gives None: there is none.
        disk: The second, or None.
        secret: What records are signed with, or None.
        count: Called with the reason of each failure.

    Attributes:
        gone: Called with each answer that leaves memory, in the middle of it: it must be quick; or None.
    """

    def __init__(
        self,
        memory: Callable[[], MemoryTier | None],
        disk: GuardedDisk | None,
        *,
        secret: bytes | None,
        count: Callable[[str], object],
    ) -> None:
        # A child does not take it over: another thread may have been in the middle of changing it when it was made.
        self._memories = PerProcess(partial(self._made, memory))
        self.gone: Callable[[Entry], object] | None = None
        # What is in memory, and what the disk has not taken: it may be full, or somebody else's.
        self._astray: set[str] = set()
        self.disk = disk
        self.secret = secret
        self._count = count
        self._generation = self._learnt = -1
        self._followed = -inf
        self._flushed_ms = 0

    async def find(self, io: IO, key: str, now_ms: int) -> Found | None:
        """
        Look for an answer.

        Args:
            io: The caller's.
            key: Of the request.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            It, however old; or None.
        """
        await self._follow(io)
        entry = None if self.memory is None else self.memory.get(key, now_ms=now_ms)
        if entry is not None:
            if self.disk is not None:
                self.disk.tier.served(key, now_ms)
            return self._unless_flushed(Found(entry, "memory"), now_ms)
        if self.disk is None:
            return None
        generation = self._generation
        entry = await self.disk.read(io, lambda tier: self._read(tier, key, now_ms), None)
        if entry is None or self._learnt != self._generation:
            return None
        # What was invalidated while it was read must not be in memory after that.
        if self.memory is not None and self._generation == generation:
            self.memory.put(entry, keep_ms=entry.expires_ms, now_ms=now_ms)
        return self._unless_flushed(Found(entry, "disk"), now_ms)

    async def keep(
        self,
        io: IO,
        entry: Entry,
        keep_ms: int | None,
        now_ms: int,
        *,
        beside: Callable[[Lane], object] | None = None,
    ) -> None:
        """
        Keep an answer.

        Args:
            io: The caller's.
            entry: It.
            keep_ms: When it is of no more use, in milliseconds since 1970, or None: never.
            now_ms: The time, likewise.
            beside: What else to write in the same transaction, or None: nothing.
        """
        await self._follow(io)
        if self.memory is not None:
            self.memory.put(entry, keep_ms=keep_ms, now_ms=now_ms)
            if self.disk is not None and self.memory.peek(entry.key) is not None:
                self._astray.add(entry.key)
        if self.disk is not None:
            await self.disk.write(io, lambda tier: self._write(tier, entry, keep_ms, now_ms, beside), 0)

    @property
    def memory(self) -> MemoryTier | None:
        """The first tier, or None."""
        return self._memories.get()

    @property
    def flushed_ms(self) -> int:
        """Up to when everything was flushed, as far as this process knows, in milliseconds since 1970."""
        return self._flushed_ms

    def peek(self, key: str) -> Entry | None:
        """
        Look for an answer in memory, without counting a hit.

        Args:
            key: Of the request.

        Returns:
            It, however old; None where it is not there, or may be gone since another process has invalidated something.
        """
        if self.memory is None or (self.disk is not None and self.disk.tier.generation() != self._generation):
            return None
        return self.memory.peek(key)

    def is_alone(self, key: str) -> bool:
        """
        Tell whether an answer is in memory, and nowhere else.

        Args:
            key: Of the request.

        Returns:
            Whether it is; also while the disk is still at it.
        """
        is_elsewhere = self.disk is not None and key not in self._astray
        return not is_elsewhere and self.memory is not None and self.memory.peek(key) is not None

    def flush(self, now_ms: int) -> None:
        """
        Let nothing that was kept up to now be given any more, by this process; the disk is flushed by `flushing`.

        Args:
            now_ms: The time, in milliseconds since 1970.
        """
        self._flushed_ms = max(self._flushed_ms, now_ms)
        if self.memory is not None:
            self.memory.clear()

    def _read(self, tier: DiskTier, key: str, now_ms: int) -> Entry | None:
        data = tier.get(key, now_ms)
        if data is None:
            return None
        try:
            return decode(data, key, secret=self.secret)
        except BadRecordError:
            self._count("bad_record")
            tier.delete(key)
            return None

    def _write(
        self, tier: DiskTier, entry: Entry, keep_ms: int | None, now_ms: int, beside: Callable[[Lane], object] | None
    ) -> int:
        data = encode(entry, secret=self.secret)
        gone = tier.put(entry.key, data, meta_of(entry, keep_ms), now_ms, beside=beside)
        self._astray.discard(entry.key)
        return gone

    def _made(self, memory: Callable[[], MemoryTier | None]) -> MemoryTier | None:
        made = memory()
        if made is not None:
            made.gone = self._left
        return made

    def _left(self, entry: Entry) -> None:
        self._astray.discard(entry.key)
        if self.gone is not None:
            self.gone(entry)

    def _unless_flushed(self, found: Found, now_ms: int) -> Found | None:
        # A flush in the future was made by a clock that was wrong: it must not end the cache until then.
        is_flushed = found.entry.created_ms <= self._flushed_ms <= now_ms + SKEW_MS
        return None if is_flushed else found

    async def _follow(self, io: IO) -> None:
        """Drop what is in memory where any process has invalidated something since."""
        now = io.now()
        if self.disk is None or 0 <= now - self._followed < _AGAIN_S:
            return
        self._see(self.disk.tier.generation())
        # Not before: another thread would take it for seen, and what is still in memory for good.
        self._followed = now
        while self._learnt != self._generation:
            generation = self._generation
            flushed = await self.disk.read(io, flushed_ms, None)
            if flushed is None:
                # The disk cannot be read: what it holds may be gone, and is not given until this is known.
                return
            self._flushed_ms, self._learnt = max(self._flushed_ms, flushed), generation
            self._see(self.disk.tier.generation())

    def _see(self, generation: int) -> None:
        if generation != self._generation:
            memory = self.memory
            if memory is not None:
                memory.clear()
            self._generation = generation
            if memory is not None:
                # What others have put there meanwhile, for they did not know of it.
                memory.clear()


def meta_of(entry: Entry, keep_ms: int | None) -> Meta:
    """
    Say what the disk tier goes by, without reading the record.

    Args:
        entry: What is kept.
        keep_ms: When it is of no more use, in milliseconds since 1970, or None: never.

    Returns:
        The facts.
    """
    return Meta(
        asked=entry.asked,
        model=entry.model,
        tenant=entry.tenant,
        tags=dict(entry.tags),
        partition=entry.partition,
        created_ms=entry.created_ms,
        expires_ms=entry.expires_ms,
        keep_ms=keep_ms,
    )
