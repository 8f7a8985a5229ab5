"""The backend that asks an OpenAI-compatible endpoint over HTTP."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import openai

from deepseek_sdk._clock import UNSET, Clock, Unset
from deepseek_sdk._headers import for_any_endpoint, without_credentials, without_own
from deepseek_sdk._reply import Reply
from deepseek_sdk._sse import Event, Framer
from deepseek_sdk._validate import unsendable_field
from deepseek_sdk._wire import (
    DeadlineReached,
    stub_request,
    stub_response,
    unread_refusal,
    with_connect_timeout,
)
from deepseek_sdk.backends.deepseek import request_url
from deepseek_sdk.errors import InvalidRequestError, refine, unread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openai._models import FinalRequestOptions

    from deepseek_sdk._call import Call
    from deepseek_sdk._wire import Upstream
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.routing.route import Route

__all__ = ["Endpoint", "StreamSupport", "answer"]


class StreamSupport:
    """
    What an endpoint has refused, so that it is not asked for it again.

    Attributes:
        takes_options: It takes `stream_options`.
        can_stream: It streams plain calls.
    """

    def __init__(self) -> None:
        self.takes_options = True
        self.can_stream = True

    def learn(self, call: Call, error: openai.APIStatusError) -> bool:
        """
        Take note of a refusal.

        Args:
            call: What was asked.
            error: The refusal.

        Returns:
            Whether it was about the way of asking, so that asking once more, otherwise, makes sense.
        """
        is_about_streams = re.search(r"\bstream(?:_options)?\b", error.message)
        if call.is_stream or call.is_direct or error.status_code not in (400, 422) or not is_about_streams:
            return False
        before = (self.takes_options, self.can_stream)
        self.can_stream = self.can_stream and "stream_options" in error.message
        self.takes_options = False
        return before != (self.takes_options, self.can_stream)


@dataclass(slots=True, kw_only=True)  # not frozen: that takes three times as long, and there is one for each call
class Endpoint:
    """
    Where a call can be sent.

    Attributes:
        name: What reports call it.
        client: The openai client of the endpoint: its URL, its key, its HTTP client.
        send: Sends a request and returns the unread response, after openai's own authentication and errors.
        options: The request as openai made it.
        support: What the endpoint has refused.
        timeout: openai's timeout of the call.
        account: What breaker and limiter know it by.
        route: The route it was made of, or None for the client's own endpoint.
        context_window: How many tokens prompt and answer may have together, or None where nobody knows.
    """

    name: str
    client: openai.OpenAI | openai.AsyncOpenAI
    send: Callable[[FinalRequestOptions], Any]
    options: FinalRequestOptions
    support: StreamSupport
    timeout: Any
    account: Account | None = None
    route: Route | None = None
    context_window: int | None = None

    is_last_resort: ClassVar[bool] = False
    is_in_process: ClassVar[bool] = False

    @property
    def read_timeout(self) -> float | None:
        """The longest silence of the server, in seconds, or None for no limit."""
        read: float | None = getattr(self.timeout, "read", self.timeout)
        return read

    @property
    def secret(self) -> str:
        """The key, to be kept out of errors."""
        key: Any = self.client.api_key
        return key if isinstance(key, str) else ""

    async def answer(self, call: Call) -> Reply:
        """Answer a call by asking the endpoint, once; see `answer()`."""
        return await answer(call)

    def request(self, call: Call) -> FinalRequestOptions:
        """
        Make the request of one attempt.

        Args:
            call: What is asked.

        Returns:
            A copy of the caller's request with the body, the host and the way of reading that this attempt needs.
        """
        body = self._body(call)
        headers = without_own(self.client._custom_headers, self._headers())  # noqa: SLF001
        if (retries := len(call.record.attempts) - 1) > 0:
            # What openai's own retries say; its loop is not the one that runs.
            headers.setdefault("x-stainless-retry-count", str(retries))
        if call.record.watcher is not None:
            # What the caller sends itself stays: a gateway hands on its own caller's trace.
            given = {name.lower() for name in headers}
            traced = call.record.watcher.headers(self.client.base_url.host)
            headers |= {name: value for name, value in traced.items() if name not in given}
        changes = {
            "json_data": body,
            "extra_json": None,
            "url": request_url(self.client, call.path if self._is_foreign else self.options.url, body),
            "timeout": self._timeout(call),
            "headers": headers,
            "max_retries": 0,
        }
        if self._is_foreign:
            changes["params"] = {}
        return self.options.model_copy(update=changes)

    @property
    def _is_foreign(self) -> bool:
        """Whether it is another endpoint than the one that the caller's headers, URL and query are for."""
        return self.route is not None and self.route.base_url is not None

    def _headers(self) -> Mapping[str, Any]:
        given = self.options.headers if isinstance(self.options.headers, dict) else {}
        if self._is_foreign:
            return for_any_endpoint(given)
        return without_credentials(given) if self.route is not None and self.route.api_key is not None else given

    def _timeout(self, call: Call) -> Any:
        connect = self._connect(call)
        return self.timeout if isinstance(connect, Unset) else with_connect_timeout(self.timeout, connect)

    def _connect(self, call: Call) -> float | Unset | None:
        deadlines = None if self.route is None else self.route.deadlines
        own: float | Unset | None = UNSET if deadlines is None else deadlines.connect
        return call.options.deadlines.connect if isinstance(own, Unset) else own

    def _body(self, call: Call) -> dict[str, Any]:
        if call.is_stream or call.is_direct or not self.support.can_stream:
            return call.body
        if not self.support.takes_options:
            return {**call.body, "stream": True}
        return {**call.body, "stream": True, "stream_options": {"include_usage": True}}


async def answer(call: Call) -> Reply:
    """
    Answer a call by asking its endpoint, once.

    Args:
        call: It.

    Returns:
        The answer in flight: the server has accepted the request.

    Raises:
        openai.APIError: The endpoint refused, or could not be reached in time.
    """
    endpoint: Endpoint = call.upstream
    now = call.io.now()
    attempt = call.record.begin(route=endpoint.name, model=call.model, now=now, account=endpoint.account)
    clock = Clock(call.limits, call_started=call.record.started, now=now)
    watcher = call.record.watcher
    try:
        with nullcontext() if watcher is None else watcher.sending():
            upstream = await call.io.send(endpoint, endpoint.request(call), clock.at)
    except Exception as error:  # noqa: BLE001  it is raised, explained
        if isinstance(error, openai.APIStatusError) and endpoint.support.learn(call, error):
            call.record.forget(attempt)
            return await answer(call)
        explained = _explain(call, endpoint, clock, error)
        call.record.settle(attempt, None, call.io.now(), explained, call.body)
        try:
            # openai's own error is left out: it says the same, and may hold the key that the server repeats.
            raise explained from error.__cause__
        finally:
            # Its traceback holds this frame: the two would keep each other, and the call.
            del explained
    except BaseException as error:
        call.record.settle(attempt, None, call.io.now(), error)
        raise
    call.record.headers = upstream.response.headers
    source = _WireSource(upstream, call.io.now)
    return Reply(call, source, clock, attempt)


def _explain(call: Call, endpoint: Endpoint, clock: Clock, error: Exception) -> Exception:
    """Say what is wrong with a request that was not accepted."""
    if isinstance(error, DeadlineReached):
        kind, limit = clock.expired()
        return kind(request=stub_request(str(endpoint.client.base_url)), limit=limit)
    if not isinstance(error, openai.OpenAIError) and (refusal := unread_refusal(error)) is not None:
        error = unread(refusal, error)
    if isinstance(error, openai.APIStatusError):
        call.record.headers = error.response.headers
        return refine(error)
    is_ours = isinstance(error, openai.OpenAIError) or not isinstance(error, (TypeError, ValueError))
    return error if is_ours else _unsendable(call, endpoint, error)


def _unsendable(call: Call, endpoint: Endpoint, error: Exception) -> Exception:
    """Name the field of a request that is no JSON; an error that is about none is given back as it is."""
    field = unsendable_field(call.body)
    if field is None:
        return error
    response = stub_response(400, str(endpoint.client.base_url))
    return InvalidRequestError(f"{field} cannot be sent as JSON: {error}", param=field, response=response)


class _WireSource:
    """Events of one HTTP response, read as what it is, whatever was asked for."""

    def __init__(self, upstream: Upstream, now: Callable[[], float]) -> None:
        self.response = upstream.response
        self._stream = upstream
        self._now = now
        self._framer: Framer | None = None
        self._head = b""
        self._take: Callable[[bytes], list[Event]] = self._sniff
        self._whole: list[bytes] = []
        self._has_waited = False
        self._has_spoken = False
        self._is_over = False

    @property
    def upstream(self) -> Upstream | None:
        """The response itself, while no event is half read."""
        return self._stream if self._framer is not None and self._framer.is_clean else None

    @property
    def only_waited(self) -> bool:
        return self._has_waited and not self._has_spoken

    async def pull(self, until: float) -> list[Event] | None:
        read = self._stream.read
        while True:
            chunk = await read(until)
            if chunk is None:
                return self._finish()
            if events := self._take(chunk):
                self._has_spoken = True
                return events
            if self._now() >= until:
                raise DeadlineReached

    async def close(self, *, is_done: bool) -> None:
        await self._stream.close(is_done=is_done)

    def abort(self) -> None:
        self._stream.abort()

    def _sniff(self, chunk: bytes) -> list[Event]:
        """Let the first byte that is no blank decide: blank lines keep a waiting connection alive."""
        self._head = chunk.lstrip(b" \t\r\n")
        if not self._head:
            self._has_waited = True
            return []
        self._take = self._collect
        if self._is_event_stream():
            self._framer = framer = Framer()
            self._take = partial(self._feed, framer)
        return self._take(self._head)

    def _is_event_stream(self) -> bool:
        if self._head[:1] in b"{[<:d":
            return self._head[:1] in b":d"
        return "text/event-stream" in self.response.headers.get("content-type", "")

    def _feed(self, framer: Framer, chunk: bytes) -> list[Event]:
        events = framer.feed(chunk)
        self._has_waited = self._has_waited or (not events and framer.is_clean)
        return events

    def _collect(self, chunk: bytes) -> list[Event]:
        self._whole.append(chunk)
        self._has_spoken = True
        return []

    def _finish(self) -> list[Event] | None:
        if self._is_over:
            return None
        self._is_over = True
        if self._whole:
            body = b"".join(self._whole)
            return [Event(body, body, is_whole=True)]
        rest = [] if self._framer is None else self._framer.finish()
        return [event for event in rest if event.is_done or _is_json(event)] or None


def _is_json(event: Event) -> bool:
    """Tell a last event that only lacks its blank line from one that was cut."""
    try:
        event.json()
    except ValueError:
        return False
    return True
