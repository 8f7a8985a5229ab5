"""
How long an event loop stands still beside 50 lookups of a cache on disk at once, again and again.

A ticker wants its turn every millisecond; a pause is how much later it comes. The first line is the ticker beside 50
tasks that only wait for a thread. Times are of the wall clock, the cyclic garbage collector included.

Run: python -m tests.bench.cache_pauses [rounds]
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from deepseek_sdk import AsyncClient
from deepseek_sdk._background import Background
from deepseek_sdk._io import AsyncIO
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.testing import Emulator, EstimatedVocabulary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LOOKUPS, ROUNDS = 50, 40
# Not without a pause: a thread of SQLite would wait for the interpreter at each step.
EVERY_S = 0.001
ANSWER = "A sentence of an answer that is neither short nor long. " * 40


async def ticked(work: Callable[[int], Awaitable[object]], rounds: int) -> list[float]:
    """Do something 50 times at once, again and again; give the pauses, in milliseconds."""
    pauses: list[float] = []
    is_over = False

    async def tick() -> None:
        while not is_over:
            before = time.perf_counter_ns()
            await asyncio.sleep(EVERY_S)
            pauses.append((time.perf_counter_ns() - before) / 1e6 - EVERY_S * 1000)

    ticking = asyncio.ensure_future(tick())
    for _ in range(rounds):
        await asyncio.gather(*map(work, range(LOOKUPS)))
    is_over = True
    await ticking
    return pauses


def row(name: str, pauses: list[float]) -> None:
    """Print the pauses."""
    marks = statistics.quantiles(pauses, n=1000)
    sys.stdout.write(
        f"{name:24} p99 {marks[989]:6.2f} ms   p99.9 {marks[998]:6.2f} ms   longest {max(pauses):6.2f} ms\n"
    )


async def measure(url: str, path: str, rounds: int) -> None:
    """Keep answers, and look them up."""
    cache = ExactCache(path, memory_bytes=0)
    io = AsyncIO(Background())
    async with AsyncClient(base_url=url, api_key="k", cache=cache) as client:
        for number in range(LOOKUPS):
            body: Any = {"model": "deepseek-flash", "messages": [{"role": "user", "content": f"Question {number}"}]}
            await client.chat.completions.create(**body)
            told = await client.chat.completions.with_raw_response.create(**body)
            assert told.headers["x-deepseek-sdk-cache"] == "hit"
    keys = [row.key for row in cache.ls(limit=LOOKUPS)]

    async def look(key: str) -> None:
        await cache.store.find(io, key, cache.now_ms())

    # What the emulator and this library have loaded is not looked through again.
    gc.collect()
    gc.freeze()
    row("waiting for a thread", await ticked(lambda _: asyncio.to_thread(time.perf_counter), rounds))
    row("hits", await ticked(lambda number: look(keys[number]), rounds))
    row("misses", await ticked(lambda number: look(keys[number][::-1]), rounds))
    cache.close()


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as path, Emulator(replies=ANSWER, vocabulary=EstimatedVocabulary()) as server:
        asyncio.run(measure(server.url, f"{path}/answers", rounds))


if __name__ == "__main__":
    main()
