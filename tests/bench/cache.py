"""
What a cache on disk costs: opening it, hits and misses, writing, and room; with 100,000 records of about 2.8 kB.

A lookup here is a lookup of the disk alone; what a hit costs a caller comes on top. "Cold" is after opening, with
nothing in the memory of SQLite; the system may have the file in its own. Times are of the wall clock.

Run: python -m tests.bench.cache [records]
"""

from __future__ import annotations

import hashlib
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk.caching.disk import DiskTier, Meta
from deepseek_sdk.caching.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

RECORDS, LOOKUPS, WRITES = 100_000, 20_000, 2_000
VALUE_BYTES, BATCH = 2_800, 2_000
MAX_BYTES = 2**40
NOW_MS = 1_700_000_000_000


def key_of(number: int) -> str:
    """Give the key of a record."""
    return hashlib.sha256(b"%d" % number).hexdigest()


def meta_of(number: int) -> Meta:
    """Say what is known of a record."""
    tags = {"feature": f"feature-{number % 7}"}
    tenant = f"{number % 10:064d}"
    return Meta(
        "deepseek-flash", "deepseek-flash", tenant, tags, key_of(number), NOW_MS + number, 2 * NOW_MS, 2 * NOW_MS
    )


def records(numbers: Iterable[int], rng: random.Random) -> Iterator[tuple[str, bytes, Meta]]:
    """Make up records; their bytes stand for answers that are packed already."""
    for number in numbers:
        yield key_of(number), rng.randbytes(rng.randrange(VALUE_BYTES // 2, VALUE_BYTES * 3 // 2)), meta_of(number)


def fill(tier: DiskTier, count: int, rng: random.Random) -> float:
    """Write records in large transactions; give how long that takes, in seconds."""
    started = time.perf_counter()
    for first in range(0, count, BATCH):
        tier.put_many(records(range(first, min(count, first + BATCH)), rng), NOW_MS)
    return time.perf_counter() - started


def timed(work: Callable[[str], object], keys: Iterable[str]) -> list[float]:
    """Give how long *work* takes for each key, in microseconds."""
    costs = []
    for key in keys:
        before = time.perf_counter_ns()
        work(key)
        costs.append((time.perf_counter_ns() - before) / 1000)
    return costs


def line(name: str, numbers: str) -> None:
    """Print a line of the table."""
    sys.stdout.write(f"{name:44} {numbers}\n")


def row(name: str, costs: list[float]) -> None:
    """Print how long something takes."""
    marks = statistics.quantiles(costs, n=1000)
    line(name, f"p50 {marks[499]:8.1f} us   p99 {marks[989]:8.1f} us   p99.9 {marks[998]:9.1f} us")


def opened(directory: Path) -> tuple[DiskTier, float]:
    """Open a directory; give how long that takes, with a first lookup, in seconds."""
    started = time.perf_counter()
    tier = DiskTier(directory, max_bytes=MAX_BYTES)
    tier.open()
    tier.get(key_of(0), NOW_MS)
    return tier, time.perf_counter() - started


def measure(directory: Path, count: int, rng: random.Random) -> None:
    """Fill a directory and print the table."""
    tier, seconds = opened(directory)
    line("making the directory", f"{seconds * 1000:.1f} ms")
    line(f"filling it, {BATCH:,} at a time", f"{count / fill(tier, count, rng):,.0f} records/s")
    tier.close(NOW_MS)
    path = directory / "cache.db"
    line("a record on disk", f"{path.stat().st_size / count:,.0f} bytes (values {VALUE_BYTES:,} on average)")
    tier, seconds = opened(directory)
    line(f"opening {count:,} records", f"{seconds * 1000:.1f} ms")
    line("a record by the cache's own account", f"{tier.totals().bytes / count:,.0f} bytes")
    tier.close()
    worker = Worker("bench")
    tier = DiskTier(directory, max_bytes=MAX_BYTES, when_due=lambda: worker.submit(tier.write_hits, NOW_MS))
    keys = [key_of(rng.randrange(count)) for _ in range(LOOKUPS)]
    clock = iter(range(NOW_MS, NOW_MS + 10 * LOOKUPS))
    row("hit, cold", timed(lambda key: tier.get(key, next(clock)), keys[: LOOKUPS // 10]))
    row("hit", timed(lambda key: tier.get(key, next(clock)), keys))
    row("miss", timed(lambda key: tier.get(key, NOW_MS), (key_of(count + number) for number in range(LOOKUPS))))
    new = records(range(count, count + WRITES), rng)
    row("put", timed(lambda _: tier.put(*next(new), NOW_MS), ("",) * WRITES))
    worker.close()
    tier.close(NOW_MS)
    # From here on each write has to make room.
    tier = DiskTier(directory, max_bytes=count * VALUE_BYTES)
    started = time.perf_counter()
    gone = tier.compact(NOW_MS)
    line(f"evicting {gone:,} records", f"{gone / (time.perf_counter() - started):,.0f} records/s")
    new = records(range(count + WRITES, count + 2 * WRITES), rng)
    row("put, with eviction", timed(lambda _: tier.put(*next(new), NOW_MS), ("",) * WRITES))
    tier.close(NOW_MS)


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    with tempfile.TemporaryDirectory() as directory:
        measure(Path(directory) / "cache", count, random.Random(1))  # noqa: S311  reproducible


if __name__ == "__main__":
    main()
