"""`Line`: the thread of an `EmbeddingService` in one process, what it is at, and what waits for it."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal, NamedTuple

from deepseek_sdk._process import Owner
from deepseek_sdk.caching.embedding.base import EmbeddingError, checked, facts_of
from deepseek_sdk.caching.embedding.selftest import examined
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deepseek_sdk.caching.embedding.base import Embedder, Vectors

__all__ = ["Job", "Limits", "Line"]

_log = logging.getLogger("deepseek_sdk")

# So many failures in a row, and for so long nothing is tried, in seconds; twice as long after each that is no better
# where it could not be reached to begin with, up to the most.
_FAILURES, _REST_S, _MOST_REST_S = 3, 30.0, 600.0
# An interpreter that ends while native code runs in a thread may crash; longer than this nobody waits for a hung one.
_EXIT_S = 2.0
# What will be no better in a while.
_LASTING = (EmbeddingError, ConfigurationError, ImportError)
# What nobody waits for comes in smaller batches: an urgent text waits for the one that has begun.
_SPARE = 4


class Limits(NamedTuple):
    """
    How much at once.

    Attributes:
        batch: How many texts the embedder gets.
        max_waiting: How many urgent texts may wait, and how many others.
    """

    batch: int
    max_waiting: int


class Job:
    """
    Texts whose vectors somebody wants, done in parts.

    Args:
        texts: They.
    """

    __slots__ = ("future", "missing", "rows", "texts")

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        self.future: Future[Vectors] = Future()
        self.rows: dict[int, Vectors] = {}
        self.missing = len(texts)

    def is_wanted(self) -> bool:
        """Tell whether anybody still waits for it; from then on it cannot be cancelled."""
        return self.future.running() or (not self.future.done() and self.future.set_running_or_notify_cancel())

    def add(self, start: int, rows: Vectors) -> None:
        """Take the vectors of the texts from *start* on; the last ones end it."""
        import numpy as np  # noqa: PLC0415  not part of importing the library

        self.rows[start] = rows
        self.missing -= len(rows)
        if self.missing <= 0:
            parts = [self.rows[key] for key in sorted(self.rows)]
            self.future.set_result(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def fail(self, error: BaseException) -> None:
        """End it with an error, where it has not ended."""
        if not self.future.done():
            self.future.set_exception(error)


class Part(NamedTuple):
    """Some texts of a job, from *start* on."""

    job: Job
    start: int
    texts: tuple[str, ...]


class Line:
    """
    The thread of one process.

    Args:
        embedder: Makes vectors.
        limits: How much at once.
        now: Gives the time, in seconds.
    """

    def __init__(self, embedder: Embedder, limits: Limits, now: Callable[[], float]) -> None:
        self._embedder = embedder
        self._limits = limits
        self._now = now
        self._owner = Owner()
        self._lock = threading.Lock()
        # Woken without a lock of ours, since the garbage collector may end it in any thread.
        self._wake: queue.SimpleQueue[Literal[True] | None] = queue.SimpleQueue()
        self._urgent: deque[Part] = deque()
        self._others: deque[Part] = deque()
        self._counts = {True: 0, False: 0}
        self._thread: threading.Thread | None = None
        self._state: Literal["idle", "loading", "ready", "off"] = "idle"
        self._reason: str | None = None
        self._since: float | None = None
        self._in_a_row = 0
        self._rests_until: float | None = None
        self._rest_s = 0.0
        self._is_passing = self._may_try_again = False
        self.failures = 0
        self.fingerprint: str | None = None
        self.dimensions: int | None = None
        self.is_closed = False
        self.ready = _begun()

    @property
    def state(self) -> Literal["idle", "loading", "ready", "off"]:
        """What may be expected of it."""
        return "off" if self.is_closed or self._is_resting() else self._state

    @property
    def reason(self) -> str | None:
        """Why it is off."""
        return self._reason if self.state == "off" else None

    @property
    def waiting(self) -> int:
        """How many texts wait."""
        return sum(self._counts.values())

    def _is_resting(self) -> bool:
        return self._rests_until is not None and self._now() < self._rests_until

    def is_stuck(self, limit_s: float) -> bool:
        """Tell whether it is at something for longer than *limit_s*."""
        since = self._since
        return since is not None and self._now() - since > limit_s

    def begin(self) -> None:
        """Start the thread, if there is none."""
        with self._lock:
            self._revive()
            self._begin()

    def _revive(self) -> None:
        """Begin anew where the embedder could not be reached, and some time has passed."""
        if self._may_try_again and not self.is_closed and not self._is_resting():
            self._may_try_again, self._thread, self._state = False, None, "idle"
            self.ready = _begun()

    def _begin(self) -> None:
        if self._thread is None and not self.is_closed:
            self._state, self._since = "loading", self._now()
            self._thread = threading.Thread(target=self._run, name="deepseek-sdk-embedder", daemon=True)
            self._thread.start()

    def submit(self, texts: tuple[str, ...], *, is_urgent: bool) -> Future[Vectors] | None:
        """Have vectors made, or give None where that makes no sense."""
        job = Job(texts)
        with self._lock:
            self._revive()
            waits = self._counts[is_urgent]
            # A job that is larger than what may wait is taken where it is the only one.
            is_full = waits + len(texts) > self._limits.max_waiting and waits > 0
            if self.state == "off" or not texts or is_full:
                return None
            self._begin()
            (self._urgent if is_urgent else self._others).extend(self._parts(job, is_urgent=is_urgent))
            self._counts[is_urgent] += len(texts)
            self._wake.put(True)
        return job.future

    def _parts(self, job: Job, *, is_urgent: bool) -> Iterator[Part]:
        size = self._limits.batch if is_urgent else max(1, self._limits.batch // _SPARE)
        for start in range(0, len(job.texts), size):
            yield Part(job, start, job.texts[start : start + size])

    def leave(self) -> None:
        """End soon, without a lock and without waiting."""
        self.is_closed = True
        self._wake.put(None)

    def close(self, timeout_s: float | None) -> bool:
        """End; wait for what it is at."""
        with self._lock:
            is_first, self.is_closed = not self.is_closed, True
            self._reason = "closed"
            thread = self._thread
        self._wake.put(None)
        if thread is None:
            if is_first:
                self._ended()
            return True
        if thread is not threading.current_thread():
            thread.join(timeout_s)
        return not thread.is_alive()

    def _exit(self) -> None:
        # A forked child has neither the thread nor, perhaps, a free lock.
        if self._owner.is_here:
            self.close(_EXIT_S)

    def _run(self) -> None:
        atexit.register(self._exit)
        try:
            if self._load():
                self._serve()
        finally:
            atexit.unregister(self._exit)
            self._since = None
            self._ended()
            # Not before: another thread would begin with what this one ends.
            self._may_try_again = self._is_passing

    def _load(self) -> bool:
        try:
            self._prepare()
        except BaseException as error:  # noqa: BLE001  a call never fails for want of an embedder
            self._reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            # A server may come up; what the embedder is, and what it makes of questions, stays.
            self._is_passing = isinstance(error, Exception) and not isinstance(error, _LASTING)
            self._note_unusable()
            self._state = "off"
        else:
            self._state = "ready"
        self._since = None
        self.ready.set_result(self._state == "ready")
        return self._state == "ready"

    def _note_unusable(self) -> None:
        if not self._is_passing:
            _log.warning("The semantic cache is off, the embedder cannot be used: %s", self._reason)
            return
        self._rest_s = min(2 * self._rest_s or _REST_S, _MOST_REST_S)
        self._rests_until = self._now() + self._rest_s
        message = "The semantic cache is off, and tried again in %d s, the embedder cannot be used: %s"
        _log.warning(message, self._rest_s, self._reason)

    def _prepare(self) -> None:
        load = getattr(self._embedder, "load", None)
        if callable(load):
            load()
        # Before the vectors are asked for: one that does not say what it is would only seem to work.
        dimensions, fingerprint = facts_of(self._embedder)
        test = examined(self._embedder)
        if not test.passed:
            raise EmbeddingError(test.reason)
        self.dimensions, self.fingerprint = dimensions, fingerprint

    def _serve(self) -> None:
        while self._wake.get() is not None:
            while parts := self._taken():
                self._embed(parts)
                # What it holds is not kept until the next work comes.
                del parts

    def _taken(self) -> list[Part]:
        """Take a batch of the urgent ones, or else of the others."""
        with self._lock:
            waiting = self._urgent or self._others
            taken: list[Part] = []
            size = 0
            while waiting and not self.is_closed and (not taken or size + len(waiting[0].texts) <= self._most(waiting)):
                part = waiting.popleft()
                self._counts[waiting is self._urgent] -= len(part.texts)
                if part.job.is_wanted():
                    taken.append(part)
                    size += len(part.texts)
        return taken

    def _most(self, waiting: deque[Part]) -> int:
        return self._limits.batch if waiting is self._urgent else max(1, self._limits.batch // _SPARE)

    def _embed(self, parts: Sequence[Part]) -> None:
        if self._is_resting():
            self._fail(parts, EmbeddingError(self._reason))
            return
        texts = [text for part in parts for text in part.texts]
        self._since = self._now()
        try:
            rows = checked(self._embedder.embed(texts), len(texts), self.dimensions or 0)
        except BaseException as error:  # noqa: BLE001  it is for those who wait
            self._since = None
            self._failed(error)
            # What ends a program, or a task, is not for those who wait.
            self._fail(parts, error if isinstance(error, Exception) else EmbeddingError(repr(error)))
        else:
            self._since = None
            self._in_a_row = 0
            self._rests_until = None
            self._give(parts, rows)

    @staticmethod
    def _give(parts: Sequence[Part], rows: Vectors) -> None:
        at = 0
        for part in parts:
            part.job.add(part.start, rows[at : at + len(part.texts)])
            at += len(part.texts)

    @staticmethod
    def _fail(parts: Sequence[Part], error: BaseException) -> None:
        for part in parts:
            part.job.fail(error)

    def _failed(self, error: BaseException) -> None:
        self.failures += 1
        self._in_a_row += 1
        if self._in_a_row >= _FAILURES:
            self._reason = f"the embedder failed {self._in_a_row} times in a row: {error!r}"
            if self._in_a_row == _FAILURES:
                _log.warning("The semantic cache is off, and tried again every %d s: %s", _REST_S, self._reason)
            self._rests_until = self._now() + _REST_S

    def _ended(self) -> None:
        """Cancel what waits; say to those who wait for the embedder that there is none."""
        with self._lock:
            parts: list[Part] = [*self._urgent, *self._others]
            self._urgent.clear()
            self._others.clear()
            self._counts = {True: 0, False: 0}
        for part in parts:
            if self.is_closed:
                part.job.future.cancel()
            part.job.fail(EmbeddingError(self._reason or "closed"))
        if not self.ready.done():
            self.ready.set_result(False)


def _begun() -> Future[bool]:
    """Make a future that whoever awaits it and is cancelled does not cancel for the others."""
    made: Future[bool] = Future()
    made.set_running_or_notify_cancel()
    return made
