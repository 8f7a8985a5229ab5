"""`Verifier`: a model of the caller's own that has to agree before an answer is given to another question."""

from __future__ import annotations

import inspect
import logging
import math
import time
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.worker import Worker
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from deepseek_sdk._io import IO

__all__ = ["Verifier"]

_log = logging.getLogger("deepseek_sdk")

_LEAST = 0.5
_LIMIT_S = 0.25
# More than so many pairs before one's own would take longer than anyone waits.
_MOST_WAITING = 16


def _nothing(_: str) -> None:
    pass


class Verifier:
    """
    Has an NLI model or a cross-encoder look at a pair, both ways round, on a thread of its own.

    It fails closed: where the model throws, takes too long, or says something else than a number, the pair is refused.

    Args:
        verify: Given two texts, says whether they ask the same: True, False, or how sure it is.
        least: What a number must be at least, both ways round.
        limit_s: How long a call waits for it, in seconds.
        count: Called with what became of each pair: "agreed", "refused", "failed", "invalid", "late" or "stuck".
        now: The monotonic clock, in seconds.

    Raises:
        ConfigurationError: *verify* is no function, or a number cannot be used.
    """

    def __init__(
        self,
        verify: Callable[[str, str], Any],
        *,
        least: float = _LEAST,
        limit_s: float = _LIMIT_S,
        count: Callable[[str], object] = _nothing,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if not callable(verify):
            raise ConfigurationError(f"verify must be a function of two texts, not {verify!r}")
        if not _is_finite(least):
            raise ConfigurationError(f"least must be a number, not {least!r}")
        check_seconds("limit_s", limit_s, may_be_zero=False)
        self._verify = verify
        self._least = least
        self._limit_s = limit_s
        self._count = count
        self._now = now
        self._said = False
        self._lines = PerProcess(_Line)

    async def agrees(self, io: IO, one: str, other: str) -> bool:
        """
        Ask about a pair.

        Args:
            io: The caller's.
            one: A text.
            other: Another.

        Returns:
            Whether both ways round were agreed to in time.
        """
        line = self._lines.get()
        if line.is_stuck(self._now(), self._limit_s) or line.worker.waiting >= _MOST_WAITING:
            return self._told("stuck")
        try:
            future = line.worker.submit(self._looked, line, one, other)
        except RuntimeError:
            # It is closed, or the system has no thread to give.
            return self._told("failed")
        return self._told(await self._waited(io, future))

    def close(self) -> None:
        """Let the thread end, after what it is at."""
        worker = self._lines.get().worker
        worker.close(0.0)
        worker.drop()

    async def _waited(self, io: IO, future: Future[str]) -> str:
        try:
            return await io.wait(future, self._limit_s)
        except TimeoutError:
            return "late"
        finally:
            # Nobody waits any more: what has not begun need not begin.
            future.cancel()

    def _looked(self, line: _Line, one: str, other: str) -> str:
        line.since = self._now()
        try:
            return self._judged(one, other)
        except BaseException as error:  # noqa: BLE001  it is the caller's code, and what ends a program is not for calls
            if not self._said:
                self._said = True
                _log.warning("The verifier of the cache failed: %s: %s", type(error).__name__, error)
            return "failed"
        finally:
            line.since = None

    def _judged(self, one: str, other: str) -> str:
        for pair in ((one, other), (other, one)):
            sure = _number(self._verify(*pair))
            if sure is None:
                return "invalid"
            if not sure >= self._least:
                return "refused"
        return "agreed"

    def _told(self, what: str) -> bool:
        self._count(what)
        return what == "agreed"


class _Line:
    """The thread of one process, and since when it is at a pair."""

    def __init__(self) -> None:
        self.worker = Worker("deepseek-sdk-cache-verify")
        self.since: float | None = None

    def is_stuck(self, now: float, limit_s: float) -> bool:
        since = self.since
        return since is not None and now - since > limit_s


def _is_finite(least: object) -> bool:
    return isinstance(least, int | float) and not isinstance(least, bool) and math.isfinite(least)


def _number(said: Any) -> float | None:
    """Read what a model says: numbers of numpy are no numbers of Python, but turn into one."""
    if isinstance(said, bool) or getattr(getattr(said, "dtype", None), "kind", "") == "b":
        return math.inf if said else -math.inf
    if inspect.iscoroutine(said):
        said.close()
        return None
    try:
        sure = math.nan if isinstance(said, str | bytes) else float(said)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(sure) else sure
