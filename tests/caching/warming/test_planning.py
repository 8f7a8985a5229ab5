"""A plan for the next peak, of a ledger and a cache that are really there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk.caching import ExactCache, operations
from deepseek_sdk.caching.frames import DDL, add_frame, frame_of
from deepseek_sdk.caching.key import exact_key, partition_key
from deepseek_sdk.caching.warming.history import Hours, Known, asks, known
from deepseek_sdk.caching.warming.memory import Remembered, settled
from deepseek_sdk.caching.warming.planning import Plan, planned, requested
from deepseek_sdk.caching.warming.prewarm import Prewarm
from deepseek_sdk.caching.warming.schedule import Budget, Rollout, Window
from deepseek_sdk.errors import ConfigurationError
from tests.caching.kept_answers import entry_of, keep, key_of
from tests.caching.warming.asked_ledgers import ask, at, written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deepseek_sdk.caching.entry import Entry

PATH, TENANT = "/chat/completions", "tenant:小明"


def history(*asked: tuple[object, float, int]) -> Hours:
    """Give the history of ten days on which these were asked, each at an hour and so often."""
    hours = Hours(now=at(10, 0))
    hours.add(ask(name, day, hour, times) for day in range(10) for name, hour, times in asked)
    return hours


def question(name: object, ends: float | None = 0, **more: Any) -> Known:
    """Make a question that the cache knows, whose answer ends then."""
    expires_ms = None if ends is None else int(at(10, ends) * 1000)
    return Known(key_of(name), str(name), "p", TENANT, "deepseek-flash", expires_ms=expires_ms, **more)


HISTORY = (("退款", 9, 6), ("常驻", 9, 5), ("发票", 10, 8), ("夜里", 22, 2))
QUESTIONS = [question("退款"), question("常驻", None), question("发票", 10), question("夜里")]


def test_plans() -> None:
    """What the peak asks, and has no answer by then, is asked before it."""
    plan = planned(history(*HISTORY), QUESTIONS, now=at(10, 0), rollout=Rollout(1.0))

    assert isinstance(plan, Plan)
    assert ((9, 10), Window(at(10, 9), at(10, 11))) == (plan.peak.hours, plan.window)
    assert [key_of("退款"), key_of("发票"), key_of("夜里")] == [one.key for one in plan.chosen]
    assert [1, 0.5, 1] == [one.risk for one in plan.chosen]
    assert at(10, 9) - 300 - 30 == plan.starts


def test_a_tenth_first() -> None:
    """At first a tenth of that is asked, and never more than the budget allows."""
    hours = history(*HISTORY)
    first = planned(hours, QUESTIONS, now=at(10, 0))
    none = planned(hours, QUESTIONS, now=at(10, 0), budget=Budget(calls=0))

    assert isinstance(first, Plan)
    assert ([key_of("退款")], 3, Rollout()) == ([one.key for one in first.chosen], first.worthy, first.rollout)
    assert none is None


def test_nothing_to_plan() -> None:
    """Where there is no peak, or nothing that is worth it, there is no plan."""
    lasting = [question("退款", None)]

    assert planned(history(("退款", 9, 1)), QUESTIONS, now=at(10, 0)) is None
    assert planned(history(*HISTORY), [], now=at(10, 0)) is None
    assert planned(history(*HISTORY), lasting, now=at(10, 0)) is None
    with pytest.raises(ConfigurationError, match="budget"):
        planned(history(*HISTORY), QUESTIONS, now=at(10, 0), budget=Budget(calls=-1))


def test_dear_hours() -> None:
    """Where calls cost more in the hours before, it begins before them."""
    plan = planned(history(*HISTORY), QUESTIONS, now=at(10, 0), is_dear=lambda when: when >= at(10, 8))

    assert isinstance(plan, Plan)
    assert at(10, 7.5) < plan.starts < at(10, 8)


def test_what_is_near_comes_first() -> None:
    """Of questions that are asked equally often, at other hours, that which is about the peak's things is better."""
    hours = history(("退款", 9, 20), ("怎么退款", 20, 2), ("天气", 21, 2))
    questions = [question(name) for name in ("天气", "怎么退款", "退款")]
    rows = np.asarray([[0, 1, 2], [0.9, 0.1, 2], [1, 0, 2]], dtype=np.float32)
    seen: list[list[str]] = []

    def vectors(found: Sequence[Known]) -> Any:
        seen.append([one.text for one in found])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    by_both = planned(hours, questions, now=at(10, 0), rollout=Rollout(1.0), vectors=vectors)
    by_count = planned(hours, questions, now=at(10, 0), rollout=Rollout(1.0), vectors=lambda _: None)

    assert isinstance(by_both, Plan)
    assert isinstance(by_count, Plan)
    assert [key_of("退款"), key_of("怎么退款")] == [one.key for one in by_both.chosen][:2]
    assert key_of("天气") not in {one.key for one in by_both.chosen}
    assert key_of("天气") in {one.key for one in by_count.chosen}
    assert [["天气", "怎么退款", "退款"]] == seen


def body_of(text: str) -> dict[str, Any]:
    """Make a request."""
    system = {"role": "system", "content": "你是客服。"}
    return {"model": "deepseek-flash", "messages": [system, {"role": "user", "content": text}]}


def answered(text: str) -> Entry:
    """Make the answer to it, which ends before the next peak."""
    body = body_of(text)
    return entry_of(
        key=exact_key(PATH, body, tenant=TENANT),
        partition=partition_key(PATH, body, tenant=TENANT),
        text=text,
        tenant=TENANT,
        created_ms=int(at(9, 9) * 1000),
        expires_ms=int(at(10, 8) * 1000),
    )


def test_from_the_ledger_to_the_model(tmp_path: Path) -> None:
    """What the ledger says was asked each morning is asked before the next one, as the same requests."""
    cache = ExactCache(tmp_path / "answers", ttl_s=None, wall=lambda: at(10, 0))
    entries = {text: answered(text) for text in ("如何退款？", "怎么开发票？", "很少问的", "别人的")}
    keep(cache, *entries.values())
    frame = frame_of(PATH, body_of("x"))
    assert frame is not None
    with operations.opened(cache) as tier:
        assert tier is not None
        tier.write(lambda lane: [lane.execute(statement) for statement in DDL])
        partition = entries["如何退款？"].partition
        assert tier.write(lambda lane: add_frame(lane, partition, frame, 2**20))
        questions = [*known(cache, [entry.id for entry in entries.values()])]
        strange = questions[3]._replace(key=key_of(1))
        requests, skipped = requested(tier, [*questions[:2], strange, questions[2]._replace(partition="q")])
    cache.close()

    assert [body_of("如何退款？"), body_of("怎么开发票？")] == [request.body for request in requests]
    assert [entry.key for entry in entries.values()][:2] == [request.key for request in requests]
    assert (PATH, {}, TENANT, (("feature", "search"),)) == requests[0][1:3] + requests[0][4:]
    assert {"other_request": 1, "no_frame": 1} == skipped
    assert ([], {"no_frame": 4}) == requested(None, questions)


def test_a_morning(tmp_path: Path) -> None:
    """Questions of the morning are asked before it; when it is over, what was wanted of them is counted."""
    path = tmp_path / "ledger.sqlite3"
    names = ["如何退款？", "怎么开发票？"]
    calls: list[tuple[object, float, dict[str, Any]]] = [
        (name, at(day, 9) + n, {}) for day in range(8) for n in range(3) for name in names
    ]
    written(path, [*calls, ("如何退款？", at(8, 9), {})])
    hours = Hours(now=at(8, 0))
    hours.add(asks(path, since=at(0, 0), until=at(8, 0)))
    plan = planned(hours, [question(name, -60) for name in names], now=at(8, 0), rollout=Rollout(1.0))
    assert isinstance(plan, Plan)
    asked: list[str] = []
    work = Prewarm([(one.key, one.cny) for one in plan.chosen], begins=plan.starts, wall=lambda: plan.starts)
    done = work.run(asked.append)
    known_then = Remembered().having_asked(asked, plan.window)
    learnt = settled(known_then, at(9, 0), lambda since, until: asks(path, since=since, until=until))

    assert ("done", 2, {key_of(name) for name in names}) == (done.state, done.asked, set(asked))
    assert Remembered(Rollout(0.1, 2, 1)) == learnt
