"""Equal calls of several processes: they wait for each other, and for none that has died; forks, and killed leaders."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching import ExactCache
from tests.caching.cached_calls import status, until
from tests.caching.test_flight import HI, Gate, gate  # noqa: F401  a fixture among them
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    delta,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver

PROGRAM = """
import asyncio, os, sys, threading, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from deepseek_sdk import AsyncClient, Client, report
from deepseek_sdk.caching import ExactCache

URL, PATH = sys.argv[1:3]
BODY = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}

def ask(client, **more):
    found = client.chat.completions.create(**BODY, **more)
    if more.get("stream"):
        text = "".join(chunk.choices[0].delta.content or "" for chunk in found if chunk.choices)
    else:
        text = found.choices[0].message.content
    return text, report(found).cache.status
"""
ASKING = """
cache = ExactCache(PATH, claim_s=float(sys.argv[3]))
with Client(base_url=URL, api_key="test-key", cache=cache, max_retries=0) as client:
    print(*ask(client, stream=len(sys.argv) > 4))
cache.close()
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", PROGRAM + textwrap.dedent(program), *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for what it says."""
    said, complained = process.communicate(timeout=50)

    assert (0, "") == (process.returncode, complained)
    return said.strip()


@pytest.mark.slow
def test_two_processes(driver: Driver, gate: Gate, tmp_path: Path) -> None:  # noqa: F811  the fixture
    """A process that asks what another is asking waits for its answer: the server is asked once."""
    with RawServer(gate.within(ROLE, delta(content="Hé"), rest=(delta(content="llo"), FINISH, DONE))) as server:
        other = start(ASKING, server.url, tmp_path / "answers", 30, "stream")
        assert until(lambda: len(server.requests) == 1, 30)
        cache = ExactCache(tmp_path / "answers")
        client = driver.client(base_url=server.url, cache=cache)
        asking = [start(ASKING, server.url, tmp_path / "answers", 30)]
        opened = driver.together(lambda: client.chat.completions.create(**_body()), *_opening(driver, gate))
        texts = [ended(process) for process in (other, *asking)]
        cache.close()

        assert 1 == len(server.requests)
    assert "Héllo miss" == texts[0]
    assert "Héllo hit" == texts[1]
    assert ("Héllo", "hit") == (opened[0].choices[0].message.content, status(opened[0]))


def _body() -> dict[str, Any]:
    return {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}


def _opening(driver: Driver, gate: Gate) -> list[Any]:  # noqa: F811  the fixture
    """Open the gate a moment after the others have begun to wait."""

    def open_it() -> None:
        gate.is_open.wait(0.3)
        gate.is_open.set()

    async def open_async() -> None:
        from anyio import to_thread  # noqa: PLC0415  only this colour needs it

        await to_thread.run_sync(open_it)

    return [open_async if driver.is_async else open_it]


@pytest.mark.slow
def test_a_process_that_is_killed(driver: Driver, gate: Gate, tmp_path: Path) -> None:  # noqa: F811  the fixture
    """Where the process that asks is killed, another asks when its lease has ended."""
    with RawServer(gate.then(HI), HI) as server:
        other = start(ASKING, server.url, tmp_path / "answers", 1)
        assert until(lambda: len(server.requests) == 1, 30)
        other.kill()
        other.communicate()
        cache = ExactCache(tmp_path / "answers")
        client = driver.client(base_url=server.url, cache=cache)
        found = driver.create(client)
        cache.close()

        assert ("Héllo", "miss") == (found.choices[0].message.content, status(found))
        assert 2 == len(server.requests)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_fork_with_a_flight_under_way(where: str, gate: Gate, tmp_path: Path) -> None:  # noqa: F811  the fixture
    """A child knows nothing of what its parent is asking: it asks, or finds; the parent gets its answer."""
    program = """
    cache = ExactCache(PATH, claim_s=None) if sys.argv[3] == "disk" else ExactCache(max_bytes=0)
    client = Client(base_url=URL, api_key="test-key", cache=cache, max_retries=0)
    told = []
    asking = [threading.Thread(target=lambda: told.append(ask(client, stream=n == 0))) for n in range(3)]
    for thread in asking:
        thread.start()
    while sum(len(flight._seats) for flight in list(cache.flights._under_way.get().values())) < 3:
        pass
    sys.stdin.readline()
    pid = os.fork()
    if pid == 0:
        mine = ask(client)
        assert mine == ("Héllo", "miss"), mine
        assert ask(client) == ("Héllo", "hit")
        client.close()
        cache.close()
        sys.stdout.flush()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    print("child done", flush=True)
    for thread in asking:
        thread.join()
    assert sorted(where for _, where in told) == ["coalesced", "coalesced", "miss"], told
    assert {text for text, _ in told} == {"Héllo"}
    assert ask(client)[1] == "hit"
    client.close()
    cache.close()
    """
    with RawServer(gate.then(HI), HI) as server:
        process = start(program, server.url, tmp_path / "answers", where)
        assert process.stdin is not None
        assert process.stdout is not None
        assert until(lambda: len(server.requests) == 1, 30)
        print("asked", file=process.stdin, flush=True)
        assert "child done\n" == process.stdout.readline()
        gate.is_open.set()

        assert "" == ended(process)
        assert 2 == len(server.requests)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_beside_threads(tmp_path: Path) -> None:
    """Children work though other threads of their parent were in the middle of the cache when they were made."""
    program = """
    cache = ExactCache(PATH)
    client = Client(base_url=URL, api_key="test-key", cache=cache, max_retries=0)
    ask(client)
    is_over = threading.Event()

    def hammer():
        while not is_over.is_set():
            assert ask(client)[0] == "Héllo"

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    pids = []
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            import faulthandler
            faulthandler.dump_traceback_later(15, exit=True)
            ok = all(ask(client)[0] == "Héllo" for _ in range(3))
            cache.close()
            os._exit(0 if ok else 1)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    is_over.set()
    for thread in threads:
        thread.join()
    client.close()
    cache.close()
    print(*codes)
    """
    with RawServer(HI) as server:
        process = start(program, server.url, tmp_path / "answers")
        said, complained = process.communicate(timeout=55)

    assert " ".join(["0"] * 20) == said.strip(), complained
