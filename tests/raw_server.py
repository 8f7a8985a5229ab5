"""
A server that says exactly the bytes that a test scripts, and a proxy; both on loopback, each connection on a thread.

    with RawServer(stream(delta(content="Hi"), FINISH, DONE)) as server: ...

    RawServer(first, second)                    one script per request, the last for all that follow
    stream(*pieces, end="hold")                 a script: headers, pieces in chunks, then an ending
    whole({...})                                a script: one body with a length
    def script(exchange: Exchange) -> None      a script of one's own

    server.requests                             what arrived
    server.connections                          TCP connections accepted
    server.wait_for_abort()                     whether a client went away in the middle of an answer
    server.wait_until_closed()                  whether every connection has been closed
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import pytest

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

Script: TypeAlias = "Callable[[Exchange], None]"
End: TypeAlias = Literal["end", "close", "reset", "hold"]

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
_LINGER = struct.pack("ii", 1, 0)
_HEAD = {"id": "answer-1", "created": 1_796_000_000, "model": "deepseek-flash"}


@pytest.fixture(autouse=True, scope="session")
def without_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spare every client the loading of certificates: it takes longer than a test, and nothing here needs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


def event(value: object) -> bytes:
    """Encode an event the way DeepSeek does: one line of compact JSON in UTF-8."""
    return b"data: %b\n\n" % json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def chunk(finish: str | None = None, usage: dict[str, Any] | None = None, **said: Any) -> dict[str, Any]:
    """Give a chunk whose delta is *said*."""
    choice = {"index": 0, "delta": said, "logprobs": None, "finish_reason": finish}
    return {**_HEAD, "object": "chat.completion.chunk", "choices": [choice], "usage": usage}


def delta(**said: Any) -> bytes:
    """Give the event of a delta, such as `delta(content="Hi")`."""
    return event(chunk(**said))


ROLE = delta(role="assistant", content="")
FINISH = event(chunk("stop", USAGE, content=""))


def answer(*pieces: str) -> list[bytes]:
    """Give the events of a whole streamed answer."""
    return [ROLE, *(delta(content=piece) for piece in pieces), FINISH, DONE]


def completion(content: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Give a plain answer."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "logprobs": None,
        "finish_reason": finish,
    }
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    What arrived.

    Attributes:
        method: Such as "POST".
        target: The path, or for a proxy the whole URL.
        headers: By lower-case name.
        raw: The body.
        connection: Counts TCP connections from 1.
    """

    method: str
    target: str
    headers: dict[str, str] = field(repr=False)
    raw: bytes
    connection: int

    @property
    def body(self) -> Any:
        """The body, decoded."""
        return json.loads(self.raw) if self.raw else None


class Exchange:
    """One request and the answer to it."""

    def __init__(self, request: Request, connection: socket.socket, stopping: threading.Event) -> None:
        self.request = request
        self.is_over = False
        self.stopping = stopping
        self._connection = connection

    def send(self, *pieces: bytes) -> None:
        """Send bytes as they are, each piece in a write of its own."""
        for piece in pieces:
            self._connection.sendall(piece)

    def head(self, status: int = 200, /, **headers: str) -> None:
        """Send a status line and headers; underscores stand for hyphens."""
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([f"HTTP/1.1 {status} Status", *lines, "", ""]).encode())

    def chunks(self, *pieces: bytes) -> None:
        """Send pieces of a body that is told by chunks."""
        self.send(*(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece))

    def pause(self, seconds: float) -> None:
        """Wait, unless the server stops."""
        self.stopping.wait(seconds)

    def hold(self, seconds: float = 30.0) -> bool:
        """Keep the connection open until the client closes it; say whether it did."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.stopping.is_set():
            readable, _, _ = select.select([self._connection], [], [], 0.01)
            if readable:
                with contextlib.suppress(OSError):
                    return self._connection.recv(4096) == b""
                return True
        return False

    def close(self) -> None:
        """End the connection in an orderly way."""
        self.is_over = True
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Reset the connection."""
        self.is_over = True
        self.pause(0.02)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self._connection.close()


class RawServer:
    """
    Answer requests by scripts, in the order in which they arrive; the last script answers all further ones.

    Attributes:
        requests: What arrived.
        connections: The number of TCP connections accepted.
        aborts: When clients closed a connection in the middle of an answer, by the monotonic clock.
    """

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self._scripts = scripts
        self._tls = tls
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.requests: list[Request] = []
        self.connections = 0
        self.aborts: list[float] = []
        self._aborted = threading.Event()
        self._changed = threading.Condition()
        self._open = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for connection in self._sockets:
            connection.close()

    def wait_for_abort(self, seconds: float = 5.0) -> bool:
        """Say whether a client closed a connection in the middle of an answer, within *seconds*."""
        return self._aborted.wait(seconds)

    def wait_until_closed(self, seconds: float = 5.0) -> bool:
        """Say whether every connection has been closed, within *seconds*."""
        with self._changed:
            return self._changed.wait_for(lambda: self._open == 0, seconds)

    def _count(self, change: int) -> None:
        with self._changed:
            self._open += change
            self._changed.notify_all()

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                self._sockets.append(connection)
                self._count(1)
                self._start(self._serve, connection, self.connections)

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            self._answer(connection, number)
        finally:
            self._count(-1)

    def _answer(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._converse(connection, number)

    def _converse(self, connection: socket.socket, number: int) -> None:
        with connection:
            for request in _requests(connection, number):
                with self._lock:
                    script = self._scripts[min(len(self.requests), len(self._scripts) - 1)]
                    self.requests.append(request)
                exchange = Exchange(request, connection, self._stopping)
                try:
                    script(exchange)
                except OSError:
                    self._note_abort()
                    return
                if exchange.is_over or request.headers.get("connection") == "close":
                    return

    def _note_abort(self) -> None:
        if not self._stopping.is_set():
            self.aborts.append(time.monotonic())
            self._aborted.set()


def _requests(connection: socket.socket, number: int) -> Iterator[Request]:
    with connection.makefile("rb") as reader:
        while line := reader.readline():
            method, target, _ = line.decode("latin-1").split(" ", 2)
            headers: dict[str, str] = {}
            while (line := reader.readline().strip()) != b"":
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            raw = reader.read(int(headers.get("content-length", "0")))
            yield Request(method=method, target=target, headers=headers, raw=raw, connection=number)


def stream(
    *pieces: bytes,
    end: End = "end",
    pause: float = 0.0,
    content_type: str = "text/event-stream",
    headers: dict[str, str] | None = None,
    before_headers: float = 0.0,
) -> Script:
    """
    Make a script that sends a body in chunks.

    Args:
        *pieces: The body, each piece in a write of its own.
        end: What happens then: "end" the body, "close" or "reset" the connection, "hold" it open.
        pause: Seconds before each piece.
        content_type: The header.
        headers: Further headers.
        before_headers: Seconds before the headers.

    Returns:
        The script.
    """

    def script(exchange: Exchange) -> None:
        exchange.pause(before_headers)
        exchange.head(content_type=content_type, transfer_encoding="chunked", **(headers or {}))
        for piece in pieces:
            exchange.pause(pause)
            exchange.chunks(piece)
        _end(exchange, end)

    return script


def _end(exchange: Exchange, end: End) -> None:
    if end == "end":
        exchange.send(b"0\r\n\r\n")
    elif end == "close":
        exchange.close()
    elif end == "reset":
        exchange.reset()
    elif exchange.hold():
        raise ConnectionAbortedError


def until_close(*pieces: bytes, content_type: str = "text/event-stream") -> Script:
    """Make a script whose body ends with the connection, so that nothing tells a cut from an end."""

    def script(exchange: Exchange) -> None:
        exchange.head(content_type=content_type, connection="close")
        exchange.send(*pieces)
        exchange.close()

    return script


def whole(
    body: object, status: int = 200, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> Script:
    """Make a script that answers with one body: bytes as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()

    def script(exchange: Exchange) -> None:
        exchange.head(status, content_type=content_type, content_length=str(len(data)), **(headers or {}))
        exchange.send(data)

    return script


def refusal(status: int, message: str, **headers: str) -> Script:
    """Make a script that refuses with an error body."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
    return whole({"error": error}, status, headers=headers)


def silence(exchange: Exchange) -> None:
    """Read the request and never answer: a script."""
    if exchange.hold():
        raise ConnectionAbortedError


def keep_alives(every: float, count: int = 10_000, *, blank_lines: bool = False) -> Script:
    """Make a script that sends headers and then keep-alives, for plain requests blank lines."""
    line = b"\n" if blank_lines else b": keep-alive\n\n"

    def script(exchange: Exchange) -> None:
        content_type = "application/json" if blank_lines else "text/event-stream"
        exchange.head(content_type=content_type, transfer_encoding="chunked")
        for _ in range(count):
            if exchange.stopping.is_set():
                return
            exchange.pause(every)
            exchange.chunks(line)

    return script


class LoopbackProxy:
    """
    A forward proxy that sends everything to one server, whatever host was asked for: no name is ever looked up.

    Attributes:
        seen: The URLs that it was asked for.
    """

    def __init__(self, upstream_url: str) -> None:
        host, _, port = upstream_url.removeprefix("http://").partition(":")
        self._upstream = (host, int(port))
        self.seen: list[str] = []
        self._server = RawServer(self._forward)
        self.url = self._server.url

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def _forward(self, exchange: Exchange) -> None:
        request = exchange.request
        self.seen.append(request.target)
        path = "/" + request.target.removeprefix("http://").partition("/")[2]
        headers = {**request.headers, "connection": "close"}
        head = "\r\n".join([f"{request.method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "", ""])
        with socket.create_connection(self._upstream) as upstream:
            upstream.sendall(head.encode("latin-1") + request.raw)
            while not exchange.stopping.is_set():
                readable, _, _ = select.select([upstream], [], [], 0.01)
                data = upstream.recv(65536) if readable else None
                if data == b"":
                    break
                exchange.send(data or b"")
        exchange.close()
