"""An HTTP response as it comes in: bytes under a deadline, in both colours."""

from __future__ import annotations

import contextlib
import time
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai

from deepseek_sdk._wire.alarm import DeadlineReached, make_alarm
from deepseek_sdk._wire.client import Alarm, CancelToken, alarm_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from openai._models import FinalRequestOptions

    from deepseek_sdk._wire.watchdog import Watch, Watchdog

__all__ = ["AsyncUpstream", "ConnectionLost", "SyncUpstream", "Upstream"]

# A connection can be used again only when its response was read to the end; waiting for that end is worth this much.
DRAIN_S = 0.05


class ConnectionLost(Exception):  # noqa: N818  a signal between two modules
    """The transport failed while the body was read; the cause is the HTTP library's error."""


def _lost(error: Exception) -> Exception:
    # By name: a caller's client may be of httpx as well as of httpx2.
    is_timeout = any(kind.__name__ == "TimeoutException" for kind in type(error).__mro__)
    return DeadlineReached() if is_timeout else ConnectionLost(str(error) or type(error).__name__)


def _with_read_timeout(options: FinalRequestOptions, timeout: Any, left: float) -> FinalRequestOptions:
    """Let a client that is not ours give up by itself while it waits for headers: no socket can be seen until then."""
    limits = httpx2.Timeout(timeout).as_dict() if not isinstance(timeout, httpx2.Timeout) else timeout.as_dict()
    short = {name: left if limit is None else min(limit, left) for name, limit in limits.items()}
    return options.model_copy(update={"timeout": httpx2.Timeout(**short)})


class SyncUpstream:
    """
    A response of the sync colour.

    Attributes:
        response: The HTTP response, unread.
    """

    def __init__(self, response: Any, alarm: Alarm, token: CancelToken | None, watchdog: Watchdog | None) -> None:
        self.response = response
        self._alarm = alarm
        self._token = token
        self._watchdog = watchdog
        self._watch: Watch | None = None
        self._chunks: Iterator[bytes] = iter(_body(response))
        if watchdog is not None and (stream := response.extensions.get("network_stream")) is not None:
            self._watch = watchdog.add(stream)

    @classmethod
    def open(
        cls,
        client: openai.OpenAI,
        send: Callable[[FinalRequestOptions], Any],
        options: FinalRequestOptions,
        until: float,
        *,
        token: CancelToken | None,
        watchdog: Watchdog,
    ) -> SyncUpstream:
        """
        Send a request and wait for the headers.

        Args:
            client: The client whose endpoint is asked.
            send: Its way of sending.
            options: The request.
            until: The instant at which to give up.
            token: How another thread may cancel this one.
            watchdog: Keeps deadlines on HTTP clients that are not ours.

        Returns:
            The response.

        Raises:
            DeadlineReached: The headers did not come in time.
            openai.APIError: What openai makes of the failure.
        """
        ours = alarm_of(client._client)  # noqa: SLF001
        alarm = ours or Alarm()
        if ours is None and until != inf:
            timeout = client.timeout if isinstance(options.timeout, openai.NotGiven) else options.timeout
            options = _with_read_timeout(options, timeout, max(until - time.monotonic(), 0.001))
        alarm.at, alarm.token = until, token
        try:
            response = send(options)
        except openai.APITimeoutError as error:
            raise (DeadlineReached() if _is_over(until) else error) from error
        finally:
            alarm.at, alarm.token = inf, None
        return cls(response, alarm, token, watchdog if ours is None else None)

    async def read(self, until: float) -> bytes | None:
        """
        Wait for the next bytes of the body.

        Args:
            until: The instant at which to give up.

        Returns:
            Some bytes, or None at the end.

        Raises:
            DeadlineReached: They did not come in time.
            ConnectionLost: The transport failed.
        """
        return self._next(until)

    async def close(self, *, is_done: bool) -> None:
        """
        Let go of the connection.

        Args:
            is_done: The answer is complete, so the connection is worth keeping.
        """
        if is_done:
            self._drain()
        self.abort()

    def abort(self) -> None:
        """Close the connection at once, from any thread."""
        self.response.close()
        if self._watch is not None and self._watchdog is not None:
            self._watchdog.remove(self._watch)

    def _next(self, until: float) -> bytes | None:
        self._set(until)
        try:
            chunk = next(self._chunks, None)
        except Exception as error:
            raise (DeadlineReached() if self._has_fired else _lost(error)) from error
        finally:
            self._set(inf)
        if chunk is None and self._has_fired:
            raise DeadlineReached
        return chunk

    @property
    def _has_fired(self) -> bool:
        return self._watch is not None and self._watch.has_fired

    def _set(self, until: float) -> None:
        self._alarm.at = until
        self._alarm.token = None if until == inf else self._token
        if self._watch is not None and self._watchdog is not None:
            self._watchdog.watch_until(self._watch, until)

    def _drain(self) -> None:
        until = time.monotonic() + DRAIN_S
        with contextlib.suppress(DeadlineReached, ConnectionLost):
            while time.monotonic() < until and self._next(until) is not None:
                pass


class AsyncUpstream:
    """
    A response of the async colour.

    Attributes:
        response: The HTTP response, unread.
    """

    def __init__(self, response: Any) -> None:
        self.response = response
        self._alarm = make_alarm()
        self._loop = _running_loop()
        self._chunks: AsyncIterator[bytes] = aiter(_body(response))

    @classmethod
    async def open(
        cls, send: Callable[[FinalRequestOptions], Awaitable[Any]], options: FinalRequestOptions, until: float
    ) -> AsyncUpstream:
        """
        Send a request and wait for the headers.

        Args:
            send: A client's way of sending.
            options: The request.
            until: The instant at which to give up.

        Returns:
            The response.

        Raises:
            DeadlineReached: The headers did not come in time.
            openai.APIError: What openai makes of the failure.
        """
        alarm = make_alarm()
        try:
            return cls(await alarm.guard(send(options), until))
        except openai.APITimeoutError as error:
            raise (DeadlineReached() if _is_over(until) else error) from error
        finally:
            alarm.stop()

    async def read(self, until: float) -> bytes | None:
        """
        Wait for the next bytes of the body.

        Args:
            until: The instant at which to give up.

        Returns:
            Some bytes, or None at the end.

        Raises:
            DeadlineReached: They did not come in time.
            ConnectionLost: The transport failed.
        """
        try:
            return await self._alarm.guard(anext(self._chunks), until)
        except StopAsyncIteration:
            return None
        except DeadlineReached:
            raise
        except Exception as error:
            raise _lost(error) from error

    async def close(self, *, is_done: bool) -> None:
        """
        Let go of the connection.

        Args:
            is_done: The answer is complete, so the connection is worth keeping.
        """
        if is_done:
            await self._drain()
        self._alarm.stop()
        # A caller that is being cancelled must not leave the connection open.
        with anyio.CancelScope(shield=True):
            await self.response.aclose()

    def abort(self) -> None:
        """Close the connection from any thread, as soon as its event loop gets to it."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        if self._loop is not None:
            task = self._loop.create_task(self.close(is_done=False))
            self._closing = task

    async def _drain(self) -> None:
        until = time.monotonic() + DRAIN_S
        with contextlib.suppress(DeadlineReached, ConnectionLost):
            while time.monotonic() < until and await self.read(until) is not None:
                pass


Upstream = SyncUpstream | AsyncUpstream


def _is_over(until: float) -> bool:
    return time.monotonic() >= until - 0.005


def _body(response: Any) -> Any:
    # The stream itself, one layer below iter_raw(): our own response adds that layer again.
    if "content-encoding" not in response.headers:
        return response.stream
    return response.aiter_bytes() if isinstance(response.stream, httpx2.AsyncByteStream) else response.iter_bytes()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    import asyncio  # noqa: PLC0415  a sync program need not load it, a trio program has no such loop

    with contextlib.suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None
