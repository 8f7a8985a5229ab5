"""A disk that cannot be used: calls go on without it, it is said once, and counted."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching import ExactCache
from tests.caching.cached_calls import Wall, outcome, status
from tests.raw_server import (
    RawServer,
    completion,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator


@pytest.fixture
def caches() -> Iterator[Callable[..., ExactCache]]:
    """Make caches, which are closed at the end."""
    made: list[ExactCache] = []

    def make(path: Path, **options: Any) -> ExactCache:
        made.append(ExactCache(path, **options))
        return made[-1]

    yield make
    for cache in made:
        cache.close()


def foreign_files(path: Path) -> None:
    """Put something of somebody else's there."""
    path.mkdir()
    (path / "thesis.txt").write_text("mine")


def foreign_database(path: Path) -> None:
    """Put another program's database there."""
    import sqlite3  # noqa: PLC0415  only here

    path.mkdir()
    with sqlite3.connect(path / "cache.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()


def a_file(path: Path) -> None:
    """Put a file where the directory should be."""
    path.write_text("a file")


def under_a_file(path: Path) -> None:
    """Let the parent be a file."""
    path.parent.rmdir()
    path.parent.write_text("a file")


WRONG: dict[str, Callable[[Path], None]] = {
    "foreign files": foreign_files,
    "a foreign database": foreign_database,
    "a file": a_file,
    "under a file": under_a_file,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_directory_that_is_not_ours(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """What is somebody else's stays as it is: calls go on with memory alone; that is said once, and counted."""
    path = tmp_path / "parent" / "answers"
    path.parent.mkdir()
    WRONG[name](path)
    before = sorted(tmp_path.rglob("*"))
    cache = caches(path)
    client = driver.client(base_url=emulator().url, cache=cache)
    with caplog.at_level(logging.WARNING, "deepseek_sdk"):
        told = [status(driver.create(client, prompt)) for prompt in ("a", "a", "b", "b")]

    assert ["miss", "hit", "miss", "hit"] == told
    assert before == sorted(tmp_path.rglob("*"))
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "go on without it" in warning
    assert str(path) in warning
    assert sum(cache.tally.stats().errors.values()) >= 4


@pytest.mark.parametrize("part", ["whole", "head", "middle"])
def test_a_damaged_database(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    """What is damaged is put aside, calls go on, and what they are answered is never wrong."""
    server = emulator()
    first = caches(tmp_path / "answers", memory_bytes=0)
    client = driver.client(base_url=server.url, cache=first)
    expected = [driver.create(client, f"Question {number}").choices[0].message.content for number in range(20)]
    first.close()
    file = tmp_path / "answers" / "cache.db"
    data = bytearray(file.read_bytes())
    start, end = {"whole": (0, len(data)), "head": (0, 100), "middle": (len(data) // 3, 2 * len(data) // 3)}[part]
    data[start:end] = os.urandom(end - start)
    for log in (tmp_path / "answers").glob("cache.db-*"):
        log.unlink()
    file.write_bytes(data)
    cache = caches(tmp_path / "answers", memory_bytes=0)
    again = driver.client(base_url=server.url, cache=cache)
    with caplog.at_level(logging.WARNING, "deepseek_sdk"):
        found = [driver.create(again, f"Question {number}").choices[0].message.content for number in range(20)]

    assert expected == found
    assert len(caplog.records) <= 2


def test_a_damaged_record(driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any) -> None:
    """A record that is damaged, or was put there by someone without the secret, is a miss and is replaced."""
    import sqlite3  # noqa: PLC0415  only here

    server = emulator()
    path = tmp_path / "answers"
    for secret in (None, "secret"):
        cache = caches(path / str(secret), memory_bytes=0, secret=secret)
        client = driver.client(base_url=server.url, cache=cache)
        driver.create(client)
        cache.close()
        with sqlite3.connect(path / str(secret) / "cache.db") as database:
            (value,) = database.execute("SELECT value FROM Cache").fetchone()
            wrong = value[:-1] + bytes([value[-1] ^ 1]) if secret else b"{}" + value
            database.execute("UPDATE Cache SET value = ?", (wrong,))
        database.close()

        assert ["miss", "hit"] == [status(driver.create(client)) for _ in range(2)]
        assert {"bad_record": 1} == cache.tally.stats().errors


def test_another_secret(driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any) -> None:
    """Who has another secret, or none, is given nothing that was signed with this one, nor plants anything."""
    url = emulator().url
    told = []
    for secret in ("one", "two", None, "one"):
        cache = caches(tmp_path / "answers", memory_bytes=0, secret=secret)
        told.append(status(driver.create(driver.client(base_url=url, cache=cache))))
        cache.close()

    assert ["miss"] * 4 == told


def test_removed_while_in_use(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A directory that is removed under it costs misses, and at most a warning for each kind of failure."""
    server = emulator()
    cache = caches(tmp_path / "answers", memory_bytes=0)
    client = driver.client(base_url=server.url, cache=cache)
    driver.create(client)
    shutil.rmtree(tmp_path / "answers")
    with caplog.at_level(logging.WARNING, "deepseek_sdk"):
        found = [driver.create(client, f"Question {number % 3}") for number in range(9)]

    assert [f"You said: Question {number % 3}" for number in range(9)] == [
        one.choices[0].message.content for one in found
    ]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len({message.split(":")[-1] for message in messages})
    assert len(messages) <= 2


PROGRAM = """
import json, logging, os, resource, signal, sys
from deepseek_sdk import Client, report
from deepseek_sdk.caching import ExactCache

URL, PATH = sys.argv[1:]
said = []

class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())

logging.getLogger("deepseek_sdk").addHandler(Said(logging.WARNING))
logging.getLogger("deepseek_sdk").propagate = False

def ask(client, text):
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": text}]}
    found = client.chat.completions.create(**body)
    return report(found).cache.status, found.choices[0].message.content

def end(**told):
    print(json.dumps({"said": said, "errors": dict(cache.tally.stats().errors), **told}))
"""


def run(program: str, url: str, path: Path, **options: Any) -> dict[str, Any]:
    """Run a program in a process of its own, and give what it told."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM + textwrap.dedent(program), url, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50, **options)

    assert (0, "") == (done.returncode, done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such limits here")
def test_a_full_disk(tmp_path: Path) -> None:
    """Where no file may grow any more, calls go on; what was kept is given as long as that needs no room."""
    program = """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    cache = ExactCache(PATH, memory_bytes=0)
    client = Client(base_url=URL, api_key="k", cache=cache, plain="direct")
    first = ask(client, "before")
    cache.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    told = [ask(client, f"Question {number}") for number in range(8)]
    client.close()
    end(first=first, told=told)
    """
    with RawServer(whole(completion("x" * 100_000))) as server:
        told = run(program, server.url, tmp_path / "answers")

    assert "miss" == told["first"][0]
    assert ["miss"] * 8 == [where for where, _ in told["told"]]
    assert {100_000} == {len(text) for _, text in told["told"]}
    assert 1 == len(told["said"])
    assert sum(told["errors"].values()) >= 8


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no such permissions here")
def test_a_read_only_directory(tmp_path: Path) -> None:
    """Where nothing may be written, calls go on, and that is said once."""
    program = """
    # All that is loaded when it is needed is loaded before the rights are gone.
    cache = ExactCache(PATH + "-before")
    with Client(base_url=URL, api_key="k", cache=cache, plain="direct") as client:
        ask(client, "before")
    cache.close()
    if os.geteuid() == 0:
        os.seteuid(65534)
    cache = ExactCache(PATH + "/answers")
    client = Client(base_url=URL, api_key="k", cache=cache, plain="direct")
    told = [ask(client, f"Question {number % 2}") for number in range(4)]
    client.close()
    end(told=told)
    """
    with RawServer(whole(completion("Hi"))) as server:
        directory = tmp_path / "shut"
        directory.mkdir()
        directory.chmod(0o555)
        # Whoever the child becomes has to come this far.
        for parent in (tmp_path, *tmp_path.parents[:3]):
            if parent.stat().st_uid == os.geteuid():
                parent.chmod(parent.stat().st_mode | 0o055)
        told = run(program, server.url, directory)

    assert ["miss", "miss", "hit", "hit"] == [where for where, _ in told["told"]]
    assert 1 == len(told["said"])
    assert set(told["errors"]) <= {"permission", "read_only"}


def test_two_colours_and_two_clients(driver: Driver, emulator: StartEmulator, tmp_path: Path, caches: Any) -> None:
    """What one client has kept on disk another finds, in another process as well, with its age and its name."""
    wall = Wall()
    server = emulator()
    first = driver.create(driver.client(base_url=server.url, cache=caches(tmp_path / "answers", wall=wall)))
    wall.forward(10)
    again = driver.create(driver.client(base_url=server.url, cache=caches(tmp_path / "answers", wall=wall)))

    assert first == again
    told = outcome(again)
    assert ("hit", "disk", 10.0) == (told.status, told.level, told.age)
    assert 16 == len(told.entry_id or "")
    assert 1 == len(server.requests)


def test_a_closed_client(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """A client closes the cache that is its own; one that it was given goes on."""
    server = emulator()
    cache = ExactCache(tmp_path / "answers")
    for _ in range(2):
        client = driver.client(base_url=server.url, cache=cache)
        driver.create(client)
        driver.call(client.close)
        driver._clients.remove(client)
    cache.close()

    assert 1 == len(server.requests)
    assert "hit" == status(driver.create(driver.client(base_url=server.url, cache=cache)))
    cache.close()
