"""Spans: one for the call, one for each inference, one for each attempt, ended once on every ending."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import openai
import pytest
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult

from deepseek_sdk import Route, Rule, RuleEngine
from deepseek_sdk._clock import Deadlines
from deepseek_sdk.errors import CircuitOpenError
from deepseek_sdk.testing import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

HELLO: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}


def test_tree(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A call is a span with an inference in it, which has an attempt in it, under the caller's own span."""
    client = driver.client(base_url=emulator(replies=["你好"]).url, telemetry=heard.telemetry())
    tracer = heard.tracers.get_tracer("mine")
    with tracer.start_as_current_span("mine"):
        driver.create(client)

    attempt, chat, request, mine = heard.spans()
    assert ["deepseek_sdk.attempt", "chat deepseek-flash", "deepseek_sdk.request", "mine"] == [
        span.name for span in (attempt, chat, request, mine)
    ]
    assert ["INTERNAL", "CLIENT", "INTERNAL"] == [span.kind.name for span in (attempt, chat, request)]
    parents = [span.parent and span.parent.span_id for span in (attempt, chat, request)]
    assert [span.context.span_id for span in (chat, request, mine)] == parents
    assert request.start_time <= chat.start_time <= attempt.start_time
    assert attempt.end_time <= chat.end_time <= request.end_time


def test_cost_span(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """An inference tells its tokens, what they cost in both currencies, and whose they are."""
    usage = {
        "prompt_tokens": 1000,
        "prompt_cache_hit_tokens": 896,
        "prompt_cache_miss_tokens": 104,
        "completion_tokens": 50,
        "completion_tokens_details": None,
        "prompt_tokens_details": None,
    }
    server = emulator(replies=[Reply(content="Hi", usage=usage)])
    telemetry = heard.telemetry(currency="CNY", user_ids="raw")
    client = driver.client(
        base_url=server.url, telemetry=telemetry, user="用户-1", session_id="s-1", tenant="t-1", tags={"team": "search"}
    )
    driver.create(client)

    told = heard.chat()
    wanted = {
        "gen_ai.provider.name": "deepseek",
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "deepseek-flash",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 896,
        "deepseek_sdk.usage.cache_miss.input_tokens": 104,
        "gen_ai.usage.cost.currency": "CNY",
        "gen_ai.usage.cost.source": "local",
        "deepseek_sdk.cost.currency": "CNY",
        "deepseek_sdk.cost.estimated": False,
        "user.id": "用户-1",
        "session.id": "s-1",
        "gen_ai.conversation.id": "s-1",
        "deepseek_sdk.tenant": "t-1",
        "deepseek_sdk.tags.team": "search",
    }
    assert wanted == {name: told.get(name) for name in wanted}
    # Peak or off-peak: it is now that the test runs.
    times = {"off_peak": 1, "peak": 2}[told["deepseek_sdk.cost.price_tier"]]
    assert pytest.approx(0.00032192 * times) == told["gen_ai.usage.cost.amount"]
    assert pytest.approx(0.00032192 * times) == told["deepseek_sdk.cost.cny"]
    assert pytest.approx(0.000048288 * times) == told["deepseek_sdk.cost.usd"]
    parts = [told[f"deepseek_sdk.cost.{part}"] for part in ("cache_hit_input", "cache_miss_input", "output")]
    assert pytest.approx(told["deepseek_sdk.cost.cny"]) == sum(parts)


def test_no_currency_is_no_standard_cost(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Where nobody says in which currency the account is billed, only both currencies of our own are told."""
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=heard.telemetry())
    driver.create(client)

    assert "gen_ai.usage.cost.amount" not in heard.chat()
    assert {"deepseek_sdk.cost.cny", "deepseek_sdk.cost.usd"} <= heard.chat().keys()


def test_a_model_without_a_price_costs_nothing_known(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A model without a price has no cost, which is not a cost of 0."""
    client = driver.client(base_url=emulator(replies=["Hi"], validator="own").url, telemetry=heard.telemetry())
    with contextlib.suppress(openai.APIError):
        driver.create(client, model="another-model")

    (span,) = heard.spans("chat another-model")
    assert [] == [
        name for name in span.attributes or {} if name.startswith(("gen_ai.usage.cost", "deepseek_sdk.cost.c"))
    ]


def test_retries_are_one_inference(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Retries stay inside of one inference, whose tokens are counted once."""
    server = emulator(replies=["Hi"] * 3, faults=["status_429", "status_503", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    answer = driver.create(client)

    assert answer.usage.prompt_tokens == heard.chat()["gen_ai.usage.input_tokens"]
    attempts = [dict(span.attributes or {}) for span in heard.spans("deepseek_sdk.attempt")]
    assert [1, 2, 3] == [told["deepseek_sdk.attempt.number"] for told in attempts]
    assert ["429", "503", None] == [told.get("error.type") for told in attempts]
    assert [] == [name for told in attempts for name in told if name.startswith("gen_ai.usage")]
    (request,) = heard.spans("deepseek_sdk.request")
    assert 3 == (request.attributes or {})["deepseek_sdk.attempts"]
    assert "UNSET" == request.status.status_code.name


def test_a_fallback_is_another_inference(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Another route is another inference: the first one failed, and each has its own tokens and cost."""
    server = emulator(replies=["Hi"], faults=["status_500", "status_500", "status_500", None])
    other = Route("deepseek-v4-pro", name="spare")
    client = driver.client(
        base_url=server.url, routes=["deepseek-flash", other], telemetry=heard.telemetry(), max_retries=2
    )
    driver.create(client)

    first, second = heard.spans("chat ")
    assert ["chat deepseek-flash", "chat deepseek-v4-pro"] == [first.name, second.name]
    assert ["ERROR", "UNSET"] == [first.status.status_code.name, second.status.status_code.name]
    assert "500" == (first.attributes or {})["error.type"]
    assert "gen_ai.usage.input_tokens" not in (first.attributes or {})
    assert "deepseek_sdk.cost.cny" in (second.attributes or {})
    assert first.end_time <= second.start_time


def test_a_last_resort_is_no_inference(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """What a rule engine says is no inference, and has no tokens."""
    phrases = RuleEngine([Rule("It scatters.", keywords=["sky"])])
    server = emulator(faults=["status_503"] * 5)
    client = driver.client(base_url=server.url, routes=["deepseek-flash", phrases], telemetry=heard.telemetry())
    driver.create(client, "Why is the sky blue?")

    (chat,), (request,) = heard.spans("chat "), heard.spans("deepseek_sdk.request")
    assert "ERROR" == chat.status.status_code.name
    assert 3 == (request.attributes or {})["deepseek_sdk.degradation"]
    last = heard.spans("deepseek_sdk.attempt")[-1]
    assert request.context.span_id == (last.parent and last.parent.span_id)


class Choosy(Sampler):
    """Keeps what it is asked about."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def should_sample(self, *args: Any, **options: Any) -> SamplingResult:
        """Take everything."""
        attributes = options.get("attributes", args[4] if len(args) > 4 else None)
        self.seen.append(dict(attributes or {}))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        """Name it."""
        return "choosy"


def test_samplers_see_what_is_asked(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """When an inference begins, samplers see its model, its provider and its server."""
    sampler = Choosy()
    telemetry = heard.telemetry(tracer_provider=TracerProvider(sampler=sampler))
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=telemetry)
    driver.create(client)

    names = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "server.address", "server.port"]
    assert set(names) <= sampler.seen[1].keys()


def test_nothing_is_told_to_those_who_sample_nothing(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Where nothing is sampled no attempt is a span, and metrics are told all the same."""
    exporter, tracers = InMemorySpanExporter(), TracerProvider(sampler=ALWAYS_OFF)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = heard.telemetry(tracer_provider=tracers)
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=telemetry)
    driver.create(client)

    assert () == exporter.get_finished_spans()
    assert 1 == len(heard.points("gen_ai.client.inference.duration"))


# Only a server that goes silent is waited for shortly: a slow machine is no failure of the others.
IMPATIENT = {"no_answer": Deadlines(first_token=0.2), "stall(after_events=3)": Deadlines(stall=0.2)}
FAILURES = [
    ("status_400", "400"),
    ("status_401", "401"),
    ("status_402", "402"),
    ("status_429", "429"),
    ("status_503", "503"),
    ("cut_by_eof(after_events=3)", "StreamInterruptedError"),
    ("no_answer", "timeout.first_token"),
    ("stall(after_events=3)", "timeout.idle"),
    ("reset_before_headers", "connection_error"),
    ("html_200", "MalformedResponseError"),
]


@pytest.mark.parametrize(("fault", "kind"), FAILURES)
@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_errors(
    driver: Driver, emulator: StartEmulator, heard: Heard, *, fault: str, kind: str, is_stream: bool
) -> None:
    """A failed call ends its spans once, as errors, with a type of few words and an exception event."""
    server = emulator(replies=["one two three four"] * 2, faults=[fault] * 2)
    client = driver.client(
        base_url=server.url,
        telemetry=heard.telemetry(),
        max_retries=0,
        plain="stream",
        deadlines=IMPATIENT.get(fault),
    )
    with pytest.raises(openai.APIError):
        ask(driver, client, is_stream=is_stream)

    (chat,), (request,) = heard.spans("chat "), heard.spans("deepseek_sdk.request")
    for span in (chat, request):
        assert ("ERROR", kind) == (span.status.status_code.name, (span.attributes or {})["error.type"])
    assert [("gen_ai.client.inference.exception", ["exception.type"])] == [(n, [*told]) for n, told in heard.events()]
    assert ("error",) == (chat.attributes or {})["gen_ai.response.finish_reasons"]
    assert [] == heard.metrics()["deepseek_sdk.requests.active"].data.data_points or 0 == active(heard)


def active(heard: Heard) -> float:
    """Give the number of calls that have not ended."""
    return heard.points("deepseek_sdk.requests.active")[0][1]


def ask(driver: Driver, client: Any, *, is_stream: bool) -> None:
    """Ask, and read all of the answer."""
    answer = driver.create(client, stream=is_stream)
    if is_stream:
        driver.stream_text(answer)


def test_what_is_not_sent_is_no_inference(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A call that an open circuit holds back is an error, and no inference."""
    client = driver.client(base_url=emulator().url, telemetry=heard.telemetry(), max_retries=0)
    account = client._heritage.family.targets.identity(client)._replace(model="deepseek-flash")
    client.breakers[account].open()
    with pytest.raises(CircuitOpenError):
        driver.create(client)

    assert [] == heard.spans("chat ")
    (request,) = heard.spans("deepseek_sdk.request")
    assert "circuit_open" == (request.attributes or {})["error.type"]
    assert "gen_ai.client.inference.duration" not in heard.metrics()
    assert ["gen_ai.client.inference.exception"] == [name for name, _ in heard.events()]


def test_a_stream_that_is_closed(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A caller who stops reading is no error; what was generated is estimated, and costs."""
    server = emulator(replies=["one two three four five six"], faults=["stall(after_events=5)", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    stream = driver.create(client, stream=True)
    chunks = driver.iterate(stream)
    for _ in range(3):
        next(chunks)
    driver.call(stream.close)

    (chat,), (request,) = heard.spans("chat "), heard.spans("deepseek_sdk.request")
    told = dict(chat.attributes or {})
    assert ["UNSET"] * 2 == [span.status.status_code.name for span in (chat, request)]
    assert "abandoned" == told["deepseek_sdk.stream.outcome"]
    assert ("error",) == told["gen_ai.response.finish_reasons"]
    assert "error.type" not in told
    assert told["deepseek_sdk.cost.estimated"]
    assert told["gen_ai.usage.output_tokens"] >= 0
    assert told["deepseek_sdk.cost.cny"] > 0
    assert [] == heard.events()


def test_a_stream_that_is_forgotten(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A stream that nobody holds any more ends its spans, once, and no error."""
    server = emulator(replies=["one two three four five six"], faults=["stall(after_events=5)", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    stream = driver.create(client, stream=True)
    del stream
    gc.collect()
    driver.create(client)

    first, second = heard.spans("chat ")
    assert ["UNSET"] * 2 == [first.status.status_code.name, second.status.status_code.name]
    assert "abandoned" == (first.attributes or {})["deepseek_sdk.stream.outcome"]
    assert 2 == len(heard.spans("deepseek_sdk.request"))


def test_a_stream_that_is_held_and_not_read(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A stream that is held and not read has not ended; closing the client's side ends it."""
    client = driver.client(base_url=emulator(faults=["stall(after_events=5)"]).url, telemetry=heard.telemetry())
    stream = driver.create(client, stream=True)
    before = len(heard.spans())
    driver.call(stream.close)

    assert 0 == before
    assert 1 == len(heard.spans("deepseek_sdk.request"))


async def test_a_call_that_is_cancelled(emulator: StartEmulator, heard: Heard) -> None:
    """A call whose task is cancelled is an error called "cancelled"."""
    from deepseek_sdk import AsyncClient  # noqa: PLC0415  one colour

    server = emulator(faults=["no_answer"] * 2)
    async with AsyncClient(base_url=server.url, api_key="k", telemetry=heard.telemetry()) as client:
        with anyio.move_on_after(0.5):
            await client.chat.completions.create(**HELLO)

    (chat,), (request,) = heard.spans("chat "), heard.spans("deepseek_sdk.request")
    assert ["cancelled"] * 2 == [(span.attributes or {})["error.type"] for span in (chat, request)]
    assert 1 == len(heard.spans("deepseek_sdk.attempt"))


async def test_a_plain_call_that_is_cancelled_while_it_is_read(emulator: StartEmulator, heard: Heard) -> None:
    """The same holds where the answer had begun to arrive."""
    from deepseek_sdk import AsyncClient  # noqa: PLC0415  one colour

    server = emulator(replies=["one two three four"], faults=["stall(after_events=3)"])
    async with AsyncClient(base_url=server.url, api_key="k", telemetry=heard.telemetry(), plain="stream") as client:
        with anyio.move_on_after(0.5):
            await client.chat.completions.create(**HELLO)

    (chat,), (request,) = heard.spans("chat "), heard.spans("deepseek_sdk.request")
    assert ["cancelled"] * 2 == [(span.attributes or {})["error.type"] for span in (chat, request)]


async def test_a_stream_that_is_closed_in_another_task(
    emulator: StartEmulator, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    """A stream may begin in one task, be read in a second and be closed in a third: no context is missed."""
    from deepseek_sdk import AsyncClient  # noqa: PLC0415  one colour

    caplog.set_level(logging.DEBUG, "opentelemetry")
    server = emulator(replies=["one two three four five six"], faults=["stall(after_events=5)"])
    async with AsyncClient(base_url=server.url, api_key="k", telemetry=heard.telemetry()) as client:

        async def generator() -> Any:
            async for chunk in await client.chat.completions.create(**HELLO, stream=True):
                yield chunk

        chunks = generator()
        await asyncio.create_task(anext(chunks))
        await asyncio.create_task(anext(chunks))
        await asyncio.create_task(chunks.aclose())
        before = trace.get_current_span()
        del chunks
        gc.collect()
        with anyio.fail_after(5):
            while not heard.spans("deepseek_sdk.request"):
                await anyio.lowlevel.checkpoint()

    assert not before.get_span_context().is_valid
    assert [] == [record.message for record in caplog.records if record.name.startswith("opentelemetry")]
    assert 1 == len(heard.spans("chat "))


async def test_a_call_that_is_thrown_away(
    emulator: StartEmulator, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    """A coroutine that is closed in the middle, by whoever it may be, takes no context of others away."""
    from deepseek_sdk import AsyncClient  # noqa: PLC0415  one colour

    caplog.set_level(logging.DEBUG, "opentelemetry")
    server = emulator(faults=["no_answer"])
    async with AsyncClient(base_url=server.url, api_key="k", telemetry=heard.telemetry(), max_retries=0) as client:
        call = client.chat.completions.create(**HELLO)
        context = contextvars.copy_context()
        task = asyncio.get_running_loop().create_task(call, context=context)
        with anyio.fail_after(5):
            while not server.requests:
                await anyio.lowlevel.checkpoint()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    assert not trace.get_current_span(context.run(otel.get_current)).get_span_context().is_valid
    assert [] == [record.message for record in caplog.records if record.name.startswith("opentelemetry")]
    assert 1 == len(heard.spans("deepseek_sdk.request"))


def test_threads_with_their_callers_context(emulator: StartEmulator, heard: Heard) -> None:
    """Calls in threads that were given the caller's context belong to the caller's span; none is mixed up."""
    from deepseek_sdk import Client  # noqa: PLC0415  one colour

    client = Client(
        base_url=emulator(replies=lambda request: request.last_user_text).url, api_key="k", telemetry=heard.telemetry()
    )
    tracer = heard.tracers.get_tracer("mine")

    def work(number: int) -> int:
        with tracer.start_as_current_span(f"mine {number}") as span:
            with ThreadPoolExecutor(1) as pool:
                run: Callable[..., Any] = contextvars.copy_context().run
                pool.submit(run, client.with_options(session_id=str(number)).chat.completions.create, **HELLO).result()
            return span.get_span_context().span_id

    with client, ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(work, range(24)))

    told = {
        (s.attributes or {})["session.id"]: s.parent and s.parent.span_id for s in heard.spans("deepseek_sdk.request")
    }
    assert {str(number): ids[number] for number in range(24)} == told
    assert 24 == len(heard.spans("chat ")) == len(heard.spans("deepseek_sdk.attempt"))


USAGE = [
    {"usage_shape": "finish"},
    {"usage_shape": "own_chunk"},
    {"usage_shape": "both"},
]


@pytest.mark.parametrize("shape", USAGE, ids=lambda shape: shape["usage_shape"])
def test_tokens_of_streams(driver: Driver, emulator: StartEmulator, heard: Heard, *, shape: dict[str, Any]) -> None:
    """Tokens of a stream are told wherever the server puts them, and cached ones are not counted twice."""
    server = emulator(replies=["one two three"], **shape)
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    driver.stream_text(driver.create(client, stream=True, stream_options={"include_usage": True}))

    (request,) = server.requests
    told = heard.chat()
    assert told["gen_ai.request.stream"] is True
    assert request.prompt_tokens == told["gen_ai.usage.input_tokens"]
    hit, miss = told["gen_ai.usage.cache_read.input_tokens"], told["deepseek_sdk.usage.cache_miss.input_tokens"]
    assert told["gen_ai.usage.input_tokens"] == hit + miss


def test_fill_in_the_middle(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A completion of a prompt is called so."""
    client = driver.client(base_url=emulator().url, telemetry=heard.telemetry())
    driver.call(client.completions.create, model="deepseek-v4-pro", prompt="def f():", suffix="return 1", max_tokens=16)

    (span,) = heard.spans("text_completion ")
    assert "text_completion deepseek-v4-pro" == span.name
    assert "text_completion" == (span.attributes or {})["gen_ai.operation.name"]


def test_what_was_asked_for(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """The parameters of a request are told, those of another type than they should be are not."""
    client = driver.client(base_url=emulator(replies=['{"a": 1}']).url, telemetry=heard.telemetry(), template="summary")
    driver.create(
        client,
        "A word of json",
        temperature=1,
        top_p=0.5,
        max_tokens=100,
        stop=["END"],
        reasoning_effort="high",
        response_format={"type": "json_object"},
    )

    told = heard.chat()
    wanted = {
        "gen_ai.request.temperature": 1.0,
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.reasoning.level": "high",
        "gen_ai.output.type": "json",
        "gen_ai.prompt.name": "summary",
    }
    assert wanted == {name: told.get(name) for name in wanted}
    assert "gen_ai.request.stream" not in told
    assert "gen_ai.request.seed" not in told
    assert "gen_ai.request.stop_sequences" not in told
