"""
What a hit costs a caller, and what a miss costs on top of a call without a cache, in pairs within one run.

A hit is compared with the same call of bare openai over loopback to a server that answers at once: no model is as fast.

Run: python -m tests.bench.cached_calls [rounds]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk import Client
from deepseek_sdk.caching import ExactCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS, KEPT = 2_000, 100
_SERVER = Path(__file__).with_name("wire_server.py")


@contextmanager
def server() -> Iterator[str]:
    """Run the server of fixed bytes; give its URL."""
    with subprocess.Popen([sys.executable, str(_SERVER)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def asked(client: Any, number: int, **options: Any) -> None:
    """Ask, and read all of the answer."""
    messages = [{"role": "user", "content": f"question {number}"}]
    answer = client.chat.completions.create(model="deepseek-flash", messages=messages, **options)
    if options.get("stream"):
        for _ in answer:
            pass


def paired(sides: dict[str, Callable[[int], None]], rounds: int) -> dict[str, list[float]]:
    """Measure every side in every round, in microseconds."""
    costs: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, ask in sides.items():
            before = time.perf_counter_ns()
            ask(number)
            costs[name].append((time.perf_counter_ns() - before) / 1000)
    return costs


def told(title: str, costs: dict[str, list[float]]) -> None:
    """Print a table; the first side is what the others are compared with."""
    sys.stdout.write(f"{title}\n")
    base = statistics.median(next(iter(costs.values())))
    for name, each in costs.items():
        marks = statistics.quantiles(each, n=100)
        sys.stdout.write(f"  {name:34} p50 {marks[49]:8.0f} us  p99 {marks[98]:8.0f} us  x{marks[49] / base:.2f}\n")


def sides_of(clients: dict[str, Any], *, is_stream: bool) -> dict[str, Callable[[int], None]]:
    """Say what each side asks: hits one of a hundred kept questions, the others a new one each time."""
    first = 20_000_000 if is_stream else 10_000_000

    def side(name: str) -> Callable[[int], None]:
        client, is_hit = clients[name], name.startswith("hit")
        return lambda number: asked(client, number % KEPT if is_hit else first + number, stream=is_stream)

    return {name: side(name) for name in clients}


def main() -> None:
    """Print the tables."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with server() as url, tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"base_url": url, "api_key": "test-key", "max_retries": 0}
        caches = {
            "hit in memory": ExactCache(Path(folder) / "one"),
            "hit on disk": ExactCache(Path(folder) / "two", memory_bytes=0),
            "miss": ExactCache(Path(folder) / "three"),
        }
        clients: dict[str, Any] = {"bare openai": openai.OpenAI(**options), "no cache": Client(**options)}
        clients |= {name: Client(**options, cache=cache) for name, cache in caches.items()}
        for is_stream, count in ((False, rounds), (True, rounds // 10)):
            sides = sides_of(clients, is_stream=is_stream)
            paired(sides, KEPT)  # what is kept from here on is a hit
            title = "a stream of 300 chunks" if is_stream else "a plain call"
            told(title, paired(sides, count))
        for closing in (*clients.values(), *caches.values()):
            closing.close()


if __name__ == "__main__":
    main()
