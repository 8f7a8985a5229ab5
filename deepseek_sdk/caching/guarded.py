"""The cache on disk as calls see it: whatever goes wrong there is told once, counted, and taken for a miss."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.disk import DiskTier

__all__ = ["GuardedDisk"]

T = TypeVar("T")

_log = logging.getLogger("deepseek_sdk")

# How long a call waits for the disk, while that does nothing for anyone, before it goes on without; what was to be
# written is written all the same. And how often it waits so long at most.
_READ_S, _WRITE_S = 1.0, 0.5
_PATIENCE = 10
# After so many calls that did not wait for it to the end, it is said that the cache is slow.
_OFTEN = 100
# How long one that closes it waits where nothing gets done.
_CLOSE_S = 1.0
# Where somebody else holds the file for longer, nobody waits for a while; and so much may wait to be written.
_IMPATIENT_S, _MOST_WAITING = 5.0, 256
# After a failure the disk is left alone for so long: one that is full may have room again, a file may be mended.
_REST_S = 30.0
# Somebody else writes just now, or this process was forked from one that did: neither says anything of the disk.
_PASSING = frozenset({"closed", "forked", "locked"})


class GuardedDisk:
    """
    A disk tier that calls can rely on not to fail. One thread reads and one writes, so that no event loop is held.

    Args:
        make: Makes the tier, given what it calls when there are hits to be written down.
        count: Called with the reason of each failure.
        now_ms: Tells the time, in milliseconds since 1970.
        now: The monotonic clock.

    Attributes:
        tier: The tier itself.
    """

    def __init__(
        self,
        make: Callable[[Callable[[], None]], DiskTier],
        count: Callable[[str], object],
        now_ms: Callable[[], int],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count = count
        self._now_ms = now_ms
        self._now = now
        self._said: set[str] = set()
        self._rests_until = self._impatient_until = 0.0
        self._resting = ""
        self._damages = 0
        self._slow = 0
        self._begin()
        self.tier = make(self._write_hits_soon)

    async def read(self, io: IO, work: Callable[[DiskTier], T], default: T) -> T:
        """
        Read.

        Args:
            io: The caller's.
            work: What to do with the tier.
            default: What to give where that fails, or takes too long.

        Returns:
            What *work* gives.
        """
        return await self._done(io, self._reader, work, default, _READ_S)

    async def write(self, io: IO, work: Callable[[DiskTier], T], default: T) -> T:
        """
        Write.

        Args:
            io: The caller's.
            work: What to do with the tier.
            default: What to give where that fails, or takes too long.

        Returns:
            What *work* gives.
        """
        if self._now() < self._impatient_until:
            self.write_soon(work)
            return default
        return await self._done(io, self._writer, work, default, _WRITE_S)

    def write_soon(self, work: Callable[[DiskTier], object]) -> Future[object] | None:
        """
        Write, and let nobody wait for it.

        Args:
            work: What to do with the tier.

        Returns:
            What tells that it is over, whatever came of it; None: it is not done at all.
        """
        return None if self._is_resting() else self._submit(self._writer, work, None)

    def close(self) -> None:
        """Write down what waits, and let go of the files; what is asked later opens them again."""
        reader, writer = self._reader, self._writer
        self._begin()
        for worker in (reader, writer):
            self._end(worker)
        self.tier.close(self._now_ms())
        self._is_open = False

    def _end(self, worker: Worker) -> None:
        """Let a thread do what it was given; where it gets no further, for somebody else writes, only what it is at."""
        finished = -1
        while not worker.close(_CLOSE_S):
            if self._finished[worker] == finished:
                worker.drop()
            finished = self._finished[worker]

    def _begin(self) -> None:
        self._finished: Counter[Worker] = Counter()
        self._reader, self._writer = Worker("deepseek-sdk-cache-read"), Worker("deepseek-sdk-cache-write")
        self._is_open = False

    async def _done(self, io: IO, worker: Worker, work: Callable[[DiskTier], T], default: T, limit_s: float) -> T:
        if self._is_resting():
            return default
        future = self._submit(worker, work, default)
        if future is None:
            return default
        for _ in range(_PATIENCE):
            finished = self._finished[worker]
            try:
                return await io.wait(future, limit_s)
            except TimeoutError:
                # Many wait, and the line moves: to ask a model would take longer.
                if self._finished[worker] == finished:
                    break
        if worker is self._writer:
            self._impatient_until = self._now() + _IMPATIENT_S
        self._note_slow()
        return default

    def _note_slow(self) -> None:
        """Count it; a machine that is busy for a moment is nothing to warn of."""
        self._count("slow")
        self._slow += 1
        if self._slow == _OFTEN:
            message = "The cache in %s is slow: %s calls have gone on without waiting for it"
            _log.warning(message, self.tier.directory, self._slow)

    def _submit(self, worker: Worker, work: Callable[[DiskTier], T], default: T) -> Future[T] | None:
        if worker is self._writer and worker.waiting >= _MOST_WAITING:
            self._count("busy")
            return None
        try:
            return worker.submit(self._counted, worker, work, default)
        except RuntimeError as error:
            if worker not in {self._reader, self._writer}:
                self._count("closed")
            else:
                # The system has no thread to give.
                self._note("unexpected", str(error))
            return None

    def _counted(self, worker: Worker, work: Callable[[DiskTier], T], default: T) -> T:
        try:
            return self._guarded(work, default)
        finally:
            self._count_damages()
            self._finished[worker] += 1

    def _guarded(self, work: Callable[[DiskTier], T], default: T) -> T:
        try:
            if not self._is_open:
                self.tier.open()
                self._is_open = True
            return work(self.tier)
        except StoreError as error:
            self._rest(error)
        except BaseException as error:  # noqa: BLE001  a call must not fail for want of a cache, nor a program end
            _log.debug("the cache failed", exc_info=True)
            self._note("unexpected", f"{type(error).__name__}: {error}")
        return default

    def _count_damages(self) -> None:
        while self._damages < self.tier.damages:
            self._damages += 1
            self._count("damaged")

    def _write_hits_soon(self) -> None:
        self.write_soon(lambda tier: tier.write_hits(self._now_ms()))

    def _is_resting(self) -> bool:
        if self._now() >= self._rests_until:
            return False
        self._count(self._resting)
        return True

    def _rest(self, error: StoreError) -> None:
        if error.reason not in _PASSING:
            self._resting, self._rests_until = error.reason, self._now() + _REST_S
        if error.reason == "closed":
            # Somebody has closed the cache at this moment; whoever comes next opens it again.
            self._is_open = False
            self._count(error.reason)
        else:
            self._note(error.reason, str(error))

    def _note(self, reason: str, message: str) -> None:
        self._count(reason)
        if reason not in self._said:
            self._said.add(reason)
            _log.warning("The cache in %s cannot be used, calls go on without it: %s", self.tier.directory, message)
