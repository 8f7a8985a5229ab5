"""
How fast the nearest of many vectors are found, and how often they are the same as by comparing with all.

The vectors are made up, and lie as the default embedder's do (cosines of 0.8 and more); or they are those of a file,
of which some are taken out and asked for. "recall" is how often the nearest one is found, "agreement" how often "is it
near enough?" is answered as by comparing with all, at the worst of several thresholds.

Run: python -m tests.bench.index [--counts 10000 100000] [--queries 1000] [--vectors FILE.npy] [--kinds ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deepseek_sdk.caching.index.binary import BinaryIndex
from deepseek_sdk.caching.index.faiss_threads import faiss_or_none
from deepseek_sdk.caching.index.flat import FlatIndex
from deepseek_sdk.caching.index.ivf import IvfIndex
from deepseek_sdk.caching.index.rows import Kept
from tests.caching.vectors_made import agreement, questions, reworded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from deepseek_sdk.caching.index.rows import RowIndex
    from tests.caching.vectors_made import Array

DIMENSIONS = 384
COUNTS = (10_000, 100_000)
BLOCK = 200
# What half precision may make of equal cosines.
ROUNDING = 2e-4


class Measured(NamedTuple):
    """One kind of index with one number of vectors."""

    vectors: int
    kind: str
    build_s: float
    p50_ms: float
    p99_ms: float
    cpu_p50_ms: float
    cpu_p99_ms: float
    recall: float
    agreement: float
    mib: float


def kinds(faiss: ModuleType | None) -> dict[str, Callable[[Kept], RowIndex]]:
    """Give the ways to make an index."""

    def flat(kept: Kept) -> RowIndex:
        index = FlatIndex(kept.values.shape[1])
        index.add(kept.values, kept.numbers)
        return index

    made: dict[str, Callable[[Kept], RowIndex]] = {"flat": flat, "binary, numpy": BinaryIndex}
    if faiss is not None:
        made["binary, faiss"] = lambda kept: BinaryIndex(kept, faiss=faiss)
        made["ivf, faiss"] = lambda kept: IvfIndex(kept, faiss=faiss)
    return made


def split(path: Path | None, count: int, queries: int) -> tuple[Array, Array]:
    """Give what is kept, and what is asked."""
    if path is None:
        kept = questions(count, DIMENSIONS)
        chosen = np.random.default_rng(5).integers(count, size=queries)
        return kept, reworded(kept[chosen])
    vectors = np.load(path)
    order = np.random.default_rng(5).permutation(len(vectors))
    return vectors[order[queries : queries + count]], vectors[order[:queries]]


def nearest(kept: Array, queries: Array) -> Array:
    """Give the cosine of the nearest, by comparing with all."""
    best = np.full(len(queries), -1, np.float32)
    for first in range(0, len(kept), 20_000):
        rounded = kept[first : first + 20_000].astype(np.float16).astype(np.float32)
        best = np.maximum(best, (queries @ rounded.T).max(axis=1))
    return best


def measure(name: str, make: Callable[[Kept], RowIndex], kept: Array, queries: Array, exact: Array) -> Measured:
    """Build an index, and ask it one thing after another."""
    given = Kept(np.arange(len(kept)), kept.astype(np.float16))
    started = time.perf_counter()
    index = make(given)
    built = time.perf_counter()
    walls, cpus, told = [], [], []
    for query in queries:
        wall, cpu = time.perf_counter(), time.thread_time()
        hits = index.search(query, 10)
        cpus.append(time.thread_time() - cpu)
        walls.append(time.perf_counter() - wall)
        told.append(hits[0].cosine)
    cosines = np.array(told, dtype=np.float32)
    times = [1_000 * float(np.quantile(taken, share)) for taken in (walls, cpus) for share in (0.5, 0.99)]
    return Measured(
        vectors=len(kept),
        kind=name,
        build_s=built - started,
        p50_ms=times[0],
        p99_ms=times[1],
        cpu_p50_ms=times[2],
        cpu_p99_ms=times[3],
        recall=float(np.mean(cosines >= exact - ROUNDING)),
        agreement=agreement(cosines + ROUNDING / 2, exact + ROUNDING / 2),
        mib=index.bytes / 2**20,
    )


def table(rows: Sequence[Measured]) -> str:
    """Write the measurements as Markdown."""
    lines = [
        "| vectors | index | build s | p50 / p99 ms | of CPU | recall | agreement | MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {m.vectors:,} | {m.kind} | {m.build_s:.2f} | {m.p50_ms:.2f} / {m.p99_ms:.2f} | {m.cpu_p50_ms:.2f} /"
        f" {m.cpu_p99_ms:.2f} | {m.recall:.2%} | {m.agreement:.2%} | {m.mib:.0f} |"
        for m in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--kinds", nargs="+")
    given = parser.parse_args()
    rows = []
    for count in given.counts:
        kept, queries = split(given.vectors, count, given.queries)
        exact = nearest(kept, queries)
        for name, make in kinds(faiss_or_none()).items():
            if given.kinds is None or name in given.kinds:
                rows.append(measure(name, make, kept, queries, exact))
    sys.stdout.write(table(rows))


if __name__ == "__main__":
    main()
