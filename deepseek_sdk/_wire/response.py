"""HTTP responses that openai reads and we feed."""

from __future__ import annotations

import datetime as dt
import weakref
from typing import TYPE_CHECKING, Any

import httpx2

from deepseek_sdk._headers import RAW_RESPONSE
from deepseek_sdk._pipeline import finish
from deepseek_sdk._record import RECORD_EXTENSION
from deepseek_sdk._wire.upstream import AsyncUpstream, SyncUpstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Reply

__all__ = [
    "RESPONSE",
    "host_and_path",
    "stream_response",
    "stub_request",
    "stub_response",
    "whole_response",
    "with_connect_timeout",
]

RESPONSE = httpx2.Response

# They describe bytes that are not handed on: httpx2 would decode or count them again.
_FRAMING = frozenset({b"content-encoding", b"content-length", b"transfer-encoding", b"content-type"})


class _SyncBody(httpx2.SyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        weakref.finalize(self, reply.abandon).atexit = False

    def __iter__(self) -> Iterator[bytes]:
        reply = self._reply
        while chunk := finish(reply.next_bytes()):
            yield chunk
            if isinstance(upstream := reply.ordinary_upstream(), SyncUpstream):
                yield from upstream.ordinary(reply.progress.accepts, reply.clock)

    def close(self) -> None:
        finish(self._reply.close())


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        weakref.finalize(self, reply.abandon).atexit = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reply = self._reply
        while chunk := await reply.next_bytes():
            yield chunk
            if isinstance(upstream := reply.ordinary_upstream(), AsyncUpstream):
                accepts, clock = reply.progress.accepts, reply.clock
                while (ordinary := await upstream.ordinary(accepts, clock)) is not None:
                    yield ordinary

    async def aclose(self) -> None:
        await self._reply.close()


def stream_response(reply: Reply, raw_mode: str | None, *, is_async: bool) -> Any:
    """
    Make the response of a streamed call.

    Args:
        reply: The answer in flight.
        raw_mode: openai's header for raw responses, or None.
        is_async: The caller's colour.

    Returns:
        A response that openai can read, with the server's status, headers and request.
    """
    body = _AsyncBody(reply) if is_async else _SyncBody(reply)
    return _response(reply, raw_mode, content_type=b"text/event-stream", stream=body)


def whole_response(reply: Reply, raw_mode: str | None, content: bytes) -> Any:
    """
    Make the response of a plain call.

    Args:
        reply: The answer, read to its end.
        raw_mode: openai's header for raw responses, or None.
        content: The JSON answer.

    Returns:
        A response that openai can read, with the server's status, headers and request.
    """
    if raw_mode is None and reply.call.is_direct:
        return _filled(reply, content)
    return _response(reply, raw_mode, content_type=b"application/json", content=content)


def _filled(reply: Reply, content: bytes) -> Any:
    """Give the server's own response the content that was read from it: no caller will see more of it than that."""
    response = reply.source.response
    response._content = content  # noqa: SLF001
    response.extensions[RECORD_EXTENSION] = reply.call.record
    return response


def _response(reply: Reply, raw_mode: str | None, *, content_type: bytes, **body: Any) -> Any:
    upstream, record = reply.source.response, reply.call.record
    headers = [(name, value) for name, value in upstream.headers.raw if name.lower() not in _FRAMING]
    headers.append((b"content-type", content_type))
    extensions = {
        name: value for name, value in upstream.extensions.items() if name in ("http_version", "reason_phrase")
    }
    response = httpx2.Response(
        upstream.status_code,
        headers=headers,
        request=upstream.request,
        extensions={**extensions, RECORD_EXTENSION: record},
        **body,
    )
    response.elapsed = dt.timedelta(seconds=record.times.total or record.attempts[-1].started)
    if raw_mode is not None:
        response.request.headers[RAW_RESPONSE] = raw_mode
        response.headers.update(_facts(record))
    return response


def _facts(record: Record) -> dict[str, str]:
    """Say in headers what is known by the time they are sent."""
    attempt = record.attempts[-1]
    return {
        "x-deepseek-sdk-route": attempt.route,
        "x-deepseek-sdk-model": attempt.model,
        "x-deepseek-sdk-attempts": str(len(record.attempts)),
    }


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
