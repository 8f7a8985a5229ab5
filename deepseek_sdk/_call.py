"""`Call`: one logical request on its way through the stages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from deepseek_sdk._cache import CacheControl
from deepseek_sdk._clock import UNSET, Deadlines, Unset
from deepseek_sdk._report import blame
from deepseek_sdk.errors import ConfigurationError, redact
from deepseek_sdk.routing.chain import Chain
from deepseek_sdk.routing.route import Priority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk._clock import Limits
    from deepseek_sdk._io import IO
    from deepseek_sdk._record import Record
    from deepseek_sdk.routing.target import Target
    from deepseek_sdk.tokens.fitting.budget import TokenBudget

__all__ = ["Call", "CallOptions", "Lint", "OnEmpty", "Plain", "Priority", "current_options", "options"]

Plain = Literal["auto", "stream", "direct"]
OnEmpty = Literal["error", "accept"]
Lint = Literal["strict", "repair", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """
    What can be said about a call besides openai's own arguments; what is not given is inherited.

        CallOptions(plain="direct")            read plain answers whole
        CallOptions(session_id="user-42")      the conversation the call belongs to
        CallOptions(priority="batch")          throughput before latency
        CallOptions(routes=[Route("deepseek-v4-pro"), rules])     who may answer, instead of the client's routes
        CallOptions(on_empty="accept")         an answer without a word is an answer
        CallOptions(user="42", tags={"feature": "search"})        whose call it is, and what for
        CallOptions(lint="strict")             raise what would else be mended on the way
        CallOptions(cache="refresh")           ask the model, and keep the new answer

    Attributes:
        deadlines: The clocks; fields that are not given are inherited one by one.
        plain: How plain calls are read upstream.
        session_id: The conversation, or None.
        priority: What matters, or None.
        routes: The routes, in the order in which they are asked.
        on_empty: What a complete and empty answer is: an error, which is asked again, or an answer.
        user: Whose call it is; so *tenant*. Budgets, spans and the ledger go by them, the server is not told.
        tags: What else to tell calls by; one with the same key takes the place of an outer one.
        template: What kind of prompt it is: calls of one kind have answers of like length.
        lint: What happens to a request that the server would refuse: "strict" raises, "repair" mends what can be
            mended and raises the rest, "off" sends it.
        token_budget: How a prompt that is too long is fitted, or None: not at all.
        cache: What the call may have of the cache, as `CacheControl.parse()` reads it, or None: nothing. What is laid
            over another can only forbid more.
    """

    deadlines: Deadlines = field(default_factory=Deadlines)
    plain: Plain | Unset = UNSET
    session_id: str | Unset | None = UNSET
    priority: Priority | Unset | None = UNSET
    routes: Any = UNSET
    on_empty: OnEmpty | Unset = UNSET
    user: str | Unset | None = UNSET
    tenant: str | Unset | None = UNSET
    tags: Mapping[str, str] | Unset = UNSET
    template: str | Unset | None = UNSET
    lint: Lint | Unset = UNSET
    token_budget: TokenBudget | Unset | None = UNSET
    cache: Any = UNSET

    def __post_init__(self) -> None:
        if not isinstance(self.routes, Chain | Unset):
            object.__setattr__(self, "routes", Chain(self.routes))
        _check_choice("on_empty", self.on_empty, get_args(OnEmpty))
        if not isinstance(self.deadlines, Deadlines):
            message = f"deadlines must be a Deadlines, not {self.deadlines!r}"
            raise ConfigurationError(message)
        _check_choice("plain", self.plain, get_args(Plain))
        _check_choice("priority", self.priority, (None, *get_args(Priority)))
        _check_choice("lint", self.lint, get_args(Lint))
        for name in ("session_id", "user", "tenant", "template"):
            _check_text(name, getattr(self, name))
        if self.tags is not UNSET:
            object.__setattr__(self, "tags", _checked_tags(self.tags))
        _check_budget(self.token_budget)
        if self.cache is not UNSET:
            object.__setattr__(self, "cache", CacheControl.parse(self.cache))

    def over(self, other: CallOptions) -> CallOptions:
        """
        Lay these options over others.

        Args:
            other: Where to take what is not given here.

        Returns:
            Both together.
        """
        given = {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) is not UNSET}
        if "tags" in given and not isinstance(other.tags, Unset):
            given["tags"] = {**other.tags, **given["tags"]}
        if "cache" in given and not isinstance(other.cache, Unset):
            given["cache"] = given["cache"].tightened(other.cache)
        return replace(other, **{**given, "deadlines": self.deadlines.over(other.deadlines)})


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value is not UNSET and value not in choices:
        message = f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}"
        raise ConfigurationError(message)


def _check_text(name: str, value: object) -> None:
    if not (value is UNSET or value is None or isinstance(value, str)):
        message = f"{name} must be a string or None, not {value!r}"
        raise ConfigurationError(message)


def _check_budget(value: object) -> None:
    # Known by its fields: few clients need the module it is in. The class has them as well, but no values in them.
    is_budget = hasattr(value, "policy") and hasattr(value, "limit") and not isinstance(value, type)
    if not (value is UNSET or value is None or is_budget):
        message = f"token_budget must be a TokenBudget or None, not {value!r}"
        raise ConfigurationError(message)


def _checked_tags(tags: object) -> Mapping[str, str]:
    is_right = isinstance(tags, Mapping) and all(isinstance(text, str) for item in tags.items() for text in item)
    if not is_right:
        message = f"tags must be a mapping of strings to strings, not {tags!r}"
        raise ConfigurationError(message)
    return dict(tags)  # type: ignore[call-overload,no-any-return]


_OPTIONS: ContextVar[CallOptions | None] = ContextVar("deepseek_sdk.options", default=None)


@contextmanager
def options(**given: Any) -> Iterator[None]:
    """
    Set options for every call made inside the `with` block, in this thread or task, whichever client makes it.

    Args:
        **given: Fields of `CallOptions`, for code that owns neither the client nor the call.

    Yields:
        Nothing.

    Raises:
        ConfigurationError: An option does not exist or cannot be used.
    """
    outer = _OPTIONS.get() or CallOptions()
    token = _OPTIONS.set(checked_options(given).over(outer))
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def current_options() -> CallOptions | None:
    """
    Tell the options set by the innermost `options()` block.

    Returns:
        They, or None outside of any.
    """
    return _OPTIONS.get()


def checked_options(given: dict[str, Any]) -> CallOptions:
    """
    Make options of keyword arguments.

    Args:
        given: The arguments.

    Returns:
        The options.

    Raises:
        ConfigurationError: One of them does not exist or cannot be used.
    """
    known = {item.name for item in fields(CallOptions)}
    if unknown := sorted(set(given) - known):
        message = f"unknown option {unknown[0]!r}; options are {', '.join(sorted(known))}"
        raise ConfigurationError(message)
    return CallOptions(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    One logical request.

    Attributes:
        body: The JSON body, `extra_body` merged in; not to be changed in place.
        path: Where it goes, such as "/chat/completions".
        is_stream: The caller asked for a stream.
        is_direct: A plain answer is asked for whole, not folded from a stream.
        limits: The clocks.
        options: What the caller said besides.
        record: What happens to it.
        io: Time and concurrency in the caller's colour.
        upstream: The target to ask; what it can do is the backend's business.
        max_retries: How often the same route may be asked again.
        targets: Every target that the call may be sent to, in order, *upstream* among them.
        can_move_on: Another target may be asked after *upstream*.
        can_move_on_to_route: One of these is a model's route, not a last resort.
    """

    body: dict[str, Any]
    path: str
    is_stream: bool
    is_direct: bool
    limits: Limits
    options: CallOptions
    record: Record
    io: IO
    upstream: Any
    max_retries: int
    targets: tuple[Target, ...] = ()
    can_move_on: bool = False
    can_move_on_to_route: bool = False

    @property
    def model(self) -> str:
        """The model asked for, empty where the body names none."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    def fail(self, error: BaseException) -> None:
        """
        End a call that gives its caller nothing but an error: no connection may stay open for it.

        Args:
            error: What the caller gets.
        """
        self.io.answers.let_go()
        if isinstance(error, Exception):
            self.blame(error)

    def blame(self, error: Exception) -> None:
        """
        Let an error tell what led to it, and nothing that must stay secret.

        Args:
            error: What the caller gets.
        """
        blame(error, self.record)
        for target in self.targets:
            redact(error, target.secret)

    def replace(self, **changes: Any) -> Call:
        """
        Make a changed copy.

        Args:
            **changes: Attributes.

        Returns:
            The copy.
        """
        return replace(self, **changes)
