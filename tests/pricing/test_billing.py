"""What calls cost: over all attempts, failed ones and other routes included, and with a clock that is wrong."""

from __future__ import annotations

import email.utils
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Usage
from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk._record import Record
from deepseek_sdk.pricing import Cost, PriceBook
from deepseek_sdk.pricing.billing import bill
from deepseek_sdk.resilience.account import Account
from tests.pricing.instants import at

if TYPE_CHECKING:
    from pathlib import Path

BOOK = PriceBook.builtin()
OFF_PEAK, PEAK = at("2026-11-29T10:00+08:00"), at("2026-11-30T10:00+08:00")
USAGE = Usage(hit=896, miss=104, output=50, reasoning=0)
ONCE = Decimal("0.00032192")
HERE = "https://api.deepseek.com"


def call(*attempts: dict[str, Any], start: float = OFF_PEAK, date: float | None = None) -> Record:
    """Make the record of a call with some attempts, each of a second; *date* is what the server's clock said."""
    record = Record(started=100.0, at=start)
    for number, said in enumerate(attempts):
        given = {"model": "deepseek-flash", "url": HERE, "outcome": "complete", "usage": USAGE, **said}
        account = Account(given.pop("url"), given["model"])
        attempt = record.begin(route="primary", model=given["model"], now=100.0 + number, account=account)
        attempt.ended = number + 1.0
        for name, value in given.items():
            setattr(attempt, name, value)
    record.times.total = float(len(attempts))
    record.headers = None if date is None else {"date": email.utils.formatdate(date, usegmt=True)}
    return record


def cost(*attempts: dict[str, Any], book: PriceBook = BOOK, **given: Any) -> Cost:
    """Bill a call that has a price."""
    found = bill(call(*attempts, **given), book)
    assert found is not None
    return found


def test_one_attempt() -> None:
    """A call that went well costs its tokens."""
    found = cost({})

    assert (ONCE, Decimal("0.000048288"), "off_peak", BOOK.version) == (
        found.cny,
        found.usd,
        found.tier,
        found.price_version,
    )
    assert (False, False, None) == (found.is_estimated, found.is_partial, found.clock_skew)


def test_attempts_that_were_refused_cost_nothing() -> None:
    """What a server refused, and what was not sent, is not on the bill."""
    refused = {"outcome": "failed", "reason": "overloaded", "usage": None}

    assert cost({}) == cost(refused, refused, {})
    assert bill(call(refused), BOOK) is None
    assert bill(call(), BOOK) is None


def test_attempt_that_may_be_billed() -> None:
    """A failed attempt that may be billed counts by its estimate; the least that the call may cost leaves it out."""
    cut = {"outcome": "failed", "is_possibly_billed": True, "is_estimated": True}
    found = cost(cut, {})

    assert (2 * ONCE, ONCE, 2 * ONCE, True, False) == (
        found.cny,
        found.cny_low,
        found.cny_high,
        found.is_estimated,
        found.is_partial,
    )
    assert (Decimal(0), ONCE) == (cost(cut).cny_low, cost(cut).cny_high)


def test_failed_attempt_whose_tokens_the_server_told() -> None:
    """What the server has counted is billed, whatever became of the answer."""
    empty = {"outcome": "failed", "reason": "empty_answer", "is_possibly_billed": True}

    assert (2 * ONCE, 2 * ONCE, False) == (
        (found := cost(empty, {})).cny,
        found.cny_low,
        found.is_estimated,
    )


def test_estimate_that_is_billed_for_sure() -> None:
    """An answer whose tokens the server did not tell costs about its estimate, and not nothing."""
    found = cost({"is_estimated": True})

    assert (ONCE, ONCE, True) == (found.cny, found.cny_low, found.is_estimated)


def test_every_attempt_by_its_own_model() -> None:
    """Where one model takes over from another, each has its own prices."""
    found = cost({"outcome": "abandoned"}, {"model": "deepseek-v4-pro"})

    assert ONCE + Decimal("0.0012774") == found.cny


@pytest.mark.parametrize(
    "other",
    [
        {"model": "another-model"},
        {"outcome": "running", "usage": None, "ended": None},
        {"usage": None},
        {"outcome": "failed", "usage": None, "is_possibly_billed": True},
    ],
)
def test_what_is_missing_is_said(other: dict[str, Any]) -> None:
    """A call with an attempt whose cost nobody can tell has a partial cost; alone it has none."""
    found = cost({}, other)

    assert (ONCE, True) == (found.cny, found.is_partial)
    assert bill(call(other), BOOK) is None


def test_running_attempt_counts_what_is_known() -> None:
    """An attempt that still runs, and whose tokens are known already, is counted to now."""
    assert ONCE == cost({"outcome": "running", "ended": None}).cny


def test_backends_have_no_price() -> None:
    """What answers in this process is on nobody's bill, and leaves nothing out of it."""
    inside = {"url": "backend:rules", "model": "deepseek-flash"}
    found = cost({"outcome": "abandoned"}, inside)

    assert (ONCE, False) == (found.cny, found.is_partial)
    assert bill(call(inside), BOOK) is None


def test_attempt_without_an_account() -> None:
    """An attempt of which only the model is known is priced by it."""
    assert ONCE == cost({"account": None}).cny


def test_prices_of_a_host(tmp_path: Path) -> None:
    """Where a file has prices for one host, attempts there cost these, and others what they did."""
    path = tmp_path / "prices.toml"
    text = 'as_of = 2026-11-29\n[[card]]\nmodel = "deepseek-flash"\nhost = "gpu.example"\n'
    path.write_text(text + "CNY.flat = {hit = 0, miss = 0, output = 0}\n")
    book = PriceBook.from_file(path)

    assert (Decimal(0), ONCE) == (
        cost({"url": "http://gpu.example:8000/v1"}, book=book).cny,
        cost({}, book=book).cny,
    )


def test_attempts_on_both_sides_of_a_boundary() -> None:
    """Each attempt has the prices of its own time."""
    nine = at("2026-11-30T09:00+08:00")
    found = cost({"outcome": "abandoned", "ended": 0.9}, {"started": 2.0, "ended": 3.0}, start=nine - 1)

    assert (3 * ONCE, 3 * ONCE, 3 * ONCE, "mixed") == (found.cny, found.cny_low, found.cny_high, found.tier)


@pytest.mark.parametrize("seconds", [-7200.0, 7200.0])
def test_wrong_clock(seconds: float, caplog: pytest.LogCaptureFixture) -> None:
    """Where this machine's clock and the server's are over a minute apart, the server's decides, which is said once."""
    book, truth = PriceBook.builtin(), at("2026-11-30T13:00+08:00") - seconds / 2
    with caplog.at_level(logging.WARNING, logger="deepseek_sdk"):
        found = [cost({}, start=truth - seconds, date=truth, book=book) for _ in range(2)]

    assert {cost({}, start=truth).cny} == {one.cny for one in found}
    assert [seconds] * 2 == [one.clock_skew for one in found]
    assert 1 == len(caplog.records)
    assert ("behind" if seconds > 0 else "ahead of") in caplog.text


@pytest.mark.parametrize("seconds", [-60.0, 0.0, 30.0, 61.0])
def test_clock_that_is_right(seconds: float) -> None:
    """Up to a minute, to which the time of the answer adds, is no difference."""
    assert cost({}) == cost({}, date=OFF_PEAK + seconds)


def test_date_of_an_earlier_attempt() -> None:
    """The date may be that of an attempt before the last one: a slow call is no wrong clock."""
    slow = {"outcome": "failed", "usage": None, "ended": 300.0}

    assert cost({}).cny == cost(slow, {"started": 301.0, "ended": 302.0}, date=OFF_PEAK).cny
    assert cost(slow, {"started": 301.0, "ended": 302.0}, date=OFF_PEAK).clock_skew is None


def test_machine_that_does_not_know_the_year() -> None:
    """A machine whose clock begins in 1970 has costs nevertheless."""
    assert ONCE == cost({}, start=0.0, date=OFF_PEAK).cny
    assert bill(call({}, start=0.0), BOOK) is None


@pytest.mark.parametrize(
    "date",
    [
        "",
        "yesterday",
        "Sun, 99 Nov 2026 02:00:00 GMT",
        "Sun, 29 Nov 99999 02:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359",
    ],
)
def test_date_that_is_none(date: str) -> None:
    """What is no date is not believed, nor what no server of this service can have said."""
    record = call({})
    record.headers = {"date": date}

    assert cost({}) == bill(record, BOOK)


@pytest.mark.slow
def test_threads_count_alike() -> None:
    """Calls that end at the same time in many threads, some with a wrong clock, do not disturb each other."""
    book = PriceBook.builtin()
    calls = [call({}, start=when, date=date) for when in (OFF_PEAK, PEAK) for date in (None, PEAK)] * 200
    expected = [bill(record, BOOK) for record in calls]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda record: bill(record, book), calls))

    assert expected == found
    assert {None, PEAK - OFF_PEAK} == {one.clock_skew for one in found if one is not None}


def test_bill_can_be_asked_for_again() -> None:
    """A call that goes on costs more each time it is asked for."""
    record = call({})
    first = bill(record, BOOK)
    record.attempts.append(replace(record.attempts[0], started=5.0, ended=6.0))

    assert first is not None
    assert first + first == bill(record, BOOK)


# --- what the cache answers


def kept(status: Any, *attempts: dict[str, Any], model: str | None = "deepseek-flash", **given: Any) -> Record:
    """Make the record of a call that the cache had a word in."""
    record = call(*attempts, **given)
    record.asked, record.cache = "deepseek-flash", CacheOutcome(status=status, tier="exact", usage=USAGE, model=model)
    return record


@pytest.mark.parametrize("status", ["hit", "stale", "coalesced"])
def test_answers_of_the_cache_cost_nothing(status: str) -> None:
    """What nobody was asked for costs nothing, which is not the same as nobody knows what."""
    found = bill(kept(status), BOOK)

    assert found is not None
    assert {0} == {found.cny, found.usd, found.cny_low, found.cny_high, found.usd_low, found.usd_high}
    assert found.cny_parts == found.usd_parts
    assert found.cny_parts is not None
    assert 0 == found.cny_parts.total
    assert (False, False, BOOK.version) == (found.is_estimated, found.is_partial, found.price_version)
    assert "¥0 / $0 (off_peak)" == str(found)


@pytest.mark.parametrize("model", ["qwen", None])
def test_answers_of_models_without_a_price_cost_nothing(model: str | None) -> None:
    """A cached answer is free, whatever gave it."""
    found = bill(kept("hit", model=model), BOOK)

    assert found is not None
    assert 0 == found.cny
    assert ("unknown" if model else "off_peak") == found.tier


@pytest.mark.parametrize("status", ["miss", "refresh", "bypass", "negative", "error"])
def test_nobody_was_asked_and_nothing_found(status: str) -> None:
    """A call that has no answer, from the cache or from anybody, has no cost, as without a cache."""
    assert bill(kept(status), BOOK) is None


@pytest.mark.parametrize("status", ["hit", "stale", "coalesced", "miss"])
def test_attempts_are_billed_whatever_the_cache_says(status: str) -> None:
    """Where somebody was asked that is what a call costs."""
    found = bill(kept(status, {}), BOOK)

    assert found == bill(call({}), BOOK)


def test_sums_with_answers_of_the_cache() -> None:
    """Free calls change no sum: neither its amount nor its tier, nor whether all is in it."""
    free, paid = bill(kept("hit"), BOOK), cost({})
    assert free is not None

    assert paid == free + paid
    assert paid == paid + free
    assert paid == sum([free, paid, free])
