"""`client.cache.prewarm()` through clients of both colours: what is asked before the peak, and what that costs."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import options, report
from deepseek_sdk._clock import UNSET
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.directory import DATABASE
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.reader import opened
from deepseek_sdk.testing import ScriptedBackend, said
from tests.caching.cached_calls import Wall, in_memory
from tests.caching.warming.asked_ledgers import HOUR, at
from tests.caching.warming.peaky_shops import NOON, PEAK_HOUR, QUESTIONS, SYSTEM, TODAY, Shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator


@pytest.fixture
def shop(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> Shop:
    """Make a shop."""
    return Shop(driver, emulator(replies="在订单页点“退款”。"), tmp_path)


def test_what_the_peak_asks(shop: Shop) -> None:
    """What is asked every morning is asked anew, as it was asked, and then it is there."""
    ids = shop.filled(temperature=0.5, extra_body={"thinking": {"type": "disabled"}})
    shop.ask("一个没人再问的问题")
    shop.server.forget()
    shop.wall.forward(20 * HOUR)
    prewarming = shop.prewarmed(share=1.0)
    told = prewarming.progress

    assert ("done", 10, 0, 0) == told[:4]
    assert told.cny > 0
    assert sorted(QUESTIONS) == sorted(shop.texts())
    (body,) = [request.body for request in shop.server.requests if request.last_user_text == QUESTIONS[0]]
    assert [SYSTEM, {"role": "user", "content": QUESTIONS[0]}] == body["messages"]
    assert (0.5, {"type": "disabled"}) == (body["temperature"], body["thinking"])
    again = shop.ask(*QUESTIONS, temperature=0.5, extra_body={"thinking": {"type": "disabled"}})
    assert (ids, 10) == (again, len(shop.server.requests))
    assert {} == prewarming.skipped


def test_calls_in_the_books(shop: Shop) -> None:
    """The calls are written down with a tag, are no history themselves, and cost what the progress says."""
    shop.filled(*QUESTIONS[:3])
    told = shop.prewarmed(share=1.0).progress
    used = shop.driver.call(shop.client.usage, by="tag:prewarm").rows

    assert [("true", 3)] == [(row.key, row.calls) for row in used if row.key == "true"]
    (cost,) = [row.cny for row in used if row.key == "true"]
    assert told.cny == pytest.approx(float(cost))
    with opened(shop.ledger) as database:
        found = database.execute(
            "SELECT count(*), count(cache_entry) FROM calls WHERE tags LIKE '%prewarm%'"
        ).fetchone()
    assert (3, 3) == found


def test_little_at_first(shop: Shop) -> None:
    """A tenth is asked at first, and what that was is remembered for the peak to come."""
    ids = shop.filled()
    # By another clock it is another hour, and the same peak.
    told = shop.prewarmed(tz="Europe/London").progress
    known = shop.remembered()

    assert ("done", 1) == told[:2]
    assert known.window is not None
    assert (at(TODAY + 1, PEAK_HOUR), at(TODAY + 1, PEAK_HOUR + 1)) == tuple(known.window)
    assert (0.1, 1, True) == (known.rollout.share, len(known.ids), known.ids[0] in ids)


def test_more_while_it_pays(shop: Shop) -> None:
    """After a peak in which what was asked beforehand was wanted, twice as much is asked."""
    ids = shop.filled()
    shop.prewarmed(share=1.0)
    shop.wall.seconds = at(TODAY + 1, 12)
    shop.remember(ids, days=[1])
    told = shop.prewarmed().progress

    assert (("done", 2), 0.2) == (told[:2], shop.remembered().rollout.share)


@pytest.mark.parametrize(("budget", "asked"), [({"budget_calls": 3}, 3), ({"budget_cny": 1e-6}, 0)])
def test_budget(shop: Shop, budget: dict[str, Any], asked: int) -> None:
    """No more is asked than the budget allows."""
    shop.filled()
    told = shop.prewarmed(share=1.0, **budget).progress

    assert (asked, asked) == (told.asked, len(shop.server.requests))


def test_several_at_once(shop: Shop) -> None:
    """Several may be asked at a time; each is asked once."""
    shop.filled()
    told = shop.prewarmed(share=1.0, at_once=4).progress

    assert (10, sorted(QUESTIONS)) == (told.asked, sorted(shop.texts()))
    assert 10 == len(shop.remembered().ids)


def test_tenants(shop: Shop) -> None:
    """What was asked for a tenant is asked for him; what was asked with another key is left alone."""
    named = shop.client.with_options(tenant="小明")
    foreign = shop.driver.client(base_url=shop.server.url, cache=shop.cache, api_key="another")
    ids = [*shop.ask("小明的问题", client=named), *shop.ask("别人的问题", client=foreign), *shop.ask("自己的问题")]
    shop.remember(ids)
    shop.server.forget()
    with options(tenant="乙"):
        prewarming = shop.prewarmed(share=1.0)

    assert ({"小明的问题", "自己的问题"}, {"foreign": 1}) == (set(shop.texts()), prewarming.skipped)
    assert ids[:1] == shop.ask("小明的问题", client=named)
    assert {"another", "test-key"} == {"another", *(_key(request) for request in shop.server.requests)}
    assert 2 == len(shop.server.requests)


def _key(request: Any) -> str:
    return str(request.headers["authorization"].removeprefix("Bearer "))


def test_what_was_given_stays(shop: Shop) -> None:
    """Answers from elsewhere are not replaced by those of a model."""
    given = dict.fromkeys(QUESTIONS[:3], "人工写的答案")
    shop.driver.call(shop.client.cache.warm, given, model="deepseek-flash", system=SYSTEM["content"])
    ids = shop.ask(*QUESTIONS[:4])
    shop.remember(ids)
    shop.server.forget()
    prewarming = shop.prewarmed(share=1.0)

    assert ([QUESTIONS[3]], {"given": 3}) == (shop.texts(), prewarming.skipped)


def test_prompts(shop: Shop) -> None:
    """Completions of prompts are asked anew as well, on their path and with their query."""
    create = shop.client.completions.create
    asked = shop.driver.call(create, model="deepseek-flash", prompt="从前", suffix="。", extra_query={"v": "1"})
    entry = report(asked).cache
    assert entry is not None
    shop.remember([str(entry.entry_id)])
    told = shop.prewarmed(share=1.0).progress
    first, again = shop.server.requests

    assert ("done", 1) == told[:2]
    assert (first.path, first.query, first.body["suffix"]) == (again.path, again.query, again.body["suffix"])


def test_without_frames(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Of answers that were kept without their requests only the number is told."""
    server, wall = emulator(), Wall(NOON)
    old = Shop(driver, server, tmp_path, wall=wall, cache=ExactCache(tmp_path / "cache", ttl_s=60, wall=wall))
    old.filled(*QUESTIONS[:3])
    old.cache.close()
    shop = Shop(driver, server, tmp_path, wall=wall)
    prewarming = shop.prewarmed(share=1.0)

    assert (("done", 0, 0, 0, 0.0), {"no_frame": 3}) == (tuple(prewarming.progress), prewarming.skipped)


def test_requests_are_kept_on_demand(shop: Shop, tmp_path: Path) -> None:
    """Instructions lie on disk where they are to be kept, once for all that have them, and go with the last answer."""
    shop.ask(*QUESTIONS[:3])
    path = tmp_path / "cache" / DATABASE
    with sqlite3.connect(path) as database:
        before = database.execute("SELECT count(*) FROM frame").fetchone()
    shop.driver.call(shop.client.cache.flush)
    after = database.execute("SELECT count(*) FROM frame").fetchone()
    database.close()

    assert ((1,), (0,)) == (before, after)


def test_older_directories(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """A directory that an earlier version has made gets what is needed when it is opened."""
    server, wall = emulator(), Wall(NOON)
    old = ExactCache(tmp_path / "cache", ttl_s=3_600, wall=wall)
    Shop(driver, server, tmp_path, wall=wall, cache=old).ask(QUESTIONS[0])
    old.close()
    with sqlite3.connect(tmp_path / "cache" / DATABASE) as database:
        database.executescript(
            "DROP TRIGGER frame_left; DROP TRIGGER frame_moved; DROP TABLE frame; DROP TABLE frame_sum"
        )
    database.close()
    shop = Shop(driver, server, tmp_path, wall=wall)
    shop.filled(*QUESTIONS[:2])

    assert 2 == shop.prewarmed(share=1.0).progress.asked


def test_answers_that_are_not_kept(shop: Shop) -> None:
    """Where answers do not come to lie where they are wanted, it stops, and what they cost is told."""
    shop.filled()
    prewarming = shop.prewarm(shop.client.with_options(cache="no-store"), now=True, share=1.0)
    assert shop.over(prewarming)
    told = prewarming.progress

    assert ("failing", 0, 3) == told[:3]
    assert told.cny > 0


def test_too_little_is_known(shop: Shop) -> None:
    """Without a peak nothing is asked; a ledger that no call was written to yet is none either."""
    nothing = shop.prewarmed(share=1.0).progress
    shop.remember(shop.ask(*QUESTIONS), days=[0])

    assert ("done", 0, 0, 0, 0.0) == nothing == shop.prewarmed(share=1.0).progress


def test_who_cannot(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Without a ledger, without kept requests, and without a disk it is said what to do."""
    server = emulator()
    path = tmp_path / "cache"
    keeping, ledger = ExactCache(path, keep_requests=True), tmp_path / "calls.sqlite3"
    clients = {
        r"Client\(ledger=True\)": driver.client(base_url=server.url, cache=keeping),
        "keep_requests=True": driver.client(base_url=server.url, cache=ExactCache(path), ledger=ledger),
        "on disk": driver.client(base_url=server.url, cache=in_memory(keep_requests=True), ledger=ledger),
    }
    for message, client in clients.items():
        with pytest.raises(ConfigurationError, match=message):
            driver.call(client.cache.prewarm)
    with pytest.raises(ConfigurationError, match=r"templates.*ledger=True"):
        driver.call(driver.client(base_url=server.url, cache=keeping).cache.templates)
    keeping.close()


WRONG: dict[str, dict[str, Any]] = {
    "budget_calls": {"budget_calls": 0},
    "budget_cny": {"budget_cny": "1"},
    "at_once": {"at_once": 0},
    "share": {"share": 2},
    "gestern": {"since": "gestern"},
    "Mars": {"tz": "Mars/Olympus"},
}


def test_arguments_are_checked(shop: Shop) -> None:
    """What cannot be used is said before anything is asked."""
    for message, given in WRONG.items():
        with pytest.raises(ConfigurationError, match=message):
            shop.prewarm(**given)


def test_others_come_first(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What is asked beforehand waits behind all that somebody waits for; it may be asked of a backend, too."""
    backend = ScriptedBackend(*[said("好")] * 4)
    shop = Shop(driver, emulator(), tmp_path, backend=backend)
    shop.filled(*QUESTIONS[:2])
    shop.prewarmed(share=1.0)

    assert [UNSET, UNSET, "batch", "batch"] == [call.options.priority for call in backend.calls]


def test_templates(shop: Shop) -> None:
    """The kinds of questions that are asked most, with how often and with examples; also where they are in memory."""
    assert [] == shop.driver.call(shop.client.cache.templates)

    shop.remember(shop.ask("订单 10086 到哪了？", "订单 10087 到哪了？"))
    shop.remember(shop.ask("如何退款？"), days=[-40, 0])
    found = shop.driver.call(shop.client.cache.templates, 5)

    assert [("订单 <number> 到哪了?", 60, 2), ("如何退款?", 3, 1)] == [
        (one.text, one.count, one.questions) for one in found
    ]
    everything = shop.driver.call(shop.client.cache.templates, since=None)
    # Among them those of this test.
    assert [62, 7] == [one.count for one in everything]
    with pytest.raises(ConfigurationError, match="top"):
        shop.driver.call(shop.client.cache.templates, 0)
