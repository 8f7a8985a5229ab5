"""
A server for tests that go away early, in a process of its own, so that what it keeps is not counted.

The user's text says what to do: "whole", "hold" (a piece, then silence), "silent" (nothing at all), "slow" (a piece
each millisecond), "close" (an answer, then the end of the connection). `GET /open` says how many other connections are
open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys

from tests.raw_server import DONE, FINISH, ROLE, completion, delta

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n%b\r\n\r\n"
LAST = b"\r\nconnection: close"
PIECE = delta(content="word ")
WHOLE = json.dumps(completion("word")).encode()


def chunk(piece: bytes) -> bytes:
    """Encode a piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read a request; give its first line and its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
    return head.split(b"\r\n")[0], await reader.readexactly(int(fields.get(b"content-length", b"0")))


class Churn:
    """Answers, and counts the connections that are open."""

    def __init__(self) -> None:
        self.open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.open += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await self.answer(*await read_request(reader), reader, writer):
                await writer.drain()
        self.open -= 1
        writer.close()

    async def answer(
        self, line: bytes, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer a request; say whether another may come."""
        if line.startswith(b"GET"):
            said = b"%d" % (self.open - 1)
            writer.write(HEAD % (b"text/plain", b"content-length: %d" % len(said)) + said)
            return True
        asked = json.loads(body)
        kind = asked["messages"][-1]["content"]
        if kind == "silent":
            return await reader.read(1) != b""
        if not asked.get("stream"):
            fields = b"content-length: %d%b" % (len(WHOLE), LAST if kind == "close" else b"")
            writer.write(HEAD % (b"application/json", fields) + WHOLE)
            return str(kind) != "close"
        fields = b"transfer-encoding: chunked%b" % (LAST if kind == "close" else b"")
        writer.write(HEAD % (b"text/event-stream", fields) + chunk(ROLE) + chunk(PIECE))
        return await self.go_on(kind, reader, writer)

    async def go_on(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Say the rest of a streamed answer."""
        if kind == "hold":
            return await reader.read(1) != b""
        for _ in range(8):
            writer.write(chunk(PIECE))
            if kind == "slow":
                await writer.drain()
                await asyncio.sleep(0.001)
        writer.write(chunk(FINISH) + chunk(DONE) + b"0\r\n\r\n")
        return kind != "close"


async def main() -> None:
    """Serve until the end of standard input."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of every client that goes away
    server = await asyncio.start_server(Churn().serve, "127.0.0.1", 0, backlog=500)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
