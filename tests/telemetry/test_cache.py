"""Calls that the cache answers: no inference, no tokens, and what they saved."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest

from deepseek_sdk import Usage
from deepseek_sdk._books import Books
from deepseek_sdk._cache import CacheDecision, CacheOutcome
from deepseek_sdk._call import Call, CallOptions
from deepseek_sdk._record import Record
from deepseek_sdk.resilience.account import Account
from tests.telemetry.test_semconv import golden

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.pricing import Cost
    from deepseek_sdk.telemetry import Telemetry
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

PROMPT = "烤鸭MARKER"
AT = 1_796_004_000.0  # 2026-11-30 10:00 in Beijing: peak hours
KEPT = Usage(hit=0, miss=1000, output=50, reasoning=20)
SAVED = {"CNY": 0.00044, "USD": 0.000066}
BOOKS = Books()


def price(usage: Usage, model: str) -> Cost | None:
    """Tell what an answer would have cost in peak hours, as clients do."""
    return BOOKS.saving(usage, model, at=AT)


def hit(status: Any = "hit", **more: Any) -> CacheOutcome:
    """Say that the cache had an answer."""
    given = {"tier": "exact", "level": "disk", "similarity": 1.0, "age": 12.5, "entry_id": "0123456789abcdef"}
    return CacheOutcome(status=status, **{"usage": KEPT, "model": "deepseek-flash", "price": price, **given, **more})


def told(
    telemetry: Telemetry,
    outcome: CacheOutcome | None,
    *,
    is_asked: bool = False,
    ending: Any = "complete",
    **facts: Any,
) -> Record:
    """Watch a call that ends as a client's does, and tell of it."""
    record = Record(started=0.0, at=AT, path="/chat/completions", asked="deepseek-flash", price=BOOKS.price, **facts)
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": PROMPT}]}
    emitter: Any = telemetry.listening.emitter()
    watch = emitter.begin(
        Call(
            body=body,
            path=record.path,
            is_stream=record.is_stream,
            is_direct=False,
            limits=cast("Any", None),
            options=CallOptions(),
            record=record,
            io=cast("Any", None),
            upstream=None,
            max_retries=0,
        )
    )
    record.watcher, record.cache = watch, outcome
    if is_asked:
        account = Account("https://api.deepseek.com", "deepseek-flash")
        attempt = record.begin(route="primary", model="deepseek-flash", now=0.1, account=account)
        attempt.ended, attempt.outcome, attempt.usage, attempt.finish_reason = 0.9, "complete", KEPT, "stop"
        watch.ended(attempt, None)
    record.usage, record.finish_reason = {"prompt_tokens": 1000, "completion_tokens": 50}, "stop"
    record.times.first_event = record.times.first_token = record.times.first_answer = 0.01
    error = ConnectionError() if ending == "failed" else None
    record.end(ending, error, 1.0)
    watch.end(ending, error)
    return record


def attributes(heard: Heard) -> dict[str, Any]:
    """Give the attributes of the only call."""
    (span,) = heard.spans("deepseek_sdk.request")
    return dict(span.attributes or {})


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("status", ["hit", "stale", "coalesced"])
def test_a_cached_answer_is_no_inference(heard: Heard, status: str, *, is_stream: bool) -> None:
    """A call that the cache answers is one span, that of the call, which tells what was saved, and no tokens."""
    telemetry = heard.telemetry(currency="CNY", semconv="dup", content="both", chunk_times=True)
    told(telemetry, hit(status), is_stream=is_stream)
    found = attributes(heard)

    assert ["deepseek_sdk.request"] == [span.name for span in heard.spans()]
    assert (status, "exact", "disk", 1.0, 12.5, SAVED["CNY"], SAVED["USD"], 0) == tuple(
        found[f"deepseek_sdk.{name}"]
        for name in (
            "cache.outcome",
            "cache.level",
            "cache.source",
            "cache.similarity",
            "cache.age",
            "cost.saved.cny",
            "cost.saved.usd",
            "attempts",
        )
    )
    assert [] == [name for name in heard.names() if name.startswith(("gen_ai.", "deepseek_sdk.total"))]
    assert [] == heard.events()
    assert "MARKER" not in heard.everything()


def test_metrics_of_a_cached_answer(heard: Heard) -> None:
    """It is counted once, with what it saved, beside what counts calls; no metric of inferences has it."""
    telemetry = heard.telemetry(metric_tags=["team"])
    told(telemetry, hit(), is_stream=True, tags={"team": "x", "other": "y"}, user="u")
    metrics = heard.metrics()

    assert {
        "deepseek_sdk.cache.lookups": "{lookup}",
        "deepseek_sdk.cost.saved": "1",
        "deepseek_sdk.requests.active": "{request}",
        "deepseek_sdk.stream.requests": "{request}",
    } == {name: metric.unit for name, metric in metrics.items()}


def test_series_of_cached_answers(heard: Heard) -> None:
    """What they saved is told apart by currency, level and the tags that may; never added up over currencies."""
    telemetry = heard.telemetry(metric_tags=["team"])
    for _ in range(3):
        told(telemetry, hit(), tags={"team": "x", "other": "y"}, user="u")
    found = heard.points("deepseek_sdk.cost.saved")

    assert [
        {"cache.level": "exact", "currency": currency, "deepseek_sdk.tags.team": "x"} for currency in ("CNY", "USD")
    ] == [series for series, _ in found]
    assert [pytest.approx(3 * amount) for amount in SAVED.values()] == [total for _, total in found]


def lookups(heard: Heard) -> dict[tuple[Any, Any], float]:
    """Give how many calls there were of each level and outcome."""
    found = heard.points("deepseek_sdk.cache.lookups")
    assert {frozenset(("cache.level", "cache.outcome"))} == {frozenset(series) for series, _ in found}
    return {(series["cache.level"], series["cache.outcome"]): count for series, count in found}


def test_lookups_by_outcome(heard: Heard) -> None:
    """Every call of a client with a cache is a lookup at each level that was asked, by what became of it there."""
    telemetry = heard.telemetry()
    for outcome in (
        *[hit()] * 2,
        hit("stale", tier="semantic", similarity=0.93),
        CacheOutcome(status="miss", decision=CacheDecision(reason="below", similarity=0.9)),
        *(CacheOutcome(status=status) for status in ("miss", "refresh", "bypass", "negative")),
    ):
        told(telemetry, outcome)
    told(telemetry, CacheOutcome(status="miss"), is_asked=True)

    assert {
        ("exact", "hit"): 2,
        ("exact", "miss"): 4,
        **{("exact", status): 1 for status in ("refresh", "bypass", "negative")},
        ("semantic", "stale"): 1,
        ("semantic", "miss"): 1,
        ("prefix_token", "miss"): 1,
    } == lookups(heard)


def test_a_miss_is_an_inference(heard: Heard) -> None:
    """Where somebody was asked all is told as ever, and the call tells that the cache had nothing."""
    record = told(heard.telemetry(), CacheOutcome(status="miss", entry_id="0123456789abcdef"), is_asked=True)
    cost: Any = record.cost()

    assert ["deepseek_sdk.attempt", "chat deepseek-flash", "deepseek_sdk.request"] == [s.name for s in heard.spans()]
    assert {"deepseek_sdk.cache.outcome": "miss"} == {
        name: value for name, value in attributes(heard).items() if "cache" in name and "total" not in name
    }
    assert (1000, float(cost.cny)) == (
        heard.chat()["gen_ai.usage.input_tokens"],
        heard.chat()["deepseek_sdk.cost.cny"],
    )
    assert [] == heard.points("deepseek_sdk.cost.saved")
    assert cost.cny > Decimal(0)


def test_a_client_without_a_cache(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Where there is no cache nothing is told of one."""
    client = driver.client(base_url=emulator(replies="Hi").url, telemetry=heard.telemetry())
    driver.create(client)

    assert [] == [name for name in heard.names() if "cache." in name and "cache_" not in name]


def test_no_name_of_an_answer(heard: Heard) -> None:
    """The name of a kept answer is made of the prompt, and leaves the process neither in spans nor in metrics."""
    told(heard.telemetry(content="both"), hit(entry_id="0123456789abcdef"))

    assert "0123456789abcdef" not in heard.everything()


def test_many_answers_are_few_series(heard: Heard) -> None:
    """However many answers and users there are, and whatever they saved, their series are as many as before."""
    telemetry = heard.telemetry()
    for number in range(200):
        usage = Usage(hit=0, miss=number + 1, output=1, reasoning=0)
        told(telemetry, hit(entry_id=f"{number:016x}", usage=usage, age=float(number)), user=str(number))

    assert {("exact", "hit"): 200} == lookups(heard)
    assert 2 == len(heard.points("deepseek_sdk.cost.saved"))


def _fail(_usage: Usage, _model: str) -> Cost:
    raise ZeroDivisionError


@pytest.mark.parametrize("of", [lambda _usage, _model: None, None])
def test_a_saving_that_nobody_knows(heard: Heard, of: Callable[..., Cost | None] | None) -> None:
    """Where no price is known it is absent, never 0."""
    told(heard.telemetry(), hit(price=of))

    assert "hit" == attributes(heard)["deepseek_sdk.cache.outcome"]
    assert [] == [name for name in heard.names() if "saved" in name]


def test_an_equal_call_that_fails(heard: Heard) -> None:
    """A call that raises the error of an equal one saves nothing."""
    told(heard.telemetry(), hit("coalesced"), ending="failed")

    assert ("coalesced", "ConnectionError") == tuple(
        attributes(heard)[name] for name in ("deepseek_sdk.cache.outcome", "error.type")
    )
    assert [] == [name for name in heard.names() if "saved" in name]


def test_a_saving_that_cannot_be_told(heard: Heard) -> None:
    """Where telling a price fails the span of the call ends all the same, and the call is counted."""
    with pytest.raises(ZeroDivisionError):
        told(heard.telemetry(), hit(price=_fail))

    assert "hit" == attributes(heard)["deepseek_sdk.cache.outcome"]
    assert {("exact", "hit"): 1} == lookups(heard)
    assert [0] == [count for _, count in heard.points("deepseek_sdk.requests.active")]


def test_every_name_is_listed(heard: Heard) -> None:
    """What is told of a cache stands in the list of names."""
    told(heard.telemetry(), hit())

    assert set() == heard.names() - golden()
