"""
What a ledger costs: a call on its way, in CPU microseconds; writing, in calls a second; and answering, in seconds.

Run: python -m tests.bench.ledger
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk.ledger import Ledger, RecentCalls
from tests.ledger.conftest import ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._record import Record

CALLS, WRITTEN = 5_000, 50_000


def quantiles(take: Callable[[Record], None], records: list[Record]) -> tuple[float, float]:
    """Return what *take* costs for one record, in the middle and at the 99th of a hundred, in CPU microseconds."""
    costs = []
    for record in records:
        before = time.thread_time_ns()
        take(record)
        costs.append((time.thread_time_ns() - before) / 1000)
    return statistics.median(costs), statistics.quantiles(costs, n=100)[98]


def line(name: str, numbers: str) -> None:
    """Print a line of the table."""
    sys.stdout.write(f"{name:50} {numbers:>24}\n")


def main() -> None:
    """Print the table."""
    records = [ended(user=f"user-{number % 100}", tags={"feature": "search"}) for number in range(CALLS)]
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory) / "ledger.sqlite3", max_waiting=WRITTEN)
        for name, take in (("ledger, a call", ledger), ("no ledger, a call", RecentCalls())):
            line(name, "p50 {:.2f} us, p99 {:.2f} us".format(*quantiles(take, records)))
        ledger.flush()
        for number in range(WRITTEN):
            ledger(ended(user=f"user-{number % 100}"))
        before, started = ledger.state().written, time.perf_counter()
        ledger.flush()
        line("writing", f"{(ledger.state().written - before) / (time.perf_counter() - started):,.0f} calls/s")
        for by in (None, "user", "model", "day"):
            started = time.perf_counter()
            count = ledger.usage(by=by).total.calls
            line(f"usage(by={by!r}) of {count:,} calls", f"{time.perf_counter() - started:.3f} s")
        ledger.close()
        line("a call in the file", f"{ledger.path.stat().st_size / count:,.0f} bytes")


if __name__ == "__main__":
    main()
