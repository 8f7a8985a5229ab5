"""
What it costs to tell what a call costs, in CPU microseconds.

Run: python -m tests.bench.pricing
"""

from __future__ import annotations

import email.utils
import sys
import timeit
from typing import TYPE_CHECKING

from deepseek_sdk import Usage
from deepseek_sdk._record import Record
from deepseek_sdk.pricing import PriceBook, bill
from deepseek_sdk.resilience.account import Account

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, CALLS = 20, 5_000
AT = 1_796_004_000.0  # 2026-11-30 10:00 in Beijing
USAGE = Usage(hit=896, miss=104, output=50, reasoning=0)


def call(attempts: int, *, has_date: bool) -> Record:
    """Make the record of a call with some attempts that are all billed."""
    record = Record(started=0.0, at=AT)
    for number in range(attempts):
        account = Account("https://api.deepseek.com", "deepseek-flash")
        attempt = record.begin(route="primary", model="deepseek-flash", now=float(number), account=account)
        attempt.ended, attempt.outcome, attempt.usage = number + 0.9, "complete", USAGE
    record.headers = {"date": email.utils.formatdate(AT, usegmt=True)} if has_date else None
    return record


def microseconds(run: Callable[[], object], calls: int = CALLS) -> float:
    """Return what *run* costs at its best."""
    return min(timeit.repeat(run, number=calls, repeat=ROUNDS)) / calls * 1e6


def main() -> None:
    """Print the cost of one attempt, of three, of a date that is compared, and of reading the prices."""
    book = PriceBook.builtin()
    one, three, dated = call(1, has_date=False), call(3, has_date=False), call(1, has_date=True)
    lines = {
        "one attempt": microseconds(lambda: bill(one, book)),
        "one attempt, the server's date known": microseconds(lambda: bill(dated, book)),
        "three attempts": microseconds(lambda: bill(three, book)),
        "reading the built-in prices, once for a client": microseconds(PriceBook.builtin, calls=5),
    }
    sys.stdout.writelines(f"{name:50} {cost:10.1f} us\n" for name, cost in lines.items())


if __name__ == "__main__":
    main()
