"""
How many requests each eviction policy answers, on made-up traces, beside what nobody can do better.

Entries are all of one size. A cache has room for a share of the different keys of a trace; the first tenth of a trace
warms it up and is not counted. "OPT" knows the future: Belady's rule, and it need not keep what it was just asked for.

    zipf a    the n-th most popular key is asked for in proportion to n^-a
    scan      zipf 0.9; after each 10,000 requests, 5,000 keys that come once
    onehit    zipf 0.9; 45 % of the requests are keys that come once
    drift     zipf 1.0; every 4,000 requests, 200 of the 2,000 most popular keys are replaced by new ones
    period    zipf 0.9; 30 % of the requests go round and round through 3,000 keys
    mixed     all of these, turn by turn of 1,000 requests

Run: python -m tests.bench.eviction [requests in each trace] [--plot FILE.svg]
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import itertools
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.eviction import POLICIES, policy_of
from tests.caching.eviction_shelves import InMemory, OnDisk, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.caching.eviction_shelves import Store

REQUESTS = 30_000
KEYS = 20_000
SHARES = (0.005, 0.02, 0.10)
WARM = 0.1
PROCESSES = 2
OPT = "OPT"
BASE = "lru"
# On disk each request is a transaction: one trace, and the start of it.
DISK_TRACE, DISK_SHARE, DISK_REQUESTS = "onehit", 0.10, 5_000
FLUSHES = (1, 64, 256)


class Cell(NamedTuple):
    """One policy on one trace with one cache."""

    trace: str
    share: float
    policy: str
    rate: float
    cpu_us: float


def zipf(exponent: float, rng: random.Random, name: str = "k") -> Iterator[str]:
    """Ask for keys by their popularity."""
    weights = list(itertools.accumulate(rank**-exponent for rank in range(1, KEYS + 1)))
    ranks = range(KEYS)
    while True:
        yield from (f"{name}{rank}" for rank in rng.choices(ranks, cum_weights=weights, k=1000))


def scan(rng: random.Random) -> Iterator[str]:
    """Pass over new keys now and then."""
    popular = zipf(0.9, rng)
    for turn in itertools.count():
        yield from itertools.islice(popular, 10_000)
        yield from (f"scan{turn}.{number}" for number in range(5_000))


def onehit(rng: random.Random) -> Iterator[str]:
    """Ask for many keys once."""
    return (f"once{at}" if rng.random() < 0.45 else key for at, key in enumerate(zipf(0.9, rng)))


def drift(rng: random.Random) -> Iterator[str]:
    """Change what is popular."""
    versions = [0] * KEYS
    for at, key in enumerate(zipf(1.0, rng, "")):
        if at % 4_000 == 0:
            for rank in rng.sample(range(2_000), 200):
                versions[rank] += 1
        yield f"d{key}.{versions[int(key)]}"


def period(rng: random.Random) -> Iterator[str]:
    """Ask for some keys every day."""
    days = itertools.cycle(range(3_000))
    return (f"day{next(days)}" if rng.random() < 0.30 else key for key in zipf(0.9, rng))


def mixed(rng: random.Random) -> Iterator[str]:
    """Do all of it, turn by turn."""
    parts = (zipf(0.9, rng), scan(rng), onehit(rng), drift(rng), period(rng))
    for part in itertools.cycle(parts):
        yield from itertools.islice(part, 1_000)


def traces(count: int) -> dict[str, list[str]]:
    """Write every trace; keys are hexadecimal digits, as those of the cache are."""
    chance = {name: random.Random(name) for name in ("0.7", "0.9", "1.1", *"socdpm")}  # noqa: S311  not a secret
    endless = {f"zipf {exponent}": zipf(float(exponent), chance[exponent]) for exponent in ("0.7", "0.9", "1.1")}
    endless |= {
        "scan": scan(chance["s"]),
        "onehit": onehit(chance["o"]),
        "drift": drift(chance["d"]),
        "period": period(chance["p"]),
        "mixed": mixed(chance["m"]),
    }
    return {name: [digits(key) for key in itertools.islice(keys, count)] for name, keys in endless.items()}


def digits(key: str) -> str:
    """Spread keys as the cache does."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def play(store: Store, keys: Iterable[str], flush: int = 1) -> Iterator[bool]:
    """Ask a cache for keys, and put in what it does not have; tell which it had. Hits are counted a few at a time."""
    pending: dict[str, int] = {}
    for key in keys:
        found = store.shelf.get(key) is not None
        yield found
        if not found:
            store.put(key, 1)
            continue
        pending[key] = pending.pop(key, 0) + 1
        if len(pending) >= flush:
            store.hit(pending)
            pending = {}


def rate_of(hits: Iterable[bool], count: int) -> float:
    """Give the share of hits, without the first tenth."""
    counted = list(itertools.islice(hits, int(count * WARM), None))
    return sum(counted) / len(counted)


def optimal(keys: Sequence[str], room: int) -> Iterator[bool]:
    """Keep what is asked for soonest."""
    later = next_uses(keys)
    kept: dict[str, int] = {}
    heap: list[tuple[int, str]] = []
    for at, key in enumerate(keys):
        yield key in kept
        kept[key] = later[at]
        heapq.heappush(heap, (-later[at], key))
        while len(kept) > room:
            use, farthest = heapq.heappop(heap)
            if kept.get(farthest) == -use:
                del kept[farthest]


def next_uses(keys: Sequence[str]) -> list[int]:
    """Tell for each request when its key is asked for the next time."""
    seen: dict[str, int] = {}
    later = [0] * len(keys)
    for at in range(len(keys) - 1, -1, -1):
        later[at] = seen.get(keys[at], len(keys) + at)
        seen[keys[at]] = at
    return later


def room_of(keys: Sequence[str], share: float) -> int:
    """Give the entries that a cache has room for."""
    return max(10, int(len(set(keys)) * share))


def measure(trace: str, keys: Sequence[str], share: float, policy: str) -> Cell:
    """Play a trace in memory."""
    room = room_of(keys, share)
    began = time.process_time()
    hits = optimal(keys, room) if policy == OPT else play(InMemory(room, policy_of(policy)), keys)
    rate = rate_of(hits, len(keys))
    return Cell(trace, share, policy, rate, (time.process_time() - began) / len(keys) * 1e6)


def everything(written: dict[str, list[str]], policies: Sequence[str]) -> list[Cell]:
    """Measure every cell, on two cores."""
    wanted = [
        (trace, keys, share, policy) for trace, keys in written.items() for share in SHARES for policy in policies
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        return list(pool.map(measure, *zip(*wanted, strict=True)))


def on_disk(keys: Sequence[str], policy: str, flush: int) -> float:
    """Play a trace on disk, in one transaction."""
    with tempfile.TemporaryDirectory() as directory, opened(Path(directory)) as cache, cache.transact():
        store = OnDisk(cache, room_of(keys, DISK_SHARE), policy_of(policy))
        return rate_of(play(store, keys, flush), len(keys))


def table(cells: Sequence[Cell], title: str, head: Sequence[str], shown: Any) -> Iterator[str]:
    """Write a table: a row for each trace and size, a column for each policy."""
    yield f"\n{title}\n\n| trace | cache | {' | '.join(head)} |\n|{'---|' * (2 + len(head))}"
    for trace, share in dict.fromkeys((cell.trace, cell.share) for cell in cells):
        rates = {cell.policy: cell.rate for cell in cells if (cell.trace, cell.share) == (trace, share)}
        yield f"| {trace} | {share:.1%} | {' | '.join(shown(rates, name) for name in head)} |"
    for share in SHARES:
        names = (*POLICIES, OPT)
        means = {
            name: mean(cell.rate for cell in cells if (cell.policy, cell.share) == (name, share)) for name in names
        }
        yield f"| mean | {share:.1%} | {' | '.join(shown(means, name) for name in head)} |"


def mean(values: Iterable[float]) -> float:
    """Give the mean."""
    numbers = list(values)
    return sum(numbers) / len(numbers)


def costs(cells: Sequence[Cell]) -> Iterator[str]:
    """Write what a request costs in memory."""
    yield f"\nCPU us per request, in memory\n\n| {' | '.join(POLICIES)} |\n|{'---|' * len(POLICIES)}"
    shown = (f"{mean(cell.cpu_us for cell in cells if cell.policy == name):.1f}" for name in POLICIES)
    yield f"| {' | '.join(shown)} |"


def disk_rows(keys: Sequence[str]) -> Iterator[str]:
    """Write the hit rates on disk beside those in memory."""
    heads = ["memory", *(f"disk, hits written {flush} at a time" for flush in FLUSHES)]
    yield f"\n{DISK_TRACE}, {len(keys):,} requests, cache {DISK_SHARE:.0%}\n"
    yield f"| policy | {' | '.join(heads)} |\n|{'---|' * (1 + len(heads))}"
    for name in POLICIES:
        rates = [measure(DISK_TRACE, keys, DISK_SHARE, name).rate, *(on_disk(keys, name, flush) for flush in FLUSHES)]
        yield f"| {name} | {' | '.join(f'{rate:.2%}' for rate in rates)} |"


def plot(cells: Sequence[Cell], path: Path) -> None:
    """Draw the hit rates, a panel for each size of the cache."""
    import matplotlib as mpl  # noqa: PLC0415  only to draw
    import matplotlib.pyplot as plt  # noqa: PLC0415  only to draw

    # Text as text, and the same file from the same numbers.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "eviction", "font.size": 9})
    figure, panels = plt.subplots(len(SHARES), 1, figsize=(9, 8), sharex=True, layout="constrained")
    names = list(dict.fromkeys(cell.trace for cell in cells))
    for panel, share in zip(panels, SHARES, strict=True):
        draw(panel, {(cell.trace, cell.policy): cell.rate for cell in cells if cell.share == share}, names)
        panel.set_ylabel(f"hit rate, cache {share:.1%}")
    panels[-1].set_xticks(range(len(names)), names)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def draw(panel: Any, rates: dict[tuple[str, str], float], names: Sequence[str]) -> None:
    """Draw one panel: bars for the policies, a line above them for the optimum."""
    colours = ("#0072b2", "#bbbbbb", "#e69f00", "#009e73")
    width = 0.8 / len(POLICIES)
    for number, (policy, colour) in enumerate(zip(POLICIES, colours, strict=True)):
        places = [at - 0.4 + width * (number + 0.5) for at in range(len(names))]
        panel.bar(places, [rates[name, policy] for name in names], width, label=policy, color=colour)
    best = [rates[name, OPT] for name in names]
    panel.hlines(
        best, [at - 0.4 for at in range(len(names))], [at + 0.4 for at in range(len(names))], "black", label=OPT
    )
    panel.set_ylim(0, 1)
    panel.yaxis.set_major_formatter("{x:.0%}")
    panel.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Compare eviction policies.")
    parser.add_argument("requests", type=int, nargs="?", default=REQUESTS)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    written, policies = traces(options.requests), (*POLICIES, OPT)
    cells = everything(written, policies)
    title = f"Hit rates, {options.requests:,} requests"
    others = [name for name in policies if name != BASE]
    lines = itertools.chain(
        table(cells, title, policies, lambda rates, name: f"{rates[name]:.1%}"),
        table(cells, f"As a multiple of {BASE}", others, lambda rates, name: f"{rates[name] / rates[BASE]:.2f}"),
        costs(cells),
        disk_rows(written[DISK_TRACE][:DISK_REQUESTS]),
    )
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    if options.plot:
        plot(cells, options.plot)


if __name__ == "__main__":
    main()
