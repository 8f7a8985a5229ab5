"""Other instrumentations of openai leave out what is told here, and servers of one's own belong to the trace."""

from __future__ import annotations

import contextvars
import functools
import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai.resources.chat import completions as chat_completions
from opentelemetry import context as otel
from opentelemetry import trace

from deepseek_sdk import Route
from deepseek_sdk.telemetry.suppression import Attached, caller_context, suppressing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

HELLO: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
KEYS = (
    otel._SUPPRESS_INSTRUMENTATION_KEY,
    "suppress_instrumentation",
    "suppress_language_model_instrumentation",
)


class Instrumentor:
    """Sits where others do: on `create()` and `parse()`, and on `request()`; notes which calls it would tell of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[str] = []
        self.seen: list[str] = []
        for kind in (chat_completions.Completions, chat_completions.AsyncCompletions):
            for name in ("create", "parse"):
                monkeypatch.setattr(kind, name, self._wrapped(vars(kind)[name], name))
        for client in (openai.OpenAI, openai.AsyncOpenAI):
            monkeypatch.setattr(client, "request", _Wrapper(self._wrapped(client.request, "request")))

    def _wrapped(self, wrapped: Callable[..., Any], name: str) -> Any:
        @functools.wraps(wrapped)
        def call(*args: Any, **options: Any) -> Any:
            self.seen.append(name)
            if not all(otel.get_value(key) for key in KEYS):
                self.told.append(name)
            return wrapped(*args, **options)

        @functools.wraps(wrapped)
        async def acall(*args: Any, **options: Any) -> Any:
            return await call(*args, **options)

        unwrapped = inspect.unwrap(wrapped)
        return acall if inspect.iscoroutinefunction(unwrapped) else call


class _Wrapper:
    """Another thing than a function, as the libraries make them that wrap functions."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __get__(self, instance: Any, kind: type) -> Any:
        return _Bound(self._function.__get__(instance, kind))


class _Bound:
    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._function(*args, **options)


WAYS: dict[str, Callable[[Driver, Any], Any]] = {
    "create": lambda d, c: d.create(c),
    "stream": lambda d, c: d.stream_text(d.create(c, stream=True)),
    "parse": lambda d, c: d.call(c.chat.completions.parse, **HELLO),
    "raw": lambda d, c: d.call(c.chat.completions.with_raw_response.create, **HELLO),
    "raw, from above": lambda d, c: d.call(c.with_raw_response.chat.completions.create, **HELLO),
    "beta": lambda d, c: d.call(c.beta.chat.completions.parse, **HELLO),
    "child": lambda d, c: d.create(c.with_options(session_id="s")),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_call_is_one_inference(
    driver: Driver, emulator: StartEmulator, heard: Heard, monkeypatch: pytest.MonkeyPatch, *, way: str
) -> None:
    """Whatever way a call is made, other instrumentations see that it is told already."""
    other = Instrumentor(monkeypatch)
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=heard.telemetry())
    WAYS[way](driver, client)

    assert {"request"} < set(other.seen)
    assert [] == other.told
    assert 1 == len(heard.spans("chat "))


def test_events_of_a_stream(
    driver: Driver, emulator: StartEmulator, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds for `.stream()`, and for a route that takes over while a stream is read."""
    other = Instrumentor(monkeypatch)
    server = emulator(replies=["Hi"] * 2, faults=["cut_by_eof(after_events=1)", None])
    client = driver.client(
        base_url=server.url,
        telemetry=heard.telemetry(),
        routes=["deepseek-flash", Route("deepseek-v4-pro")],
        max_retries=0,
    )
    with driver.entered(client.chat.completions.stream(**HELLO)) as stream:
        list(driver.iterate(stream))

    assert [] == other.told
    assert 2 == len(heard.spans("chat "))


@pytest.mark.parametrize("options", [{"telemetry": False}, {}], ids=["off", "no SDK"])
def test_where_nobody_is_told_here(
    driver: Driver, emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch, *, options: dict[str, Any]
) -> None:
    """Where nothing is told here, others tell as ever."""
    other = Instrumentor(monkeypatch)
    client = driver.client(base_url=emulator(replies=["Hi"]).url, **options)
    driver.create(client)

    assert ["create", "request"] == other.told


def test_others_may_tell_as_well(
    driver: Driver, emulator: StartEmulator, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `suppress_others=False` both tell."""
    other = Instrumentor(monkeypatch)
    telemetry = heard.telemetry(suppress_others=False)
    driver.create(driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=telemetry))

    assert ["create", "request"] == other.told


def test_resources_are_openais(driver: Driver, heard: Heard) -> None:
    """Resources are of openai's classes, and their methods have openai's signatures."""
    client = driver.client(base_url="http://127.0.0.1:1", telemetry=heard.telemetry())
    bare = (openai.AsyncOpenAI if driver.is_async else openai.OpenAI)(api_key="k")

    for name in ("chat", "completions", "beta"):
        assert isinstance(getattr(client, name), type(getattr(bare, name)))
    for method in ("create", "parse", "stream"):
        ours, theirs = (getattr(c.chat.completions, method) for c in (client, bare))
        assert inspect.signature(theirs) == inspect.signature(ours)
    off = driver.client(base_url="http://127.0.0.1:1", telemetry=False)
    assert type(bare.chat) is type(off.chat)


@pytest.mark.parametrize("options", [{"telemetry": False}, {}], ids=["off", "on"])
@pytest.mark.parametrize("kind", [property, cached_property])
def test_clients_with_resources_of_their_own(driver: Driver, kind: Any, *, options: dict[str, Any]) -> None:
    """A subclass may have properties over those of the client, and ask for what is below them."""
    base: type = type(driver.client(base_url="http://127.0.0.1:1"))
    own: Any = type("Own", (base,), {"chat": kind(lambda self: super(own, self).chat)})
    client = own(base_url="http://127.0.0.1:1", api_key="k", **options)

    assert callable(client.chat.completions.create)


def test_code_inside_of_a_call_is_not_left_out(heard: Heard) -> None:
    """What runs inside of a call, such as a backend of one's own, has the context of the caller."""
    mine = otel.set_value("mine", 1)
    with Attached(suppressing(mine)):
        inner = caller_context()

    assert (1, None) == (inner.get("mine"), inner.get("suppress_instrumentation"))
    assert otel.get_value("suppress_instrumentation") is None
    assert [] == heard.spans()


def test_a_context_is_left_where_it_was_not_put_on(caplog: pytest.LogCaptureFixture) -> None:
    """A block that is left in another context takes nothing away there, and nothing is logged."""
    block = Attached(suppressing())
    contextvars.copy_context().run(block.__enter__)
    before = otel.get_current()
    block.__exit__(None, None, None)

    assert before is otel.get_current()
    assert [] == caplog.records


@pytest.mark.parametrize(("propagate", "is_sent"), [("auto", True), (True, True), (False, False)])
def test_propagation(driver: Driver, emulator: StartEmulator, heard: Heard, *, propagate: Any, is_sent: bool) -> None:
    """Requests to servers that are not DeepSeek's carry the trace, so that their spans belong to the inference."""
    server = emulator(replies=["Hi"])
    driver.create(driver.client(base_url=server.url, telemetry=heard.telemetry(propagate=propagate)))

    (chat,) = heard.spans("chat ")
    sent = server.requests[0].headers.get("traceparent", "")
    assert is_sent == (trace.format_span_id(chat.context.span_id) in sent)


def test_a_trace_of_the_callers_own(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A trace that the caller sends stays as it is."""
    server = emulator(replies=["Hi"])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    given = f"00-{1:032x}-{1:016x}-01"
    driver.create(client, extra_headers={"Traceparent": given})

    assert given == server.requests[0].headers["traceparent"]
