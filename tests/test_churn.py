"""Ten thousand calls that are cancelled, broken off, closed and forgotten at random leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.stages import default_stages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.stages import Call, Proceed, Reply

ROOT = Path(__file__).parents[1]
KINDS = ("whole", "hold", "slow", "close")
MIB = 2**20
THREADS, PER_THREAD = 4, 1000
TASKS, PER_TASK = 8, 750


class Permits:
    """A stage that counts what a limiter would: one permit for each call, given back once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # hooks of forgotten streams run in the garbage collector
        self.given = 0
        self.returned: dict[int, int] = {}

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Give a permit, and take it back at the end of the call, however that comes."""
        with self._lock:
            self.given += 1
            number = self.given
        try:
            reply = await proceed(call)
        except BaseException:
            self.take_back(number)
            raise
        reply.on_end(lambda _ending, _error: self.take_back(number))
        return reply

    def take_back(self, number: int) -> None:
        """Count the return of a permit."""
        with self._lock:
            self.returned[number] = self.returned.get(number, 0) + 1

    @property
    def is_balanced(self) -> bool:
        """Every permit came back, once."""
        return self.returned == dict.fromkeys(range(1, self.given + 1), 1)


@dataclass(frozen=True)
class Use:
    """What of the process is in use."""

    sockets: int
    threads: int
    memory: int = field(compare=False)

    @classmethod
    def now(cls) -> Use:
        """Look, after collecting garbage."""
        gc.collect()
        sockets = sum(map(is_socket, Path("/proc/self/fd").iterdir()))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return cls(sockets=sockets, threads=threading.active_count(), memory=pages * os.sysconf("SC_PAGE_SIZE"))


def is_socket(descriptor: Path) -> bool:
    """Tell whether a descriptor of this process is a socket; the one that lists them is gone by now."""
    with contextlib.suppress(OSError):
        return str(descriptor.readlink()).startswith("socket:")
    return False


@pytest.fixture
def server() -> Iterator[str]:
    """Run the server for churn; give its URL."""
    command = [sys.executable, "-m", "tests.churn_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def open_connections(url: str) -> int:
    """Ask the server how many connections are open."""
    with urllib.request.urlopen(f"{url}/open") as response:  # noqa: S310  loopback
        return int(response.read())


def wait_until_closed(url: str, seconds: float = 2.0) -> int:
    """Wait until the server sees no connection any more; give how many it saw last."""
    until = time.monotonic() + seconds
    while (count := open_connections(url)) and time.monotonic() < until:
        pass
    return count


def body(kind: str) -> dict[str, Any]:
    """Give a request for a kind of answer."""
    return {"model": "m", "messages": [{"role": "user", "content": kind}]}


class Left(Exception):  # noqa: N818  leaves a block
    """Raised in the middle of a `with` block."""


def one_sync(client: Client, draw: random.Random) -> None:
    """Make a call and leave it at some point, in one of the ways there are."""
    kind, way, count = draw.choice(KINDS), draw.randrange(8), draw.randrange(4)
    completions = client.chat.completions
    if way == 0:
        completions.create(**body("whole" if kind == "hold" else kind))
    elif way == 1:
        completions.with_raw_response.create(**body(kind), stream=True)
    elif way == 2:
        with completions.with_streaming_response.create(**body(kind), stream=True) as response:
            next(response.iter_lines())
    elif way == 3:
        with contextlib.suppress(Left), completions.stream(**body(kind)) as helper:
            next(iter(helper))
            raise Left
    else:
        leave(completions.create(**body("whole" if way == 7 else kind), stream=True), way, count)


def leave(stream: Any, way: int, count: int) -> None:
    """Read some of a stream, then close it, leave its block, forget it, or read on to the end."""
    if way == 7:
        for _ in stream:
            pass
        return
    if way == 4:
        with stream:
            take(stream, count)
        return
    take(stream, count)
    if way == 5:
        stream.close()


def take(stream: Any, count: int) -> None:
    """Read some chunks; all kinds of answers begin with two."""
    for _, _ in zip(range(min(count, 2)), stream, strict=False):
        pass


async def one_async(client: AsyncClient, draw: random.Random) -> None:
    """Make a call and leave it at some point, in one of the ways there are; half of them are cancelled."""
    kind, way, delay = draw.choice((*KINDS, "silent")), draw.randrange(6), draw.expovariate(250)
    if way < 3:
        task = asyncio.create_task(consume(client, kind, is_stream=way > 0))
        await asyncio.sleep(delay)
        task.cancel()
        if draw.random() < 0.3:
            await asyncio.sleep(0)
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    elif way == 3:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await consume(client, kind, is_stream=True)
    else:
        kind = "hold" if kind == "silent" else kind
        await leave_async(await client.chat.completions.create(**body(kind), stream=True), way)


async def consume(client: AsyncClient, kind: str, *, is_stream: bool) -> None:
    """Read a whole answer."""
    answered: Any = await client.chat.completions.create(**body(kind), stream=is_stream)
    if is_stream:
        async for _ in answered:
            pass


async def leave_async(stream: Any, way: int) -> None:
    """Break out of a stream and forget it, or leave its block."""
    if way == 4:
        async for _ in stream:
            break
        return
    async with stream:
        await anext(aiter(stream))


def churn_sync(client: Client, seed: int, count: int) -> None:
    """Make many calls on this thread."""
    draw = random.Random(seed)  # noqa: S311  repeatable
    for _ in range(count):
        one_sync(client, draw)


async def churn_async(client: AsyncClient, seed: int, count: int) -> None:
    """Make many calls on tasks of this event loop."""

    async def worker(number: int) -> None:
        draw = random.Random(seed * 100 + number)  # noqa: S311  repeatable
        for _ in range(count):
            await one_async(client, draw)

    async with asyncio.TaskGroup() as group:
        for number in range(TASKS):
            group.create_task(worker(number))


def run_threads(client: Client, seed: int, count: int) -> None:
    """Make many calls on several threads."""
    threads = [threading.Thread(target=churn_sync, args=(client, seed + n, count)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is in use is read from /proc")
def test_threads(server: str) -> None:
    """Four thousand calls on four threads: sockets, threads, permits and memory are where they were."""
    permits = Permits()
    before = Use.now()
    client = Client(base_url=server, api_key="k", max_retries=0, stages=[permits, *default_stages()])
    run_threads(client, 1, PER_THREAD // 10)
    warm = Use.now()
    run_threads(client, 10, PER_THREAD)
    full = Use.now()
    client.close()
    after = Use.now()

    assert permits.is_balanced
    assert before == after
    assert 0 == wait_until_closed(server)
    # The client and the pipeline fill a memory of the last 10,000 calls each.
    assert full.memory - warm.memory < 20 * MIB
    tell("threads", permits, warm, full)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is in use is read from /proc")
def test_tasks(server: str) -> None:
    """Six thousand calls on eight tasks, half of them cancelled: nothing is left of them but a warm pool."""
    permits = Permits()
    used: list[Use] = []

    # Not inside the loop: the first client of a process loads modules from disk.
    made = AsyncClient(base_url=server, api_key="k", max_retries=0, stages=[permits, *default_stages()])

    async def main() -> tuple[int, int]:
        async with made as client:
            await churn_async(client, 1, PER_TASK // 10)
            used.append(Use.now())
            await churn_async(client, 2, PER_TASK)
            used.append(Use.now())
            await asyncio.sleep(0.1)
            transport: Any = client._client._transport
            pool = transport._pools.get().all()[0][1].transport._pool
            return len(asyncio.all_tasks()), len(pool._requests)

    before = Use.now()
    left = asyncio.run(main())
    after = Use.now()

    assert (1, 0) == left
    assert permits.is_balanced
    assert before == after
    assert 0 == wait_until_closed(server)
    assert used[1].memory - used[0].memory < 20 * MIB
    tell("tasks", permits, *used)


def tell(name: str, permits: Permits, warm: Use, full: Use) -> None:
    """Say what was measured; pytest shows it with -s."""
    grown = (full.memory - warm.memory) / MIB
    sys.stdout.write(
        f"\n{name}: {permits.given} calls, {full.sockets} sockets, {full.threads} threads, {grown:+.1f} MiB\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is in use is read from /proc")
def test_children_cost_nothing() -> None:
    """Ten thousand children made by `with_options()` take no memory once they are gone, and open nothing."""
    client = Client(api_key="k")
    for n in range(100):
        client.with_options(timeout=n % 7 + 1)
    before = Use.now()
    for n in range(10_000):
        client.with_options(timeout=n % 7 + 1, session_id=f"user-{n}")
    after = Use.now()
    client.close()

    assert before == after
    assert after.memory - before.memory < 5 * MIB


def test_children_share(server: str) -> None:
    """Children use the connections of their parent, and its stages."""
    permits = Permits()
    with Client(base_url=server, api_key="k", stages=[permits]) as client:
        for n in range(5):
            client.with_options(timeout=n + 1).chat.completions.create(**body("whole"))

        assert 1 == open_connections(server)
    assert (5, True) == (permits.given, permits.is_balanced)
