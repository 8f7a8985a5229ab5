"""What a client shares with its children: the pipeline and everything that lives longer than a call."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk._background import Background
from deepseek_sdk._call import Call, CallOptions, current_options
from deepseek_sdk._clock import UNSET, Limits, effective_limits, is_thinking
from deepseek_sdk._headers import options_in
from deepseek_sdk._io import IO, AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._process import PerProcess
from deepseek_sdk._record import Record
from deepseek_sdk._validate import check_timeout, request_problem
from deepseek_sdk._wire import Watchdog, stub_response, timeout_of
from deepseek_sdk.backends.wire import Endpoint, StreamSupport, answer
from deepseek_sdk.errors import ConfigurationError, InvalidRequestError
from deepseek_sdk.stages import default_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openai._models import FinalRequestOptions

    from deepseek_sdk._background import Ticket
    from deepseek_sdk._pipeline import Stage
    from deepseek_sdk.backends.base import Backend

__all__ = ["Family"]

# How long a client that is closed waits for work that it has cancelled.
_GRACE_S = 1.0


class Family:
    """
    Shared by a client and every child that `with_options()` makes of it.

    Attributes:
        proceed: The pipeline, the backend at its end.
        has_backend: Calls are answered by something else than the client's endpoint.
    """

    def __init__(self, stages: Sequence[Stage] | None = None, backend: Backend | None = None) -> None:
        self._background = PerProcess(Background)
        self._watchdog = PerProcess(Watchdog)
        self.has_backend = backend is not None
        self.proceed = compose(default_stages() if stages is None else stages, backend or answer)

    def admit(
        self,
        client: openai.OpenAI | openai.AsyncOpenAI,
        send: Callable[..., Any],
        options: FinalRequestOptions,
        *,
        path: str,
        is_stream: bool,
        own: CallOptions,
        support: StreamSupport,
    ) -> Call:
        """
        Make a call of a request.

        Args:
            client: The client that was asked.
            send: Its way of sending.
            options: The request, as openai made it.
            path: Which guarded surface it is for.
            is_stream: The caller asked for a stream.
            own: The client's own call options.
            support: What the client's endpoint has refused.

        Returns:
            The call.

        Raises:
            InvalidRequestError: No server could accept it.
        """
        self.release_forgotten()
        body = _body_of(options)
        headers = options.headers if isinstance(options.headers, dict) else {}
        _check(client, path, body, options)
        chosen = _chosen(client, headers, own)
        is_direct = not is_stream and _reads_whole(chosen)
        endpoint = Endpoint(name="default", client=client, send=send, options=options, support=support)
        session_id = None if chosen.session_id is UNSET else chosen.session_id
        return Call(
            body=body,
            path=path,
            is_stream=is_stream,
            is_direct=is_direct,
            limits=_limits(client, options, body, chosen, is_direct=is_direct),
            options=chosen,
            record=Record(started=time.monotonic(), session_id=session_id),
            io=self._io(client),
            upstream=endpoint,
            max_retries=options.get_max_retries(client.max_retries),
        )

    async def close(self, client: openai.OpenAI | openai.AsyncOpenAI) -> None:
        """
        End what goes on in the background, and wait for that, a second at most.

        Args:
            client: The client that is closed.
        """
        background = self._background.made()
        if background is not None:
            await _all_done(background.close(), self._io(client))
        self.release_forgotten()

    def release_forgotten(self) -> None:
        """Give back the connections of sync streams that were left to the garbage collector."""
        if (watchdog := self._watchdog.made()) is not None:
            watchdog.release_forgotten()

    def _io(self, client: openai.OpenAI | openai.AsyncOpenAI) -> SyncIO | AsyncIO:
        background = self._background.get()
        is_sync = isinstance(client, openai.OpenAI)
        return SyncIO(background, self._watchdog.get()) if is_sync else AsyncIO(background)


async def _all_done(tickets: Sequence[Ticket], io: IO) -> None:
    until = io.now() + _GRACE_S
    for ticket in tickets:
        with contextlib.suppress(TimeoutError):
            await io.wait(ticket, max(until - io.now(), 0))


def _body_of(options: FinalRequestOptions) -> Any:
    body: Any = {} if options.json_data is None else options.json_data
    if not options.extra_json or not isinstance(body, dict):
        return body
    merged = {**body, **options.extra_json}
    return {name: value for name, value in merged.items() if not isinstance(value, openai.Omit)}


def _chosen(client: openai.OpenAI | openai.AsyncOpenAI, headers: Mapping[str, Any], own: CallOptions) -> CallOptions:
    """Lay headers over the context over the client: the nearest to the call wins."""
    context = current_options()
    chosen = own if context is None else context.over(own)
    defaults = client._custom_headers  # noqa: SLF001
    return options_in({**defaults, **headers}).over(chosen) if defaults or headers else chosen


def _check(client: openai.OpenAI | openai.AsyncOpenAI, path: str, body: object, options: FinalRequestOptions) -> None:
    problem = request_problem(path, body)
    if problem is None and not isinstance(options.timeout, openai.NotGiven):
        problem = _timeout_problem(options.timeout)
    if problem is not None:
        param, message = problem
        raise InvalidRequestError(message, param=param, response=stub_response(400, str(client.base_url)))


def _timeout_problem(timeout: object) -> tuple[str, str] | None:
    try:
        check_timeout(timeout)
    except ConfigurationError as error:
        return "timeout", str(error)
    return None


def _reads_whole(options: CallOptions) -> bool:
    """Decide how a plain answer is read: whole costs least, a stream is what clocks need."""
    if options.plain in {"direct", "stream"}:
        return options.plain == "direct"
    return options.priority == "batch" or not options.deadlines.needs_stream


def _limits(
    client: openai.OpenAI | openai.AsyncOpenAI,
    options: FinalRequestOptions,
    body: Mapping[str, Any],
    chosen: CallOptions,
    *,
    is_direct: bool,
) -> Limits:
    timeout = timeout_of(client, options)
    read = getattr(timeout, "read", timeout)
    return effective_limits(
        chosen.deadlines, read_timeout=read, is_direct=is_direct, is_thinking=is_thinking(body), can_move_on=False
    )
