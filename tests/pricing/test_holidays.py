"""The table of holidays, against a package that other people maintain."""

from __future__ import annotations

from datetime import date, timedelta

import holidays
import pytest

from deepseek_sdk.pricing import PriceBook
from deepseek_sdk.pricing.tariff import EPOCH

YEARS = PriceBook.builtin().years
ONE_DAY = timedelta(days=1)


def listed(year: int) -> set[date]:
    """Give the weekdays off in a year, as the package lists them."""
    return {day for day in holidays.country_holidays("CN", years=year) if day.weekday() < 5}


def by_law(year: int) -> set[date]:
    """Give the days off that need no notice."""
    named = holidays.country_holidays("CN", years=year, language="en_US").items()
    return {day for day, name in named if "Day off" not in name and "observed" not in name}


def dates(days: frozenset[int]) -> set[date]:
    """Give days as dates."""
    return {date.fromordinal(day + EPOCH) for day in days}


@pytest.mark.slow
def test_days_off_of_2026() -> None:
    """The weekdays off in 2026 are those of the State Council's notice."""
    assert (listed(2026), set()) == (dates(YEARS[2026].off), dates(YEARS[2026].unsure))


def test_days_off_of_2027_are_those_of_the_law() -> None:
    """Without the notice, the days that the law names are off, and all weekdays within a week of one are unsure."""
    law = by_law(2027)
    around = {day + n * ONE_DAY for day in law | by_law(2026) | by_law(2028) for n in range(-7, 8)}
    weekdays = {day for day in around if day.weekday() < 5 and day.year == 2027}

    assert {day for day in law if day.weekday() < 5} == dates(YEARS[2027].off)
    assert weekdays - law == dates(YEARS[2027].unsure)


@pytest.mark.parametrize("year", range(2014, 2027))
def test_notices_stay_near_the_law(year: int) -> None:
    """A week around the days of the law is wide enough: no notice since 2014 gave a day off outside it."""
    law = by_law(year - 1) | by_law(year) | by_law(year + 1)

    assert {day for day in listed(year) if min(abs((day - other).days) for other in law) > 7} == set()
