"""What is told of the semantic tier: `explain()`, counts and metrics; and answers from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.caching.cached_calls import Wall
from tests.caching.wordings import AGAIN, ASKED, CLOSE, LATER, NEAR, OPEN, OTHER, SAME, ask, semantic, settled
from tests.telemetry.conftest import heard  # noqa: F401  a fixture

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.caching.explaining import Explanation
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

MODEL = "deepseek-flash"
ANSWER = "在订单页点“退款”。"


def explain(driver: Driver, client: Any, text: str, **fields: Any) -> Explanation:
    """Tell what would become of what is asked."""
    messages = [{"role": "user", "content": text}]
    found: Explanation = driver.call(client.cache.explain, messages, model=MODEL, **fields)
    return found


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_explained(driver: Driver, emulator: StartEmulator, tmp_path: Path, *, is_on_disk: bool) -> None:
    """What would become of a call, and why, is told as the report of the call would; nothing is counted or changed."""
    server, wall = emulator(replies=ANSWER), Wall()
    cache = semantic(tmp_path / "cache" if is_on_disk else None, wall=wall, ttl_s=100)
    client = driver.client(base_url=server.url, cache=cache)
    empty = explain(driver, client, ASKED)
    first = ask(driver, client)
    ask(driver, client, OPEN)
    settled(cache)
    before = cache.stats()
    wall.forward(60)
    found = {text: explain(driver, client, text) for text in (ASKED, SAME, NEAR, CLOSE, "今天天气怎么样")}

    assert ("miss", "no_answer", "no_candidate") == (empty.status, empty.reason, _reason(empty))
    assert [("hit", None, None), ("hit", None, "served")] + [
        ("miss", "no_answer", reason) for reason in ("below", "guard", "volatile")
    ] == [(one.status, one.reason, _reason(one)) for one in found.values()]
    hit, guarded = found[SAME], found[CLOSE]
    assert (first.entry_id, 60, False, False) == (hit.entry_id, hit.age, hit.is_asked, hit.is_kept)
    assert ("antonym", ASKED) == (guarded.decision and guarded.decision.guard, hit.decision and hit.decision.kept)
    assert before == cache.stats()
    assert 2 == len(server.requests)
    wall.forward(60)
    late = explain(driver, client, SAME)
    assert ("miss", "unusable", True) == (late.status, _reason(late), late.is_asked)
    assert ("refresh", None) == (
        (fresh := explain(driver, client.with_options(cache="refresh"), SAME)).status,
        fresh.decision,
    )


def _reason(found: Explanation) -> str | None:
    return None if found.decision is None else found.decision.reason


def test_counts(driver: Driver, emulator: StartEmulator) -> None:
    """Hits by similarity are counted apart, and every decision by its reason, every guard by its name."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    for text in (ASKED, ASKED, SAME, AGAIN, OPEN, CLOSE, "今天天气怎么样"):
        ask(driver, client, text)
    stats = driver.call(client.cache.stats)

    assert (7, 3, 2, 4) == (stats.lookups, stats.hits, stats.semantic, stats.misses)
    assert {"no_candidate": 1, "served": 2, "below": 1, "guard": 1, "volatile": 1} == stats.decisions
    assert {"antonym": 1} == stats.guards
    assert stats.tokens_saved.output > 0


def test_levels(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:  # noqa: F811  the fixture
    """Metrics tell at which level there was a hit: what was found by similarity was not found exactly."""
    telemetry = heard.telemetry()
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic(), telemetry=telemetry)
    for text in (ASKED, ASKED, SAME, OTHER):
        ask(driver, client, text)
    found = heard.points("deepseek_sdk.cache.lookups")

    assert {
        ("exact", "miss"): 3,
        ("exact", "hit"): 1,
        ("semantic", "miss"): 2,
        ("semantic", "hit"): 1,
        ("prefix_token", "miss"): 2,
    } == {(series["cache.level"], series["cache.outcome"]): count for series, count in found}


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_warmed(driver: Driver, emulator: StartEmulator, tmp_path: Path, *, is_on_disk: bool) -> None:
    """Answers from elsewhere are found exactly and by similar questions, before anything was asked."""
    server, cache = emulator(replies="?"), semantic(tmp_path / "cache" if is_on_disk else None)
    client = driver.client(base_url=server.url, cache=cache)
    told = driver.call(client.cache.warm, {ASKED: ANSWER, OPEN: "在设置里开启。"}, model=MODEL)
    answers = [driver.create(client, text).choices[0].message.content for text in (ASKED, SAME, LATER)]

    assert (2, [ANSWER] * 3, 0) == (told.kept, answers, len(server.requests))
    assert "guard" == _reason_of(ask(driver, client, CLOSE))
    # Only calls that say the same of everything else get them.
    assert "miss" == ask(driver, client, SAME, temperature=0.5).status


def _reason_of(outcome: Any) -> str | None:
    return None if outcome.decision is None else outcome.decision.reason


def test_warmed_for_a_prompt(driver: Driver, emulator: StartEmulator) -> None:
    """They are kept for the instructions, tags and time that are said with them."""
    server, wall = emulator(replies="?"), Wall()
    client = driver.client(base_url=server.url, cache=semantic(wall=wall))
    system = "你是客服。"
    driver.call(client.cache.warm, [(ASKED, ANSWER)], model=MODEL, system=system, ttl_s=60, tags={"kind": "faq"})
    body: dict[str, Any] = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": SAME}]}
    found = [ask(driver, client, SAME, cache="no-store"), ask(driver, client, cache="no-store", **body)]
    wall.forward(120)
    late = ask(driver, client, cache="no-store", **body)
    (row,) = driver.call(client.cache.ls)

    assert ["miss", "hit", "miss"] == [one.status for one in (*found, late)]
    assert (("kind", "faq"),) == row.tags
