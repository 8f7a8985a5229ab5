"""Metrics: their units and boundaries, and that nobody's name makes a series."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import openai
import pytest
from opentelemetry.sdk.metrics import MeterProvider

from deepseek_sdk import Client
from deepseek_sdk.telemetry.later import Later
from deepseek_sdk.testing import Reply

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

HELLO: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}

UNITS = {
    "deepseek_sdk.attempts": "{attempt}",
    "deepseek_sdk.circuit.state": "{circuit}",
    "deepseek_sdk.concurrency.limit.current": "{request}",
    "deepseek_sdk.concurrency.limit.used": "{request}",
    "deepseek_sdk.cost": "1",
    "deepseek_sdk.requests.active": "{request}",
    "deepseek_sdk.stream.requests": "{request}",
    "deepseek_sdk.time_to_first_answer": "s",
    "deepseek_sdk.time_to_first_token": "s",
    "gen_ai.client.inference.duration": "s",
    "gen_ai.client.inference.operation.input_tokens": "{token}",
    "gen_ai.client.inference.operation.output_tokens": "{token}",
    "gen_ai.client.inference.time_to_first_chunk": "s",
    "gen_ai.client.inference.usage.cache_read.input_tokens": "{token}",
    "gen_ai.client.inference.usage.input_tokens": "{token}",
    "gen_ai.client.inference.usage.output_tokens": "{token}",
    "gen_ai.client.inference.usage.reasoning.output_tokens": "{token}",
}
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


def test_instruments(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A streamed call fills the instruments of the conventions, with their units and boundaries."""
    client = driver.client(base_url=emulator(replies=["one two"]).url, telemetry=heard.telemetry())
    driver.stream_text(driver.create(client, stream=True))
    metrics = heard.metrics()

    assert UNITS == {name: metric.unit for name, metric in metrics.items()}
    bounds = {
        name: tuple(next(iter(m.data.data_points)).explicit_bounds) for name, m in metrics.items() if m.unit == "s"
    }
    assert {SECONDS} == {bound for name, bound in bounds.items() if name.startswith("gen_ai.")}
    waits = bounds["deepseek_sdk.time_to_first_token"]
    assert (32, 0.05, 600) == (len(waits), waits[0], waits[-1])
    (point,) = metrics["gen_ai.client.inference.operation.input_tokens"].data.data_points
    assert TOKENS == tuple(point.explicit_bounds)


def test_tokens_are_counted_once(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Tokens of a call with retries are counted once, by the server's count."""
    server = emulator(replies=["Hi"] * 3, faults=["status_503", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    answer = driver.create(client)

    ((told, total),) = heard.points("gen_ai.client.inference.usage.input_tokens")
    assert answer.usage.prompt_tokens == total
    names = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "deepseek",
        "gen_ai.request.model": "deepseek-flash",
        "gen_ai.response.model": "deepseek-flash",
        "gen_ai.token.modality": "text",
    }
    assert names == {name: told[name] for name in names}
    attempts = {
        (t["deepseek_sdk.attempt.outcome"], t.get("error.type")): n for t, n in heard.points("deepseek_sdk.attempts")
    }
    assert {("failed", "503"): 1, ("complete", None): 1} == attempts
    assert 1 == heard.metrics()["deepseek_sdk.retry.delay"].data.data_points[0].count


def test_costs_by_component(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Costs are counted by currency and component, and their sum is what the call costs."""
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=heard.telemetry())
    driver.create(client)
    costs = heard.points("deepseek_sdk.cost")

    assert {"CNY", "USD"} == {told["currency"] for told, _ in costs}
    yuan = sum(value for told, value in costs if told["currency"] == "CNY")
    assert pytest.approx(heard.chat()["deepseek_sdk.cost.cny"]) == yuan
    assert {"cache_miss_input", "output"} <= {told["component"] for told, _ in costs}


def test_failures_are_counted(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A failed inference is counted with nothing of no known kind, and its duration with its error."""
    client = driver.client(base_url=emulator(faults=["status_500"]).url, telemetry=heard.telemetry(), max_retries=0)
    with pytest.raises(openai.InternalServerError):
        driver.create(client)

    ((told, total),) = heard.points("gen_ai.client.inference.usage.input_tokens")
    assert (0, "unknown") == (total, told["gen_ai.token.modality"])
    ((told, _),) = heard.points("gen_ai.client.inference.duration")
    assert "500" == told["error.type"]
    assert 0 == sum(value for _, value in heard.points("deepseek_sdk.requests.active"))


def test_first_tokens_that_do_not_come(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """First tokens that did not come in time are counted by what was waited for."""
    from deepseek_sdk import Deadlines  # noqa: PLC0415  one test

    server = emulator(faults=["keep_alive_forever"])
    client = driver.client(
        base_url=server.url, telemetry=heard.telemetry(), max_retries=0, deadlines=Deadlines(first_token=0.5)
    )
    with pytest.raises(openai.APITimeoutError):
        driver.stream_text(driver.create(client, stream=True))

    assert [({"model": "deepseek-flash", "stage": "token"}, 1)] == heard.points("deepseek_sdk.first_token.timeouts")


def test_quality(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """An answer that a limit of tokens has cut is counted as such, so is an empty one."""
    server = emulator(replies=["one two three four five six seven"] * 3, faults=[None, "empty_answer", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    driver.create(client, max_tokens=18)
    driver.create(client)

    assert {"truncated": 1, "empty": 1} == {t["kind"]: n for t, n in heard.points("deepseek_sdk.quality.events")}


def series(heard: Heard) -> int:
    """Count all series."""
    return sum(len(metric.data.data_points) for metric in heard.metrics().values())


@pytest.mark.slow
def test_users_make_no_series(emulator: StartEmulator, heard: Heard) -> None:
    """3,000 users, sessions and values of a tag have as many series as one has."""
    server = emulator(replies=lambda _: "Hi")
    with Client(base_url=server.url, api_key="k", telemetry=heard.telemetry()) as client:
        client.chat.completions.create(**HELLO)
        before = series(heard)

        def ask(number: int) -> None:
            name = str(number)
            child = client.with_options(user=name, session_id=name, tenant=name, tags={"request": name})
            child.chat.completions.create(**HELLO)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(3000)))
        after = series(heard)  # gauges go with their client

    assert before == after
    assert 3001 == heard.metrics()["gen_ai.client.inference.duration"].data.data_points[0].count


def test_tags_that_may(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Tags whose keys are named may tell series apart, others not."""
    telemetry = heard.telemetry(metric_tags={"team"})
    client = driver.client(
        base_url=emulator(replies=["Hi"]).url, telemetry=telemetry, tags={"team": "search", "request": "1"}
    )
    driver.create(client)

    ((told, _),) = heard.points("gen_ai.client.inference.duration")
    assert ("search", False) == (told["deepseek_sdk.tags.team"], "deepseek_sdk.tags.request" in told)


def test_models_of_callers(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A service that takes names of models from its callers gets no series for each of them."""
    client = driver.client(
        base_url=emulator(faults=["status_404"] * 80).url, telemetry=heard.telemetry(), max_retries=0, breaker=None
    )
    for number in range(70):
        with pytest.raises(openai.NotFoundError):
            driver.create(client, model=f"model-{number}")

    models = {told["gen_ai.request.model"] for told, _ in heard.points("gen_ai.client.inference.duration")}
    assert len(models) <= 65
    assert "_OTHER" in models


def test_pictures(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Tokens of a prompt with pictures are of no known modality."""
    client = driver.client(base_url=emulator(faults=["status_400"]).url, telemetry=heard.telemetry(), lint="off")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    with pytest.raises(openai.BadRequestError):
        driver.call(
            client.chat.completions.create, model="deepseek-flash", messages=[{"role": "user", "content": [picture]}]
        )

    ((told, _),) = heard.points("gen_ai.client.inference.usage.input_tokens")
    assert "unknown" == told["gen_ai.token.modality"]


def test_old_names_too(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """With "dup" the names of v1.41 are told besides."""
    telemetry = heard.telemetry(semconv="dup", chunk_times=True)
    client = driver.client(base_url=emulator(replies=["one two three"]).url, telemetry=telemetry)
    driver.stream_text(driver.create(client, stream=True))

    old = {
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.operation.time_per_output_chunk",
        "gen_ai.client.token.usage",
    }
    assert UNITS.keys() | old | {"gen_ai.client.inference.time_per_output_chunk"} == heard.metrics().keys()
    assert {"input", "output"} == {told["gen_ai.token.type"] for told, _ in heard.points("gen_ai.client.token.usage")}
    assert "deepseek" == heard.chat()["gen_ai.system"]


def test_clients_share_a_meter(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """What several clients of a process record is added up, and none is forgotten."""
    url = emulator(replies=lambda _: "Hi").url
    for _ in range(3):
        driver.create(driver.client(base_url=url, telemetry=heard.telemetry()))

    assert 3 == heard.metrics()["gen_ai.client.inference.duration"].data.data_points[0].count
    assert 3 == sum(value for _, value in heard.points("deepseek_sdk.attempts"))


class Counted:
    """An instrument that counts what it gets."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def add(self, value: float, attributes: Any) -> None:
        """Take a sum."""
        self.got.append((value, attributes))

    def record(self, value: float, attributes: Any, context: Any) -> None:
        """Take a value."""
        self.got.append((value, attributes, context))


def test_nobody_collects() -> None:
    """Where nobody collects, measurements do not pile up: sums are added up, and the oldest values are handed over."""
    later, sums, values = Later(), Counted(), Counted()
    for _ in range(20_001):
        later.add(sums, 1, {"a": "b"})
        later.record(values, 0.5)
    later.trim()

    assert [(20_001, {"a": "b"})] == sums.got
    assert [(0.5, None, None)] == values.got


def test_a_forked_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits in a forked child is its parent's, and is not counted again."""
    later, sums = Later(), Counted()
    later.begin(1)
    later.add(sums, 1)
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    later.begin(2)
    later.work_off()

    assert ([], 1) == (sums.got, later.active)


def test_a_provider_without_readers(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A provider that nobody reads from is no hindrance."""
    telemetry = heard.telemetry(meter_provider=MeterProvider())
    client = driver.client(base_url=emulator(replies=[Reply(content="Hi")]).url, telemetry=telemetry)

    assert "Hi" == driver.create(client).choices[0].message.content
