"""`Telemetry`: what spans, metrics and events tell about calls, and where they go."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.telemetry.listening import Listening

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Content", "Currency", "Ids", "Semconv", "Telemetry"]

Content = Literal["off", "spans", "events", "both"]
Ids = Literal["hash", "raw", "off"]
Semconv = Literal["v0.1", "dup"]
Currency = Literal["CNY", "USD"]

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EVENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
SEMCONV_VARIABLE = "DEEPSEEK_SDK_SEMCONV"
OPT_IN_VARIABLE = "OTEL_SEMCONV_STABILITY_OPT_IN"

# What OpenTelemetry's own instrumentations call them.
_CONTENT: dict[str, Content] = {
    "NO_CONTENT": "off",
    "SPAN_ONLY": "spans",
    "EVENT_ONLY": "events",
    "SPAN_AND_EVENT": "both",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Telemetry:
    """
    What spans, metrics and events tell about calls.

        Telemetry()                                       what was asked and answered stays out of them
        Telemetry(content="spans", redact=mask_names)     it stands on spans, after a function of yours
        Telemetry(hash_key=os.environ["HASH_KEY"])        users' ids as hashes that are the same in every process
        Telemetry(user_ids="raw")                         as they are
        Telemetry(metric_tags={"team"})                   costs and times are told apart by this tag
        Telemetry(currency="CNY")                         the currency that the account is billed in

    Nothing is made, and OpenTelemetry is not even imported, while no SDK is set up that would listen.

    Attributes:
        content: Where prompts and answers stand: "off" (the default), "spans", "events" or "both"; else
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT.
        redact: Takes each text before it leaves the process, and gives what may; where it fails, or gives
            no string, nothing may.
        content_limit: How many characters of a text are kept, after *redact*.
        user_ids: How users are named on spans: as "hash" (the default), "raw", or not at all ("off").
        session_ids: How sessions, and tenants, are: "raw" is the default, for conversations can be followed by it.
        hash_key: The key of the hashes; without one they are others in every process.
        metric_tags: Keys of tags that metrics may tell apart. Each value of each is a series of its own.
        currency: In which currency an inference states its `gen_ai.usage.cost.*`; None: it has none, and both
            currencies stand in attributes of this library's own.
        propagate: Whether requests carry `traceparent`: True, False, or "auto": not to DeepSeek's own hosts.
        providers: What serves at hosts that are not DeepSeek's, by host, such as {"gpu-7:8000": "vllm"}.
        semconv: The names: "v0.1", or "dup" for these and those of v1.41; else DEEPSEEK_SDK_SEMCONV.
        chunk_times: Measure the time between chunks, which makes each of them dearer.
        suppress_others: Other instrumentations of openai leave out calls that are told here.
        tracer_provider: In place of the one that is set for the process; so *meter_provider*, *logger_provider*.

    Raises:
        ConfigurationError: One of them cannot be used; the message names it.
    """

    content: Content | Unset = UNSET
    redact: Callable[[str], str] | None = None
    content_limit: int = 100_000
    user_ids: Ids = "hash"
    session_ids: Ids = "raw"
    hash_key: str | bytes | None = field(default=None, repr=False)
    metric_tags: Collection[str] = ()
    currency: Currency | None = None
    propagate: Literal["auto"] | bool = "auto"
    providers: Mapping[str, str] = field(default_factory=dict)
    semconv: Semconv | Unset = UNSET
    chunk_times: bool = False
    suppress_others: bool = True
    tracer_provider: Any = None
    meter_provider: Any = None
    logger_provider: Any = None
    listening: Listening = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check("content", self.content, (UNSET, *get_args(Content)))
        _check("user_ids", self.user_ids, get_args(Ids))
        _check("session_ids", self.session_ids, get_args(Ids))
        _check("currency", self.currency, (None, *get_args(Currency)))
        _check("propagate", self.propagate, ("auto", True, False))
        _check("semconv", self.semconv, (UNSET, *get_args(Semconv)))
        _check_keys("metric_tags", self.metric_tags)
        if type(self.content_limit) is not int or self.content_limit < 0:
            raise ConfigurationError(f"content_limit must be a number of characters, not {self.content_limit!r}")
        self._check_helpers()
        object.__setattr__(self, "listening", Listening(self))

    def _check_helpers(self) -> None:
        if not (self.redact is None or callable(self.redact)):
            raise ConfigurationError(f"redact must be a function or None, not {self.redact!r}")
        if not isinstance(self.hash_key, str | bytes | bytearray | None):
            # What is secret is not shown, not even where it is of the wrong type.
            raise ConfigurationError(f"hash_key must be a string, bytes or None, not {type(self.hash_key).__name__}")
        _check_names("providers", self.providers)
        for what in ("tracer", "meter", "logger"):
            _check_provider(f"{what}_provider", getattr(self, f"{what}_provider"), f"get_{what}")

    @property
    def on_spans(self) -> bool:
        """Whether prompts and answers stand on spans."""
        return self._content() in ("spans", "both")

    @property
    def on_events(self) -> bool:
        """Whether prompts and answers stand on events."""
        return self._content() in ("events", "both")

    @property
    def has_events(self) -> bool:
        """Whether each inference is an event, too."""
        return self.on_events or os.environ.get(EVENT_VARIABLE, "").lower() == "true"

    @property
    def has_old_names(self) -> bool:
        """Whether the names of v1.41 stand beside those of v0.1."""
        if not isinstance(self.semconv, Unset):
            return self.semconv == "dup"
        opted = os.environ.get(OPT_IN_VARIABLE, "").replace(" ", "").split(",")
        return os.environ.get(SEMCONV_VARIABLE) == "dup" or "gen_ai_latest_experimental/dup" in opted

    def _content(self) -> Content:
        if not isinstance(self.content, Unset):
            return self.content
        return _CONTENT.get(os.environ.get(CONTENT_VARIABLE, "").strip().upper(), "off")


def _check(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(choice, str) and value == choice) for choice in choices):
        shown = ", ".join(repr(choice) for choice in choices if choice is not UNSET)
        raise ConfigurationError(f"{name} must be one of {shown}, not {value!r}")


def _check_keys(name: str, value: object) -> None:
    is_right = isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(k, str) for k in value)
    if not is_right:
        raise ConfigurationError(f"{name} must be several keys, not {value!r}")


def _check_names(name: str, value: object) -> None:
    is_right = isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item)
    if not is_right:
        raise ConfigurationError(f"{name} must be a mapping of hosts to names, not {value!r}")


def _check_provider(name: str, value: object, method: str) -> None:
    # By its method, not by its class: proxies will do. A class has the method, too, but nobody to call it on.
    is_right = callable(getattr(value, method, None)) and not isinstance(value, type)
    if not (value is None or is_right):
        raise ConfigurationError(f"{name} must have {method}(), or be None, not {value!r}")
