"""The default HTTP clients: one whose sockets obey deadlines, and one that serves any number of event loops."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
import httpcore2
import httpx2
import openai
from typing_extensions import override

from deepseek_sdk._wire.thread import Alarm, Bounded, shorten

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

__all__ = ["LoopClient", "SupervisedClient"]


class _Stream(httpcore2.NetworkStream, Bounded):
    """A connection that obeys the alarm of the thread that uses it, besides its own deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, alarm: Alarm) -> None:
        self._stream = stream
        self._alarm = alarm

    def _limit(self, timeout: float | None) -> float | None:
        if self._alarm.token is not None:
            self._alarm.token.watch(self._stream)
        return shorten(self._alarm.bound(timeout), self.until)

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._limit(timeout))

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._limit(timeout))

    @override
    def close(self) -> None:
        self._stream.close()

    @override
    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._limit(timeout)), self._alarm)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, backend: httpcore2.NetworkBackend, alarm: Alarm) -> None:
        self._backend = backend
        self._alarm = alarm

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        limit = self._alarm.bound(timeout)
        return _Stream(self._backend.connect_tcp(host, port, limit, local_address, socket_options), self._alarm)

    @override
    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        limit = self._alarm.bound(timeout)
        return _Stream(self._backend.connect_unix_socket(path, limit, socket_options), self._alarm)

    @override
    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class SupervisedClient(openai.DefaultHttpxClient):
    """
    openai's default HTTP client, proxies from the environment included, on sockets that obey an `Alarm`.

    Attributes:
        alarm: What each thread sets before it talks to a server.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.alarm = Alarm()
        super().__init__(**kwargs)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    # httpx2 offers no argument for the network backend: two private hooks and two attributes, under a contract test.
    @override
    def _init_transport(self, *args: Any, **kwargs: Any) -> httpx2.BaseTransport:
        return self._arm(super()._init_transport(*args, **kwargs))

    @override
    def _init_proxy_transport(self, *args: Any, **kwargs: Any) -> httpx2.BaseTransport:
        return self._arm(super()._init_proxy_transport(*args, **kwargs))

    def _arm(self, transport: httpx2.BaseTransport) -> httpx2.BaseTransport:
        pool: Any = transport._pool  # type: ignore[attr-defined]  # noqa: SLF001
        pool._network_backend = _Backend(pool._network_backend, self.alarm)  # noqa: SLF001
        return transport


class LoopClient(openai.DefaultAsyncHttpxClient):
    """
    openai's default async HTTP client, proxies from the environment included, for any number of event loops.

    Each loop has connections of its own: a connection belongs to the loop that opened it.
    """

    def __del__(self) -> None:
        if not self.is_closed:
            with contextlib.suppress(Exception):
                asyncio.get_running_loop().create_task(self.aclose())

    # The same two private hooks as above.
    @override
    def _init_transport(self, *args: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return _LoopTransport(partial(super()._init_transport, *args, **_with_context(options)))

    @override
    def _init_proxy_transport(self, *args: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return _LoopTransport(partial(super()._init_proxy_transport, *args, **_with_context(options)))


def _with_context(options: dict[str, Any]) -> dict[str, Any]:
    """Load the certificates now and once: it takes longer than anything else about a transport."""
    names = ("verify", "cert", "trust_env")
    context = httpx2.create_ssl_context(**{name: options[name] for name in names if name in options})
    return {**options, "verify": context, "cert": None}


class _LoopTransport(httpx2.AsyncBaseTransport):
    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._make = make
        self._by_loop: weakref.WeakKeyDictionary[Any, httpx2.AsyncBaseTransport] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._here().handle_async_request(request)

    @override
    async def aclose(self) -> None:
        with self._lock:
            transport = self._by_loop.pop(_running(), None)
        if transport is not None:
            await transport.aclose()

    def _here(self) -> httpx2.AsyncBaseTransport:
        loop = _running()
        with self._lock:
            if loop not in self._by_loop:
                self._forget_ended()
                self._by_loop[loop] = self._make()
            return self._by_loop[loop]

    def _forget_ended(self) -> None:
        # A transport leads to its loop, so the weak keys alone would never let go.
        for loop in [loop for loop in self._by_loop if getattr(loop, "is_closed", bool)()]:
            del self._by_loop[loop]


def _running() -> Any:
    """Return what stands for the event loop that runs."""
    return anyio.lowlevel.current_token().native_token
