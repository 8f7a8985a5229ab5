"""The HTTP client of the sync colour, with a deadline that no keep-alive can put off."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from concurrent.futures import Future
from math import inf
from typing import TYPE_CHECKING, Any

import httpcore2
import openai
from typing_extensions import override

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    import httpx2

__all__ = ["Alarm", "CancelToken", "SupervisedClient", "abort_socket", "alarm_of"]


class CancelToken:
    """Lets one thread end what another is doing on a socket."""

    def __init__(self) -> None:
        self.cancelled: Future[None] = Future()
        self._stream: httpcore2.NetworkStream | None = None

    def watch(self, stream: httpcore2.NetworkStream) -> None:
        """
        Note the stream that the owner's thread is about to block on.

        Args:
            stream: It.

        Raises:
            httpcore2.ReadError: The owner was cancelled.
        """
        self._stream = stream
        if self.cancelled.done():
            message = "the call was cancelled"
            raise httpcore2.ReadError(message)

    def cancel(self) -> None:
        """Cancel the owner: what it waits for ends at once."""
        if not self.cancelled.done():
            self.cancelled.set_result(None)
        if self._stream is not None:
            abort_socket(self._stream)


def abort_socket(stream: Any) -> None:
    """
    Shut a connection down from any thread; a read that blocks on it returns.

    Args:
        stream: A network stream of httpcore2.
    """
    found = stream.get_extra_info("socket")
    if isinstance(found, socket.socket):
        # SSLSocket.shutdown() would take the TLS state from under a reader in another thread.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(found, socket.SHUT_RDWR)


class Alarm(threading.local):
    """
    What holds for the thread that is talking to a server.

    Attributes:
        at: The instant at which every read, write, connect and handshake of this thread gives up.
        token: How another thread may cancel it, or None.
    """

    at: float = inf
    token: CancelToken | None = None

    def bound(self, timeout: float | None) -> float | None:
        """Shorten a timeout, in seconds, to what is left."""
        if self.at == inf:
            return timeout
        left = max(self.at - time.monotonic(), 0.0001)
        return left if timeout is None else min(timeout, left)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, alarm: Alarm) -> None:
        self._stream = stream
        self._alarm = alarm

    def _limit(self, timeout: float | None) -> float | None:
        if self._alarm.token is not None:
            self._alarm.token.watch(self._stream)
        return self._alarm.bound(timeout)

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


def alarm_of(http_client: object) -> Alarm | None:
    """
    Find a client's alarm.

    Args:
        http_client: Any HTTP client.

    Returns:
        Its alarm, or None for a client that is not ours.
    """
    return http_client.alarm if isinstance(http_client, SupervisedClient) else None
