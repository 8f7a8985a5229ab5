"""Connections of the async colour: each event loop has its own, and they end with it."""

from __future__ import annotations

import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpx2
from typing_extensions import override

from deepseek_sdk._process import PerProcess
from deepseek_sdk._wire.alarm import AsyncAlarm, make_alarm, uninterrupted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

__all__ = ["KEPT", "LoopTransport"]

# Says of a response that closing it cannot be interrupted.
KEPT = "deepseek_sdk.kept"

# How long a closing client waits for the event loop of another thread to close its connections.
_ELSEWHERE_S = 1.0


class _Home:
    """
    The transport of one event loop.

    It is closed in that loop: by `close()`, or when the loop ends. For that event loops know one hook, which is made
    for asynchronous generators: they finalise those that have begun.
    """

    def __init__(self, transport: httpx2.AsyncBaseTransport, forget: Callable[[], object]) -> None:
        self._transport = transport
        self._alarm = make_alarm()
        self._guard = _closing(transport, forget)

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._transport.handle_async_request(request)
        response.stream = _Body(response.stream, self._alarm)
        response.extensions[KEPT] = True
        return response

    async def open(self) -> None:
        await anext(self._guard)

    async def close(self) -> None:
        await self._guard.aclose()

    def close_soon(self) -> None:
        self._alarm.call_soon(self.close)

    async def close_from_elsewhere(self) -> None:
        """Let the loop close it, and wait for that where the loop runs."""
        done, back = anyio.Event(), make_alarm()

        async def tell() -> None:
            done.set()

        async def close() -> None:
            try:
                await self.close()
            finally:
                back.call_soon(tell)

        self._alarm.call_soon(close)
        if self._alarm.is_running:
            with anyio.move_on_after(_ELSEWHERE_S):
                await done.wait()


async def _closing(transport: httpx2.AsyncBaseTransport, forget: Callable[[], object]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        forget()
        await transport.aclose()


class _Body(httpx2.AsyncByteStream):
    """A body whose connection goes back to the pool, however the task that reads it is cancelled, or forgets it."""

    def __init__(self, stream: Any, alarm: AsyncAlarm) -> None:
        self._stream = stream
        self._alarm = alarm
        self._pid = os.getpid()
        self._is_closed = False

    @override
    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    @override
    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await uninterrupted(self._stream.aclose)

    def __del__(self) -> None:
        if not self._is_closed and os.getpid() == self._pid:
            self._alarm.call_soon(self._stream.aclose)


class _Homes:
    """The transports of one process."""

    def __init__(self) -> None:
        self._by_loop: dict[Any, _Home] = {}
        self._lock = threading.Lock()

    def find(self, loop: Any) -> _Home | None:
        return self._by_loop.get(loop)

    def add(self, loop: Any, transport: httpx2.AsyncBaseTransport) -> _Home:
        home = _Home(transport, partial(self._by_loop.pop, loop, None))
        with self._lock:
            # Loops that were closed without finalising anything.
            for ended in [known for known in self._by_loop if getattr(known, "is_closed", bool)()]:
                del self._by_loop[ended]
            self._by_loop[loop] = home
        return home

    def all(self) -> list[tuple[Any, _Home]]:
        with self._lock:
            return list(self._by_loop.items())


class LoopTransport(httpx2.AsyncBaseTransport):
    """
    A transport for each event loop of each process.

    Args:
        make: Makes one.
    """

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._make = make
        self._homes = PerProcess(_Homes)
        # Not __del__(): connections may be collected together with their client, and would be before it.
        weakref.finalize(self, _forsake, self._homes).atexit = False

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        loop = _running()
        home = self._homes.get().find(loop)
        if home is None:
            home = await self._move_into(loop)
        return await home.handle(request)

    @override
    async def aclose(self) -> None:
        here = _running()
        for loop, home in self._homes.get().all():
            await (home.close() if loop is here else home.close_from_elsewhere())

    async def _move_into(self, loop: Any) -> _Home:
        home = self._homes.get().add(loop, self._make())
        await home.open()
        return home


def _forsake(homes: PerProcess[_Homes]) -> None:
    if (mine := homes.made()) is not None:
        for _, home in mine.all():
            home.close_soon()


def _running() -> Any:
    """Return what stands for the event loop that runs."""
    return anyio.lowlevel.current_token().native_token
