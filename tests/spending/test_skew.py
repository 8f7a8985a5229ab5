"""Machines whose clock is wrong: budgets of money go by the server's, as reports do."""

from __future__ import annotations

import email.utils
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import report
from deepseek_sdk._record import Record
from deepseek_sdk._usage import Usage
from deepseek_sdk.errors import BudgetExceededError
from deepseek_sdk.pricing import PriceBook, bill, cost_of
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.spending.reckoning import Bill, Need, Reckoner
from deepseek_sdk.testing import Reply
from deepseek_sdk.testing.scripted import make_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

HOUR, YEAR = 3600.0, 365 * 86_400.0
EARLY, LATE = 10, 1000  # what a million tokens cost before the price changes, and then
ASK: dict[str, Any] = {"max_tokens": 200, "extra_body": {"thinking": {"type": "disabled"}}}
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash")

# How far the machine's clock is behind the server's: by so much the emulator's dates are ahead.
every_clock = pytest.mark.parametrize(
    "skew", [YEAR, 11 * HOUR, 0.0, -11 * HOUR, -YEAR], ids=["year_behind", "behind", "right", "ahead", "year_ahead"]
)


def card(price: int, since: float) -> str:
    """Write down that a token costs the same from an instant on, of whatever kind it is."""
    instant = datetime.fromtimestamp(since, UTC).isoformat()
    prices = ", ".join(f"{kind} = {price}" for kind in ("hit", "miss", "output"))
    return f'[[card]]\nmodel = "deepseek-flash"\nvalid_from = {instant}\nCNY.flat = {{ {prices} }}\n'


def book(folder: Path, *cards: str) -> PriceBook:
    """Read prices from a file, which counts alone."""
    path = folder / "prices.toml"
    path.write_text("as_of = 2026-11-29\nreplace = true\n" + "".join(cards))
    return PriceBook.from_file(path)


def between(skew: float) -> float:
    """Name an instant that is between what one clock shows and what the other does; or tomorrow, where both agree."""
    return float(round(time.time() + (skew / 2 or 24 * HOUR)))


def changing(folder: Path, skew: float) -> tuple[PriceBook, int]:
    """Make prices that are others by the server's clock than by this machine's; tell which are right, too."""
    return book(folder, card(EARLY, 0), card(LATE, between(skew))), LATE if skew > 0 else EARLY


def dated(skew: float) -> Callable[[object], Reply]:
    """Answer with ten words, at the server's time."""
    return lambda _: Reply(content="word " * 10, headers={"date": date(skew)})


def date(skew: float) -> str:
    """Write the server's time as answers have it."""
    return email.utils.formatdate(time.time() + skew, usegmt=True)


def reckoner(prices: PriceBook) -> Reckoner:
    """Make what reckons by a list of prices."""
    return Reckoner(partial(_cost_of, prices), None)


def _cost_of(prices: PriceBook, usage: Usage, model: str, start: float, end: float) -> Any:
    return cost_of(usage, model, start, end, prices)


def answered(prices: PriceBook, skew: float | None, model: str = "deepseek-flash") -> Record:
    """Make the record of a call that has used 1000 tokens; without a date where *skew* is None."""
    record = Record(started=0.0, price=lambda it: bill(it, prices))
    attempt = record.begin(route="", model=model, now=0.0, account=ACCOUNT)
    attempt.usage, attempt.ended, attempt.outcome = Usage(hit=0, miss=600, output=400, reasoning=0), 1.0, "complete"
    record.headers = {} if skew is None else {"date": date(skew)}
    return record


def spent(reckoner: Reckoner, record: Record, unit: str = "CNY") -> int:
    """Settle a call, all of whose attempts count."""
    settled = Bill(reckoner, [Need(unit, 1, 1)], record)
    settled._first = 0
    return settled()[0]


@every_clock
@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_what_is_spent_is_what_reports_say(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, skew: float, *, is_stream: bool
) -> None:
    """The price is that of the server's time, for both; the day is that of this machine."""
    prices, right = changing(tmp_path, skew)
    budget, begun = SpendBudget(limit=10, period="day"), time.time()
    budgets = Budgets([budget], path=tmp_path / "b.sqlite3")
    client = driver.client(base_url=emulator(replies=dated(skew)).url, spend_budget=budgets, prices=prices)
    answers = [driver.create(client, stream=is_stream, **ASK) for _ in range(3)]
    for answer in answers if is_stream else ():
        driver.stream_text(answer)
    costs, used = [report(answer).cost for answer in answers], [report(answer).usage for answer in answers]
    (state,) = budgets.state()
    budgets.close()

    assert state.spent == sum(cost.cny for cost in costs if cost is not None and cost.cny is not None)
    assert right * sum(one.prompt + one.output for one in used if one is not None) == state.spent * 1_000_000
    assert pytest.approx([skew] * 3, abs=5) == [cost.clock_skew or 0 for cost in costs if cost is not None]
    assert 0 == state.reserved
    assert state.until in (budget.period_at(begun)[1], budget.period_at(time.time())[1])


@every_clock
@pytest.mark.parametrize("per_token", [EARLY, None], ids=["another_price", "no_price"])
def test_limits_hold(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, skew: float, per_token: int | None
) -> None:
    """A limit is kept whatever the clock says, also where by that clock no price is known: one call tells the time."""
    cards = [card(LATE, between(skew) if skew > 0 else 0)]
    if skew > 0 and per_token is not None:
        cards.append(card(per_token, 0))
    server = emulator(replies=dated(skew))
    budgets = Budgets([SpendBudget(limit="0.25")], path=":memory:")
    client = driver.client(base_url=server.url, spend_budget=budgets, prices=book(tmp_path, *cards), max_retries=0)
    costs: list[Any] = []

    def ask_on() -> None:
        while len(costs) < 30:
            costs.append(report(driver.create(client, **ASK)).cost)

    with pytest.raises(BudgetExceededError):
        ask_on()

    assert len(costs) == len(server.requests) >= 1
    assert budgets.state()[0].spent == sum(cost.cny for cost in costs) > 0
    assert budgets.state()[0].spent <= 0.25


@every_clock
def test_later_calls_reserve_by_the_right_clock(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, skew: float
) -> None:
    """Once an answer has told the time, what is reserved is what it would be on a machine with a right clock."""
    reserved = []
    prices, right = changing(tmp_path, skew)
    for shown, list_of_prices in ((skew, prices), (0.0, book(tmp_path, card(right, 0)))):
        budgets = Budgets([SpendBudget(limit=10)], path=":memory:")
        url = emulator(replies=dated(shown)).url
        client = driver.client(base_url=url, spend_budget=budgets, prices=list_of_prices)
        driver.create(client, **ASK)
        stream = driver.create(client, stream=True, **ASK)
        reserved.append(budgets.state()[0].reserved)
        driver.stream_text(stream)

    assert reserved[0] == reserved[1] > 0


def test_clock_of_its_own(tmp_path: Path) -> None:
    """Budgets may have been given a clock that is right: what the machine's is behind is not added to that one."""
    prices, _ = changing(tmp_path, YEAR)
    known = reckoner(prices)
    known.skew_of(answered(prices, YEAR))
    at = [known.look_at(make_call(record=Record(started=0.0)), time.time() + ahead) for ahead in (0.0, YEAR)]

    assert at[0].need(SpendBudget(limit=1)) == at[1].need(SpendBudget(limit=1))
    assert LATE * 1_000_000 <= at[0].need(SpendBudget(limit=1)).amount


@every_clock
def test_the_last_answer_tells(tmp_path: Path, skew: float) -> None:
    """A clock may be set right while a program runs; a call without a date goes by the last that had one."""
    prices, right = changing(tmp_path, skew)
    known = reckoner(prices)
    before = known.knows_time, known.skew()

    assert (False, 0.0) == before
    assert right * 1000 * 10**6 == spent(known, answered(prices, skew)) == spent(known, answered(prices, None))
    assert pytest.approx(skew, abs=5) == known.skew()
    mended = LATE if skew < 0 else EARLY
    assert mended * 1000 * 10**6 == spent(known, answered(prices, 0.0)) == spent(known, answered(prices, None))
    assert (True, 0.0) == (known.knows_time, known.skew())


@every_clock
def test_a_model_by_another_name(tmp_path: Path, skew: float) -> None:
    """Where the server names the model as no price list does, the time that it tells counts nevertheless."""
    prices, right = changing(tmp_path, skew)

    assert right * 1000 * 10**6 == spent(reckoner(prices), answered(prices, skew, "flash-of-today"))


def test_a_server_whose_clock_is_wrong(tmp_path: Path) -> None:
    """What has no price at the server's time, and has one at this machine's, is counted by that."""
    prices, strange = book(tmp_path, card(EARLY, time.time() - YEAR)), -3 * YEAR
    known = reckoner(prices)

    assert EARLY * 1000 * 10**6 == spent(known, answered(prices, strange))
    assert None is known.look_at(make_call(), time.time()).need(SpendBudget(limit=1)).unpriced


def test_tokens_have_no_price(tmp_path: Path) -> None:
    """Budgets of tokens ask nobody for prices, nor for the time."""
    record = answered(book(tmp_path, card(EARLY, 0)), YEAR)
    asked: list[Record] = []
    record.price = asked.append

    assert 1000 == spent(Reckoner(None, None), record, "tokens")
    assert [] == asked


def test_a_call_that_cannot_be_priced_stops_no_other(tmp_path: Path) -> None:
    """What goes wrong with the cost of one call is nothing to the next."""
    prices = book(tmp_path, card(EARLY, 0))
    known, record = reckoner(prices), answered(prices, YEAR)
    record.price = lambda it: it.attempts[9]  # type: ignore[assignment,return-value]
    Bill(known, [Need("CNY", 1, 1)], record).close()

    assert 0 < known.look_at(make_call(), time.time()).need(SpendBudget(limit=1)).amount
