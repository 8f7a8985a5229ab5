"""`Route`: one place that may answer, as programs write it down."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from deepseek_sdk._clock import Deadlines, Unset
from deepseek_sdk._validate import check_api_key, check_base_url
from deepseek_sdk.errors import REASONS, ConfigurationError

if TYPE_CHECKING:
    from deepseek_sdk.backends.base import Backend

__all__ = ["MoveOn", "Priority", "Route", "SpokenDialect", "as_route"]

Priority = Literal["realtime", "batch"]
SpokenDialect = Literal["deepseek", "vllm", "openai"]

# The model of a call that leaves the choice to the client, and the name of its own endpoint in reports.
_TAKEN = frozenset({"auto", "default"})
MoveOn: TypeAlias = Collection[str] | Callable[[Exception], bool]


@dataclass(frozen=True, eq=False, repr=False)
class Route:
    """
    A model at an endpoint, or a backend of this process, that may answer a call.

        Route("deepseek-v4-pro")                                     the client's endpoint and key, another model
        Route("deepseek-flash", api_key="sk-other")                  another account at the same endpoint
        Route("qwen3", base_url="http://10.0.0.5:8000/v1", api_key="none")     another endpoint
        Route("local", backend=engine)                               a backend object, or an installed one's name
        Route("small", base_url="http://10.0.0.5:8000/v1", api_key="none", context_window=32_768)
        Route("v3", base_url="http://10.0.0.5:8000/v1", api_key="none", dialect="vllm")       thinking is told its way
        Route("deepseek-v4-pro", move_on={"server_error", "overloaded"})       on these alone the next route is asked

    Args:
        model: The model that is asked for; for a backend, what calls name it by.
        name: What reports call the route, and calls may name it by; else *model*.
        base_url: The endpoint; else the client's.
        api_key: The key; else the client's. An endpoint of its own needs a key of its own: none is sent elsewhere.
        backend: What answers in this process, or the name of an installed backend.
        deadlines: Clocks of this route, in seconds, but for *total*; they go over those of the client and the call.
        move_on: After which errors the next route is asked: words of `errors.classify(error).reason`, or a function of
            the error; else `errors.classify(error).move_on`. Where nothing was sent the next one is always asked.
        context_window: How many tokens prompt and answer may have together; else that of the model, where it is known.
        mode: What it is meant for, "realtime" or "batch"; calls for the model "auto" go there first.
        dialect: How its server wants to be asked: "deepseek", "vllm", or "openai", which leaves requests as they are;
            else what its host or its model say.

    Raises:
        ConfigurationError: An argument cannot be used; the message names it.
    """

    model: str
    _: KW_ONLY
    name: str = ""
    base_url: str | None = None
    api_key: Any = field(default=None, repr=False)
    backend: Backend | str | None = None
    deadlines: Deadlines | None = None
    move_on: MoveOn | None = None
    context_window: int | None = None
    mode: Priority | None = None
    dialect: SpokenDialect | None = None

    def __post_init__(self) -> None:
        for name in ("model", "name"):
            value: Any = getattr(self, name)
            if not isinstance(value, str) or (name == "model" and not value.strip()):
                raise ConfigurationError(f"{name} of a Route must be a name, not {value!r}")
        if not self.name:
            object.__setattr__(self, "name", self.model)
        if taken := {self.model, self.name} & _TAKEN:
            raise ConfigurationError(f"a Route cannot be called {min(taken)!r}: that means something else")
        self._check_place()
        self._check_rules()

    def __repr__(self) -> str:
        shown = [repr(self.model)]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.repr and item.name != "model" and value not in (item.default, self.model):
                shown.append(f"{item.name}={value!r}")
        # A URL may hold a password.
        return re.sub(r"//[^/]*@", "//***@", f"Route({', '.join(shown)})")

    def _check_place(self) -> None:
        if self.backend is not None and (self.base_url is not None or self.api_key is not None):
            raise ConfigurationError(f"{self.name}: a route has a backend or an endpoint, not both")
        if self.base_url is not None:
            check_base_url(self.base_url)
            if self.api_key is None:
                what = 'api_key, or any text such as api_key="none" where the server wants none'
                raise ConfigurationError(f"{self.name}: a route with a base_url of its own needs its own {what}")
        if self.api_key is not None:
            check_api_key(self.api_key)
            if not self.api_key:
                raise ConfigurationError(f"{self.name}: api_key must not be empty")

    def _check_rules(self) -> None:
        if self.deadlines is not None and not isinstance(self.deadlines, Deadlines):
            raise ConfigurationError(f"{self.name}: deadlines must be a Deadlines, not {self.deadlines!r}")
        if self.deadlines is not None and not isinstance(self.deadlines.total, Unset):
            raise ConfigurationError(f"{self.name}: total is the time of a whole call, all its routes included")
        window: Any = self.context_window
        if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
            raise ConfigurationError(f"{self.name}: context_window must be a number of tokens, not {window!r}")
        if self.mode not in (None, *get_args(Priority)):
            raise ConfigurationError(f'{self.name}: mode must be "realtime" or "batch", not {self.mode!r}')
        if self.dialect not in (None, *get_args(SpokenDialect)):
            choices = ", ".join(get_args(SpokenDialect))
            raise ConfigurationError(f"{self.name}: dialect must be one of {choices}, not {self.dialect!r}")
        _check_move_on(self.name, self.move_on)

    @property
    def is_last_resort(self) -> bool:
        """Whether what it says is no model's answer, but better than none: a rule engine."""
        return bool(getattr(self.backend, "is_last_resort", False))

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has an endpoint or a key of its own."""
        return self.base_url is not None or self.api_key is not None


def _check_move_on(name: str, move_on: Any) -> None:
    if move_on is None or callable(move_on):
        return
    if isinstance(move_on, str) or not isinstance(move_on, Collection):
        raise ConfigurationError(f"{name}: move_on must be a set of reasons or a function, not {move_on!r}")
    if unknown := sorted(str(reason) for reason in move_on if reason not in REASONS):
        known = ", ".join(sorted(REASONS))
        raise ConfigurationError(f"{name}: move_on: no error has the reason {unknown[0]!r}; reasons are {known}")


def as_route(item: Any) -> Route:
    """
    Read one item of `routes=[...]`.

    Args:
        item: A route, a model's name, or a backend.

    Returns:
        The route.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(item, Route):
        return item
    if isinstance(item, str):
        return Route(item)
    if callable(item) and not isinstance(item, type):
        name = getattr(item, "name", None)
        return Route(name if isinstance(name, str) and name else type(item).__name__, backend=item)
    raise ConfigurationError(f"routes must hold routes, names of models or backends, not {item!r}")
