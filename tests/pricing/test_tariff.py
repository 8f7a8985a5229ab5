"""Which prices hold at an instant: the vectors of the service's own rules, by the Beijing clock."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.pricing import PriceBook
from deepseek_sdk.pricing.tariff import Regime, Tariff, Year
from tests.pricing.instants import at

BOOK = PriceBook.builtin()
WEEK = frozenset(range(5))
FIRST = datetime(2026, 8, 16, 16, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("instant", "tier"),
    [
        ("2026-11-30T00:59:59Z", "off_peak"),
        ("2026-11-30T01:00:00Z", "peak"),
        ("2026-11-30T03:59:59Z", "peak"),
        ("2026-11-30T04:00:00Z", "off_peak"),
        ("2026-11-30T06:00:00Z", "peak"),
        ("2026-11-30T10:00:00Z", "off_peak"),
        ("2026-11-29T02:00:00Z", "off_peak"),  # Sunday
        ("2026-10-05T02:00:00Z", "off_peak"),  # National Day
        ("2026-10-09T02:00:00Z", "peak"),
        ("2026-11-27T10:00:00+08:00", "peak"),  # Friday
        ("2026-11-28T10:00:00+08:00", "off_peak"),
        ("2026-10-01T10:00:00+08:00", "off_peak"),  # Thursday
        ("2026-11-27T12:00:00+08:00", "off_peak"),
        ("2026-11-27T18:00:00+08:00", "off_peak"),
        ("2026-10-10T10:00:00+08:00", "off_peak"),  # a Saturday that is worked in place of a holiday
        ("2026-09-25T10:00:00+08:00", "off_peak"),  # Mid-Autumn
    ],
)
def test_boundaries(instant: str, tier: str) -> None:
    """Windows are half-open; weekends and public holidays have no peak hours."""
    assert tier == BOOK.tariff.tier(at(instant))


@pytest.mark.parametrize(
    ("instant", "tier"),
    [
        ("2026-08-16T15:59:59Z", "flat"),
        ("2026-08-16T16:00:00Z", "off_peak"),
        ("2026-08-17T10:00:00+08:00", "peak"),
        ("2026-08-22T10:00:00+08:00", "peak"),  # the last Saturday with peak hours
        ("2026-08-23T10:00:00+08:00", "off_peak"),
        ("2026-08-24T10:00:00+08:00", "peak"),
    ],
)
def test_history(instant: str, tier: str) -> None:
    """Peak hours came in August 2026, and left the weekends a week later."""
    assert tier == BOOK.tariff.tier(at(instant))


def test_holidays_count_from_september_on() -> None:
    """A holiday before 2026-09-10 had peak hours as any other day."""
    # None fell between August and then, so one is made up.
    off = frozenset({int(at("2026-09-09T00:00:00Z") // 86_400), int(at("2026-09-10T00:00:00Z") // 86_400)})
    tariff = Tariff(BOOK.tariff.regimes, {2026: Year(off)})

    assert "peak" == tariff.tier(at("2026-09-09T10:00:00+08:00"))
    assert "off_peak" == tariff.tier(at("2026-09-10T10:00:00+08:00"))


@pytest.mark.parametrize(
    ("instant", "tier"),
    [
        ("2026-11-27T16:30:00Z", "off_peak"),  # Friday in UTC, Saturday in Beijing
        ("2026-11-29T16:30:00Z", "peak"),  # Sunday in UTC, Monday in Beijing
        ("2026-11-29T15:30:00Z", "off_peak"),  # Sunday in both
        ("2026-11-27T15:30:00Z", "peak"),  # Friday in both
        ("2026-11-30T19:59:59Z", "peak"),
        ("2026-11-30T20:00:00Z", "off_peak"),
        ("2026-09-30T17:00:00Z", "off_peak"),  # 1 October in Beijing
        ("2026-10-07T17:00:00Z", "peak"),  # 8 October in Beijing
    ],
)
def test_day_is_that_of_beijing(instant: str, tier: str) -> None:
    """In a window of 15 to 20 UTC the weekday and the holiday are read by the Beijing calendar."""
    windows = ((23 * 3600, 24 * 3600), (0, 4 * 3600))
    tariff = Tariff((Regime(FIRST, windows, WEEK, has_holidays=True),), BOOK.years)

    assert tier == tariff.tier(at(instant))


@pytest.mark.parametrize(
    ("instant", "tier"),
    [
        ("2028-03-06T10:00:00+08:00", "unknown"),
        ("2028-03-06T08:59:59+08:00", "off_peak"),
        ("2028-03-05T10:00:00+08:00", "off_peak"),  # Sunday
        ("2027-10-01T10:00:00+08:00", "off_peak"),  # by law
        ("2027-10-04T10:00:00+08:00", "unknown"),  # by the notice, perhaps
        ("2027-07-05T10:00:00+08:00", "peak"),
    ],
)
def test_unknown_days(instant: str, tier: str) -> None:
    """Nothing is guessed: where the holidays are not known, the windows of weekdays are unknown."""
    assert tier == BOOK.tariff.tier(at(instant))


@pytest.mark.parametrize(
    ("instant", "change"),
    [
        ("2026-11-30T08:00:00+08:00", "2026-11-30T09:00:00+08:00"),
        ("2026-11-30T09:00:00+08:00", "2026-11-30T12:00:00+08:00"),
        ("2026-11-27T18:00:00+08:00", "2026-11-30T09:00:00+08:00"),  # over a weekend
        ("2026-09-30T18:00:00+08:00", "2026-10-08T09:00:00+08:00"),  # over National Day
        ("2026-04-30T00:00:00Z", "2026-08-16T16:00:00Z"),  # before there were peak hours
        ("2026-08-22T17:00:00+08:00", "2026-08-22T18:00:00+08:00"),
    ],
)
def test_next_change(instant: str, change: str) -> None:
    """The next change is the first instant with another tier."""
    assert at(change) == BOOK.tariff.next_change(at(instant))


def test_no_change() -> None:
    """Where nothing will change, the next change is never."""
    assert math.inf == Tariff((), {}).next_change(0.0)
    assert math.inf == Tariff((Regime(0.0, (), WEEK, has_holidays=False),), {}).next_change(1.0)


def test_rule_may_begin_far_away() -> None:
    """A rule that begins years after the last one is found."""
    late = at("2029-01-01T00:00:00Z")
    quiet, busy = Regime(0.0, (), WEEK, has_holidays=False), Regime(late, ((0, 86_400),), WEEK, has_holidays=False)
    tariff = Tariff((busy, quiet), {})

    assert late == tariff.next_change(1.0)


@pytest.mark.slow
@given(st.datetimes(datetime(2026, 4, 1), datetime(2028, 12, 31)), st.integers(0, 3 * 86_400))  # noqa: DTZ001  made aware
def test_nothing_changes_before_the_next_change(when: datetime, later: int) -> None:
    """Between an instant and its next change the tier is the same, and there it is another."""
    start = when.replace(tzinfo=UTC).timestamp()
    tariff, change = BOOK.tariff, BOOK.tariff.next_change(start)

    assert start < change
    assert tariff.tier(start) == tariff.tier(min(start + later, math.nextafter(change, 0)))
    assert tariff.tier(start) != tariff.tier(change)


def naive(moment: datetime) -> str:
    """Tell the tier by the words of the pricing page."""
    local = moment + timedelta(hours=8)
    is_day = local.weekday() < 5 and (local.month, local.day) not in {(10, d) for d in range(1, 8)} | {(9, 25)}
    return "peak" if is_day and local.hour in {9, 10, 11, 14, 15, 16, 17} else "off_peak"


@pytest.mark.slow
@given(st.datetimes(datetime(2026, 9, 10), datetime(2026, 12, 31)))  # noqa: DTZ001  made aware
def test_rule_of_the_page(when: datetime) -> None:
    """From September 2026 on the tier is what the words of the pricing page say."""
    assert naive(when) == BOOK.tariff.tier(when.replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize("instant", [-1e11, 253_402_300_799.0, 1e13])
def test_clocks_that_are_wrong_beyond_all_calendars(instant: float) -> None:
    """Before the first and after the last day there is, a tier can be told all the same."""
    assert BOOK.tariff.tier(instant) in ("flat", "off_peak", "unknown")
    assert BOOK.tariff.next_change(instant) > instant
    assert isinstance(BOOK.age_days(instant), int)
