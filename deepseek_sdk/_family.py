"""What a client shares with its children: the pipeline and everything that lives longer than a call."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk._background import Background
from deepseek_sdk._call import Call, CallOptions, current_options
from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk._headers import options_in
from deepseek_sdk._io import IO, AsyncIO, SyncIO
from deepseek_sdk._mode import thinking_mode
from deepseek_sdk._pipeline import compose
from deepseek_sdk._process import PerProcess
from deepseek_sdk._record import Record
from deepseek_sdk._streams import OpenStreams
from deepseek_sdk._targets import Targets
from deepseek_sdk._validate import check_timeout, request_problem
from deepseek_sdk._wire import Watchdog, stub_response
from deepseek_sdk.errors import ConfigurationError, InvalidRequestError
from deepseek_sdk.routing.chain import Chain
from deepseek_sdk.routing.models import AUTO, DEFAULT_MODEL
from deepseek_sdk.routing.router import Plan
from deepseek_sdk.routing.target import aimed
from deepseek_sdk.stages import Observation, default_stages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openai._models import FinalRequestOptions

    from deepseek_sdk._background import Ticket
    from deepseek_sdk._pipeline import Stage
    from deepseek_sdk._reply import Reply
    from deepseek_sdk._targets import ClientRequest
    from deepseek_sdk.backends.base import Backend
    from deepseek_sdk.routing.auto import RoutingDecision
    from deepseek_sdk.routing.target import Target
    from deepseek_sdk.stages._policies import Policies

__all__ = ["Family"]

# How long a client that is closed waits for work that it has cancelled.
_GRACE_S = 1.0


class Family:
    """
    Shared by a client and every child that `with_options()` makes of it.

    Args:
        policies: What holds for every call.
        stages: The pipeline, or None for the usual one.
        backend: What answers in place of the client's endpoint, or None.
        is_offline: No socket may be opened.
        has_key: The client's own endpoint can be asked.
        is_own: It is asked for what no route names.

    Attributes:
        policies: What holds for every call.
        router: Chooses among routes for the model "auto".
        targets: What calls can be sent to.
        proceed: The pipeline, the target at its end.
        is_offline: No socket may be opened.
        has_own: Calls may be answered by the client's own endpoint, or by a backend in its place.
        has_endpoint: There is an endpoint to ask for what is no call, such as the list of models.
    """

    def __init__(
        self,
        policies: Policies,
        stages: Sequence[Stage] | None = None,
        *,
        backend: Backend | None,
        is_offline: bool,
        has_key: bool,
        is_own: bool,
    ) -> None:
        self._background = PerProcess(Background)
        self._watchdog = PerProcess(Watchdog)
        self._streams = PerProcess(lambda: OpenStreams(policies.books.settle))
        self.policies = policies
        # Gauges look at it while it is kept.
        self._shown = policies.show()
        self.router = policies.books.router
        self.is_offline = is_offline
        self.targets = Targets(backend, is_offline=is_offline, has_key=has_key)
        self.has_endpoint = backend is None and is_own
        self.has_own = backend is not None or is_own
        self.proceed = compose(default_stages(policies) if stages is None else _observed(stages, policies), ask)

    def admit(self, request: ClientRequest, *, path: str, is_stream: bool, own: CallOptions) -> Call:
        """
        Make a call of a request.

        Args:
            request: The request.
            path: Which guarded surface it is for.
            is_stream: The caller asked for a stream.
            own: The client's own call options.

        Returns:
            The call.

        Raises:
            InvalidRequestError: No server could accept it.
        """
        self.release_forgotten()
        client, options = request.client, request.options
        body = _body_of(options)
        headers = options.headers if isinstance(options.headers, dict) else {}
        _check(client, path, body, options)
        chosen = _chosen(client, headers, own)
        asked = body.get("model")
        body, targets, routing = self._plan(request, body, chosen)
        return Call(
            path=path,
            is_stream=is_stream,
            options=chosen,
            record=self._record(chosen, body, path=path, asked=asked, is_stream=is_stream, routing=routing),
            io=self._io(client),
            max_retries=options.get_max_retries(client.max_retries),
            targets=targets,
            **aimed(body, targets, 0, chosen, is_stream=is_stream),
        )

    def _record(
        self,
        chosen: CallOptions,
        body: Mapping[str, Any],
        *,
        path: str,
        asked: object,
        is_stream: bool,
        routing: RoutingDecision | None,
    ) -> Record:
        # What openai, and the service, call the user of a call is the user where nobody else is named.
        named, books = body.get("user_id") or body.get("user"), self.policies.books
        user = (named if isinstance(named, str) else None) if chosen.user is UNSET else chosen.user
        return Record(
            started=time.monotonic(),
            path=path,
            asked=asked if isinstance(asked, str) else "",
            is_stream=is_stream,
            session_id=None if chosen.session_id is UNSET else chosen.session_id,
            user=user,
            tenant=None if chosen.tenant is UNSET else chosen.tenant,
            tags={} if chosen.tags is UNSET else chosen.tags,
            template=None if chosen.template is UNSET else chosen.template,
            mode=thinking_mode(body),
            counted=books.known_tokens(body),
            price=books.price,
            routing=routing,
        )

    def _plan(
        self, request: ClientRequest, body: dict[str, Any], chosen: CallOptions
    ) -> tuple[dict[str, Any], tuple[Target, ...], RoutingDecision | None]:
        """Decide who is asked, in which order; the body says the model that the own endpoint is asked for."""
        model = body.get("model")
        model = model if isinstance(model, str) else ""
        plan = self._order(model, body, chosen)
        if not plan.is_own_first and not plan.routes:
            raise ConfigurationError("there is nobody to ask: the client has no endpoint of its own, and no routes")
        if plan.is_own_first and model == AUTO and self.has_endpoint:
            model, body = DEFAULT_MODEL, {**body, "model": DEFAULT_MODEL}
        own = (self.targets.own(request, model),) if plan.is_own_first else ()
        return body, (*own, *(self.targets.at(named, request) for named in plan.routes)), plan.routing

    def _order(self, model: str, body: dict[str, Any], chosen: CallOptions) -> Plan:
        has_routes = not isinstance(chosen.routes, Unset)
        if model != AUTO:
            return Plan(*chosen.routes.plan(model, has_own=self.has_own)) if has_routes else Plan(self.has_own, ())
        return self.router.choose(
            chosen.routes if has_routes else Chain(()),
            body,
            has_own=self.has_own,
            mode=None if isinstance(chosen.priority, Unset) else chosen.priority,
            session_id=None if isinstance(chosen.session_id, Unset) else chosen.session_id,
        )

    async def close(self, client: openai.OpenAI | openai.AsyncOpenAI) -> None:
        """
        End open streams and what goes on in the background, and wait for that, a second at most.

        Args:
            client: The client that is closed.
        """
        if (streams := self._streams.made()) is not None:
            streams.end()
        background = self._background.made()
        if background is not None:
            await _all_done(background.close(), self._io(client))
        self.release_forgotten()
        self._shown = None
        await self._io(client).offload(self.policies.books.close)

    def hold(self, reply: Reply) -> None:
        """
        Note a stream that a caller gets: it ends with the client at the latest.

        Args:
            reply: It.
        """
        self._streams.get().add(reply)

    def release_forgotten(self) -> None:
        """Give back the connections of sync streams that were left to the garbage collector."""
        if (watchdog := self._watchdog.made()) is not None:
            watchdog.release_forgotten()

    def _io(self, client: openai.OpenAI | openai.AsyncOpenAI) -> SyncIO | AsyncIO:
        background = self._background.get()
        is_sync = isinstance(client, openai.OpenAI)
        return SyncIO(background, self._watchdog.get()) if is_sync else AsyncIO(background)


def _observed(stages: Sequence[Stage], policies: Policies) -> Sequence[Stage]:
    """Let the client's own books learn of what a pipeline of the caller's answers."""
    return (Observation(observers=policies.books.observers), *stages)


async def ask(call: Call) -> Reply:
    """
    Answer a call at the end of the pipeline: by what it is aimed at.

    Args:
        call: It.

    Returns:
        The answer in flight.
    """
    return await call.upstream.answer(call)  # type: ignore[no-any-return]


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
