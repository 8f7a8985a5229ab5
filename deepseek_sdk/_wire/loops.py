"""Connections of the async colour: each event loop has a pool of its own, which ends with it."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from typing_extensions import override

from deepseek_sdk._loop import EventLoop, current_loop, uninterrupted
from deepseek_sdk._process import Owner, PerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

__all__ = ["SHIELDED", "LoopTransport"]

# An extension of a response: closing it cannot be interrupted.
SHIELDED = "deepseek_sdk.shielded"

# How long a closing client waits for the event loop of another thread to close its connections.
_ELSEWHERE_S = 1.0


class _LoopPool:
    """
    The transport of one event loop.

    It is closed in that loop: by `close()`, or when the loop ends. For that event loops know one hook, which is made
    for asynchronous generators: they finalise those that have begun.
    """

    def __init__(self, transport: httpx2.AsyncBaseTransport, loop: EventLoop, forget: Callable[[], object]) -> None:
        self.transport = transport
        self._loop = loop
        self._guard = _closed_with_its_loop(transport, forget)

    async def open(self) -> None:
        await anext(self._guard)

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.transport.handle_async_request(request)
        response.stream = _Body(response.stream, self._loop)
        response.extensions[SHIELDED] = True
        return response

    async def close(self) -> None:
        await self._guard.aclose()

    def close_soon(self) -> None:
        self._loop.start(self.close)

    async def close_from(self, other: EventLoop) -> None:
        """Let the loop close it, and wait for that, on another loop, where this one runs."""
        done = anyio.Event()

        async def close() -> None:
            try:
                await self.close()
            finally:
                other.call_soon(done.set)

        self._loop.start(close)
        if self._loop.is_running:
            with anyio.move_on_after(_ELSEWHERE_S):
                await done.wait()


async def _closed_with_its_loop(
    transport: httpx2.AsyncBaseTransport, forget: Callable[[], object]
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        forget()
        await transport.aclose()


class _Body(httpx2.AsyncByteStream):
    """A body whose connection goes back to the pool, however the task that reads it is cancelled, or forgets it."""

    def __init__(self, stream: Any, loop: EventLoop) -> None:
        self._stream = stream
        self._loop = loop
        self._owner = Owner()
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
        if not self._is_closed and self._owner.is_here:
            self._loop.start(self._stream.aclose)


class _LoopPools:
    """The pools of one process. Threads need no lock: each loop touches its own key, by operations that are atomic."""

    def __init__(self) -> None:
        self._by_loop: dict[Any, _LoopPool] = {}

    def find(self, token: Any) -> _LoopPool | None:
        return self._by_loop.get(token)

    def add(self, loop: EventLoop, transport: httpx2.AsyncBaseTransport) -> _LoopPool:
        self._drop_ended()
        pool = _LoopPool(transport, loop, partial(self._by_loop.pop, loop.token, None))
        self._by_loop[loop.token] = pool
        return pool

    def all(self) -> list[tuple[Any, _LoopPool]]:
        return list(self._by_loop.items())

    def _drop_ended(self) -> None:
        """Forget asyncio's loops that were closed without finalising anything."""
        for token in list(self._by_loop):
            is_closed = getattr(token, "is_closed", None)
            if is_closed is not None and is_closed():
                self._by_loop.pop(token, None)


class LoopTransport(httpx2.AsyncBaseTransport):
    """
    A transport for each event loop of each process.

    Args:
        make: Makes one.
    """

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._make = make
        self._pools = PerProcess(_LoopPools)
        # Not __del__(): connections may be collected together with their client, and would be before it.
        weakref.finalize(self, _close_forgotten, self._pools).atexit = False

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        loop = current_loop()
        pool = self._pools.get().find(loop.token)
        if pool is None:
            pool = await self._open_pool(loop)
        return await pool.handle(request)

    @override
    async def aclose(self) -> None:
        here = current_loop()
        for token, pool in self._pools.get().all():
            await (pool.close() if token is here.token else pool.close_from(here))

    async def _open_pool(self, loop: EventLoop) -> _LoopPool:
        pool = self._pools.get().add(loop, self._make())
        await pool.open()
        return pool


def _close_forgotten(pools: PerProcess[_LoopPools]) -> None:
    if (mine := pools.made()) is not None:
        for _, pool in mine.all():
            pool.close_soon()
