"""`EmbeddingService`: the one thread of a process that loads an embedder, examines it, and makes vectors."""

from __future__ import annotations

import functools
import time
import weakref
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.embedding.base import need
from deepseek_sdk.caching.embedding.thread import Limits, Line
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from typing import Literal

    from deepseek_sdk.caching.embedding.base import Embedder, Vectors

__all__ = ["EmbeddingService", "service_of"]

# What embedders get at once that do not say what they like.
_BATCH = 16


class EmbeddingService:
    """
    Makes vectors in a thread of its own, so that no call waits longer for one than it wants to.

    The embedder is loaded, and examined, when it is first asked for anything. Where it cannot be loaded or does not
    pass, the service is off for good, and a warning says why; where its server cannot be reached, or it fails three
    times in a row later, it is off for 30 seconds, and longer if that was not enough. A forked child has a thread of
    its own, which loads anew what the embedder cannot share. It ends with `close()`, or when nobody holds it any more.

    Args:
        embedder: Makes the vectors.
        batch: How many texts it gets at once.
        max_waiting: How many texts may wait; urgent ones and others are counted apart.
        now: Gives the time, in seconds.

    Raises:
        MissingExtraError: numpy is not installed.
        ConfigurationError: A number cannot be used.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        batch: int = _BATCH,
        max_waiting: int = 256,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        need("numpy")
        check_count("batch", batch, least=1)
        check_count("max_waiting", max_waiting, least=1)
        self._embedder = embedder
        self._lines = PerProcess(functools.partial(Line, embedder, Limits(batch, max_waiting), now))
        # At the end of the program the thread itself is waited for.
        weakref.finalize(self, _leave, self._lines).atexit = False

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors."""
        return self._embedder

    @property
    def state(self) -> Literal["idle", "loading", "ready", "off"]:
        """
        What may be expected of it in this process.

        "idle": nothing was asked for yet; "loading": the embedder is loaded and examined; "ready"; "off": see *reason*.
        """
        return self._lines.get().state

    @property
    def reason(self) -> str | None:
        """Why it is off, or None: it is not."""
        return self._lines.get().reason

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the embedder, or None: it has not been loaded and examined."""
        return self._lines.get().fingerprint

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has, or None: likewise."""
        return self._lines.get().dimensions

    @property
    def ready(self) -> Future[bool]:
        """Whether the embedder can be used, as soon as that is known; nobody can cancel it."""
        return self._lines.get().ready

    @property
    def failures(self) -> int:
        """How many batches have failed in this process."""
        return self._lines.get().failures

    @property
    def waiting(self) -> int:
        """How many texts wait, in this process."""
        return self._lines.get().waiting

    def begin(self) -> None:
        """Start the thread, if there is none; it loads the embedder. It may be called again."""
        self._lines.get().begin()

    def submit(self, texts: Sequence[str], *, is_urgent: bool = True) -> Future[Vectors] | None:
        """
        Have the vectors of texts made; it starts the thread, if there is none, and never waits.

        Args:
            texts: Of what.
            is_urgent: Somebody waits for them: they come before all that are not.

        Returns:
            A row of length 1 for each text, once they are there, else an `EmbeddingError` or what the embedder raised;
            it can be cancelled until work on it begins. None: the service is off or closed, or too many wait.
        """
        return self._lines.get().submit(tuple(texts), is_urgent=is_urgent)

    def is_stuck(self, limit_s: float) -> bool:
        """
        Tell whether it is at something for too long, be it loading or making vectors: waiting makes no sense then.

        Args:
            limit_s: What is too long, in seconds.

        Returns:
            Whether it is, in this process.
        """
        return self._lines.get().is_stuck(limit_s)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, in this process."""
        return self._lines.get().is_closed

    def close(self, timeout_s: float | None = 0) -> bool:
        """
        End the thread; what waits is cancelled. The embedder is its owner's to close. It may be called again.

        Args:
            timeout_s: How long to wait for what it is at, in seconds; None: for as long as it takes.

        Returns:
            Whether the thread has ended.
        """
        return self._lines.get().close(timeout_s)


def _leave(lines: PerProcess[Line]) -> None:
    """End the thread of a service that nobody holds; the garbage collector calls it, anywhere."""
    line = lines.made()
    if line is not None:
        line.leave()


def service_of(embedder: Embedder) -> EmbeddingService:
    """
    Give the service of an embedder: one for all caches of the process that use the same object.

    Args:
        embedder: Which.

    Returns:
        Its service. Nobody closes it: it ends when the last of its users lets go of it.
    """
    services = _services()
    kept = services.get(id(embedder))
    if kept is not None and kept.embedder is embedder and not kept.is_closed:
        return kept
    made = EmbeddingService(embedder, batch=getattr(embedder, "batch", _BATCH))
    services[id(embedder)] = made
    return made


@functools.cache
def _services() -> weakref.WeakValueDictionary[int, EmbeddingService]:
    # By their numbers, since embedders need not be hashable; a service holds its embedder, so the number is not reused.
    return weakref.WeakValueDictionary()
