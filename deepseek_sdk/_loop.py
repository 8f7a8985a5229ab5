"""Event loops, asyncio's and trio's, as other threads and the garbage collector may talk to them."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.lowlevel
import sniffio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeAlias

    Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

__all__ = ["EventLoop", "current_loop", "running_loop", "uninterrupted"]

_log = logging.getLogger("deepseek_sdk")


class EventLoop(Protocol):
    """
    An event loop.

    Attributes:
        token: What stands for it: the same object for the same loop, for as long as it lives.
    """

    token: Any

    @property
    def is_running(self) -> bool:
        """Whether it runs now, in any thread."""
        ...

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Let it call something, from any thread; nothing happens where the loop has ended."""
        ...

    def start(self, work: Work) -> None:
        """
        Let it run something, from any thread, also in the garbage collector; nothing happens where the loop has ended.

        Args:
            work: What to run; what it raises is logged.
        """
        ...

    def start_here(self, work: Work, lost: Callable[[], object] | None = None) -> None:
        """
        Let it run something, at once; for a task of this loop.

        Args:
            work: What to run, in the caller's context; what it raises is logged.
            lost: Called where the loop ends before that has ended, or even begun; None: nobody has to know.
        """
        ...


def current_loop() -> EventLoop:
    """
    Find the event loop that runs in this thread.

    Returns:
        It.
    """
    return _AsyncioLoop() if sniffio.current_async_library() == "asyncio" else _TrioLoop()


def running_loop() -> object | None:
    """
    Tell which event loop this thread is running.

    Returns:
        What stands for it, as `EventLoop.token`, or None: it runs none.
    """
    try:
        sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None
    token: object = current_loop().token
    return token


async def uninterrupted(work: Work) -> None:
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


async def _logged(work: Work) -> None:
    try:
        await work()
    except Exception:  # noqa: BLE001  nobody waits for it, and trio would end the program
        _log.exception("what was left to an event loop failed")


class _AsyncioLoop:
    def __init__(self) -> None:
        self.token = asyncio.get_running_loop()
        # asyncio has only weak references to its tasks.
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_running(self) -> bool:
        return self.token.is_running()

    def call_soon(self, callback: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):
            self.token.call_soon_threadsafe(callback)

    def start(self, work: Work) -> None:
        self.call_soon(partial(self.start_here, work))

    def start_here(self, work: Work, lost: Callable[[], object] | None = None) -> None:
        task = self.token.create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if lost is not None:
            # A task that is cancelled before its first step does nothing at all, not even what stands in a `finally`.
            task.add_done_callback(lambda task: lost() if task.cancelled() else None)


class _TrioLoop:
    def __init__(self) -> None:
        import trio  # noqa: PLC0415  it is there, since it runs

        self.token: Any = anyio.lowlevel.current_token().native_token
        # Found now: a stream may be forgotten while the interpreter ends.
        self._trio = trio

    @property
    def is_running(self) -> bool:
        try:
            self.token.run_sync_soon(_nothing)
        except self._trio.RunFinishedError:
            return False
        return True

    def call_soon(self, callback: Callable[[], object]) -> None:
        with contextlib.suppress(self._trio.RunFinishedError):
            self.token.run_sync_soon(callback)

    def start(self, work: Work) -> None:
        self.call_soon(partial(self.start_here, work))

    def start_here(self, work: Work, lost: Callable[[], object] | None = None) -> None:
        try:
            self._trio.lowlevel.spawn_system_task(_logged, work, context=contextvars.copy_context())
        except RuntimeError:
            # While trio ends it takes nothing new. What it has taken it begins.
            if lost is not None:
                lost()


def _nothing() -> None:
    pass
