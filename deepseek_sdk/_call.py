"""`Call`: one logical request on its way through the stages."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

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

__all__ = ["Call", "CallOptions", "OnEmpty", "Plain", "Priority", "current_options", "options"]

Plain = Literal["auto", "stream", "direct"]
OnEmpty = Literal["error", "accept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """
    What can be said about a call besides openai's own arguments; what is not given is inherited.

        CallOptions(plain="direct")            read plain answers whole
        CallOptions(session_id="user-42")      the conversation the call belongs to
        CallOptions(priority="batch")          throughput before latency
        CallOptions(routes=[Route("deepseek-v4-pro"), rules])     who may answer, instead of the client's routes
        CallOptions(on_empty="accept")         an answer without a word is an answer

    Attributes:
        deadlines: The clocks; fields that are not given are inherited one by one.
        plain: How plain calls are read upstream.
        session_id: The conversation, or None.
        priority: What matters, or None.
        routes: The routes, in the order in which they are asked.
        on_empty: What a complete and empty answer is: an error, which is asked again, or an answer.
    """

    deadlines: Deadlines = field(default_factory=Deadlines)
    plain: Plain | Unset = UNSET
    session_id: str | Unset | None = UNSET
    priority: Priority | Unset | None = UNSET
    routes: Any = UNSET
    on_empty: OnEmpty | Unset = UNSET

    def __post_init__(self) -> None:
        if not isinstance(self.routes, Chain | Unset):
            object.__setattr__(self, "routes", Chain(self.routes))
        _check_choice("on_empty", self.on_empty, get_args(OnEmpty))
        if not isinstance(self.deadlines, Deadlines):
            message = f"deadlines must be a Deadlines, not {self.deadlines!r}"
            raise ConfigurationError(message)
        _check_choice("plain", self.plain, get_args(Plain))
        _check_choice("priority", self.priority, (None, *get_args(Priority)))
        if not (self.session_id is UNSET or self.session_id is None or isinstance(self.session_id, str)):
            message = f"session_id must be a string or None, not {self.session_id!r}"
            raise ConfigurationError(message)

    def over(self, other: CallOptions) -> CallOptions:
        """
        Lay these options over others.

        Args:
            other: Where to take what is not given here.

        Returns:
            Both together.
        """
        given = {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) is not UNSET}
        return replace(other, **{**given, "deadlines": self.deadlines.over(other.deadlines)})


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value is not UNSET and value not in choices:
        message = f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}"
        raise ConfigurationError(message)


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
