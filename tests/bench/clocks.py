"""
How late the clocks are: how long after its limit a call ends, in milliseconds.

Run: python -m tests.bench.clocks
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from deepseek_sdk import AsyncClient, Client, Deadlines
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT, ROUNDS = 0.3, 10
REQUEST: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
FAULTS = {
    "before headers": Fault.no_answer(),
    "behind keep-alives": Fault.keep_alive_forever(every_s=0.04),
    "in a stall": Fault.stall(after_events=3),
    "in a stall with keep-alives": Fault.stall_with_keep_alives(after_events=3, every_s=0.04),
}


def read(client: openai.OpenAI) -> float:
    """Read a stream until its clock runs out; return when its last chunk, or the call, began."""
    last = time.monotonic()
    try:
        for _ in client.chat.completions.create(**REQUEST):
            last = time.monotonic()
    except openai.APITimeoutError:
        return last
    raise AssertionError("the stream ended")


async def read_async(client: openai.AsyncOpenAI) -> float:
    """Read in the async colour."""
    last = time.monotonic()
    try:
        async for _ in await client.chat.completions.create(**REQUEST):
            last = time.monotonic()
    except openai.APITimeoutError:
        return last
    raise AssertionError("the stream ended")


def lateness(wait: Callable[[], float]) -> list[float]:
    """Return how late each of some calls ended, in milliseconds."""
    wait()
    return sorted(_late(wait) for _ in range(ROUNDS))


def _late(wait: Callable[[], float]) -> float:
    began = wait()
    return (time.monotonic() - began - LIMIT) * 1000


def main() -> None:
    """Print the table."""
    sys.stdout.write("| clock | client | median | latest |\n|---|---|---|---|\n")
    with Emulator(vocabulary=EstimatedVocabulary()) as server, asyncio.Runner() as runner:
        given: dict[str, Any] = {"base_url": server.url, "api_key": "k", "max_retries": 0}
        given["deadlines"] = Deadlines(first_token=LIMIT, stall=LIMIT)
        ours, own = Client(**given), Client(**given, http_client=httpx2.Client())
        in_async = AsyncClient(**given)
        ways: dict[str, Callable[[], float]] = {
            "sync": lambda: read(ours),
            "sync, an HTTP client of the caller's": lambda: read(own),
            "async": lambda: runner.run(read_async(in_async)),
        }
        for name, fault in FAULTS.items():
            server.faults = fault
            for way, wait in ways.items():
                late = lateness(wait)
                sys.stdout.write(f"| {name} | {way} | {statistics.median(late):.1f} ms | {late[-1]:.1f} ms |\n")


if __name__ == "__main__":
    main()
