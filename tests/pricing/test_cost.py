"""What tokens cost: check values of the price lists, exactness, and ranges where the hour is not certain."""

from __future__ import annotations

import decimal
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk import Usage
from deepseek_sdk.pricing import Cost, PriceBook, cost_of
from deepseek_sdk.routing.models import ALIASES, RETIRED, SERVED
from tests.pricing.instants import at

if TYPE_CHECKING:
    from pathlib import Path

BOOK = PriceBook.builtin()
OFF_PEAK, PEAK = at("2026-11-29T10:00+08:00"), at("2026-11-30T10:00+08:00")
SMALL = Usage(hit=896, miss=104, output=50, reasoning=0)
LARGE = Usage(hit=8064, miss=1936, output=1500, reasoning=1200)
COUNTS = st.integers(0, 10**12)
MODELS = st.sampled_from(sorted(SERVED))


def cost(usage: Usage, model: str = "deepseek-flash", start: float = OFF_PEAK, end: float | None = None) -> Cost:
    """Count what *usage* costs by the built-in prices."""
    found = cost_of(usage, model, start, start if end is None else end, BOOK)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("usage", "model", "when", "cny", "usd"),
    [
        (LARGE, "deepseek-flash", OFF_PEAK, "0.00809728", "0.001214592"),
        (LARGE, "deepseek-flash", PEAK, "0.01619456", "0.002429184"),
        (LARGE, "deepseek-v4-pro", OFF_PEAK, "0.0301716", "0.004425168"),
        (SMALL, "deepseek-flash", OFF_PEAK, "0.00032192", "0.000048288"),
        (SMALL, "deepseek-flash", PEAK, "0.00064384", "0.000096576"),
        (SMALL, "deepseek-v4-pro", OFF_PEAK, "0.0012774", "0.000187352"),
        (SMALL, "deepseek-v4-pro", PEAK, "0.0025548", "0.000374704"),
    ],
)
def test_check_values(usage: Usage, model: str, when: float, cny: str, usd: str) -> None:
    """The amounts are those that the price lists give, to the last digit."""
    found = cost(usage, model, when)

    assert (Decimal(cny), Decimal(usd)) == (found.cny, found.usd)
    assert (found.cny, found.cny, found.usd, found.usd) == (
        found.cny_low,
        found.cny_high,
        found.usd_low,
        found.usd_high,
    )


@pytest.mark.parametrize(
    ("model", "when", "usd", "cny"),
    [
        ("deepseek-flash", "2026-04-26T12:14:59Z", "0.028 0.14 0.28", "0.2 1 2"),
        ("deepseek-flash", "2026-04-26T12:15:00Z", "0.0028 0.14 0.28", "0.02 1 2"),
        ("deepseek-flash", "2026-08-16T15:59:59Z", "0.0028 0.14 0.28", "0.02 1 2"),
        ("deepseek-flash", "2026-08-16T16:00:00Z", "0.007 0.22 0.66", "0.05 1.5 4.5"),
        ("deepseek-flash", "2026-08-17T01:00:00Z", "0.014 0.44 1.32", "0.1 3 9"),
        ("deepseek-flash", "2026-09-09T15:59:59Z", "0.007 0.22 0.66", "0.05 1.5 4.5"),
        ("deepseek-flash", "2026-09-09T16:00:00Z", "0.003 0.15 0.60", "0.02 1 4"),
        ("deepseek-flash", "2026-11-30T01:00:00Z", "0.006 0.30 1.20", "0.04 2 8"),
        ("deepseek-v4-pro", "2026-04-24T12:00:00Z", "0.145 1.74 3.48", "1 12 24"),
        ("deepseek-v4-pro", "2026-04-26T12:15:00Z", "0.003625 0.435 0.87", "0.025 3 6"),
        ("deepseek-v4-pro", "2026-08-16T16:00:00Z", "0.022 0.66 1.98", "0.15 4.5 13.5"),
        ("deepseek-v4-pro", "2026-11-30T01:00:00Z", "0.044 1.32 3.96", "0.3 9 27"),
    ],
)
def test_history_of_prices(model: str, when: str, usd: str, cny: str) -> None:
    """A million tokens of each kind cost what the lists of their time say."""
    found = cost(Usage(hit=10**6, miss=10**6, output=10**6, reasoning=0), model, at(when))

    assert (tuple(map(Decimal, cny.split())), tuple(map(Decimal, usd.split()))) == (found.cny_parts, found.usd_parts)


def test_bill_of_august() -> None:
    """A bill of August 2026 has 0.84 CNY for 188,542 tokens that were not in the cache; it shows no parts of a cent."""
    found = cost(Usage(hit=0, miss=188_542, output=0, reasoning=0), "deepseek-v4-pro", at("2026-08-17T13:00+08:00"))

    assert found.cny is not None
    assert Decimal("0.84") == found.cny.quantize(Decimal("0.01"), rounding=decimal.ROUND_DOWN)


@pytest.mark.parametrize(("alias", "model"), sorted({**ALIASES, **RETIRED}.items()))
def test_other_names_cost_the_same(alias: str, model: str) -> None:
    """A name that another model answers to has that model's prices."""
    assert cost(SMALL, model) == cost(SMALL, alias)


def test_unknown_model_has_no_cost() -> None:
    """No price is not a price of nothing."""
    assert cost_of(SMALL, "gpt-5", OFF_PEAK, OFF_PEAK, BOOK) is None
    assert cost_of(SMALL, "deepseek-flash", at("2026-04-01T00:00Z"), at("2026-04-01T00:00Z"), BOOK) is None


@pytest.mark.slow
@given(COUNTS, COUNTS, COUNTS, COUNTS, MODELS)
def test_linear_in_each_count(hit: int, miss: int, output: int, more: int, model: str) -> None:
    """More tokens of one kind cost what these tokens cost alone; the parts sum to the total, exactly."""
    usage = Usage(hit=hit, miss=miss, output=output, reasoning=0)
    nothing = Usage(hit=0, miss=0, output=0, reasoning=0)
    base = cost(usage, model)

    assert base.cny_parts is not None
    assert base.usd_parts is not None
    assert (sum(map(exact, base.cny_parts)), sum(map(exact, base.usd_parts))) == (exact(base.cny), exact(base.usd))
    for name in ("hit", "miss", "output"):
        grown = cost(replace(usage, **{name: getattr(usage, name) + more}), model)
        assert grown == base + cost(replace(nothing, **{name: more}), model)


def exact(amount: Decimal | None) -> int:
    """Give an amount in units that are whole: prices have at most 6 decimals, of a million tokens."""
    assert amount is not None
    with decimal.localcontext(prec=100):
        units = amount * 10**12
    assert units == int(units)
    return int(units)


def test_precision_of_the_program_is_no_matter() -> None:
    """Sums are exact where the program rounds to three digits, and a million million tokens are counted to the last."""
    usage = Usage(hit=10**12 + 1, miss=0, output=0, reasoning=0)
    with decimal.localcontext(prec=3):
        found = cost(usage)
        twice = found + found

    assert (Decimal("20000.00000002"), Decimal("40000.00000004")) == (found.cny, twice.cny)


def test_reasoning_is_output() -> None:
    """Reasoning is a part of the tokens generated and is not charged twice."""
    assert cost(replace(LARGE, reasoning=0)) == cost(LARGE)


def test_hits_cost_what_hits_cost() -> None:
    """A prompt that is all in the cache costs its tokens times the price of hits."""
    assert Decimal("0.02") == cost(Usage(hit=10**6, miss=0, output=0, reasoning=0)).cny


def test_miscounted_tokens_cost_nothing() -> None:
    """A server whose counts contradict each other cannot make a cost negative."""
    assert cost(Usage(hit=100, miss=0, output=0, reasoning=0)) == cost(Usage(hit=100, miss=-20, output=0, reasoning=0))


def test_call_across_a_boundary_is_a_range() -> None:
    """A call that begins off-peak and ends at peak costs between the two; what it began with is the amount."""
    nine = at("2026-11-30T09:00+08:00")
    found, cheap, dear = cost(SMALL, start=nine - 5, end=nine), cost(SMALL), cost(SMALL, start=PEAK)

    assert "mixed" == found.tier
    assert (cheap.cny, cheap.cny, dear.cny) == (found.cny, found.cny_low, found.cny_high)
    assert (cheap.usd, cheap.usd, dear.usd) == (found.usd, found.usd_low, found.usd_high)
    assert cost(SMALL, start=nine - 5, end=nine - 0.001) == cheap


def test_call_across_two_boundaries() -> None:
    """A call over the noon break was cheap and dear, though it began and ended dear."""
    found = cost(SMALL, start=at("2026-11-30T11:59+08:00"), end=at("2026-11-30T14:01+08:00"))

    assert ("mixed", Decimal("0.00064384"), Decimal("0.00032192"), Decimal("0.00064384")) == (
        found.tier,
        found.cny,
        found.cny_low,
        found.cny_high,
    )


def test_call_across_a_change_of_prices() -> None:
    """A call that runs while a new list comes into force costs between the two lists."""
    change = at("2026-09-10T00:00+08:00")
    found = cost(LARGE, start=change - 10, end=change + 10)
    old, new = cost(LARGE, start=change - 10), cost(LARGE, start=change + 10)

    assert ("off_peak", old.cny) == (found.tier, found.cny)
    assert [(old.cny, new.cny), (old.usd, new.usd)] == [
        (found.cny_high, found.cny_low),
        (found.usd_high, found.usd_low),
    ]


def test_endless_call_has_a_cost() -> None:
    """However long a call is said to take, its cost is found in no time."""
    found = cost(SMALL, end=OFF_PEAK + 1e12)

    assert ("mixed", True) == (found.tier, found.cny_low != found.cny_high)


def test_unknown_year_is_a_range(caplog: pytest.LogCaptureFixture) -> None:
    """In peak hours of a year whose holidays are not known a cost is a range, said once for each year."""
    book, when = PriceBook.builtin(), at("2029-03-05T10:00+08:00")
    with caplog.at_level(logging.WARNING, logger="deepseek_sdk"):
        found = [cost_of(SMALL, "deepseek-flash", when + day * 86_400, when + day * 86_400, book) for day in (0, 1)]

    assert found[0] is not None
    assert (Decimal("0.00064384"), Decimal("0.00032192"), Decimal("0.00064384")) == (
        found[0].cny,
        found[0].cny_low,
        found[0].cny_high,
    )
    assert ["unknown"] * 2 == [one.tier for one in found if one is not None]
    assert 1 == len([record for record in caplog.records if "2029" in record.getMessage()])


def test_one_currency_alone(tmp_path: Path) -> None:
    """A list that has one currency gives no amount in the other; a sum with it is partial."""
    path = tmp_path / "prices.toml"
    path.write_text('as_of = 2026-11-29\n[[card]]\nmodel = "mine"\nCNY.flat = {hit = 1, miss = 1, output = 1}\n')
    mine = cost_of(SMALL, "mine", PEAK, PEAK, PriceBook.from_file(path))

    assert mine is not None
    assert (Decimal("0.00105"), None, None, None, "¥0.00105 (flat)") == (
        mine.cny,
        mine.usd,
        mine.usd_low,
        mine.usd_parts,
        str(mine),
    )
    both = mine + cost(SMALL)
    assert (Decimal("0.00137192"), Decimal("0.000048288"), True, False) == (
        both.cny,
        both.usd,
        both.is_partial,
        mine.is_partial,
    )
    assert (mine + mine).usd is None


def test_call_past_the_end_of_prices(tmp_path: Path) -> None:
    """A call that ends after its prices have ended costs what it did at its start."""
    path = tmp_path / "prices.toml"
    text = 'as_of = 2026-11-29\n[[card]]\nmodel = "mine"\nCNY.flat = {hit = 1, miss = 1, output = 1}\n'
    path.write_text(f"{text}valid_until = 2026-11-30\n")
    end = at("2026-11-30T00:00+08:00")
    found = cost_of(SMALL, "mine", end - 1, end + 1, PriceBook.from_file(path))

    assert found is not None
    assert (Decimal("0.00105"), Decimal("0.00105"), "flat") == (found.cny, found.cny_high, found.tier)


def test_free_model_costs_nothing(tmp_path: Path) -> None:
    """A price of 0 that a file gives is a price."""
    path = tmp_path / "prices.toml"
    path.write_text('as_of = 2026-11-29\n[[card]]\nmodel = "mine"\nUSD.flat = {hit = 0, miss = 0, output = 0}\n')
    mine = cost_of(SMALL, "mine", PEAK, PEAK, PriceBook.from_file(path))

    assert mine is not None
    assert (Decimal(0), "$0 (flat)") == (mine.usd, str(mine))


def test_costs_can_be_added() -> None:
    """A sum has the sums of all amounts; what differs is mixed, and what is uncertain stays so."""
    cheap, dear = cost(SMALL), replace(cost(SMALL, start=PEAK), is_estimated=True, clock_skew=-90.0, price_version="x")
    total = cheap + dear

    assert (Decimal("0.00096576"), Decimal("0.000144864")) == (total.cny, total.usd)
    assert (total.cny, total.usd) == (total.cny_high, total.usd_low)
    assert (total.cny_parts and total.cny_parts.total, total.usd_parts and total.usd_parts.total) == (
        total.cny,
        total.usd,
    )
    assert ("mixed", "mixed", True, False, -90.0) == (
        total.tier,
        total.price_version,
        total.is_estimated,
        total.is_partial,
        total.clock_skew,
    )
    assert sum([cheap, cheap, cheap]) == cheap + cheap + cheap
    with pytest.raises(TypeError):
        1 + cheap


def test_costs_print_as_money() -> None:
    """A cost prints as amounts of money, without exponents; a range as its ends."""
    nine = at("2026-11-30T09:00+08:00")

    assert "¥0.00032192 / $0.000048288 (off_peak)" == str(cost(SMALL))
    assert "¥0.00032192-0.00064384 / $0.000048288-0.000096576 (mixed)" == str(cost(SMALL, start=nine - 1, end=nine))
    assert "¥0.00000002 / $0.000000003 (off_peak)" == str(cost(Usage(hit=1, miss=0, output=0, reasoning=0)))


def test_book_says_what_it_is() -> None:
    """A book prints its version and its models, and tells its age in days of Beijing."""
    assert f"<PriceBook {BOOK.version}: deepseek-flash, deepseek-v4-pro>" == repr(BOOK)
    assert (0, 1) == tuple(BOOK.age_days(at(f"{BOOK.as_of}T00:00+08:00") + seconds) for seconds in (86_399, 86_400))


@pytest.mark.slow
def test_threads_agree() -> None:
    """Many threads that ask one book for prices of different hours get what one thread gets."""
    book = PriceBook.builtin()
    hours = [OFF_PEAK + hour * 1800 for hour in range(96)] * 20
    expected = [cost(SMALL, start=when, end=when + 60) for when in hours]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda when: cost_of(SMALL, "deepseek-flash", when, when + 60, book), hours))

    assert expected == found
