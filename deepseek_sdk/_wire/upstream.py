"""An HTTP response as it comes in: bytes under a deadline, in both colours."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from deepseek_sdk._loop import current_loop, uninterrupted
from deepseek_sdk._process import Owner
from deepseek_sdk._wire.alarm import AsyncAlarm, DeadlineReached, make_alarm
from deepseek_sdk._wire.loops import SHIELDED
from deepseek_sdk._wire.thread import Alarm, Bounded, CancelToken, abort_socket
from deepseek_sdk._wire.watchdog import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from openai._models import FinalRequestOptions

    from deepseek_sdk._clock import Clock
    from deepseek_sdk._wire.watchdog import Watchdog

__all__ = ["AsyncUpstream", "ConnectionLost", "SyncUpstream", "Upstream", "timeout_of", "unread_refusal"]

# A connection can be used again only when its response was read to the end; waiting for that end is worth this much.
DRAIN_S = 0.05


class ConnectionLost(Exception):  # noqa: N818  a signal between two modules
    """The transport failed while the body was read; the cause is the HTTP library's error."""


def _lost(error: Exception) -> Exception:
    # By name: a caller's client may be of httpx as well as of httpx2.
    is_timeout = any(kind.__name__ == "TimeoutException" for kind in type(error).__mro__)
    return DeadlineReached() if is_timeout else ConnectionLost(str(error) or type(error).__name__)


def unread_refusal(error: BaseException) -> Any:
    """
    Find the response whose refusal could not be read to its end.

    Args:
        error: What came out of openai's client: it reads the body of a refusal outside of its own mapping of errors.

    Returns:
        The response, or None where the error is about something else.
    """
    found: BaseException | None = error
    while found is not None:
        response = getattr(found, "response", None)
        if getattr(response, "is_error", False):
            return response
        found = found.__context__
    return None


def timeout_of(client: openai.OpenAI | openai.AsyncOpenAI, options: FinalRequestOptions) -> Any:
    """
    Tell openai's timeout of a request.

    Args:
        client: The client that sends it.
        options: The request.

    Returns:
        That of the request, else of the client: a number of seconds, None, or one for each part.
    """
    return client.timeout if isinstance(options.timeout, openai.NotGiven) else options.timeout


def _with_read_timeout(client: openai.OpenAI, options: FinalRequestOptions, until: float) -> FinalRequestOptions:
    """Let a client that is not ours give up by itself while it waits for headers: no socket can be seen until then."""
    timeout = timeout_of(client, options)
    read, left = getattr(timeout, "read", timeout), max(until - time.monotonic(), 0.001)
    if left == inf or (read is not None and read <= left + 0.001):
        return options
    limits = timeout.as_dict() if isinstance(timeout, httpx2.Timeout) else httpx2.Timeout(timeout).as_dict()
    short = {name: left if limit is None else min(limit, left) for name, limit in limits.items()}
    return options.model_copy(update={"timeout": httpx2.Timeout(**short)})


def _settle(outcome: bytes | Exception | None) -> bytes | None:
    """Give what `ordinary()` or a read left."""
    if isinstance(outcome, DeadlineReached):
        raise outcome
    if isinstance(outcome, Exception):
        raise _lost(outcome) from outcome
    return outcome


class SyncUpstream:
    """
    A response of the sync colour.

    Attributes:
        response: The HTTP response, unread.
    """

    _is_closed = False

    def __init__(
        self, response: Any, watchdog: Watchdog, token: CancelToken | None = None, alarm: Alarm | None = None
    ) -> None:
        self.response = response
        self._alarm = alarm or Alarm()
        self._owner = Owner()
        self._token = token
        self._watchdog = watchdog
        self._ahead: list[bytes | Exception | None] = []
        self._is_over = _is_read(response)
        self._chunks: Iterator[bytes] = iter(_body(response))
        stream = None if self._is_over else _own_stream(response)
        self._connection: Bounded | Watch
        if isinstance(stream, Bounded):
            self._connection = stream
        else:
            self._connection = Bounded() if stream is None else watchdog.add(stream)

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
        alarm: Alarm | None = getattr(client._client, "alarm", None)  # noqa: SLF001
        if alarm is None:
            options = _with_read_timeout(client, options, until)
        else:
            alarm.at, alarm.token = until, token
        try:
            response = send(options)
        except BaseException as error:
            if token is not None:
                token.forget()
            if isinstance(error, openai.APITimeoutError) and _is_over(until):
                raise DeadlineReached from error
            raise
        finally:
            if alarm is not None:
                alarm.at, alarm.token = inf, None
        return cls(response, watchdog, token, alarm)

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

    def ordinary(self, accepts: Callable[[bytes], bool], clock: Clock) -> Iterator[bytes]:
        """
        Pass bytes on for as long as nothing but the clock has to be told. This loop runs for every token.

        Args:
            accepts: Takes bytes that need no further look.
            clock: The clocks.

        Yields:
            What was accepted; what was not is what `read()` gives next.
        """
        chunks, connection, now = self._chunks, self._connection, time.monotonic
        is_watched = isinstance(connection, Watch)
        clock.resume(now())
        while True:
            connection.until = clock.at
            try:
                chunk = next(chunks, None)
            except Exception as error:  # noqa: BLE001  read() raises it
                self._ahead.append(error)
                return
            if is_watched or chunk is None:
                connection.until = inf
                self._is_over = chunk is None
            if chunk is None or not accepts(chunk):
                self._ahead.append(chunk)
                return
            yield chunk
            # After the caller's turn, which is not the server's time. Not min(): a call would cost a tenth of what a
            # token may.
            at = now() + clock.stall
            clock.at = at if at < clock.total_at else clock.total_at  # noqa: FURB136

    async def close(self, *, is_done: bool) -> None:
        """
        Let go of the connection.

        Args:
            is_done: The answer is complete, so the connection is worth keeping.
        """
        if is_done and not self._is_over and self._owner.is_here:
            self._drain()
        self.release()
        self._watchdog.release_forgotten()

    def abort(self) -> None:
        """End the connection at once, from any thread, also in the garbage collector; one that reads it is woken."""
        if self._owner.is_here and not self._is_closed:
            self._shut()
            self._watchdog.keep(self)

    def release(self) -> None:
        """Give the connection back to the pool: for the next call where the answer is over, else closed."""
        # In a forked child it is the parent's.
        if not self._owner.is_here or self._is_closed:
            return
        self._shut()
        if self._alarm.is_in_pool:
            # A reader that was collected as garbage, in the middle of another call of this thread.
            self._watchdog.keep(self)
            return
        if self._token is not None:
            self._token.forget()
        self._close_response()
        if isinstance(self._connection, Watch):
            self._watchdog.remove(self._connection)
        self._is_closed = True

    def _close_response(self) -> None:
        self._alarm.is_in_pool = True
        try:
            self.response.close()
        finally:
            self._alarm.is_in_pool = False

    def __del__(self) -> None:
        # Left by an interrupt between two lines.
        if not self._is_closed and hasattr(self, "_connection"):
            self.abort()

    def _shut(self) -> None:
        self._connection.until = inf
        stream = _own_stream(self.response)
        if stream is not None and not self._is_over:
            abort_socket(stream)

    def _next(self, until: float) -> bytes | None:
        if self._ahead:
            return self._settle(self._ahead.pop())
        self._connection.until = until
        try:
            chunk = next(self._chunks, None)
        except Exception as error:  # noqa: BLE001  _settle() raises what it means
            return self._settle(error)
        finally:
            self._connection.until = inf
        self._is_over = chunk is None
        return self._settle(chunk)

    def _settle(self, outcome: bytes | Exception | None) -> bytes | None:
        # A watchdog ends a read by ending the connection.
        if isinstance(self._connection, Watch) and self._connection.has_fired and not isinstance(outcome, bytes):
            raise DeadlineReached
        return _settle(outcome)

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

    def __init__(self, response: Any, alarm: AsyncAlarm) -> None:
        self.response = response
        self._owner = Owner()
        self._loop = current_loop()
        self._alarm = alarm
        self._is_over = False
        self._has_passed = False
        self._ahead: list[bytes | Exception | None] = []
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
            return cls(await alarm.guard(send(options), until), alarm)
        except BaseException as error:
            alarm.stop()
            if isinstance(error, openai.APITimeoutError) and _is_over(until):
                raise DeadlineReached from error
            raise

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
        if self._ahead:
            return _settle(self._ahead.pop())
        try:
            return await self._alarm.guard(self._chunks.__anext__(), until)
        except StopAsyncIteration:
            self._is_over = True
            return None
        except DeadlineReached:
            raise
        except Exception as error:
            raise _lost(error) from error

    async def ordinary(self, accepts: Callable[[bytes], bool], clock: Clock) -> bytes | None:
        """
        Pass the next bytes on if nothing but the clock has to be told. This runs for every token.

        Args:
            accepts: Takes bytes that need no further look.
            clock: The clocks.

        Returns:
            What was accepted, or None; then `read()` gives what was not.
        """
        # The time since the last chunk was the caller's.
        if self._has_passed:
            clock.progress(time.monotonic())
        else:
            clock.resume(time.monotonic())
        self._has_passed = False
        try:
            chunk = await self._alarm.guard(self._chunks.__anext__(), clock.at)
        except StopAsyncIteration:
            chunk = None
        except Exception as error:  # noqa: BLE001  read() raises it
            self._ahead.append(error)
            return None
        if chunk is None or not accepts(chunk):
            self._ahead.append(chunk)
            return None
        self._has_passed = True
        return chunk

    async def close(self, *, is_done: bool) -> None:
        """
        Let go of the connection.

        Args:
            is_done: The answer is complete, so the connection is worth keeping.
        """
        if not self._owner.is_here:
            return
        try:
            if is_done and not self._is_over:
                await self._drain()
        finally:
            self._alarm.stop()
            await self._close_response()

    async def _close_response(self) -> None:
        # A caller that is being cancelled must not leave the connection open; our own HTTP client sees to that itself.
        close = self.response.aclose
        await (close() if SHIELDED in self.response.extensions else uninterrupted(close))

    def abort(self) -> None:
        """Close the connection from any thread, as soon as its event loop gets to it."""
        if not self.response.is_closed and self._owner.is_here:
            self._loop.start(partial(self.close, is_done=False))

    async def _drain(self) -> None:
        until = time.monotonic() + DRAIN_S
        with contextlib.suppress(DeadlineReached, ConnectionLost):
            while time.monotonic() < until and await self.read(until) is not None:
                pass


Upstream = SyncUpstream | AsyncUpstream


def _is_over(until: float) -> bool:
    return time.monotonic() >= until - 0.005


def _own_stream(response: Any) -> Any:
    """Give the connection of a response that has it to itself: in HTTP/2 other calls are on the same socket."""
    return None if response.http_version == "HTTP/2" else response.extensions.get("network_stream")


def _is_read(response: Any) -> bool:
    """Tell whether a hook of the caller's HTTP client has read the body: then its connection is no longer ours."""
    return hasattr(response, "_content")


async def _content(response: Any) -> AsyncIterator[bytes]:
    yield response.content


def _body(response: Any) -> Any:
    if _is_read(response):
        return _content(response) if isinstance(response.stream, httpx2.AsyncByteStream) else [response.content]
    # The stream itself, one layer below iter_raw(): our own response adds that layer again.
    if "content-encoding" not in response.headers:
        return response.stream
    return response.aiter_bytes() if isinstance(response.stream, httpx2.AsyncByteStream) else response.iter_bytes()
