"""Similar questions and the disk: several caches and processes, forks, other embedders, and what others have kept."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk.caching import ExactCache
from tests.caching.cached_calls import Wall, until
from tests.caching.disks import is_sound, run_child
from tests.caching.test_cache_failures import WRONG
from tests.caching.wordings import (
    AGAIN,
    ASKED,
    LATER,
    NEAR,
    OPEN,
    OPENED,
    SAME,
    Meanings,
    Scored,
    ask,
    decided,
    semantic,
    settled,
)
from tests.conftest import Driver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import StartEmulator

ANSWER = "在订单页点“退款”。"


def eventually_hits(driver: Driver, client: Any, text: str = SAME) -> bool:
    """Ask until there is a hit: vectors are made in the background."""
    return until(lambda: "semantic" == ask(driver, client, text, cache="no-store").tier)


def test_two_caches(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What one client keeps another finds, at once, where both use the same directory; feedback holds for both."""
    server = emulator(replies=ANSWER)
    wall = Wall()
    caches = [semantic(tmp_path / "cache", wall=wall) for _ in range(2)]
    one, other = (driver.client(base_url=server.url, cache=cache) for cache in caches)
    # The other one has looked before there was anything.
    before = decided(driver, other, NEAR, cache="no-store").reason
    ask(driver, one)
    found = ask(driver, other, SAME)

    assert ("no_candidate", "semantic", "disk") == (before, found.tier, found.level)
    driver.call(one.cache.veto, ASKED, AGAIN)
    settled(caches[0])
    # What others have learnt is looked for once in a second.
    wall.forward(2)
    assert "vetoed" == decided(driver, other, AGAIN, cache="no-store").reason
    assert "semantic" == ask(driver, other, LATER).tier


def test_opened_again(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What was kept, approved and forbidden is known when the cache is opened again."""
    server = emulator(replies=ANSWER)
    cache = semantic(tmp_path / "cache", judge=lambda _: True, policy=Scored())
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    driver.call(client.cache.veto, ASKED, AGAIN)
    cache.close()
    again = semantic(tmp_path / "cache", policy=Scored())
    client = driver.client(base_url=server.url, cache=again)

    assert ["served", "vetoed"] == [decided(driver, client, text, cache="no-store").reason for text in (SAME, AGAIN)]
    again.close()
    # A client that is still used opens it again.
    assert "semantic" == ask(driver, client, LATER).tier


def test_closed_in_memory(driver: Driver, emulator: StartEmulator) -> None:
    """A cache in memory that one of its clients closes still finds for the others what it holds."""
    cache = semantic()
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    ask(driver, client)
    cache.close()

    assert ["exact", "semantic"] == [ask(driver, client, text).tier for text in (ASKED, SAME)]


def test_another_embedder(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Vectors of another embedder are never compared; what was kept gets new ones when it is first looked for."""
    server = emulator(replies=ANSWER)
    first = semantic(tmp_path / "cache")
    ask(driver, driver.client(base_url=server.url, cache=first))
    settled(first)
    first.close()
    second = semantic(tmp_path / "cache", embedder=Meanings("others"))
    client = driver.client(base_url=server.url, cache=second)
    found = decided(driver, client, cache="no-store")

    assert ("no_candidate", 0) == (found.reason, found.candidates)
    assert eventually_hits(driver, client)
    second.close()
    with closing(sqlite3.connect(tmp_path / "cache" / "cache.db")) as database:
        assert is_sound(database)
        assert 2 == database.execute("SELECT count(*) FROM vector").fetchone()[0]


@pytest.mark.parametrize("context", ["system_only", "window:2"])
def test_another_embedder_in_a_context(driver: Driver, emulator: StartEmulator, tmp_path: Path, context: str) -> None:
    """The same holds where only a part of the conversation counts."""
    server = emulator(replies=ANSWER)
    before = [{"role": "user", "content": "在吗"}, {"role": "assistant", "content": "在的。"}]
    for name in ("first", "second"):
        cache = semantic(tmp_path / "cache", embedder=Meanings(name), context=context)
        client = driver.client(base_url=server.url, cache=cache)
        if name == "first":
            ask(driver, client, messages=[*before, {"role": "user", "content": ASKED}])
            settled(cache)
            cache.close()

    body: dict[str, Any] = {"messages": [*before, {"role": "user", "content": SAME}]}
    assert until(lambda: "semantic" == ask(driver, client, cache="no-store", **body).tier)


def test_what_an_exact_cache_kept(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What was kept without vectors gets them when it is first looked for, but for what may not have any."""
    server = emulator(replies=ANSWER)
    exact = driver.client(base_url=server.url, cache=ExactCache(tmp_path / "cache"))
    for text in (ASKED, "我的订单到哪里了"):
        ask(driver, exact, text)
    cache = semantic(tmp_path / "cache")
    client = driver.client(base_url=server.url, cache=cache)

    assert "exact" == ask(driver, client).tier
    assert eventually_hits(driver, client)
    assert "below" == decided(driver, client, "订单到哪了", cache="no-store").reason


def test_an_earlier_version(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """A database that an earlier version made has no tables for vectors: it gets them, and what it holds is found."""
    server = emulator(replies=ANSWER)
    exact = ExactCache(tmp_path / "cache")
    ask(driver, driver.client(base_url=server.url, cache=exact))
    exact.close()
    with closing(sqlite3.connect(tmp_path / "cache" / "cache.db")) as database:
        for kind in ("trigger", "index", "table"):
            named = "SELECT name FROM sqlite_master WHERE type = ? AND (name LIKE 'vector%' OR name LIKE 'learnt%')"
            for (name,) in database.execute(named, (kind,)).fetchall():
                database.execute(f"DROP {kind} {name}")
        database.commit()
    client = driver.client(base_url=server.url, cache=semantic(tmp_path / "cache"))

    assert "exact" == ask(driver, client).tier
    assert eventually_hits(driver, client)


def test_signed(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Vectors are signed as answers are: those of somebody without the secret are not compared."""
    server = emulator(replies=ANSWER)
    for secret, told in (("甲", "no_candidate"), ("甲", "served"), ("乙", "no_candidate")):
        cache = semantic(tmp_path / "cache", secret=secret)
        client = driver.client(base_url=server.url, cache=cache)
        assert told == decided(driver, client, ASKED if told != "served" else SAME, cache=None).reason
        settled(cache)
        cache.close()


KEEPING = """
import sys
from pathlib import Path
from deepseek_sdk import Client, report
from tests.caching.wordings import ASKED, semantic, settled

cache = semantic(Path(sys.argv[1]))
with Client(base_url=sys.argv[2], api_key="test-key", cache=cache) as client:
    said = [{"role": "user", "content": ASKED}]
    answer = client.chat.completions.create(model="deepseek-flash", messages=said)
    print(report(answer).cache.status)
settled(cache)
cache.close()
"""


@pytest.mark.slow
def test_two_processes(emulator: StartEmulator, tmp_path: Path) -> None:
    """What one process keeps another finds."""
    server, driver = emulator(replies=ANSWER), Driver("sync")
    client = driver.client(base_url=server.url, cache=semantic(tmp_path / "cache"))
    before = decided(driver, client, NEAR, cache="no-store").reason

    assert ("no_candidate", "miss\n") == (before, run_child(KEEPING, tmp_path / "cache", server.url))
    assert eventually_hits(driver, client)
    driver.close()


FORKING = """
import os, sys, warnings
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from pathlib import Path
from deepseek_sdk import Client, report
from tests.caching.wordings import ASKED, AGAIN, LATER, SAME, semantic, settled

def ask(client, text):
    said = [{"role": "user", "content": text}]
    return report(client.chat.completions.create(model="deepseek-flash", messages=said)).cache.tier

for path in (Path(sys.argv[1]), None):
    cache = semantic(path)
    client = Client(base_url=sys.argv[2], api_key="test-key", cache=cache)
    told = [ask(client, ASKED), ask(client, SAME)]
    settled(cache)
    child = os.fork()
    if not child:
        # What is in memory alone stays with the parent.
        told = [ask(client, AGAIN), ask(client, LATER)]
        print("child", *told, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("parent", *told, ask(client, LATER), flush=True)
    client.close()
    cache.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork(emulator: StartEmulator, tmp_path: Path) -> None:
    """A forked child has an embedder's thread of its own, and what is on disk; what is in memory alone it has not."""
    server = emulator(replies=ANSWER)
    told = run_child(FORKING, tmp_path / "cache", server.url).splitlines()

    assert ["child semantic semantic", "parent None semantic semantic"] == told[:2]
    assert ["child None semantic", "parent None semantic semantic"] == told[2:]


def test_a_flush_by_another(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What another client has flushed is given to nobody."""
    server = emulator(replies=ANSWER)
    one, other = (driver.client(base_url=server.url, cache=semantic(tmp_path / "cache")) for _ in range(2))
    ask(driver, one)
    found = ask(driver, other, SAME)
    driver.call(one.cache.flush)

    assert ("semantic", "no_candidate") == (found.tier, decided(driver, other, AGAIN).reason)


def test_compact_export_import(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What was exported is found by similar questions where it is imported; nothing is left of what is removed."""
    server = emulator(replies=ANSWER)
    cache = semantic(tmp_path / "cache")
    here = driver.client(base_url=server.url, cache=cache)
    ask(driver, here)
    settled(cache)
    driver.call(here.cache.export, tmp_path / "answers.jsonl")
    driver.call(here.cache.compact)
    other = driver.client(base_url=server.url, cache=semantic(tmp_path / "other"))
    imported = driver.call(other.cache.import_, tmp_path / "answers.jsonl")

    assert 1 == imported.kept
    assert eventually_hits(driver, other)
    driver.call(other.cache.flush)
    other.cache.store.close()
    with closing(sqlite3.connect(tmp_path / "other" / "cache.db")) as database:
        assert is_sound(database)
        assert 0 == database.execute("SELECT count(*) FROM vector").fetchone()[0]


def test_vectors_leave_memory_with_their_answers(driver: Driver, emulator: StartEmulator) -> None:
    """In memory alone, answers that make room take their vectors along, and so do those that are invalidated."""
    cache = semantic(memory_bytes=20_000)
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    for number in range(40):
        system = {"role": "system", "content": f"s{number % 3}"}
        ask(driver, client, messages=[system, {"role": "user", "content": f"question {number} 第{number}个"}])
    settled(cache)
    ask(driver, client)
    settled(cache)
    partitions = cache.neighbours.partitions
    counts = partitions.rows - len(partitions._left.get()), cache.stats().memory_entries
    found = ask(driver, client, SAME, cache="no-store").tier
    driver.call(cache.invalidate, tenant=cache.ls()[0].tenant)

    assert counts[0] == counts[1] < 40
    assert "semantic" == found
    assert "no_candidate" == decided(driver, client, cache="no-store").reason
    assert 0 == partitions.rows


def test_a_vector_that_comes_too_late(driver: Driver, emulator: StartEmulator) -> None:
    """A vector that is made when its answer has left memory already is not kept."""
    gate = threading.Event()
    cache = semantic(embedder=Meanings(gate=gate))
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    assert cache.wait_until_ready(20)
    ask(driver, client)
    driver.call(cache.invalidate, tenant=cache.ls()[0].tenant)
    gate.set()
    settled(cache)

    assert "no_candidate" == decided(driver, client, cache="no-store").reason
    assert 0 == cache.neighbours.partitions.rows


@pytest.mark.parametrize("name", WRONG)
def test_a_disk_that_cannot_be_used(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a disk similar questions find what is in memory, as long as it is; before, the reason says so."""
    path = tmp_path / "parent" / "answers"
    path.parent.mkdir()
    WRONG[name](path)
    cache = semantic(path, memory_bytes=20_000)
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    with caplog.at_level(logging.WARNING, "deepseek_sdk"):
        first = decided(driver, client, ASKED).reason
        settled(cache)
        told = [decided(driver, client, text, cache="no-store").reason for text in (SAME, AGAIN)]
        for number in range(40):
            ask(driver, client, f"question {number} 第{number}个")
            settled(cache)

    assert ("failed", ["served", "served"]) == (first, told)
    assert "served" != decided(driver, client, SAME, cache="no-store").reason
    partitions = cache.neighbours.partitions
    assert partitions.rows - len(partitions._left.get()) == cache.stats().memory_entries < 40
    assert 2 >= len(caplog.records)


def test_a_disk_that_cannot_be_used_for_a_while(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What came while the disk could not be used is still found when it can, among what is on it."""
    cache = semantic(tmp_path / "cache")
    assert cache.store.disk is not None
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    ask(driver, client, OPEN)
    settled(cache)
    cache.store.disk.close()
    database = tmp_path / "cache" / "cache.db"
    database.rename(tmp_path / "aside")
    database.mkdir()
    told = [decided(driver, client, text).reason for text in (ASKED, SAME)]
    settled(cache)
    database.rmdir()
    (tmp_path / "aside").rename(database)
    cache.store.disk._rests_until = 0.0

    assert ["failed", "served"] == told
    assert ["served", "served"] == [decided(driver, client, t, cache="no-store").reason for t in (SAME, OPENED)]


DAMAGES = {
    "numbers": "UPDATE vector SET data = randomblob(length(data))",
    "length": "UPDATE vector SET data = x'00'",
    "signature": "UPDATE vector SET mac = x''",
    "text": "UPDATE vector SET text = CAST('别的' AS BLOB)",
    "table": "DROP TABLE vector",
    "places": "DROP TABLE vector_place",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_vectors(driver: Driver, emulator: StartEmulator, tmp_path: Path, damage: str) -> None:
    """Vectors that were damaged are made anew once the cache is opened again and looked through."""
    server = emulator(replies=ANSWER)
    first = semantic(tmp_path / "cache")
    ask(driver, driver.client(base_url=server.url, cache=first))
    settled(first)
    first.close()
    with closing(sqlite3.connect(tmp_path / "cache" / "cache.db")) as database:
        database.execute(damage)
        database.commit()
    client = driver.client(base_url=server.url, cache=semantic(tmp_path / "cache"))

    assert eventually_hits(driver, client)


def test_other_dimensions(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Where an embedder of the same name makes vectors of another length, what was kept gets such vectors."""
    server = emulator(replies=ANSWER)

    class Shorter(Meanings):
        dimensions = 100

        def _vector(self, text: str) -> Any:
            short = super()._vector(text)[:100]
            return short / np.linalg.norm(short)

    first = semantic(tmp_path / "cache")
    ask(driver, driver.client(base_url=server.url, cache=first))
    settled(first)
    first.close()
    client = driver.client(base_url=server.url, cache=semantic(tmp_path / "cache", embedder=Shorter()))

    assert eventually_hits(driver, client)
