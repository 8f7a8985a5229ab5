"""Act out a script on a connection: write what is due, wait, keep the client awake, and end as the script says."""

from __future__ import annotations

import asyncio
import http
import time
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.testing.script import Ending, Framing, Opening, Script

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deepseek_sdk.testing.line import Line

__all__ = ["Player"]

_MOST_BYTES_A_WRITE = 64 * 1024
# A peer that is reading takes what was written before it hears of a reset.
_BEFORE_RESET_S = 0.01
_FOREVER_S = 365 * 86_400.0


class Player:
    """
    One performance of a script.

    Args:
        script: What to do.
        line: The connection.
        send: The ASGI function that writes.
        on_write: Called with the number of parts before they are written, and with None before the last bytes.
    """

    def __init__(
        self,
        script: Script,
        line: Line,
        send: Callable[[Any], Awaitable[None]],
        on_write: Callable[[int | None], None],
    ) -> None:
        self._script = script
        self._line = line
        self._on_write = on_write
        is_raw = script.framing is Framing.UNTIL_CLOSE
        self._output: _Output = _RawOutput(line) if is_raw else _AsgiOutput(send)
        self._began = time.monotonic()
        self._last_write = self._began
        self._is_open = False
        self._buffer: list[bytes] = []
        self._size = 0

    async def run(self) -> None:
        """Act the script out; cancelled when the client goes away."""
        script = self._script
        if script.opens_at:
            await asyncio.sleep(script.opens_at)
        if script.opening is not Opening.NORMAL:
            return await self._open_badly(script.opening)
        # A stream's headers, status 200 included, go out before its first token (rate-limit page).
        if script.is_stream:
            await self._open()
        for part in script.parts:
            await self._until(part.at)
            await self._put(part.data)
        await self._until(script.ends_at)
        return await self._end()

    async def _open_badly(self, opening: Opening) -> None:
        if opening is Opening.SILENCE:
            await asyncio.sleep(_FOREVER_S)
        await (self._line.reset() if opening is Opening.RESET else self._line.close())

    async def _open(self) -> None:
        if not self._is_open:
            self._is_open = True
            await self._output.head(self._script.status, dict(self._script.headers), length=self._length())

    def _length(self) -> int | None:
        script = self._script
        is_whole = script.framing is Framing.AUTO and not script.is_stream and script.ending is Ending.COMPLETE
        # Once a keep-alive has gone out, or with several parts, only chunks can tell where the body ends.
        return self._size if is_whole and self._last_write == self._began else None

    async def _put(self, data: bytes) -> None:
        self._buffer.append(data)
        self._size += len(data)
        self._on_write(1)
        # A turn of the loop between two writes keeps them apart on the wire.
        if not self._script.is_coalesced:
            await self._flush()
            await asyncio.sleep(0)
        elif self._size > _MOST_BYTES_A_WRITE and self._script.is_stream:
            await self._flush()

    async def _flush(self) -> None:
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._size = 0
        if data:
            self._last_write = time.monotonic()
            await self._open()
            await self._output.data(data)

    async def _until(self, at: float) -> None:
        """Wait until *at* seconds after the start."""
        left = self._began + at - time.monotonic()
        if left <= 0:
            return
        await self._flush()
        while left > 0:
            await self._nap(left)
            left = self._began + at - time.monotonic()

    async def _nap(self, seconds: float) -> None:
        """Sleep, but no longer than until a keep-alive is due; then send it."""
        every = self._script.keep_alive_s
        quiet = time.monotonic() - self._last_write
        if every is None or seconds <= every - quiet:
            await asyncio.sleep(seconds)
            return
        await asyncio.sleep(max(0.0, every - quiet))
        # Rate-limit page: while a request waits, plain ones get empty lines and streams get `: keep-alive` comments.
        self._buffer.append(b": keep-alive\n\n" if self._script.is_stream else b"\n")
        await self._flush()

    async def _end(self) -> None:
        ending = self._script.ending
        if ending is Ending.COMPLETE:
            # A client may hang up as soon as it has the last byte; that is no abort.
            self._line.unwatch()
            self._on_write(None)
            await self._open()
            await self._output.end(b"".join(self._buffer))
            return
        await self._flush()
        await self._open()
        if ending is Ending.HOLD:
            await self._until(_FOREVER_S)
        if ending is Ending.RESET:
            await asyncio.sleep(_BEFORE_RESET_S)
            await self._line.reset()
        await self._line.close()


class _Output(Protocol):
    async def head(self, status: int, headers: dict[str, str], *, length: int | None) -> None: ...
    async def data(self, data: bytes) -> None: ...
    async def end(self, data: bytes) -> None: ...


class _AsgiOutput:
    """Write through uvicorn, which frames the body."""

    def __init__(self, send: Callable[[Any], Awaitable[None]]) -> None:
        self._send = send

    async def head(self, status: int, headers: dict[str, str], *, length: int | None) -> None:
        if length is not None:
            headers["content-length"] = str(length)
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def data(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data})


class _RawOutput:
    """Write past uvicorn, which cannot send a body without length or chunks."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def head(self, status: int, headers: dict[str, str], *, length: int | None) -> None:  # noqa: ARG002
        headers["connection"] = "close"
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in headers.items())]
        self._line.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def data(self, data: bytes) -> None:
        self._line.write(data)

    async def end(self, data: bytes) -> None:
        self._line.write(data)
        await self._line.close()
