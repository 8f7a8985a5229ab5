"""`Daily`: asks before every peak, and learns from it."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from deepseek_sdk._finish import finish
from deepseek_sdk.caching.warming.prewarm import Bell
from deepseek_sdk.resilience.checks import check_number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deepseek_sdk.caching.warming.prewarm import Prewarm, Progress

__all__ = ["Daily"]

R = TypeVar("R")
T = TypeVar("T")

_log = logging.getLogger("deepseek_sdk")


class Daily(Generic[T]):
    """
    Asks before every peak, and learns from it.

    Args:
        prepare: Makes the next work, or gives None: there is nothing to do for now. It comes with the end of the peak
            that it is for, in seconds since 1970.
        learn: Told of each work when its peak is over.
        again_s: After how long to look again where there was nothing to do, in seconds.
        wall: Tells the time, in seconds since 1970.

    Raises:
        ConfigurationError: *again_s* cannot be used.
    """

    def __init__(
        self,
        prepare: Callable[[], tuple[Prewarm[T], float] | None],
        learn: Callable[[Prewarm[T]], object],
        *,
        again_s: float = 3_600.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        check_number("again_s", again_s, least=1)
        self._prepare = prepare
        self._learn = learn
        self._again_s = again_s
        self._wall = wall
        self._bell = Bell()
        self._now: Prewarm[T] | None = None

    @property
    def progress(self) -> Progress | None:
        """How far the last work has come; None: there was none."""
        return None if self._now is None else self._now.progress

    def cancel(self) -> None:
        """Ask nothing more, and plan nothing more. May be called from any thread, and again."""
        self._bell.ring()
        if self._now is not None:
            self._now.cancel()

    def run(self, ask: Callable[[T], float | None]) -> None:
        """
        Go on until it is cancelled.

        Args:
            ask: As for `Prewarm.run()`.
        """

        async def work(prewarm: Prewarm[T]) -> object:
            return prewarm.run(ask)

        finish(self._go(work, is_async=False))

    async def arun(self, ask: Callable[[T], Awaitable[float | None]]) -> None:
        """
        Go on until it is cancelled, on an event loop.

        Args:
            ask: As for `Prewarm.arun()`.
        """
        await self._go(lambda prewarm: prewarm.arun(ask), is_async=True)

    async def _go(self, work: Callable[[Prewarm[T]], Awaitable[object]], *, is_async: bool) -> None:
        while not self._bell.is_rung:
            found = await _off_the_loop(self._prepared, is_async=is_async)
            if found is None:
                await self._bell.is_quiet_until(self._wall() + self._again_s, self._wall, is_async=is_async)
                continue
            self._now, ends = found
            if self._bell.is_rung:
                # It was cancelled before there was anything to cancel.
                self._now.cancel()
            await work(self._now)
            if await self._bell.is_quiet_until(ends, self._wall, is_async=is_async):
                await _off_the_loop(partial(self._learnt, self._now), is_async=is_async)

    def _prepared(self) -> tuple[Prewarm[T], float] | None:
        try:
            return self._prepare()
        except Exception:  # noqa: BLE001  the next peak comes all the same
            _log.exception("nothing is asked before the peak: it could not be planned")
            return None

    def _learnt(self, prewarm: Prewarm[T]) -> None:
        try:
            self._learn(prewarm)
        except Exception:  # noqa: BLE001  the next peak comes all the same
            _log.exception("whether it paid to ask before the peak could not be told")


async def _off_the_loop(act: Callable[[], R], *, is_async: bool) -> R:
    """Let an event loop go on while files are read."""
    if not is_async:
        return act()
    import anyio.to_thread  # noqa: PLC0415  the sync colour does without

    return await anyio.to_thread.run_sync(act)
