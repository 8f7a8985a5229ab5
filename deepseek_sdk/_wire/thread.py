"""What holds for a thread that talks to a server: when it gives up, and how another thread may stop it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from concurrent.futures import Future
from math import inf
from typing import Any

__all__ = ["Alarm", "Bounded", "CancelToken", "abort_socket", "shorten"]


class Bounded:
    """
    A connection that obeys a deadline of its own.

    Attributes:
        until: The instant at which every read and write of it gives up.
    """

    until: float = inf


class CancelToken:
    """Lets one thread end what another is doing on a socket."""

    def __init__(self) -> None:
        self.cancelled: Future[None] = Future()
        self._stream: Any | None = None
        self._lock = threading.RLock()  # a forgotten stream may be collected where it is held

    def watch(self, stream: Any) -> None:
        """
        Note the stream that the owner's thread is about to block on.

        Args:
            stream: It; its attribute *user* is this token for as long as nobody else uses it.

        Raises:
            ConnectionAbortedError: The owner was cancelled.
        """
        with self._lock:
            self._stream = stream
        if self.cancelled.done():
            message = "the call was cancelled"
            raise ConnectionAbortedError(message)

    def cancel(self) -> None:
        """Cancel the owner: what it waits for ends at once."""
        if not self.cancelled.done():
            self.cancelled.set_result(None)
        with self._lock:
            # A connection that another thread has taken from the pool since is that one's.
            if self._stream is not None and self._stream.user is self:
                abort_socket(self._stream)

    def forget(self) -> None:
        """Let the stream go: the owner is done with it."""
        with self._lock:
            self._stream = None


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
        is_in_pool: It may be changing the pool of connections. What the garbage collector ends on this thread now must
            not change it as well.
    """

    at: float = inf
    token: CancelToken | None = None
    is_in_pool: bool = False

    def bound(self, timeout: float | None) -> float | None:
        """Shorten a timeout, in seconds, to what is left."""
        return shorten(timeout, self.at)


def shorten(timeout: float | None, until: float) -> float | None:
    """
    Shorten a timeout to what is left of a deadline.

    Args:
        timeout: It, in seconds, or None for no limit.
        until: The instant of the deadline, `inf` where there is none.

    Returns:
        Seconds, or None for no limit.
    """
    if until == inf:
        return timeout
    left = max(until - time.monotonic(), 0.0001)
    return left if timeout is None else min(timeout, left)
