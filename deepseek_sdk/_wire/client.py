"""The default HTTP clients: one whose sockets obey deadlines, and one that serves any number of event loops."""

from __future__ import annotations

import contextlib
import socket
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2
import openai
from typing_extensions import override

from deepseek_sdk._process import Owner, PerProcess
from deepseek_sdk._wire.loops import LoopTransport
from deepseek_sdk._wire.thread import Alarm, Bounded, CancelToken, abort_socket, shorten

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

__all__ = ["LoopClient", "SupervisedClient"]

# The pool must not be what runs out first: by default the limiters let 2,500 calls of one model and 500 of another
# through at a time, each on a connection of its own, and a client may have other accounts besides. What is kept
# without a call is openai's default.
_LIMITS = httpx2.Limits(
    max_connections=10_000,
    max_keepalive_connections=openai.DEFAULT_CONNECTION_LIMITS.max_keepalive_connections,
    keepalive_expiry=openai.DEFAULT_CONNECTION_LIMITS.keepalive_expiry,
)


class _Stream(httpcore2.NetworkStream, Bounded):
    """A connection that obeys the alarm of the thread that uses it, besides its own deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, alarm: Alarm, opened: weakref.WeakSet[_Stream]) -> None:
        self._stream = stream
        self._alarm = alarm
        self._opened = opened
        self._owner = Owner()
        opened.add(self)
        self.user: CancelToken | None = None

    def _limit(self, timeout: float | None) -> float | None:
        if self._alarm.token is not None:
            self.user = self._alarm.token
            self.user.watch(self)
        return shorten(self._alarm.bound(timeout), self.until)

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._limit(timeout))

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Every request begins with a write: from here on the connection is no longer that of an earlier one.
        self.user = self._alarm.token
        self._stream.write(buffer, self._limit(timeout))

    @override
    def close(self) -> None:
        # A thread that reads is woken, and the server learns of it though a forked child may hold the socket as well.
        if self._owner.is_here:
            abort_socket(self._stream)
        self._stream.close()

    def leave(self) -> None:
        """Close the copy of the socket that a child has inherited; the connection stays as it is."""
        found = self._stream.get_extra_info("socket")
        if isinstance(found, socket.socket):
            found.close()

    @override
    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._limit(timeout))
        return _Stream(stream, self._alarm, self._opened)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    """
    Opens connections that obey an alarm.

    Attributes:
        opened: Those that are still there.
    """

    def __init__(self, backend: httpcore2.NetworkBackend, alarm: Alarm) -> None:
        self._backend = backend
        self._alarm = alarm
        self.opened: weakref.WeakSet[_Stream] = weakref.WeakSet()

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
        return self._armed(self._backend.connect_tcp(host, port, limit, local_address, socket_options))

    @override
    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        limit = self._alarm.bound(timeout)
        return self._armed(self._backend.connect_unix_socket(path, limit, socket_options))

    def _armed(self, stream: httpcore2.NetworkStream) -> httpcore2.NetworkStream:
        return _Stream(stream, self._alarm, self.opened)

    @override
    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class SupervisedClient(openai.DefaultHttpxClient):
    """
    openai's default HTTP client, proxies from the environment included, on sockets that obey an `Alarm`.

    Each process has connections of its own: a forked child does not write on those of its parent.

    Attributes:
        alarm: What each thread sets before it talks to a server.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.alarm = Alarm()
        super().__init__(**{"limits": _LIMITS, **kwargs})

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    # httpx2 offers no argument for the network backend: two private hooks and two attributes, under a contract test.
    @override
    def _init_transport(self, *_: Any, **options: Any) -> httpx2.BaseTransport:
        return _ProcessTransport(partial(httpx2.HTTPTransport, **_with_context(options)), self.alarm)

    @override
    def _init_proxy_transport(self, proxy: Any, *_: Any, **options: Any) -> httpx2.BaseTransport:
        make = partial(httpx2.HTTPTransport, proxy=proxy, **_with_context(options))
        return _ProcessTransport(make, self.alarm)


class _ProcessTransport(httpx2.BaseTransport):
    """A pool of armed connections for each process."""

    def __init__(self, make: Callable[[], httpx2.BaseTransport], alarm: Alarm) -> None:
        self._alarm = alarm
        self._pools = PerProcess(partial(_armed, make, alarm), _close_sockets)
        self._pools.get()

    @override
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._alarm.is_in_pool = True
        try:
            return self._pools.get().handle_request(request)
        finally:
            self._alarm.is_in_pool = False

    @override
    def close(self) -> None:
        self._pools.leave_inherited()
        if (pool := self._pools.made()) is not None:
            pool.close()


def _armed(make: Callable[[], httpx2.BaseTransport], alarm: Alarm) -> httpx2.BaseTransport:
    transport = make()
    pool = _pool(transport)
    pool._network_backend = _Backend(pool._network_backend, alarm)  # noqa: SLF001
    return transport


def _pool(transport: Any) -> Any:
    return transport._pool  # noqa: SLF001


def _close_sockets(transport: httpx2.BaseTransport) -> None:
    """Close a child's copies of its parent's sockets; the connections stay as they are."""
    for stream in list(_pool(transport)._network_backend.opened):  # noqa: SLF001
        stream.leave()


class LoopClient(openai.DefaultAsyncHttpxClient):
    """
    openai's default async HTTP client, proxies from the environment included, for any number of event loops.

    Each loop has connections of its own: a connection belongs to the loop that opened it.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"limits": _LIMITS, **kwargs})

    # The same two private hooks as above.
    @override
    def _init_transport(self, *_: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return LoopTransport(partial(httpx2.AsyncHTTPTransport, **_with_context(options)))

    @override
    def _init_proxy_transport(self, proxy: Any, *_: Any, **options: Any) -> httpx2.AsyncBaseTransport:
        return LoopTransport(partial(httpx2.AsyncHTTPTransport, proxy=proxy, **_with_context(options)))


def _with_context(options: dict[str, Any]) -> dict[str, Any]:
    """Load the certificates now and once: it takes longer than anything else about a transport."""
    names = ("verify", "cert", "trust_env")
    context = httpx2.create_ssl_context(**{name: options[name] for name in names if name in options})
    kept = {name: value for name, value in options.items() if name != "transport"}
    return {**kept, "verify": context, "cert": None}
