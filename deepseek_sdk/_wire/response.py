"""HTTP responses that openai reads and we feed."""

from __future__ import annotations

import datetime as dt
import weakref
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import httpx2

from deepseek_sdk._finish import finish
from deepseek_sdk._record import RECORD_EXTENSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from deepseek_sdk._clock import Clock
    from deepseek_sdk._record import Record
    from deepseek_sdk._wire.upstream import Upstream

__all__ = [
    "RAW_RESPONSE",
    "RESPONSE",
    "host_and_path",
    "response_for_one",
    "stream_response",
    "stub_request",
    "stub_response",
    "tell_facts",
    "whole_response",
    "with_connect_timeout",
]

RESPONSE = httpx2.Response

# openai's clients ask for a raw response by a header of the request.
RAW_RESPONSE = "X-Stainless-Raw-Response"

# They describe bytes that are not handed on: httpx2 would decode or count them again.
_FRAMING = frozenset({b"content-encoding", b"content-length", b"transfer-encoding", b"content-type"})


class Feed(Protocol):
    """What a streamed body is read from."""

    async def next_bytes(self) -> bytes:
        """Return the next bytes, none at the end."""
        ...

    async def close(self) -> None:
        """Let go, at the end or before it."""
        ...

    def abandon(self) -> None:
        """Let go without waiting: the caller has forgotten the stream."""
        ...

    def ordinary(self) -> tuple[Upstream, Callable[[bytes], bool], Clock] | None:
        """Return what may be passed on without a further look: from where, what, and by which clock; or None."""
        ...


class _SyncBody(httpx2.SyncByteStream):
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        weakref.finalize(self, feed.abandon).atexit = False

    def __iter__(self) -> Iterator[bytes]:
        feed = self._feed
        while chunk := finish(feed.next_bytes()):
            yield chunk
            if ordinary := feed.ordinary():
                upstream, accepts, clock = ordinary
                yield from upstream.ordinary(accepts, clock)  # type: ignore[misc]

    def close(self) -> None:
        finish(self._feed.close())


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        weakref.finalize(self, feed.abandon).atexit = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        feed = self._feed
        while chunk := await feed.next_bytes():
            yield chunk
            if ordinary := feed.ordinary():
                upstream, accepts, clock = ordinary
                while (passed := await upstream.ordinary(accepts, clock)) is not None:  # type: ignore[misc]
                    yield passed

    async def aclose(self) -> None:
        await self._feed.close()


def stream_response(feed: Feed, upstream: Any, record: Record, raw_mode: str | None, *, is_async: bool) -> Any:
    """
    Make the response of a streamed call.

    Args:
        feed: Gives the body.
        upstream: The server's response: status, headers and request are taken from it.
        record: The record of the call.
        raw_mode: openai's header for raw responses, or None.
        is_async: The caller's colour.

    Returns:
        A response that openai can read.
    """
    body = _AsyncBody(feed) if is_async else _SyncBody(feed)
    return _response(upstream, record, raw_mode, content_type=b"text/event-stream", stream=body)


def whole_response(content: bytes, upstream: Any, record: Record, raw_mode: str | None, *, is_direct: bool) -> Any:
    """
    Make the response of a plain call.

    Args:
        content: The JSON answer.
        upstream: The server's response: status, headers and request are taken from it.
        record: The record of the call.
        raw_mode: openai's header for raw responses, or None.
        is_direct: The answer was asked for whole.

    Returns:
        A response that openai can read.
    """
    if raw_mode is None and is_direct:
        return _filled(content, upstream, record)
    return _response(upstream, record, raw_mode, content_type=b"application/json", content=content)


def _filled(content: bytes, upstream: Any, record: Record) -> Any:
    """Give the server's own response the content that was read from it: no caller will see more of it than that."""
    upstream._content = content  # noqa: SLF001
    upstream.extensions[RECORD_EXTENSION] = record
    return upstream


def _response(upstream: Any, record: Record, raw_mode: str | None, *, content_type: bytes, **body: Any) -> Any:
    headers = [(name, value) for name, value in upstream.headers.raw if name.lower() not in _FRAMING]
    headers.append((b"content-type", content_type))
    known = {name: value for name, value in upstream.extensions.items() if name in ("http_version", "reason_phrase")}
    extensions = {**known, RECORD_EXTENSION: record}
    response = httpx2.Response(
        upstream.status_code, headers=headers, request=upstream.request, extensions=extensions, **body
    )
    response.history = upstream.history
    sent = record.attempts[-1].started if record.attempts else 0.0
    response.elapsed = dt.timedelta(seconds=record.times.total or sent)
    if raw_mode is not None:
        response.request.headers[RAW_RESPONSE] = raw_mode
        tell_facts(response, record)
    return response


def tell_facts(response: Any, record: Record) -> None:
    """
    Say in headers what is known by now.

    Args:
        response: A response that a caller sees.
        record: The record of its call.
    """
    response.headers.update(_facts(record))


def _facts(record: Record) -> dict[str, str]:
    facts = {"x-deepseek-sdk-attempts": str(len(record.attempts))}
    if record.attempts:
        attempt = record.attempts[-1]
        facts |= {"x-deepseek-sdk-route": quote(attempt.route), "x-deepseek-sdk-model": quote(attempt.model)}
    if record.cache is not None:
        facts["x-deepseek-sdk-cache"] = record.cache.status
    return {**facts, "x-deepseek-sdk-degraded": str(record.degradation)} if record.degradation else facts


def stub_request(url: str) -> Any:
    """
    Make a request that was never sent, for an error that needs one.

    Args:
        url: Where it would have gone.

    Returns:
        The request.
    """
    return httpx2.Request("POST", url)


def stub_response(status: int, url: str) -> Any:
    """
    Make a response that never came, for an error that needs one.

    Args:
        status: Its HTTP status.
        url: Where the request would have gone.

    Returns:
        The response.
    """
    return httpx2.Response(status, request=stub_request(url))


def response_for_one(response: Any) -> Any:
    """
    Make a response for one of several callers who get the same answer.

    Args:
        response: What stands for the answer.

    Returns:
        A copy without a body, which its caller may read and change.
    """
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in _FRAMING]
    headers.append((b"content-type", b"application/json"))
    request = httpx2.Request(response.request.method, response.request.url, headers=response.request.headers)
    return httpx2.Response(response.status_code, headers=headers, request=request)


def host_and_path(url: object) -> tuple[str, str]:
    """
    Split a base URL.

    Args:
        url: It.

    Returns:
        Its host, and its path without a slash at the end.
    """
    parsed = httpx2.URL(str(url))
    return parsed.host, parsed.path.rstrip("/")


def with_connect_timeout(timeout: Any, connect: float | None) -> Any:
    """
    Change the connect part of a timeout.

    Args:
        timeout: openai's timeout: a number of seconds, None, or one for each part.
        connect: Seconds for TCP and TLS, or None for no limit.

    Returns:
        The changed timeout.
    """
    parts = timeout if isinstance(timeout, httpx2.Timeout) else httpx2.Timeout(timeout)
    return httpx2.Timeout(connect=connect, read=parts.read, write=parts.write, pool=parts.pool)
