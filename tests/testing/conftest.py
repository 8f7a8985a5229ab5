"""
Fixtures for the emulator's own tests: one vocabulary for all of them, bare openai clients, and raw sockets.

    server = serve(replies=["Hello."])          an emulator that stops at the end of the test
    server.ask("Hi", stream=True)               a bare openai client without retries
    server.exchange({...})                      what came over a socket of our own, byte for byte
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import openai
import pytest

from deepseek_sdk.testing import DeepSeekVocabulary, Emulator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.testing import Vocabulary

Serve: TypeAlias = "Callable[..., Server]"

CHAT = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello, 你好 🙂"}]}


@dataclass(frozen=True)
class Exchange:
    """
    What a socket saw.

    Attributes:
        head: The status line and the headers.
        raw: The bytes after them.
        end: `eof`, `reset`, or `open` if nothing more came in time.
    """

    head: str
    raw: bytes
    end: str

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.head.split(" ")[1])

    @property
    def body(self) -> bytes:
        """The body without its chunking; what there is of it if it is cut."""
        return dechunked(self.raw)[0] if "transfer-encoding: chunked" in self.head.lower() else self.raw

    @property
    def is_whole(self) -> bool:
        """Whether the last chunk came, or as many bytes as were announced."""
        if "transfer-encoding: chunked" in self.head.lower():
            return dechunked(self.raw)[1]
        return f"content-length: {len(self.raw)}" in self.head.lower()

    @property
    def events(self) -> list[Any]:
        """The data of the events, decoded where it is JSON."""
        data = (
            line.removeprefix("data: ")
            for line in self.body.decode("utf-8", "replace").splitlines()
            if line[:5] == "data:"
        )
        return [decoded(text) for text in data]


def dechunked(raw: bytes) -> tuple[bytes, bool]:
    """Take the chunking off *raw*; say whether the last chunk was there."""
    body = b""
    while raw:
        size, _, rest = raw.partition(b"\r\n")
        length = int(size or b"0", 16)
        if length == 0:
            return body, bool(rest)
        body, raw = body + rest[:length], rest[length + 2 :]
    return body, False


def decoded(text: str | bytes) -> Any:
    """Decode JSON, or give the text back."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Server:
    """An emulator with the ways in which these tests talk to it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._clients: list[openai.OpenAI] = []

    @functools.cached_property
    def client(self) -> openai.OpenAI:
        """A bare client of the plain paths; made when needed, because making one takes its time."""
        return self.connect()

    @functools.cached_property
    def beta(self) -> openai.OpenAI:
        """A bare client of the beta paths."""
        return self.connect("/beta")

    def connect(self, path: str = "", **options: Any) -> openai.OpenAI:
        """Build a bare client of the paths under *path*."""
        # Loading certificates takes longer than most of these tests, and none of them needs any.
        plain = openai.DefaultHttpxClient(verify=False)
        options = {"api_key": "sk-test", "max_retries": 0, "timeout": 10, "http_client": plain, **options}
        self._clients.append(openai.OpenAI(base_url=self.emulator.url + path, **options))
        return self._clients[-1]

    def ask(self, prompt: str = "Hello", **options: Any) -> Any:
        """Ask for a chat completion of *prompt*."""
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": prompt}], **options}
        return self.client.chat.completions.create(**body)

    def refusal(self, **options: Any) -> tuple[int, str]:
        """Ask for a chat completion that is refused; give the status and the message."""
        client = self.beta if options.pop("beta", False) else self.client
        with pytest.raises(openai.APIStatusError) as caught:
            client.post("/chat/completions", body={**CHAT, **options}, cast_to=object)
        body = caught.value.response.json()
        return caught.value.status_code, body["error"]["message"]

    def exchange(self, body: Any = None, *, path: str = "/chat/completions", wait_s: float = 2.0) -> Exchange:
        """Send a request through a socket and read until it ends or is silent for *wait_s* seconds."""
        with self.socket(wait_s) as peer:
            peer.sendall(request_bytes(CHAT if body is None else body, path))
            return read_all(peer)

    @contextlib.contextmanager
    def socket(self, wait_s: float = 2.0) -> Iterator[socket.socket]:
        """Open a connection."""
        with socket.create_connection(("127.0.0.1", self.emulator.port), wait_s) as peer:
            yield peer

    def close(self) -> None:
        """Close the clients, then the emulator."""
        for client in self._clients:
            client.close()
        self.emulator.stop()


def request_bytes(body: Any, path: str = "/chat/completions") -> bytes:
    """Encode a POST that asks for the connection to be closed afterwards."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-test\r\nconnection: close\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


def read_all(peer: socket.socket) -> Exchange:
    """Read until the end."""
    reads: list[bytes] = []
    end = "eof"
    try:
        while data := peer.recv(65536):
            reads.append(data)
    except ConnectionResetError:
        end = "reset"
    except TimeoutError:
        end = "open"
    return exchange_of(reads, end)


def exchange_of(reads: list[bytes], end: str) -> Exchange:
    """Split what was read."""
    head, _, raw = b"".join(reads).partition(b"\r\n\r\n")
    return Exchange(head.decode("latin-1"), raw, end)


def read_until(peer: socket.socket, is_enough: Callable[[Exchange], bool], *, quiet_s: float = 0.03) -> Exchange:
    """Read until there is enough, and then a little longer, to see whether the connection stays open."""
    reads: list[bytes] = []
    while not is_enough(seen := exchange_of(reads, "open")):
        reads.append(peer.recv(65536))
        assert reads[-1], f"the connection ended too early: {seen}"
    peer.settimeout(quiet_s)
    try:
        reads.append(peer.recv(65536))
    except TimeoutError:
        return seen
    return exchange_of(reads, "open" if reads[-1] else "eof")


def soon(condition: Callable[[], bool], within_s: float = 5.0) -> bool:
    """Wait until *condition* holds, but no longer than *within_s* seconds."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """Load the vocabulary once."""
    loaded = DeepSeekVocabulary()
    loaded.load()
    return loaded


@pytest.fixture
def serve(vocabulary: Vocabulary) -> Iterator[Serve]:
    """Start servers by calling this; they stop at the end of the test."""
    with contextlib.ExitStack() as stack:

        def start(**options: Any) -> Server:
            server = Server(Emulator(**{"vocabulary": vocabulary, **options}).start())
            stack.callback(server.close)
            return server

        yield start
