"""Gauges: how circuits, limits and budgets stand when somebody looks; bounded, and without a name or a key."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import BreakerPolicy, LimiterPolicy, Route, SpendBudget
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaking.breaker import Breakers
from deepseek_sdk.resilience.limiting.limiter import Limiters
from deepseek_sdk.spending.budgets import Budgets
from deepseek_sdk.tokens.fitting import TokenBudget
from tests.telemetry.heard import Heard

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.telemetry import Telemetry
    from deepseek_sdk.telemetry.gauges import Source
    from tests.conftest import Driver, StartEmulator

CIRCUIT = "deepseek_sdk.circuit.state"
USED, CURRENT = "deepseek_sdk.concurrency.limit.used", "deepseek_sdk.concurrency.limit.current"
BUDGET = "deepseek_sdk.budget.remaining"
ALL = {CIRCUIT, USED, CURRENT, BUDGET}

FLASH = Account("https://name:password@api.deepseek.com/v1", "deepseek-flash", "sha256:0123456789ab")
OTHER_KEY = FLASH._replace(credential="sha256:ba9876543210")
THERE = {
    "gen_ai.provider.name": "deepseek",
    "model": "deepseek-flash",
    "server.address": "api.deepseek.com",
    "server.port": 443,
}


def shown(
    telemetry: Telemetry,
    *,
    breakers: Breakers | None = None,
    limiters: Limiters | None = None,
    budgets: Budgets | None = None,
) -> Source:
    """Let gauges look at these, as a client does that has been called."""
    source = telemetry.listening.sources.show(
        Breakers(None) if breakers is None else breakers, Limiters(None) if limiters is None else limiters, budgets
    )
    assert telemetry.listening.emitter() is not None
    return source


def circuits(heard: Heard) -> dict[str, float]:
    """Count the circuits of all accounts by their state."""
    counts: dict[str, float] = {}
    for told, value in heard.points(CIRCUIT):
        counts[told["state"]] = counts.get(told["state"], 0) + value
    return counts


def test_circuits(heard: Heard) -> None:
    """Circuits are counted by their state, those of two keys together, and what was open is seen to be closed again."""
    breakers = Breakers(BreakerPolicy())
    kept = shown(heard.telemetry(), breakers=breakers)
    breakers[FLASH].open()
    assert breakers[OTHER_KEY].state == "closed"
    opened = heard.points(CIRCUIT)
    breakers[FLASH].close()

    assert kept.breakers is breakers
    assert [({**THERE, "state": s}, n) for s, n in (("closed", 1), ("open", 1), ("half_open", 0))] == opened
    assert {"closed": 2, "open": 0, "half_open": 0} == circuits(heard)


def test_limits(heard: Heard) -> None:
    """The places that calls hold, and those that there are, are told for each model at each host."""
    limiters = Limiters(LimiterPolicy(initial=7))
    kept = shown(heard.telemetry(providers={"gpu-7:8000": "vllm"}), limiters=limiters)
    local = Account("http://gpu-7:8000/v1", "qwen")
    for account in (FLASH, FLASH, OTHER_KEY, local):
        assert limiters[account].ask(0.0).is_granted

    vllm = {
        "gen_ai.provider.name": "vllm", "model": "qwen", "server.address": "gpu-7", "server.port": 8000,
    }  # fmt: skip
    assert kept.limiters is limiters
    # What was asked for and forgotten above is given back.
    assert [(THERE, 0), (vllm, 0)] == heard.points(USED)
    lease = limiters[FLASH].ask(0.0)
    assert [(THERE, 1), (vllm, 0)] == heard.points(USED)
    assert [(THERE, 14), (vllm, 7)] == heard.points(CURRENT)
    limiters[FLASH].release(lease, 1.0, "success")


def test_budgets(heard: Heard) -> None:
    """Of a budget the share is told that is left, and of that of many users the smallest, without saying whose."""
    budgets = Budgets(
        [SpendBudget(limit=10, period="day", name="每天"), SpendBudget(limit=4, per="user", name="each")],
        path=":memory:",
    )
    kept = shown(heard.telemetry(), budgets=budgets)
    before = heard.points(BUDGET)
    budgets.adjust("每天", 4)
    budgets.adjust("each", 1, scope="张三")
    budgets.adjust("each", 3, scope="李四")

    assert kept.budgets is budgets
    assert [({"budget": "每天"}, 1.0), ({"budget": "each"}, 1.0)] == before
    assert [({"budget": "每天"}, 0.6), ({"budget": "each"}, 0.25)] == heard.points(BUDGET)
    assert [] == [name for name in ("张三", "李四") if name in heard.everything()]


def test_the_period_that_runs(heard: Heard) -> None:
    """What was spent in a period that is over does not count, and a limit of 0 has nothing left."""
    clock = [86_400.0 * 20_000]
    budgets = Budgets(
        [SpendBudget(limit=10, period="day", name="day"), SpendBudget(limit=0, name="none")],
        path=":memory:",
        now=lambda: clock[0],
    )
    kept = shown(heard.telemetry(), budgets=budgets)
    budgets.adjust("day", 15)
    spent = {told["budget"]: value for told, value in heard.points(BUDGET)}
    clock[0] += 86_400

    assert kept.budgets is budgets
    assert {"day": -0.5, "none": 0.0} == spent
    assert [({"budget": "day"}, 1.0), ({"budget": "none"}, 0.0)] == heard.points(BUDGET)


def test_a_budget_on_the_disk(heard: Heard, tmp_path: Path) -> None:
    """Looking at a budget opens no file; what calls learnt of it when they asked is told."""
    path = tmp_path / "budgets.sqlite3"
    budgets = Budgets([SpendBudget(limit=10)], path=path)
    kept = shown(heard.telemetry(), budgets=budgets)
    ((_, before),) = heard.points(BUDGET)
    was_there = path.exists()
    budgets.adjust("all/ever/CNY", 5)

    assert kept.budgets is budgets
    assert (1.0, False) == (before, was_there)
    assert [({"budget": "all/ever/CNY"}, 0.5)] == heard.points(BUDGET)
    budgets.close()


def test_what_clients_share_is_counted_once(heard: Heard) -> None:
    """Breakers of two clients are counted once where they are the same, and added up where they are not."""
    breakers, apart = Breakers(BreakerPolicy()), Breakers(BreakerPolicy())
    for each in (breakers, apart):
        each[FLASH].open()
    telemetry = heard.telemetry()
    kept = [shown(telemetry, breakers=breakers), shown(heard.telemetry(), breakers=breakers)]
    once = circuits(heard)["open"]
    kept.append(shown(telemetry, breakers=apart))

    assert (1, 2) == (once, circuits(heard)["open"])


def test_what_is_gone_is_not_told(heard: Heard) -> None:
    """What nobody keeps any more has no series left, and nothing is kept for the gauges' sake."""
    telemetry, breakers = heard.telemetry(), Breakers(BreakerPolicy())
    kept = shown(telemetry, breakers=breakers)
    breakers[FLASH].open()
    before = circuits(heard)["open"]
    del kept

    assert (1, {}) == (before, circuits(heard))
    assert [] == list(telemetry.listening.sources)


def test_another_provider(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another provider is set, the one before is told nothing any more."""
    from opentelemetry.metrics import _internal as metrics  # noqa: PLC0415  where the API keeps it

    breakers, later = Breakers(BreakerPolicy()), Heard()
    telemetry = heard.telemetry(meter_provider=None)
    monkeypatch.setattr(metrics, "_METER_PROVIDER", heard.meters)
    kept = shown(telemetry, breakers=breakers)
    breakers[FLASH].open()
    before = circuits(heard)["open"]
    monkeypatch.setattr(metrics, "_METER_PROVIDER", later.meters)
    assert telemetry.listening.emitter() is not None

    assert kept.breakers is breakers
    assert (1, {}, 1) == (before, circuits(heard), circuits(later)["open"])


def test_models_of_callers_are_bounded(heard: Heard) -> None:
    """A service that takes models from its callers has a bounded number of series, and no circuit is missing."""
    breakers = Breakers(BreakerPolicy())
    kept = shown(heard.telemetry(), breakers=breakers)
    for number in range(1000):
        assert breakers[FLASH._replace(model=f"model-{number}")].state == "closed"
    points = heard.points(CIRCUIT)

    assert kept.breakers is breakers
    assert 3 * 257 == len(points)
    assert 1000 == sum(value for _, value in points)
    assert 744 == next(n for told, n in points if (told["model"], told["state"]) == ("_OTHER", "closed"))


def test_while_clients_come_and_go(heard: Heard) -> None:
    """A reader may collect while other threads make clients, ask, and forget them."""
    telemetry, limiters = heard.telemetry(), Limiters(LimiterPolicy())

    def work(number: int) -> None:
        for step in range(200):
            breakers = Breakers(BreakerPolicy())
            source = shown(telemetry, breakers=breakers, limiters=limiters)
            assert breakers[FLASH._replace(model=f"m{number}-{step % 20}")].state == "closed"
            assert limiters[FLASH].limit == source.limiters[FLASH].limit

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(work, number) for number in range(4)]
        while not all(each.done() for each in done):
            heard.points(CIRCUIT)
    for each in done:
        each.result()

    assert [] == heard.points(CIRCUIT)


# What a client tells.


def test_a_call(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A call that fails opens its circuit; gauges tell that, without the key and the user."""
    server = emulator(faults=["status_500"] * 4)
    client = driver.client(
        base_url=server.url,
        api_key="my-own-key-1234",
        telemetry=heard.telemetry(),
        max_retries=0,
        breaker=BreakerPolicy(consecutive_failures=1, jitter=0),
        spend_budget=Budgets([SpendBudget(limit=1, per="user", name="each")], path=":memory:"),
        user="用户7",
    )
    with pytest.raises(openai.InternalServerError):
        driver.create(client)

    assert {"closed": 0, "open": 1, "half_open": 0} == circuits(heard)
    ((told, used),) = heard.points(USED)
    port = int(server.url.rsplit(":", 1)[1].partition("/")[0])
    names = {"gen_ai.provider.name": "deepseek", "model": "deepseek-flash", "server.address": "127.0.0.1"}
    assert ({**names, "server.port": port}, 0) == (told, used)
    assert [({"budget": "each"}, True)] == [(told, 0 < value <= 1) for told, value in heard.points(BUDGET)]
    told = {name: heard.metrics()[name].to_json() for name in ALL}
    assert [] == [text for text in ("用户7", "my-own-key-1234", "sha256") if text in str(told)]


def test_calls_in_flight(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """While a stream is read its place is held, and afterwards it is free."""
    server = emulator(replies=["one two three"], faults=["stall(after_events=2)"])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry())
    stream = driver.create(client, stream=True)
    next(driver.iterate(stream))
    during = [value for _, value in heard.points(USED)]
    driver.call(stream.close)

    assert ([1], [0]) == (during, [value for _, value in heard.points(USED)])
    assert [LimiterPolicy().initial] == [value for _, value in heard.points(CURRENT)]


def test_a_closed_client(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A client that is closed is not told of any more, while another one still is."""
    url = emulator(replies=lambda _: "Hi").url
    first, second = (driver.client(base_url=url, telemetry=heard.telemetry()) for _ in range(2))
    for client in (first, second):
        driver.create(client)
    before = circuits(heard)["closed"]
    driver.call(first.close)
    between = circuits(heard)["closed"]
    driver.call(second.close)

    assert (2, 1, {}) == (before, between, circuits(heard))


def test_a_forgotten_client(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A client that was forgotten is not told of any more, although reports of its calls are kept."""
    from deepseek_sdk import AsyncClient, Client, report  # noqa: PLC0415  clients that the driver does not keep

    kind: Any = AsyncClient if driver.is_async else Client
    client = kind(base_url=emulator(replies=["Hi"]).url, api_key="k", telemetry=heard.telemetry())
    kept = report(driver.create(client))
    before = circuits(heard)["closed"]
    driver.call(client.with_options(user="u").close)
    del client
    gc.collect()

    assert (1, {}) == (before, circuits(heard))
    assert kept.attempts


def test_routes_have_circuits(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """What answered in place of another is told apart by host and model."""
    down, up = emulator(faults=["status_503"] * 4), emulator(replies=["Hi"] * 4)
    client = driver.client(
        base_url=down.url,
        telemetry=heard.telemetry(),
        max_retries=0,
        routes=[Route("deepseek-v4-pro", base_url=up.url, api_key="k2")],
    )
    driver.create(client)

    models = {told["model"] for told, value in heard.points(CIRCUIT) if value}
    assert {"deepseek-flash", "deepseek-v4-pro"} == models


def test_compacted(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """An inference whose prompt was cut to fit says so, one that fits says nothing."""
    server = emulator(replies=lambda _: "好")
    client = driver.client(
        base_url=server.url, telemetry=heard.telemetry(), token_budget=TokenBudget(policy="head_tail", limit=600)
    )
    driver.create(client, "\n\n".join(f"第{n}段：{n * 7}号的颜色很特别。没有人知道为什么。" for n in range(300)))
    driver.create(client, "短")

    long, short = (dict(span.attributes or {}) for span in heard.spans("chat "))
    assert long["gen_ai.conversation.compacted"] is True
    assert "gen_ai.conversation.compacted" not in short
    assert {True} == {isinstance(told["gen_ai.response.id"], str) for told in (long, short)}


def test_invalid_json_is_an_event(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """An answer that is not the JSON that was asked for is counted as such."""
    server = emulator(replies=lambda _: "no JSON at all")
    client = driver.client(base_url=server.url, telemetry=heard.telemetry(), max_retries=0)
    schema = {"name": "n", "schema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}
    with pytest.raises(openai.APIResponseValidationError):
        driver.create(
            client, "Give JSON.", response_format={"type": "json_schema", "json_schema": {**schema, "strict": True}}
        )

    assert {"kind": "invalid_json"} in [told for told, _ in heard.points("deepseek_sdk.quality.events")]
