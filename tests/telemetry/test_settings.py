"""`Telemetry`: what it takes, what the environment says, and as what people are named."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import ProxyTracerProvider

from deepseek_sdk._record import Record
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.telemetry import Telemetry
from deepseek_sdk.telemetry.ids import Naming


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"content": "all"}, "content"),
        ({"content": True}, "content"),
        ({"user_ids": "plain"}, "user_ids"),
        ({"session_ids": None}, "session_ids"),
        ({"currency": "EUR"}, "currency"),
        ({"propagate": "always"}, "propagate"),
        ({"semconv": "v2"}, "semconv"),
        ({"metric_tags": "team"}, "metric_tags"),
        ({"metric_tags": 5}, "metric_tags"),
        ({"metric_tags": None}, "metric_tags"),
        ({"metric_tags": [5]}, "metric_tags"),
        ({"metric_tags": b"team"}, "metric_tags"),
        ({"redact": 5}, "redact"),
        ({"redact": "mask"}, "redact"),
        ({"redact": False}, "redact"),
        ({"hash_key": 5}, "hash_key"),
        ({"hash_key": ["key"]}, "hash_key"),
        ({"hash_key": False}, "hash_key"),
        ({"providers": ["a"]}, "providers"),
        ({"providers": None}, "providers"),
        ({"providers": "vllm"}, "providers"),
        ({"providers": {"gpu-7": 5}}, "providers"),
        ({"providers": {7: "vllm"}}, "providers"),
        ({"content_limit": -1}, "content_limit"),
        ({"content_limit": True}, "content_limit"),
    ],
)
def test_wrong_values(wrong: dict[str, Any], name: str) -> None:
    """What cannot be used is refused by its name."""
    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        Telemetry(**wrong)


@pytest.mark.parametrize("what", ["tracer", "meter", "logger"])
@pytest.mark.parametrize("wrong", [5, 0, "", "sdk", [], object(), TracerProvider, MeterProvider, LoggerProvider])
def test_wrong_providers(what: str, wrong: Any) -> None:
    """What cannot give a tracer, a meter or a logger is refused where it is said, as is a class."""
    with pytest.raises(ConfigurationError, match=rf"^{what}_provider must have get_{what}\(\), or be None, not "):
        Telemetry(**{f"{what}_provider": wrong})


class Proxy:
    """Stands for another provider, as the one of the API does until an SDK is set up."""

    def __init__(self, behind: object) -> None:
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        """Give what the other has."""
        return getattr(self._behind, name)


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("tracer_provider", TracerProvider()),
        ("tracer_provider", ProxyTracerProvider()),
        ("meter_provider", MeterProvider()),
        ("logger_provider", LoggerProvider()),
    ],
)
def test_providers_are_known_by_their_method(name: str, provider: Any, *, is_behind: bool) -> None:
    """Any class of provider will do, a proxy too."""
    given: Any = Proxy(provider) if is_behind else provider

    assert given is getattr(Telemetry(**{name: given}), name)


@pytest.mark.parametrize(
    ("said", "spans", "events"),
    [
        ("", False, False),
        ("NO_CONTENT", False, False),
        ("span_only", True, False),
        ("EVENT_ONLY", False, True),
        ("SPAN_AND_EVENT", True, True),
        ("true", False, False),
    ],
)
def test_content_of_the_environment(monkeypatch: pytest.MonkeyPatch, said: str, *, spans: bool, events: bool) -> None:
    """The variable of OpenTelemetry's instrumentations holds where nothing else is said; unknown words are off."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", said)

    assert (spans, events) == (Telemetry().on_spans, Telemetry().on_events)
    assert not Telemetry(content="off").on_spans


@pytest.mark.parametrize(
    ("variable", "said", "has_old"),
    [
        ("DEEPSEEK_SDK_SEMCONV", "dup", True),
        ("DEEPSEEK_SDK_SEMCONV", "v0.1", False),
        ("OTEL_SEMCONV_STABILITY_OPT_IN", "http, gen_ai_latest_experimental/dup", True),
        ("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental", False),
    ],
)
def test_names_of_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str, said: str, *, has_old: bool) -> None:
    """Two variables choose the names, and an argument comes before both."""
    monkeypatch.setenv(variable, said)

    assert has_old == Telemetry().has_old_names
    assert (False, True) == (Telemetry(semconv="v0.1").has_old_names, Telemetry(semconv="dup").has_old_names)


def test_events_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each inference is an event where the environment says so."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "true")

    assert (True, False) == (Telemetry().has_events, Telemetry().on_events)


def test_hashes() -> None:
    """Users are named by a hash with the user's key; without one, by one that nobody can compute elsewhere."""
    record = Record(started=0.0, user="用户")
    digest = hmac.new(b"key", "用户".encode(), hashlib.sha256).hexdigest()[:32]

    assert {"user.hash": digest} == Naming(Telemetry(hash_key="key")).of(record)
    assert {"user.hash": digest} == Naming(Telemetry(hash_key=b"key")).of(record)
    assert Naming(Telemetry()).of(record) != Naming(Telemetry()).of(record)
    assert {"user.id": "用户"} == Naming(Telemetry(user_ids="raw")).of(record)
    assert {} == Naming(Telemetry(user_ids="off")).of(record)


def test_a_hash_is_no_conversation() -> None:
    """A hash of a session is not called a conversation: such ids must not be invented."""
    record = Record(started=0.0, session_id="s")

    assert {"session.id": "s", "gen_ai.conversation.id": "s"} == Naming(Telemetry()).of(record)
    assert {"deepseek_sdk.session.hash"} == Naming(Telemetry(session_ids="hash")).of(record).keys()


def test_the_key_is_not_shown() -> None:
    """The key of the hashes does not stand in what is printed."""
    assert "very-secret" not in repr(Telemetry(hash_key="very-secret"))
    with pytest.raises(ConfigurationError) as caught:
        Telemetry(hash_key=["very-secret"])  # type: ignore[arg-type]
    assert "very-secret" not in str(caught.value)
