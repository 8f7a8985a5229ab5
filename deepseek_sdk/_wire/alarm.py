"""Deadlines of the async colour: a timeout whose timer is set once and moved, not made anew, for every read."""

from __future__ import annotations

import asyncio
import contextlib
import time
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import anyio.lowlevel
import sniffio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

__all__ = ["AsyncAlarm", "DeadlineReached", "make_alarm", "uninterrupted"]

T = TypeVar("T")


class DeadlineReached(Exception):  # noqa: N818  a signal between two modules
    """The instant given has come."""


class AsyncAlarm(Protocol):
    """Bounds one wait at a time."""

    async def guard(self, awaitable: Awaitable[T], until: float) -> T:
        """
        Await something, but not for ever.

        Args:
            awaitable: It.
            until: The instant of the monotonic clock at which to give up.

        Returns:
            Its result.

        Raises:
            DeadlineReached: It took too long, and was cancelled.
        """
        ...

    def stop(self) -> None:
        """Give the timer back."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether the event loop of the alarm runs now."""
        ...

    def call_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Let the event loop of the alarm run something, from any thread; nothing happens where the loop is gone."""
        ...


def make_alarm() -> AsyncAlarm:
    """
    Make an alarm for the event loop that runs.

    Returns:
        It.
    """
    return _AsyncioAlarm() if sniffio.current_async_library() == "asyncio" else _AnyioAlarm()


async def uninterrupted(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """
    Do something to its end, though the task may be cancelled; the cancellation takes effect after that.

    Args:
        work: What to do.
    """
    if sniffio.current_async_library() == "asyncio":
        await _outlasting(asyncio.get_running_loop().create_task(work()))
        return
    with anyio.CancelScope(shield=True):
        await work()


async def _outlasting(work: asyncio.Task[None]) -> None:
    # A shielded scope of anyio does not hold against Task.cancel(), which is what asyncio programs use.
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    work.result()


class _AsyncioAlarm:
    """asyncio.timeout() costs a timer for every wait: five times what a streamed chunk may cost."""

    __slots__ = ("_handle", "_has_fired", "_loop", "_rings_at", "_task", "_until")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._until = inf
        self._rings_at = inf
        self._has_fired = False

    async def guard(self, awaitable: Awaitable[T], until: float) -> T:
        if until == inf:
            return await awaitable
        self._until = until
        self._task = task = asyncio.current_task()
        if until < self._rings_at:
            self._schedule()
        cancelling = task.cancelling() if task is not None else 0
        try:
            return await awaitable
        except asyncio.CancelledError as error:
            if self._has_fired and task is not None and task.uncancel() <= cancelling:
                raise DeadlineReached from error
            raise
        finally:
            self._task = None

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._rings_at = None, inf

    @property
    def is_running(self) -> bool:
        return self._loop.is_running()

    def call_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._loop.is_closed():
            # The loop may close in between; then there is nothing left to do.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(lambda: self._loop.create_task(work()))

    def _schedule(self) -> None:
        self.stop()
        # A loop may keep a clock of its own, so the instant is carried over.
        self._handle = self._loop.call_at(self._loop.time() + self._until - time.monotonic(), self._ring)
        self._rings_at = self._until

    def _ring(self) -> None:
        self._handle, self._rings_at = None, inf
        if self._task is None:
            return
        if time.monotonic() < self._until - 0.0005:
            self._schedule()
            return
        self._has_fired = True
        self._task.cancel()


class _AnyioAlarm:
    """For trio, whose cancel scopes cost little."""

    def __init__(self) -> None:
        self._token = anyio.lowlevel.current_token()

    async def guard(self, awaitable: Awaitable[T], until: float) -> T:
        deadline = anyio.current_time() + until - time.monotonic()
        with anyio.CancelScope(deadline=deadline) as scope:
            return await awaitable
        if scope.cancelled_caught:
            raise DeadlineReached
        message = "unreachable: the scope ends by a result, an exception or its deadline"
        raise AssertionError(message)

    def stop(self) -> None:
        pass

    @property
    def is_running(self) -> bool:
        import trio  # noqa: PLC0415  it is there, since it ran

        token: Any = self._token.native_token
        try:
            token.run_sync_soon(bool)
        except trio.RunFinishedError:
            return False
        return True

    def call_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        import trio  # noqa: PLC0415  it is there, since it runs

        async def task() -> None:
            await work()

        token: Any = self._token.native_token
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(trio.lowlevel.spawn_system_task, task)
