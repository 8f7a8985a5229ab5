"""
A thread with an event loop that serves an ASGI application on loopback.

Imports uvicorn; only the emulator's own start does that. uvicorn's `Server` is left out: it polls ten times a second,
which every start and stop would have to wait for; its configuration and its protocol do the work.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.server import ServerState

from deepseek_sdk.testing.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LoopbackServer"]

_BACKLOG = 2048
_WORKERS = 64


class LoopbackServer:
    """
    Serve until told to stop.

    Args:
        app: The ASGI application.
        host: The address to listen on.
        port: The port; 0 lets the system choose.
        on_connect: Called for every accepted connection.
        idle_s: Seconds after which an idle connection is closed.
    """

    def __init__(self, app: Any, *, host: str, port: int, on_connect: Callable[[], None], idle_s: float) -> None:
        self._app = app
        self._host = host
        self._port = port
        self._on_connect = on_connect
        self._idle_s = idle_s
        self._state = ServerState()
        self._thread = threading.Thread(target=self._run, name="deepseek-emulator", daemon=True)
        self._ready: Future[int] = Future()
        self._stop: Callable[[], object]

    def start(self) -> int:
        """
        Start the thread and wait until it listens.

        Returns:
            The port.

        Raises:
            OSError: It cannot listen there.
        """
        self._thread.start()
        return self._ready.result()

    def stop(self) -> None:
        """End every connection, and wait until the thread is gone; only after a start."""
        self._stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the start must learn of it
            if not self._ready.done():
                self._ready.set_exception(error)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        # Callables of a test may block; the default of five threads or so would soon be used up.
        loop.set_default_executor(ThreadPoolExecutor(_WORKERS, "deepseek-emulator"))
        stopping = asyncio.Event()
        listener = await loop.create_server(self._protocol(loop), self._host, self._port, backlog=_BACKLOG)
        self._stop = lambda: loop.call_soon_threadsafe(stopping.set)
        self._ready.set_result(listener.sockets[0].getsockname()[1])
        await stopping.wait()
        listener.close()
        await self._end_connections()
        await listener.wait_closed()

    def _protocol(self, loop: asyncio.AbstractEventLoop) -> Callable[[], Line]:
        config = uvicorn.Config(
            self._app,
            http=Line,
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
            timeout_keep_alive=self._idle_s,  # type: ignore[arg-type]
        )
        config.load()

        def protocol() -> Line:
            line = Line(config, self._state, {}, loop)
            line.on_connect = self._on_connect
            return line

        return protocol

    async def _end_connections(self) -> None:
        # Aborting cancels the watched tasks: an answer that waits for ever ends here.
        for line in list(self._state.connections):
            line.transport.abort()
        tasks = list(self._state.tasks)
        if tasks:
            await asyncio.wait(tasks)
        # One more turn of the loop lets the aborted transports close their sockets.
        await asyncio.sleep(0)
