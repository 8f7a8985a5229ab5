"""Connections of the async colour: each event loop has its own, and they end with it."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpx2
from typing_extensions import override

from deepseek_sdk._process import PerProcess
from deepseek_sdk._wire.alarm import make_alarm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

__all__ = ["LoopTransport"]

# How long a closing client waits for the event loop of another thread to close its connections.
_ELSEWHERE_S = 1.0


class _Home:
    """
    The transport of one event loop.

    It is closed in that loop: by `close()`, when the loop ends, or when nobody needs it any more. For the last two
    event loops know one hook, which is made for asynchronous generators: they finalise those that have begun.
    """

    def __init__(self, transport: httpx2.AsyncBaseTransport, forget: Callable[[], object]) -> None:
        self.transport = transport
        self._alarm = make_alarm()
        self._guard = _closing(transport, forget)

    async def open(self) -> None:
        await anext(self._guard)

    async def close(self) -> None:
        await self._guard.aclose()

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

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        loop = _running()
        home = self._homes.get().find(loop)
        if home is None:
            home = await self._move_into(loop)
        return await home.transport.handle_async_request(request)

    @override
    async def aclose(self) -> None:
        here = _running()
        for loop, home in self._homes.get().all():
            await (home.close() if loop is here else home.close_from_elsewhere())

    async def _move_into(self, loop: Any) -> _Home:
        home = self._homes.get().add(loop, self._make())
        await home.open()
        return home


def _running() -> Any:
    """Return what stands for the event loop that runs."""
    return anyio.lowlevel.current_token().native_token
