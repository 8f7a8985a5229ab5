"""Cached calls that once waited for nothing: for a loop, a thread, a lock or a file that would never be free."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.layout import _alone
from tests.caching.cached_calls import in_memory, status, until
from tests.caching.disks import LARGE, NOW_MS, key_of, put, run_child, value_of
from tests.caching.test_cache_failures import caches  # noqa: F401  a fixture
from tests.caching.test_flight import BODY, HI, Gate, gate, options_for, seats  # noqa: F401  a fixture among them
from tests.raw_server import (
    RawServer,
    completion,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.caching import ExactCache
    from tests.conftest import Driver

ANSWER = whole(completion("Hi"))

# Loops and threads.

HOLDING = """
import anyio, sys
from deepseek_sdk import AsyncClient, Client, report
from deepseek_sdk.caching import ExactCache
from tests.caching.test_flight import BODY, HI, Gate, options_for
from tests.raw_server import RawServer

async def main():
    gate, told = Gate(), []
    with RawServer(gate.then(HI), HI) as server:
        options = options_for(server, ExactCache(max_bytes=0))
        async with AsyncClient(**options) as client, anyio.create_task_group() as group:
            async def lead():
                told.append((await client.chat.completions.create(**BODY)).choices[0].message.content)
            group.start_soon(lead)
            while not server.requests:
                await anyio.sleep(0.01)
            with Client(**options) as here:
                found = here.chat.completions.create(**BODY)
                print(found.choices[0].message.content, report(found).cache.status)
            gate.is_open.set()
    print(*told, len(server.requests))

anyio.run(main, backend=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_a_sync_call_that_holds_the_loop(library: str) -> None:
    """A sync call in the thread of a loop does not wait for a call that goes on there: it asks by itself."""
    # In a process of its own: what is tested here is blocking a loop.
    assert ["Héllo miss", "Héllo 2"] == run_child(HOLDING, library).splitlines()


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_all_worker_threads_wait(library: str, gate: Gate) -> None:  # noqa: F811  the fixture
    """More sync calls than the loop has threads may wait for an async one, which needs a thread to end."""
    cache = in_memory()
    told: list[str | None] = []
    with RawServer(gate.then(HI)) as server, Client(**options_for(server, cache)) as client:

        def follow() -> None:
            told.append(client.chat.completions.create(**BODY).choices[0].message.content)

        async def main() -> None:
            async with AsyncClient(**options_for(server, cache)) as leading:
                with anyio.fail_after(20):
                    async with anyio.create_task_group() as group:
                        group.start_soon(partial(leading.chat.completions.create, **BODY))
                        await waited(lambda: seats(cache) == 1)
                        for _ in range(44):
                            group.start_soon(anyio.to_thread.run_sync, follow)
                        # 40 is what anyio gives a loop.
                        await waited(lambda: seats(cache) == 41)
                        gate.is_open.set()

        anyio.run(main, backend=library)

    assert ["Héllo"] * 44 == told


async def waited(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    while not holds():  # noqa: ASYNC110  what changes is in other threads
        await anyio.sleep(0.005)


def test_a_loop_that_ends_at_once() -> None:
    """Where the loop ends before the task of a flight had its first step, those who wait elsewhere are answered."""
    cache, told = in_memory(), []
    with RawServer(HI) as server, Client(**options_for(server, cache)) as client:

        def follow() -> None:
            told.append("".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(**streamed)))

        streamed: Any = {**BODY, "stream": True}
        following = threading.Thread(target=follow, daemon=True)
        tasks: list[Any] = []

        async def begin() -> None:
            leading = AsyncClient(**options_for(server, cache))
            tasks.append(asyncio.ensure_future(leading.chat.completions.create(**streamed)))

            def hold() -> None:
                following.start()
                until(lambda: seats(cache) == 2)

            # The task begins the flight in the turn that is the loop's last; what it begins would come in the next one.
            asyncio.get_running_loop().call_soon(hold)

        asyncio.run(begin())
        following.join(10)

        assert ["Héllo"] == told
        assert {} == cache.flights._under_way.get()


# Files.


@pytest.fixture
def held(tmp_path: Path, caches: Any) -> Iterator[tuple[ExactCache, sqlite3.Connection]]:  # noqa: F811  the fixture
    """Make a cache in whose database somebody else writes, until the end or a rollback."""
    cache = caches(tmp_path / "answers")
    cache.store.disk.tier._lock_s = 2.5
    cache.store.disk.tier.open()
    with closing(sqlite3.connect(tmp_path / "answers" / "cache.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield cache, other
        if other.in_transaction:
            other.execute("ROLLBACK")


@pytest.mark.slow
def test_somebody_else_writes(driver: Driver, held: tuple[ExactCache, sqlite3.Connection]) -> None:
    """The first call waits a moment for the file, those after it do not; when it is free, all of it is written."""
    cache, other = held
    with RawServer(ANSWER) as server:
        client = driver.client(**options_for(server, cache))
        driver.create(client, "0")
        slow = cache.tally.stats().errors["slow"]
        driver.together(*(partial(driver_create, client, str(number)) for number in range(1, 31)))

        assert 1 == slow == cache.tally.stats().errors["slow"]
        assert 31 == len(server.requests)
        other.execute("ROLLBACK")
        assert until(lambda: cache.stats().entries == 31)
        assert "hit" == status(driver.create(client, "30"))


def driver_create(client: Any, prompt: str) -> Any:
    """Ask for something, in either colour."""
    return client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": prompt}])


@pytest.mark.slow
def test_what_waits_to_be_written(held: tuple[ExactCache, sqlite3.Connection]) -> None:
    """So much and no more waits for the file; closing does not wait for it one after another."""
    cache, _ = held
    disk = cache.store.disk
    written: list[str] = []
    assert disk is not None

    def write(number: int, tier: DiskTier) -> None:
        written.append(put(tier, number))

    for number in range(400):
        disk.write_soon(partial(write, number))

    assert 400 - 257 <= cache.tally.stats().errors["busy"] <= 400 - 256
    began = time.monotonic()
    cache.close()
    # One write waits for 2.5 s; 256 would for 10 minutes.
    assert time.monotonic() - began < 15
    assert [] == written


FORKING = """
import os, sqlite3, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from deepseek_sdk.caching import ExactCache
cache = ExactCache(sys.argv[1])
disk = cache.store.disk
disk.tier.open()
other = sqlite3.connect(sys.argv[1] + "/cache.db", isolation_level=None)
other.execute("BEGIN IMMEDIATE")
for _ in range(300):
    disk.write_soon(lambda tier: tier.write(lambda lane: lane.insist("DELETE FROM claim")))
before = cache.tally.stats().errors["busy"]
if os.fork() == 0:
    disk.write_soon(lambda tier: None)
    print(before > 0, cache.tally.stats().errors["busy"] - before, flush=True)
    os._exit(0)
os.wait()
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_much_waits(tmp_path: Path) -> None:
    """What waited to be written when a process was forked is no burden to the child."""
    assert "True 0\n" == run_child(FORKING, tmp_path / "answers")


def test_closed_while_in_use(
    driver: Driver,
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who closes a cache while others use it makes no failure of it: no warning, and the disk goes on at once."""
    cache = caches(tmp_path / "answers", memory_bytes=0)
    is_over = threading.Event()

    def close() -> None:
        while not is_over.wait(0.01):
            cache.close()

    closing_it = threading.Thread(target=close)
    with RawServer(ANSWER) as server, caplog.at_level(logging.WARNING, "deepseek_sdk"):
        client = driver.client(**options_for(server, cache))
        closing_it.start()
        for number in range(8):
            driver.together(*[partial(driver_create, client, str(number % 4))] * 4)
        is_over.set()
        closing_it.join()
        driver.create(client, "last")

        assert "hit" == status(driver.create(client, "last"))
    assert [] == [record.getMessage() for record in caplog.records]
    assert {"closed"} >= set(cache.tally.stats().errors)


PEER = """
import sys
from deepseek_sdk.caching.disk import DiskTier
from tests.caching.disks import *
tier = DiskTier(sys.argv[1], max_bytes=LARGE)
put(tier, int(sys.argv[2]))
tier.close(NOW_MS)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_several_on_one_directory(tmp_path: Path, caches: Any) -> None:  # noqa: F811  the fixture
    """Whoever opens a directory that this process uses takes none of its locks: others do not end its journal."""
    path = tmp_path / "answers"
    first, second, third = DiskTier(path, max_bytes=LARGE), DiskTier(path, max_bytes=LARGE), caches(path)
    put(first, 0)
    journal = (path / "cache.db-wal").stat().st_ino
    for tier in (second, third.store.disk.tier):
        tier.open()
    second.close()
    run_child(PEER, path, 1)

    assert journal == (path / "cache.db-wal").stat().st_ino
    put(first, 2)
    assert [value_of(key_of(number)) for number in range(3)] == [first.get(key_of(n), NOW_MS) for n in range(3)]
    first.close(NOW_MS)


LOCKING = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1] + "/lock.db", timeout=0, isolation_level=None)
try:
    other.execute("BEGIN EXCLUSIVE")
except sqlite3.OperationalError as error:
    print(error)
"""


@pytest.mark.slow
def test_the_lock_of_a_directory(tmp_path: Path) -> None:
    """Who waits for the lock of a directory, in the process that holds it, does not take it from others' view."""
    path = tmp_path / "answers"
    DiskTier(path, max_bytes=LARGE).open()
    with _alone(path, 1.0):
        with pytest.raises(StoreError) as raised:
            DiskTier(path, max_bytes=LARGE, lock_s=0.05).open()
        assert "locked" == raised.value.reason
        assert "database is locked\n" == run_child(LOCKING, path)
    if os.name == "posix":
        assert 0o600 == stat.S_IMODE((path / "lock.db").stat().st_mode)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_damage_is_counted(tmp_path: Path, caches: Any, when: str) -> None:  # noqa: F811  the fixture
    """A damaged file that was put aside is counted, once, whenever it was found."""
    path = tmp_path / "answers"
    tier = DiskTier(path, max_bytes=LARGE)
    put(tier, 0)
    tier.close(NOW_MS)
    cache = caches(path)
    if when == "meanwhile":
        cache.store.disk.tier.open()
    (path / "cache.db").write_bytes(b"x" * 8192)
    (path / "cache.db-wal").unlink(missing_ok=True)
    with RawServer(ANSWER) as server, Client(**options_for(server, cache)) as client:
        for number in range(3):
            driver_create(client, str(number))
        assert "hit" == status(driver_create(client, "2"))

    assert 1 == cache.tally.stats().errors["damaged"]


BROKEN = """
import sys
sys.modules["deepseek_sdk.caching.lane"] = None
from deepseek_sdk.caching.disk import DiskTier
try:
    DiskTier(sys.argv[1], max_bytes=1)
except ImportError as error:
    print(type(error).__name__, error.name)
"""


@pytest.mark.slow
def test_something_else_cannot_be_imported(tmp_path: Path) -> None:
    """What is broken is not told as a package to install."""
    assert "ModuleNotFoundError deepseek_sdk.caching.lane\n" == run_child(BROKEN, tmp_path)


CROWD = """
import os, sys
from deepseek_sdk import Client
from deepseek_sdk.caching import ExactCache
from tests.caching.kept_answers import *
go, start = os.pipe()
children = []
for child in range(16):
    if (pid := os.fork()) == 0:
        os.close(start)
        os.read(go, 1)
        cache = ExactCache(sys.argv[1])
        keep(cache, entry_of(child))
        ours = found(cache, key_of(child)) is not None
        cache.close()
        os._exit(0 if ours and not cache.tally.stats().errors.keys() - {"slow"} else 1)
    children.append(pid)
os.close(start)
print([os.waitpid(pid, 0)[1] for pid in children].count(0), ExactCache(sys.argv[1]).stats().entries)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_many_processes_begin_at_once(tmp_path: Path) -> None:
    """Processes that make one directory at the same moment do not complain of each other."""
    assert "16 16\n" == run_child(CROWD, tmp_path / "answers")
