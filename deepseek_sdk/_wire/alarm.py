"""Deadlines of the async colour: a timeout whose timer is set once and moved, not made anew, for every read."""

from __future__ import annotations

import asyncio
import time
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import sniffio

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["AsyncAlarm", "DeadlineReached", "make_alarm"]

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


def make_alarm() -> AsyncAlarm:
    """
    Make an alarm for the event loop that runs.

    Returns:
        It.
    """
    return _AsyncioAlarm() if sniffio.current_async_library() == "asyncio" else _AnyioAlarm()


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
            if self._calls_off(task) and task.cancelling() <= cancelling:  # type: ignore[union-attr]  # it has a task
                raise DeadlineReached from error
            raise
        finally:
            self._task = None
            # What was awaited may have taken the cancellation for its own, and gone on.
            self._calls_off(task)

    def _calls_off(self, task: asyncio.Task[Any] | None) -> bool:
        """Take back the cancellation by which the alarm has rung, if it has."""
        has_fired, self._has_fired = self._has_fired, False
        if has_fired and task is not None:
            task.uncancel()
        return has_fired

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._rings_at = None, inf

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
