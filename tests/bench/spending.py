"""
What budgets add to a call, in microseconds of CPU: the lower decile of rounds.

Run: python -m tests.bench.spending

"in memory": reserve and settle, while what the process holds suffices. "stage": all of the stage for a short prompt,
with DeepSeek's prices, the reply left out. "with a trip": as much for a call that has to go to the file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk._usage import Usage
from deepseek_sdk.pricing import PriceBook, cost_of
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.spending.desk import Shortage, Want
from deepseek_sdk.spending.gate import Gate
from deepseek_sdk.spending.reckoning import Bill
from deepseek_sdk.testing.scripted import make_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.pricing import Cost
    from deepseek_sdk.spending.ticket import Ticket

ROUNDS, CALLS = 40, 500
BUDGETS = (
    SpendBudget(limit=1_000_000, period="month"),
    SpendBudget(limit=1_000_000, per="user", period="day", unit="USD"),
    SpendBudget(limit=10**15, per="tenant", unit="tokens"),
)


class Bench:
    """What the stage asks, and one call that has come to its end."""

    def __init__(self, budgets: Sequence[SpendBudget], path: Path) -> None:
        self._book = PriceBook.builtin()
        self.budgets = Budgets(budgets, path=path)
        self.gate = Gate(self.budgets, self._cost_of, None, None, None)
        self.call = make_call()
        record = self.call.record
        record.user, record.tenant = "小明", "acme"
        account = Account("https://api.deepseek.com", "deepseek-flash")
        attempt = record.begin(route="", model="deepseek-flash", now=0.0, account=account)
        attempt.usage, attempt.ended, attempt.outcome = USAGE, 2.0, "complete"
        self.needs, self.wants = self.gate._asked(self.budgets, self.call, time.time())

    def _cost_of(self, usage: Usage, model: str, start: float, end: float) -> Cost | None:
        return cost_of(usage, model, start, end, self._book)

    def in_memory(self) -> None:
        """Reserve and settle."""
        self._settle(self.wants)

    def all_of_the_stage(self) -> None:
        """Look at the call, too."""
        _, wants = self.gate._asked(self.budgets, self.call, self.budgets.now())
        self._settle(wants)

    def with_a_trip(self) -> None:
        """Reserve where nothing is left in the hand."""
        for want in self.wants:
            want.purse.held, want.purse.wish, want.purse.refills = want.purse.reserved, 0, 0
        self._settle(self.wants)

    def _settle(self, wants: Sequence[Want]) -> None:
        ticket: Ticket | Shortage = self.budgets.take(wants) or self.budgets.acquire(wants)
        assert not isinstance(ticket, Shortage)
        ticket.counted = bill = Bill(self.gate._reckoner, self.needs, self.call.record)
        bill._first = 0
        ticket.end()


USAGE = Usage(hit=896, miss=104, output=50, reasoning=0)


def measure(work: Callable[[], None], calls: int) -> float:
    """Tell what one of many calls takes, in microseconds of CPU."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(calls):
            work()
        rounds.append((time.process_time() - began) / calls * 1e6)
    return statistics.quantiles(rounds, n=10)[0]


def main() -> None:
    """Print the table."""
    print(f"{'budgets':>8} {'in memory':>10} {'stage':>8} {'with a trip':>12}   microseconds")  # noqa: T201  a table
    for count in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(BUDGETS[:count], Path(folder) / "budgets.sqlite3")
            bench.in_memory()
            memory, stage = measure(bench.in_memory, CALLS), measure(bench.all_of_the_stage, CALLS)
            trip = measure(bench.with_a_trip, CALLS // 10)
            bench.budgets.close()
        print(f"{count:>8} {memory:>10.1f} {stage:>8.1f} {trip:>12.1f}")  # noqa: T201  likewise


if __name__ == "__main__":
    main()
