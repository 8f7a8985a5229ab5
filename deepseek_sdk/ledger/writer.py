"""`Writer`: takes the records of one process and writes them down, in a thread of its own."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import sys
import threading
import time
from _thread import start_new_thread
from collections import deque
from typing import TYPE_CHECKING

from deepseek_sdk._process import Owner
from deepseek_sdk.ledger.presence import BEAT_S
from deepseek_sdk.ledger.rows import rows_of
from deepseek_sdk.ledger.state import LedgerState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk._record import Record
    from deepseek_sdk.ledger.file import LedgerFile
    from deepseek_sdk.ledger.rows import Rows

__all__ = ["Writer", "retry_s"]

_log = logging.getLogger("deepseek_sdk")

# In one transaction: other processes wait for a few milliseconds.
_BATCH = 500
_LONGEST_RETRY_S = 30.0
# Whoever writes may wait for a lock of another process; that long is waited for him.
_TURN_S = 12.0
# A fork waits no longer: the file of a child whose parent was writing may look busy to it, until it is opened anew.
_FORK_S = 1.0


def retry_s(failures: int) -> float:
    """
    Choose how long to leave alone a file that cannot be written.

    Args:
        failures: How many times in a row it could not.

    Returns:
        Seconds: 1, and twice as long each time, up to half a minute.
    """
    return min(2.0 ** min(failures - 1, 10), _LONGEST_RETRY_S)


class Writer:
    """
    The queue of one process, and the thread that empties it.

    `take()` is all that calls wait for. It may run inside the garbage collector, so it takes no lock.

    Args:
        file: Where to write.
        flush_s: How often, in seconds.
        limit: How many calls may wait.
        is_wanted: Tells whether anybody may still bring records; the thread ends when nobody does.
        wall: Tells the time, in seconds since 1970.
    """

    def __init__(
        self, file: LedgerFile, flush_s: float, limit: int, is_wanted: Callable[[], bool], wall: Callable[[], float]
    ) -> None:
        self._file = file
        self._flush_s = flush_s
        self._limit = limit
        self._is_wanted = is_wanted
        self._wall = wall
        self._owner = Owner()
        # Each record with its number: where the queue was full, numbers are missing.
        self._queue: deque[tuple[int, Record]] = deque(maxlen=limit)
        self._numbers = itertools.count(1)
        self._came, self._highest = 0, 0
        self._backlog: deque[Rows] = deque()
        self._starting = threading.Lock()
        # Held by whoever writes.
        self._turn = threading.Lock()
        self._pause = threading.Event()
        self._is_running = self._is_paused = False
        self._lost = self._written = self._failures = 0
        self._last_error: str | None = None
        self._last_flush: float | None = None
        self._retry_at = self._beat_at = 0.0

    def take(self, record: Record) -> None:
        """
        Keep the record of a call that is over until it is written.

        Args:
            record: The call.
        """
        self._queue.append((next(self._numbers), record))
        if not self._is_running:
            self._start()

    def state(self) -> LedgerState:
        """
        Say how things are.

        Returns:
            The state of this process's part.
        """
        return LedgerState(
            status="degraded" if self._failures else "ok",
            path=self._file.path,
            written=self._written,
            waiting=len(self._queue) + len(self._backlog),
            dropped=self._dropped,
            last_error=self._last_error,
            last_flush=self._last_flush,
        )

    def flush(self) -> bool:
        """
        Write now what waits.

        Returns:
            Whether all of it was written.
        """
        with self._in_turn() as has_turn:
            return has_turn and self._write(is_due=True)

    def close(self) -> None:
        """Write what waits, and let go of the file and of what it does not take; a later record begins anew."""
        self._is_running = False
        self._pause.set()
        with self._in_turn() as has_turn:
            if has_turn:
                self._write(is_due=True)
                self._give_up()
                self._file.leave(self._dropped, self._wall())
        atexit.unregister(self._at_exit)

    def pause(self) -> None:
        """Close the file before this process is forked: SQLite must not be in the middle of anything then."""
        self._is_paused = self._turn.acquire(timeout=_FORK_S)
        if self._is_paused:
            self._file.close()

    def resume(self) -> None:
        """Go on after a fork, in the parent; the child has a writer of its own."""
        if self._is_paused:
            self._is_paused = False
            self._turn.release()

    @property
    def _dropped(self) -> int:
        # A number that a thread has taken and not yet brought is counted until it does.
        return self._lost + self._highest - self._came

    def _start(self) -> None:
        # No waiting, and so no deadlock: who comes second knows that somebody is starting it.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if not self._is_running:
                # Not threading.Thread: that takes locks, which this thread may hold.
                self._pause = threading.Event()
                start_new_thread(self._run, (self._pause,))
                self._is_running = True
                self._register()
        except RuntimeError:
            # There is no thread to be had, or the program is ending: the next record tries again.
            return
        finally:
            self._starting.release()

    def _register(self) -> None:
        """See to it that what waits is written when the program ends."""
        atexit.register(self._at_exit)
        # Children of multiprocessing end without the functions of atexit.
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self._at_exit, exitpriority=0)

    def _at_exit(self) -> None:
        # A forked child has inherited this, and nothing of what it is for.
        if self._owner.is_here:
            self.close()

    def _run(self, pause: threading.Event) -> None:
        while not pause.wait(self._flush_s) and self._is_wanted():
            with self._turn:
                # Whoever has closed it meanwhile has written everything.
                if not pause.is_set():
                    self._write(is_due=time.monotonic() >= self._retry_at)
        if not pause.is_set():
            self.close()

    @contextlib.contextmanager
    def _in_turn(self) -> Iterator[bool]:
        has_turn = self._turn.acquire(timeout=_TURN_S)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._turn.release()

    def _write(self, *, is_due: bool) -> bool:
        """Write what waits, as far as the file takes it; called by whoever has the turn."""
        self._collect()
        if not is_due:
            return False
        try:
            while self._backlog or self._failures or self._is_silent():
                self._write_batch()
        except Exception as error:  # noqa: BLE001  calls go on without their ledger
            self._fail(error)
            return False
        return True

    def _collect(self) -> None:
        for _ in range(len(self._queue)):
            number, record = self._queue.popleft()
            self._came, self._highest = self._came + 1, max(number, self._highest)
            try:
                self._backlog.append(rows_of(record))
            except Exception:  # noqa: BLE001  the next one can be written
                self._lost += 1
                _log.exception("a call could not be written to the ledger")
        while len(self._backlog) > self._limit:
            self._backlog.popleft()
            self._lost += 1

    def _is_silent(self) -> bool:
        return self._last_flush is not None and time.monotonic() - self._beat_at > BEAT_S

    def _write_batch(self) -> None:
        batch = list(itertools.islice(self._backlog, _BATCH))
        now = self._wall()
        self._file.write(batch, self._dropped, now)
        for _ in batch:
            self._backlog.popleft()
        self._written += len(batch)
        self._last_flush, self._beat_at = now, time.monotonic()
        if self._failures:
            self._failures = 0
            _log.warning("the ledger %s is written again; %d calls were lost", self._file.path, self._dropped)
        self._file.rotate(now, len(batch))

    def _give_up(self) -> None:
        """Drop what waits even after the last try; what came meanwhile has a thread of its own."""
        lost = len(self._backlog)
        if lost:
            self._backlog.clear()
            self._lost += lost
            message = (
                "the ledger %s was closed while it could not be written (%s): %d calls that waited for it are lost"
            )
            _log.warning(message, self._file.path, self._last_error, lost)

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        self._retry_at = time.monotonic() + retry_s(self._failures)
        self._last_error = str(error) or type(error).__name__
        if self._failures == 1:
            message = "the ledger %s cannot be written (%s): calls go on, up to %d of them are kept until it can be"
            _log.warning(message, self._file.path, self._last_error, self._limit)
