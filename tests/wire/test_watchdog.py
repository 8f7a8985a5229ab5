"""The watchdog: overdue connections are shut down, whatever the garbage collector does meanwhile."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from deepseek_sdk._wire.upstream import SyncUpstream
from deepseek_sdk._wire.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable


class Stream:
    """A network stream over one end of a pair of sockets."""

    def __init__(self, when_asked: Callable[[], object] = bool) -> None:
        self.near, self.far = socket.socketpair()
        self._when_asked = when_asked

    def get_extra_info(self, _: str) -> socket.socket:
        """Give the socket, which is asked for when it is shut down."""
        self._when_asked()
        return self.near

    def is_shut(self) -> bool:
        """Tell whether the other end sees an end within a second."""
        self.far.settimeout(1)
        try:
            return self.far.recv(1) == b""
        except TimeoutError:
            return False
        finally:
            self.near.close()
            self.far.close()


def test_a_stream_collected_on_its_thread() -> None:
    """A watch that is removed on the watchdog's own thread, in the middle of its round, does not end the thread."""
    watchdog = Watchdog()
    forgotten = [watchdog.add(None) for _ in range(20)]

    def collect() -> None:
        while forgotten:
            watchdog.remove(forgotten.pop())

    overdue, later = Stream(collect), Stream()
    watches = [watchdog.add(overdue), watchdog.add(later)]
    watches[0].until = time.monotonic()
    assert overdue.is_shut()

    watches[1].until = time.monotonic() + 0.05
    assert later.is_shut()
    for watch in watches:
        watchdog.remove(watch)


def response_of(version: bytes, stream: Stream) -> httpx2.Response:
    """Make a response of one of the versions of HTTP."""

    class Body(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            return iter([b"one", b"two"])

    extensions: dict[str, Any] = {"network_stream": stream, "http_version": version}
    return httpx2.Response(200, stream=Body(), extensions=extensions)


def test_connections_that_others_use() -> None:
    """A connection of HTTP/2 carries other calls as well: it is not watched."""
    stream = Stream()
    response = response_of(b"HTTP/2", stream)
    watchdog = Watchdog()
    upstream = SyncUpstream(response, watchdog)

    assert not watchdog._watches
    upstream.abort()
    watchdog.release_forgotten()
    assert response.is_closed
    stream.near.close()
    assert stream.is_shut()


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_connections_of_one_call(version: bytes) -> None:
    """A connection that a response has to itself is watched, and shut down where the response is left."""
    stream, watchdog = Stream(), Watchdog()
    upstream = SyncUpstream(response_of(version, stream), watchdog)

    assert 1 == len(watchdog._watches)
    upstream.abort()
    assert stream.is_shut()
    watchdog.release_forgotten()
    assert not watchdog._watches
