"""What is asked at which hour of the day."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.warming.history import TAG, Ask, Hours, asks, counted, known
from deepseek_sdk.errors import ConfigurationError, LedgerError
from tests.caching.kept_answers import AT_MS, entry_of, keep, key_of
from tests.caching.warming.asked_ledgers import DAY, HOUR, MIDNIGHT, ask, at, written

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.caching.entry import Entry


def entry_id(name: object) -> str:
    """Give the id of an answer."""
    return key_of(name)[:16]


def test_asks_are_read(tmp_path: Path) -> None:
    """Calls that a kept answer was given to, or made for, are counted by the quarter of an hour."""
    path = written(
        tmp_path / "ledger.sqlite3",
        [
            ("退款", at(0, 9), {}),
            ("退款", at(0, 9) + 899, {"tenant": "甲"}),
            ("退款", at(0, 9) + 900, {"status": "miss"}),
            ("发票", at(0, 9), {"tenant": "甲", "tags": {"feature": "search"}}),
            ("预热", at(0, 9), {"tags": {TAG: "true"}}),
            (None, at(0, 9), {"status": "bypass"}),
            ("以后", at(1, 9), {}),
        ],
    )
    found = list(asks(path, since=at(0, 0), until=at(1, 9)))

    expected = [("发票", 9, 1), ("退款", 9, 2), ("退款", 9.25, 1)]
    assert sorted(Ask(entry_id(name), at(0, hour), times) for name, hour, times in expected) == sorted(found)
    assert {entry_id("退款"): 3, entry_id("发票"): 1} == counted(found)
    assert [entry_id("退款"), entry_id("发票")] == list(counted(found))
    assert {entry_id("退款"): 1, entry_id("发票"): 1} == counted(asks(path, since=0, until=at(9, 0), tenant="甲"))


def test_no_ledger(tmp_path: Path) -> None:
    """Where there is no ledger, that is said."""
    with pytest.raises(LedgerError, match="there is no ledger here"):
        list(asks(tmp_path / "ledger.sqlite3", since=0, until=1))


@pytest.fixture(params=["disk", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> ExactCache:
    """Give a cache with some answers, one of them past its time."""
    where: dict[str, Any] = {"path": tmp_path / "answers"} if request.param == "disk" else {"max_bytes": 0}
    cache = ExactCache(**where, ttl_s=None, wall=lambda: AT_MS / 1000 + 1)
    keep(cache, *_kept())
    return cache


def _kept() -> list[Entry]:
    return [
        entry_of(1, text="如何退款？", tags=(("feature", "search"), (TAG, "true")), expires_ms=AT_MS + 60_000),
        entry_of(2, text="怎么开发票？", cost=None, tenant="key:1"),
        entry_of(3, text=" ", cost="[]"),
        entry_of(4, text="价格？", cost='{"cny": "viel"}'),
    ]


def test_questions_are_known(cache: ExactCache) -> None:
    """The cache tells which questions were asked; those that are gone, and those without a text, are left out."""
    found = list(known(cache, [*map(entry_id, (2, 1, 9, 3, 4))]))
    cache.close()

    assert [key_of(2), key_of(1), key_of(4)] == [one.key for one in found]
    assert ("怎么开发票？", "key:1", None, None) == (found[0].text, found[0].tenant, found[0].cny, found[0].expires_ms)
    assert (0.001, AT_MS + 60_000) == (found[1].cny, found[1].expires_ms)
    assert ((("feature", "search"),), entry_id(1), None) == (found[1].tags, found[1].id, found[2].cny)


def test_hours_are_counted() -> None:
    """Asks are counted by the hour of the day on the clock that was given; what is in the future is none."""
    found = [ask(1, 0, 9.75, 3), ask(1, 1, 9, 1), ask(2, 1, 23, 2), ask(2, 9, 1), ask(2, 1, 1, 0)]
    hours = Hours(now=at(2, 0), half_life_days=1e6)
    hours.add(found)
    utc = Hours(now=at(2, 0), half_life_days=1e6, clock=UTC)
    utc.add(found)
    india = Hours(now=at(2, 0), half_life_days=1e6, clock=timezone(timedelta(hours=5.5)))
    india.add([ask(1, 0, 9.75)])

    days = (at(2, 0) - at(0, 9.75)) / DAY
    assert {9: 4 / days, 23: 2 / days} == pytest.approx({h: n for h, n in enumerate(hours.load()) if n}, rel=1e-4)
    assert [1, 15] == [hour for hour, load in enumerate(utc.load()) if load]
    assert [7] == [hour for hour, load in enumerate(india.load()) if load]
    assert {entry_id(1), entry_id(2)} == set(hours.entries)
    assert {entry_id(2): 2} == pytest.approx(dict(hours.weights([23, 0])), rel=1e-4)


def test_what_is_long_ago_counts_less() -> None:
    """After its half-life an ask counts half; a steady load is told as it is, however long it has lasted."""
    hours = Hours(now=at(14, 9), half_life_days=7)
    hours.add([ask(1, 0, 9), ask(2, 7, 9), ask(3, 14, 9)])
    steady = Hours(now=at(60, 0), half_life_days=7)
    steady.add(ask(1, day, 9.5, 10) for day in range(60))

    assert [0.25, 0.5, 1] == pytest.approx([hours.weights([9])[entry_id(n)] for n in (1, 2, 3)])
    assert steady.load()[9] == pytest.approx(10, rel=0.05)


def test_what_will_be_asked() -> None:
    """A question is expected at the hours at which it was asked, and a little whenever much is asked."""
    hours = Hours(now=at(10, 0))
    hours.add(one for day in range(10) for one in (ask("早", day, 9, 4), ask("晚", day, 21, 4), ask("闲", day, 3)))
    morning = [hours.expected(entry_id(name), [9]) for name in ("早", "晚", "闲", "无")]

    assert 3 < morning[0] < 4.2
    assert 0 < morning[1] < 0.6
    assert 0 == morning[3] < morning[2] < morning[1]
    assert hours.expected(entry_id("早"), [9, 9]) == morning[0]
    assert 0 == Hours(now=0).expected(entry_id("早"), [9])


def test_a_question_that_is_new_is_expected_less() -> None:
    """What was asked a few times on one day counts for less than what is asked each day."""
    hours = Hours(now=at(10, 0))
    hours.add([ask("常", day, 9) for day in range(10)] + [ask("新", 9, 9, 3)])

    assert hours.expected(entry_id("新"), [9]) < hours.expected(entry_id("常"), [9])


@pytest.mark.parametrize(
    ("load", "hours"),
    [
        ({9: 8, 10: 10, 11: 9, 14: 6, 20: 5}, (9, 10, 11)),
        ({23: 9, 0: 10, 1: 8, 12: 2}, (23, 0, 1)),
        ({9: 12, 20: 10}, (9,)),
        (dict.fromkeys(range(24), 5), None),
        ({9: 1, 10: 1}, None),
        ({}, None),
    ],
)
def test_peaks(load: dict[int, int], hours: tuple[int, ...] | None) -> None:
    """The peak is the busiest hour, if one stands out, with those around it that are nearly as busy."""
    history = Hours(now=at(5, 0))
    history.add(ask(1, day, hour, times) for day in range(5) for hour, times in load.items())
    peak = history.peak()

    assert hours == (peak and peak.hours)
    assert peak is None or peak.share == pytest.approx(
        sum(load[hour] for hour in peak.hours) / sum(load.values()), rel=0.1
    )


def test_a_day_is_too_little() -> None:
    """What was asked on one day says nothing of the next."""
    history = Hours(now=at(1, 12))
    history.add([ask(1, 0.9, 9, 500)])

    assert history.peak() is None


@pytest.mark.parametrize("wrong", [0, -1, "7", float("nan")])
def test_half_life_is_checked(wrong: float) -> None:
    """A half-life that is none is refused."""
    with pytest.raises(ConfigurationError, match="half_life_days"):
        Hours(now=MIDNIGHT + HOUR, half_life_days=wrong)
