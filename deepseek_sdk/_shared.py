"""What the clients of both colours have in common: construction, children, and the two ends of a guarded request."""

from __future__ import annotations

import logging
import weakref
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

import openai

from deepseek_sdk._books import Books
from deepseek_sdk._call import CallOptions, checked_options
from deepseek_sdk._clock import UNSET, Deadlines, Unset
from deepseek_sdk._family import Family
from deepseek_sdk._headers import raw_mode
from deepseek_sdk._report import attached
from deepseek_sdk._targets import ClientRequest, forget_openai_environment
from deepseek_sdk._validate import check_api_key, check_base_url, check_stages, check_timeout
from deepseek_sdk._version import __version__
from deepseek_sdk._wire import default_http_client, stream_response, tell_facts, whole_response
from deepseek_sdk.backends.base import load_backend
from deepseek_sdk.backends.deepseek import guarded_path, request_url
from deepseek_sdk.backends.wire import StreamSupport
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.models import ALIASES, SERVED
from deepseek_sdk.stages._policies import Policies

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from openai._models import FinalRequestOptions

    from deepseek_sdk._cache import CacheControl
    from deepseek_sdk._call import Call, Lint, OnEmpty, Plain, Priority
    from deepseek_sdk._check import Place
    from deepseek_sdk._health import Health
    from deepseek_sdk._openai_options import CopyOptions, OpenAIOptions
    from deepseek_sdk._pipeline import Stage
    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.backends.base import Backend
    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.config import Settings
    from deepseek_sdk.ledger import Ledger, RecentCalls
    from deepseek_sdk.pricing import PriceBook
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.breaker import Breakers
    from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
    from deepseek_sdk.resilience.limiting.limiter import Limiters
    from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
    from deepseek_sdk.resilience.retrying.policy import RetryPolicy
    from deepseek_sdk.routing.auto import RoutingPolicy
    from deepseek_sdk.routing.chain import NamedRoute
    from deepseek_sdk.routing.route import Route
    from deepseek_sdk.spending import Budgets, SpendBudget
    from deepseek_sdk.telemetry import Telemetry
    from deepseek_sdk.telemetry.listening import Listening
    from deepseek_sdk.tokens.fitting import TokenBudget
    from deepseek_sdk.tokens.lengths import LengthTracker

__all__ = ["Heritage", "Shared"]

_log = logging.getLogger("deepseek_sdk")

# What openai takes as proof of identity besides a key; with one of these none is needed.
_OTHER_CREDENTIALS = ("admin_api_key", "workload_identity", "provider")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heritage:
    """What a child takes over from its parent."""

    family: Family
    own: CallOptions
    support: StreamSupport
    settings: Settings


class Shared:
    """What both colours have in common."""

    _heritage: Heritage

    if TYPE_CHECKING:
        api_key: str
        base_url: Any
        max_retries: int

    def __init__(
        self,
        *,
        api_key: str | Callable[[], str] | Callable[[], Awaitable[str]] | None = None,
        base_url: Any = None,
        http_client: Any = None,
        deadlines: Deadlines | None = None,
        plain: Plain | Unset = UNSET,
        session_id: str | Unset | None = UNSET,
        priority: Priority | Unset | None = UNSET,
        stages: Sequence[Stage] | None = None,
        backend: str | Backend | Unset | None = UNSET,
        routes: Sequence[Route | Backend | str] | Unset = UNSET,
        retry: RetryPolicy | Unset | None = UNSET,
        breaker: BreakerPolicy | Breakers | Unset | None = UNSET,
        limiter: LimiterPolicy | Limiters | Unset | None = UNSET,
        on_empty: OnEmpty | Unset = UNSET,
        user: str | Unset | None = UNSET,
        tenant: str | Unset | None = UNSET,
        tags: Mapping[str, str] | Unset = UNSET,
        template: str | Unset | None = UNSET,
        lint: Lint | Unset = UNSET,
        token_budget: TokenBudget | Unset | None = UNSET,
        spend_budget: SpendBudget | Sequence[SpendBudget] | Budgets | Unset | None = UNSET,
        routing: RoutingPolicy | Unset = UNSET,
        prices: str | os.PathLike[str] | PriceBook | Unset = UNSET,
        telemetry: Telemetry | bool | Unset = UNSET,
        ledger: str | os.PathLike[str] | Ledger | bool | Unset | None = UNSET,
        cache: Literal["exact", "semantic"] | ExactCache | bool | Unset | None = UNSET,
        offline: bool = False,
        _heritage: Heritage | None = None,
        **openai_options: Unpack[OpenAIOptions],
    ) -> None:
        """
        Make a client. Nothing is sent and no socket is opened.

        Args:
            api_key: The key, or a function that returns it, a coroutine function in the async colour; else
                DEEPSEEK_API_KEY.
            base_url: The endpoint; else DEEPSEEK_BASE_URL, else https://api.deepseek.com. These two, and much else that
                is not given, may also stand in a file: see `deepseek_sdk.config`.
            http_client: An HTTP client of your own. The default async one serves several event loops; yours may not.
            deadlines: The clocks of every call.
            plain: How plain calls are read upstream: "auto" (the default), "stream" or "direct".
            session_id: The conversation the calls belong to.
            priority: "realtime" or "batch".
            stages: The whole pipeline, outermost first, in place of `stages.default_stages()`.
            backend: What answers chat completions and completions in place of the endpoint, or the name of an
                installed one; else DEEPSEEK_SDK_BACKEND. No key is needed then. None: the endpoint, whatever is set.
            routes: Who may answer, in the order in which they are asked: routes, names of models, backends.
            retry: What is asked again, and after how long, or None: nothing.
            breaker: When a route is left alone, or the `breakers` of another client, or None: never.
            limiter: How many calls may be in flight, or the `limiters` of another client, or None: any number.
            on_empty: What an answer is that is complete and empty: "error" (the default), or "accept".
            user: Whose calls they are. The server is not told.
            tenant: On behalf of whom, likewise.
            tags: What else to tell calls by, likewise.
            template: What kind of prompt they are: calls of one kind have answers of like length.
            lint: What happens to a request that the server would refuse: "repair" (the default), "strict", or "off".
            token_budget: How prompts that are too long are fitted, or None: not at all.
            spend_budget: What calls may cost, one budget or several, or the `budgets` of another client.
            routing: How a route is chosen for the model "auto".
            prices: A file of prices, which are laid over the built-in ones, or a PriceBook in their place.
            telemetry: What spans and metrics tell, or False: there are none.
            ledger: A file that every call is written to, True for the usual one, or None: none is.
            cache: Where answers are kept: "exact" for the user's cache directory, "semantic" for the same with answers
                to questions that ask the same in other words, an ExactCache or SemanticCache, which may be that of
                another client, or None: nowhere.
            offline: The client has no endpoint of its own and opens no socket: its routes, or its backend, answer in
                this process. Where there is no key and there are routes, these answer alone, too.
            **openai_options: Every other keyword of openai's client.

        Raises:
            ConfigurationError: An argument cannot be used; the message names it.
        """
        given = {name: value for name, value in openai_options.items() if _is_given(value)}
        settings = _settings(api_key, base_url, given, is_child=_heritage is not None)
        calls = {
            "plain": plain,
            "session_id": session_id,
            "priority": priority,
            "routes": routes,
            "on_empty": on_empty,
            "user": user,
            "tenant": tenant,
            "tags": tags,
            "template": template,
            "lint": lint,
            "token_budget": token_budget,
        }
        heritage = _heritage or _heritage_of(
            settings,
            own=_own_options(deadlines, settings, **calls),
            stages=stages,
            backend=backend,
            policies={"retry": retry, "breaker": breaker, "limiter": limiter},
            accounts={
                "spend_budget": spend_budget,
                "routing": routing,
                "prices": prices,
                "telemetry": telemetry,
                "ledger": ledger,
                "cache": cache,
            },
            is_offline=offline,
            has_key=_has_key(api_key, settings, given),
        )
        chosen = {**_settled_openai_options(settings), **given}
        if not heritage.family.has_endpoint:
            chosen["_enforce_credentials"] = False
        arguments: dict[str, Any] = {**chosen, **_credentials(api_key, base_url, chosen, settings)}
        arguments["http_client"] = http_client or _default_http_client(self, chosen)
        super().__init__(**arguments)
        self._heritage = heritage
        forget_openai_environment(self, chosen)
        if _heritage is None:
            self._prepare()

    def _prepare(self) -> None:
        """Check and make what the routes need, now and not in the first emergency."""
        family = self._heritage.family
        if not self._routes and not family.has_own:
            raise ConfigurationError("offline=True leaves nothing that could answer: give it routes with backends")
        for named in self._routes:
            family.targets.prepare(named, self._self)
            if family.has_endpoint and _hides_own_endpoint(named, self._routes):
                what = f"calls for {named.route.model!r} begin at the route {named.name!r}"
                cure = f"to ask the client's own endpoint first, put Route({named.route.model!r}) before it"
                _log.warning("%s: %s", what, cure)

    def copy(
        self,
        *,
        deadlines: Deadlines | None = None,
        plain: Plain | Unset = UNSET,
        session_id: str | Unset | None = UNSET,
        priority: Priority | Unset | None = UNSET,
        routes: Sequence[Route | Backend | str] | Unset = UNSET,
        on_empty: OnEmpty | Unset = UNSET,
        user: str | Unset | None = UNSET,
        tenant: str | Unset | None = UNSET,
        tags: Mapping[str, str] | Unset = UNSET,
        template: str | Unset | None = UNSET,
        lint: Lint | Unset = UNSET,
        token_budget: TokenBudget | Unset | None = UNSET,
        cache: str | CacheControl | Unset | None = UNSET,
        **openai_options: Unpack[CopyOptions],
    ) -> Self:
        """
        Make a child that shares connections and everything learnt, with some options changed.

        Args:
            deadlines: The clocks; fields that are not given stay as they are.
            plain: How plain calls are read: "auto", "stream" or "direct".
            session_id: The conversation its calls belong to.
            priority: "realtime" or "batch".
            routes: Who may answer, in place of the client's routes.
            on_empty: What an answer is that is complete and empty: "error" or "accept".
            user: Whose calls they are.
            tenant: On behalf of whom.
            tags: What else to tell them by; the parent's tags stay, those with the same key are replaced.
            template: What kind of prompt they are.
            lint: What happens to a request that the server would refuse: "repair", "strict" or "off".
            token_budget: How prompts that are too long are fitted, or None: not at all.
            cache: What its calls may have of the cache: "bypass", "refresh", "only" and what else
                `CacheControl.parse()` reads, or None: nothing. It can only forbid more than the parent does.
            **openai_options: What `openai.OpenAI.copy()` takes.

        Returns:
            The child.
        """
        mine = self._heritage
        if "api_key" in openai_options and "base_url" not in openai_options:
            mine.settings.trusted_base_url(has_own_key=True)
        given = {
            "plain": plain,
            "session_id": session_id,
            "priority": priority,
            "routes": routes,
            "on_empty": on_empty,
            "user": user,
            "tenant": tenant,
            "tags": tags,
            "template": template,
            "lint": lint,
            "token_budget": token_budget,
            "cache": cache,
        }
        own = _checked_options(deadlines, **given).over(mine.own)
        # What one endpoint refused says nothing about another.
        support = StreamSupport() if "base_url" in openai_options else mine.support
        heritage = replace(mine, own=own, support=support)
        extra = {**openai_options.get("_extra_kwargs", {}), "_heritage": heritage}
        arguments: dict[str, Any] = {**openai_options, "_extra_kwargs": extra}
        child: Self = super().copy(**arguments)  # type: ignore[misc]
        if routes is not UNSET:
            child._prepare()
        return child

    with_options = copy

    @property
    def user_agent(self) -> str:
        """Name this library, and the client it is built on."""
        return f"deepseek-sdk/{__version__} OpenAI/Python {openai.__version__}"

    @property
    def prices(self) -> PriceBook:
        """What tokens cost: built in, or from a file of yours."""
        return self._heritage.family.policies.books.prices

    @property
    def budgets(self) -> Budgets | None:
        """The spend budgets, to be looked at, adjusted, and given to another client; None where there are none."""
        return self._heritage.family.policies.books.budgets

    @property
    def ledger(self) -> Ledger | RecentCalls:
        """What has written down the calls: a file, or for the life of this client, its memory."""
        return self._heritage.family.policies.books.ledger

    @property
    def lengths(self) -> LengthTracker:
        """How long answers are, by model, mode of thinking and template."""
        return self._heritage.family.policies.books.lengths

    @property
    def breakers(self) -> Breakers:
        """The circuit breakers: they can be looked at, opened and closed, and given to another client."""
        return self._heritage.family.policies.breakers

    @property
    def limiters(self) -> Limiters:
        """The limiters: they can be looked at, and given to another client."""
        return self._heritage.family.policies.limiters

    def health(self) -> Health:
        """
        Tell what is known of every route, without asking it.

        Returns:
            Circuits, queues and counts of the last minute.
        """
        from deepseek_sdk._health import health_of  # noqa: PLC0415  not part of importing the library

        targets = self._heritage.family.targets
        names: dict[Account, str] = {}
        for named in self._routes:
            account = targets.account(named, self._self)
            if account is not None:
                names.setdefault(account, named.name)
        return health_of(self._heritage.family.policies, names, own=targets.identity(self._self))

    @property
    def _listening(self) -> Listening | None:
        """Who listens to what becomes of calls, where other instrumentations are to leave these out."""
        telemetry = self._heritage.family.policies.books.telemetry
        return None if telemetry is None or not telemetry.suppress_others else telemetry.listening

    @property
    def _self(self) -> Any:
        """This, as the openai client that it is."""
        return self

    @property
    def _routes(self) -> Sequence[NamedRoute]:
        routes = self._heritage.own.routes
        return () if isinstance(routes, Unset) else routes.routes

    def _places(self) -> list[Place]:
        """List what `check()` asks: the own endpoint first."""
        family = self._heritage.family
        places: list[Place] = [("default", None, self)] if family.has_endpoint else []
        return [*places, *(self._place(named) for named in self._routes)]

    def _place(self, named: NamedRoute) -> Place:
        client = self._heritage.family.targets.client(named, self._self)
        return (named.name, named.route.model, client)

    def _at_home(self, options: FinalRequestOptions) -> FinalRequestOptions:
        """Send account data to the root, wherever the base URL points."""
        family, what = self._heritage.family, f"{options.url} asks the endpoint {self.base_url}"
        if family.is_offline:
            raise ConfigurationError(f"{what}, and the client is offline")
        if not family.has_endpoint and not self.api_key:
            raise ConfigurationError(f"{what}, for which there is no key")
        url = request_url(self, options.url, None)
        return options if url == options.url else options.model_copy(update={"url": url})

    def _guarded(self, options: FinalRequestOptions) -> str | None:
        """Tell which guarded surface a request is for; one whose body is sent as it is, unread, is for none."""
        is_readable = options.content is None and not options.files and not isinstance(options.json_data, bytes)
        return guarded_path(options.method, options.url) if is_readable else None

    def _admit(self, send: Callable[..., Any], options: FinalRequestOptions, path: str, *, is_stream: bool) -> Call:
        heritage = self._heritage
        request = ClientRequest(client=self._self, send=send, options=options, support=heritage.support)
        return heritage.family.admit(request, path=path, is_stream=is_stream, own=heritage.own)

    def _rehearse(self, **fields: Any) -> Call:
        """Make the call that arguments of `create()` would be, and send nothing."""
        from deepseek_sdk.caching.rehearsal import rehearsed, unsent  # noqa: PLC0415  few clients need it

        options, is_stream = rehearsed(self._self, fields)
        return self._admit(unsent, options, options.url, is_stream=is_stream)

    def _assembly(self, options: FinalRequestOptions, reply: Reply, content: bytes | None) -> dict[str, Any]:
        """Give what openai makes its answer of: the whole content, or an answer that is still in flight."""
        upstream, record, raw = reply.source.response, reply.call.record, raw_mode(options)
        if raw is not None:
            options = _reporting(options, record)
        if content is None:
            self._heritage.family.hold(reply)
            response = stream_response(reply, upstream, record, raw, is_async=reply.call.io.is_async)
            if raw is not None:
                # Who answers is told before the answer has begun, and may be another in the end.
                reply.on_switch(partial(_tell_facts, weakref.ref(response), record))
        else:
            response = whole_response(content, upstream, record, raw, is_direct=reply.call.is_direct)
        return {"options": options, "response": response, "retries_taken": max(len(record.attempts) - 1, 0)}


def _tell_facts(response: weakref.ref[Any], record: Record) -> None:
    # Not the response itself: it leads to the reply, and one that is forgotten must end at once.
    if (held := response()) is not None:
        tell_facts(held, record)


def _reporting(options: FinalRequestOptions, record: Record) -> FinalRequestOptions:
    """Let what a raw response is parsed into, later and by the caller, tell its report."""
    parse = options.post_parser
    parser = attached if isinstance(parse, openai.NotGiven) else lambda answer, record: attached(parse(answer), record)
    return options.model_copy(update={"post_parser": partial(parser, record=record)})


def _heritage_of(
    settings: Settings,
    *,
    own: CallOptions,
    stages: Sequence[Stage] | None,
    backend: str | Backend | Unset | None,
    policies: Mapping[str, Any],
    accounts: Mapping[str, Any],
    is_offline: bool,
    has_key: bool,
) -> Heritage:
    """Make what a client shares with its children."""
    if stages is not None:
        check_stages(stages)
        staged = {**policies, **{name: accounts[name] for name in ("spend_budget", "telemetry", "cache")}}
        if given := [name for name, value in staged.items() if value is not UNSET]:
            raise ConfigurationError(f"stages is the whole pipeline: {min(given)} would have no effect beside it")
    chosen, model = (settings["backend"], settings["local_model"]) if isinstance(backend, Unset) else (backend, None)
    books = Books(accounts, {name: settings[name] for name in ("prices", "ledger", "cache")})
    family = Family(
        Policies.of(**policies, books=books) if stages is None else Policies.within(stages, books),
        stages,
        backend=None if chosen is None else load_backend(chosen, model),
        is_offline=is_offline,
        has_key=has_key,
        # That there is no key is told by name, unless routes can do without it; rules alone would hide it.
        is_own=not is_offline and (has_key or not _has_models(own)),
    )
    return Heritage(family=family, own=own, support=StreamSupport(), settings=settings)


def _has_models(own: CallOptions) -> bool:
    routes = () if isinstance(own.routes, Unset) else own.routes.routes
    return any(not named.route.is_last_resort for named in routes)


def _hides_own_endpoint(named: NamedRoute, routes: Sequence[NamedRoute]) -> bool:
    """Tell a route elsewhere that takes the calls for a model of the service itself, perhaps unmeant."""
    first = next(other for other in routes if other.route.model == named.route.model)
    is_of_the_service = named.route.model in SERVED or named.route.model in ALIASES
    return named is first and is_of_the_service and (named.route.is_elsewhere or named.route.backend is not None)


def _has_key(api_key: object, settings: Settings, given: Mapping[str, Any]) -> bool:
    return bool(api_key or settings["api_key"] or any(given.get(name) for name in _OTHER_CREDENTIALS))


def _own_options(deadlines: Deadlines | None, settings: Settings, **given: Any) -> CallOptions:
    """Lay what arguments say about calls over what settings say."""
    said = {name: settings[name] for name in ("plain", "lint") if settings.is_given(name)}
    return _checked_options(deadlines, **given).over(CallOptions(deadlines=settings.deadlines, **said))


def _checked_options(deadlines: Deadlines | None, **given: Any) -> CallOptions:
    return checked_options(given if deadlines is None else {**given, "deadlines": deadlines})


def _settings(api_key: Any, base_url: Any, given: Mapping[str, Any], *, is_child: bool) -> Settings:
    """Read what the arguments leave open; a child has everything from its parent, unless it leaves a provider."""
    from deepseek_sdk import config  # noqa: PLC0415  not part of importing the library

    decided = given.keys() & {"timeout", "max_retries"}
    has_provider = given.get("provider") is not None
    if has_provider or api_key is not None:
        decided.add("api_key")
    if has_provider or (base_url is not None and _is_given(base_url)):
        decided.add("base_url")
    if is_child and {"api_key", "base_url"} <= decided:
        return config.Settings()
    settings = config.read_settings().without(*decided)
    settings.check()
    return settings


def _is_given(value: object) -> bool:
    return not isinstance(value, openai.NotGiven)


def _settled_openai_options(settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in ("timeout", "max_retries") if settings.is_given(name)}


def _credentials(api_key: Any, base_url: Any, openai_options: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Resolve key and endpoint from arguments and settings, and check them."""
    check_timeout(openai_options.get("timeout"))
    if openai_options.get("provider") is not None:
        return {}
    if base_url is None or not _is_given(base_url):
        has_others = any(openai_options.get(name) for name in _OTHER_CREDENTIALS)
        base_url = settings.trusted_base_url(has_own_key=has_others or api_key is not None)
    check_base_url(base_url)
    has_identity = openai_options.get("workload_identity") is not None
    if api_key is None and not has_identity:
        api_key = settings["api_key"]
    if api_key is not None:
        check_api_key(api_key)
    is_required = openai_options.get("_enforce_credentials", True)
    if not api_key and is_required and not any(openai_options.get(name) for name in _OTHER_CREDENTIALS):
        message = (
            "there is no key: pass api_key=..., set the environment variable DEEPSEEK_API_KEY, "
            "or write it into a file of settings: deepseek-sdk config init --with-key"
        )
        raise ConfigurationError(message)
    # An empty string is kept apart from None, for which openai would look at OPENAI_API_KEY.
    return {"api_key": None if has_identity else api_key or "", "base_url": base_url}


def _default_http_client(client: object, openai_options: Mapping[str, Any]) -> Any:
    timeout = openai_options.get("timeout", openai.NOT_GIVEN)
    given = {} if isinstance(timeout, openai.NotGiven) else {"timeout": timeout}
    return default_http_client(is_async=isinstance(client, openai.AsyncOpenAI), **given)
