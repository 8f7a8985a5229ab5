"""
The server's end of a TCP connection: uvicorn's protocol, with a handle on the transport for what HTTP does not allow.

Imports uvicorn; only the emulator's own start does that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXTENSION", "Line"]

EXTENSION = "deepseek_sdk.line"
# Windows declares the two fields as short integers.
_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
_LOST_WITHIN_S = 1.0


class _CorkedTransport:
    """
    A transport that joins what is written in one turn of the event loop.

    uvicorn writes headers, body and the last chunk one by one; sent in one segment they cost a third, and a client that
    stops reading at `[DONE]` finds the end of the body right behind it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pending: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._pending:
            self._loop.call_soon(self.flush)
        self._pending.append(data)

    def flush(self) -> None:
        data = b"".join(self._pending)
        self._pending.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self.flush()
        self._transport.close()


class Line(H11Protocol):
    """
    One connection.

    An application finds it in `scope["extensions"]`. While it watches a task, the end of the connection cancels the
    task, so that a waiting answer ends as soon as nobody is there to read it.
    """

    on_connect: Callable[[], None]

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # A logger outside the hierarchy: a server in a test must not write into the host program's log.
        self.logger = logging.Logger("deepseek_sdk.testing", logging.CRITICAL + 1)  # noqa: LOG001
        self.access_log = False
        self.app = self._extended
        self._inner = config.loaded_app
        self._lost = asyncio.Event()
        self._watched: asyncio.Task[Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection."""
        super().connection_made(cast("asyncio.Transport", _CorkedTransport(transport, self.loop)))
        self.on_connect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the watched task."""
        super().connection_lost(exc)
        # uvicorn unsets its timer only after an orderly end; a timer left behind would keep the transport alive.
        self._unset_keepalive_if_required()
        self._lost.set()
        if self._watched is not None:
            self._watched.cancel()

    def watch(self) -> None:
        """Cancel the current task when the connection ends."""
        self._watched = asyncio.current_task()
        if self._lost.is_set() and self._watched is not None:
            self._watched.cancel()

    def unwatch(self) -> None:
        """Let the end of the connection be."""
        self._watched = None

    def write(self, data: bytes) -> None:
        """Write *data* past HTTP."""
        self.transport.write(data)

    async def close(self) -> None:
        """Close the connection in an orderly way and wait until it is gone."""
        self.unwatch()
        self.transport.close()
        await self._gone()

    async def reset(self) -> None:
        """Reset the connection and wait until it is gone."""
        self.unwatch()
        peer = self.transport.get_extra_info("socket")
        # Lingering for zero seconds turns the close into a reset.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self.transport.abort()
        await self._gone()

    async def _gone(self) -> None:
        # An orderly close waits for unsent bytes, which a client that does not read may hold up.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._lost.wait(), _LOST_WITHIN_S)

    async def _extended(self, scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"] = {EXTENSION: self}
        await self._inner(scope, receive, send)
