from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.index import growing
from deepseek_sdk.caching.partitions import Lacking, Partitions
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.caching.vectors import Vector
from deepseek_sdk.errors import ConfigurationError, MissingExtraError
from tests.caching.disks import LARGE, NOW_MS, key_of, meta_of, put, run_child, value_of
from tests.caching.vectors_made import questions, reworded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.caching.vectors import Candidate

D = 16
QUESTIONS = questions(2_000, D)
MANY = 200

CHILD = """
import sys
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.partitions import Partitions
from tests.caching.test_partitions import NOW_MS, D, keep
tier, partitions = DiskTier(sys.argv[1], max_bytes=2**30), Partitions(D, "e5")
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    keep(tier, partitions, number)
tier.close()
"""


def at_once(work: Callable[[], object]) -> None:
    """Do it."""
    work()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Name a directory that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def tier(directory: Path) -> Iterator[DiskTier]:
    """Open a tier with room for everything."""
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE, lock_s=5)) as tier:
        yield tier


def make(**options: Any) -> Partitions:
    """Make partitions of an embedder."""
    return Partitions(**{"dimensions": D, "fingerprint": "e5", "run": at_once, **options})


def keep(tier: DiskTier | None, partitions: Partitions, number: int, *, partition: str = "p") -> str:
    """Keep an answer with its vector; give the key."""
    key, text = key_of(number), f"问题 {number}"
    if tier is None:
        partitions.add(None, partition, key, text, QUESTIONS[number])
    else:
        beside = partitions.writing(partition, key, text, QUESTIONS[number])
        tier.put(key, value_of(key, length=100), meta_of(partition=partition), NOW_MS, beside)
    return key


def keep_many(tier: DiskTier, partitions: Partitions, count: int, *, partition: str = "p") -> None:
    """Keep answers in one transaction."""
    vectors = [Vector(key_of(number), f"问题 {number}", QUESTIONS[number]) for number in range(count)]
    write = partitions._store.writing(partition, vectors)
    tier.put_many([(v.key, value_of(v.key, length=50), meta_of(partition=partition)) for v in vectors], NOW_MS, write)


def drop(tier: DiskTier | None, partitions: Partitions, key: str) -> None:
    """Let an answer go."""
    partitions.dropped("p", key)
    if tier is not None:
        tier.delete(key)


def keys(candidates: list[Candidate]) -> list[str]:
    """Give the keys of what was found."""
    return [candidate.key for candidate in candidates]


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tier: DiskTier) -> DiskTier | None:
    """Give a disk, or none."""
    return tier if request.param == "disk" else None


def test_the_nearest_come_first(place: DiskTier | None) -> None:
    """What is found is the nearest first, with its text, its cosine and its vector; nothing of other partitions."""
    partitions = make()
    for number in range(50):
        keep(place, partitions, number, partition=f"p{number % 2}")
    found = partitions.searched(place, "p1", QUESTIONS[7], 3)
    cosines = QUESTIONS[1:50:2].astype(np.float16).astype(np.float32) @ QUESTIONS[7]
    nearest = 1 + 2 * np.argsort(-cosines)[:3]

    assert [f"问题 {number}" for number in nearest] == [candidate.text for candidate in found]
    assert sorted(cosines, reverse=True)[:3] == pytest.approx([candidate.cosine for candidate in found], abs=1e-6)
    assert key_of(7) == found[0].key
    assert not found[0].is_alias
    assert found[0].vector is not None
    assert QUESTIONS[7].astype(np.float16).astype(np.float32).tolist() == found[0].vector.tolist()
    assert [] == partitions.searched(place, "p3", QUESTIONS[7], 3)
    assert (50, True) == (partitions.rows + (25 if place else 0), partitions.bytes > 0)


def test_aliases(place: DiskTier | None) -> None:
    """An alias leads to the same answer until it is taken out; the answer's own text cannot be taken out."""
    partitions = make()
    key = keep(place, partitions, 1)
    partitions.add(place, "p", key, "别的说法", QUESTIONS[40], is_alias=True)
    found = partitions.searched(place, "p", QUESTIONS[40], 5)
    partitions.take_out(place, "p", key, "别的说法")
    partitions.take_out(place, "p", key, "问题 1")
    partitions.take_out(place, "q", key, "问题 1")

    assert [("别的说法", True, key), ("问题 1", False, key)] == [(c.text, c.is_alias, c.key) for c in found]
    assert ["问题 1"] == [c.text for c in partitions.searched(place, "p", QUESTIONS[40], 5)]


def test_a_text_has_one_vector(place: DiskTier | None) -> None:
    """What is added again takes the place of what was there."""
    partitions = make()
    key = keep(place, partitions, 1)
    partitions.searched(place, "p", QUESTIONS[1], 1)
    partitions.add(place, "p", key, "问题 1", QUESTIONS[2])

    assert [pytest.approx(1, abs=1e-3)] == [c.cosine for c in partitions.searched(place, "p", QUESTIONS[2], 5)]


def test_answers_that_are_gone(place: DiskTier | None) -> None:
    """An answer that is gone is not found, by nobody; with a disk nobody needs to say so."""
    partitions, others = make(), make()
    for number in range(20):
        keep(place, partitions, number)
    before = keys(partitions.searched(place, "p", QUESTIONS[3], 1)), keys(others.searched(place, "p", QUESTIONS[3], 1))
    if place is not None:
        place.delete(key_of(3))
    partitions.dropped("p", key_of(3))
    partitions.dropped("q", key_of(3))
    after = keys(partitions.searched(place, "p", QUESTIONS[3], 20))

    assert ([key_of(3)], [key_of(3)] if place else []) == before
    assert (19, False) == (len(after), key_of(3) in after)


@pytest.mark.slow
def test_other_processes(tier: DiskTier, directory: Path) -> None:
    """What another process adds, deletes or empties is seen by the next search."""
    partitions = make()
    keep(tier, partitions, 0)
    found = [len(partitions.searched(tier, "p", QUESTIONS[0], 100))]
    run_child(CHILD, directory, 1, 30)
    found.append(len(partitions.searched(tier, "p", QUESTIONS[0], 100)))

    assert [1, 30] == found


@pytest.mark.parametrize("gone", [0.1, 0.6, 0.95, 1.0])
def test_much_is_gone(tier: DiskTier, gone: float) -> None:
    """However much others have deleted, exactly what is left is found, and what is in memory shrinks with it."""
    writer, reader = make(), make()
    keep_many(tier, writer, MANY)
    before = len(reader.searched(tier, "p", QUESTIONS[0], 1_000))
    for number in range(int(MANY * gone)):
        tier.delete(key_of(number))
    found = reader.searched(tier, "p", QUESTIONS[0], 1_000)

    left = {key_of(number) for number in range(int(MANY * gone), MANY)}
    assert (MANY, left) == (before, set(keys(found)))
    assert len(left) <= reader.rows <= len(left) + 64


def test_the_nearest_are_all_gone(tier: DiskTier) -> None:
    """Where all that is near was deleted, what is farther is found."""
    partitions = make()
    keep_many(tier, partitions, MANY)
    near = keys(partitions.searched(tier, "p", QUESTIONS[0], 40))
    for key in near:
        tier.delete(key)

    assert 5 == len(set(keys(partitions.searched(tier, "p", QUESTIONS[0], 5))) - set(near))


def test_emptied_and_filled_again(tier: DiskTier) -> None:
    """After everything was deleted, what is kept next is found."""
    partitions = make()
    keep_many(tier, partitions, 30)
    partitions.searched(tier, "p", QUESTIONS[0], 1)
    tier.delete_where(Selection())
    empty = partitions.searched(tier, "p", QUESTIONS[0], 5), partitions.rows
    keep(tier, partitions, 8)
    keep(tier, partitions, 9)
    tier.delete_where(Selection())
    key = keep(tier, partitions, 10)

    assert ([], 0) == empty
    assert [key] == keys(partitions.searched(tier, "p", QUESTIONS[0], 5))


def test_another_database_of_the_same_name(tier: DiskTier, directory: Path) -> None:
    """Where the database was deleted, or put aside, nothing of it is found any more."""
    partitions = make()
    keep_many(tier, partitions, 30)
    partitions.searched(tier, "p", QUESTIONS[0], 1)
    for file in directory.glob("cache.db*"):
        file.unlink()
    empty = partitions.searched(tier, "p", QUESTIONS[0], 5)
    key = keep(tier, partitions, 5)

    assert ([], [key]) == (empty, keys(partitions.searched(tier, "p", QUESTIONS[0], 5)))


def test_steps(tier: DiskTier) -> None:
    """A large partition comes into memory step by step; a search does one, and finds what is there."""
    partitions = make(step_rows=60)
    keep_many(tier, partitions, MANY)
    first = len(partitions.searched(tier, "p", QUESTIONS[0], 1_000))
    steps = [partitions.load(tier, "p") for _ in range(3)]

    assert (60, [False, False, True], MANY) == (first, steps, partitions.rows)
    assert partitions.load(tier, "p")
    assert partitions.load(tier, "nothing")


def test_what_was_read_is_known_without_the_disk(tier: DiskTier) -> None:
    """Vectors that were read before are known to be there; those of other partitions, or let go of, are not."""
    partitions = make()
    keep(tier, partitions, 1)
    assert not partitions.has_of_disk("p")

    assert partitions.load(tier, "p")
    tier.close(0)
    assert (True, False, False) == (
        partitions.has_of_disk("p"),
        partitions.has_of_disk("q"),
        partitions.has_in_ram("p"),
    )
    partitions.clear()
    assert not partitions.has_of_disk("p")


def test_partitions_leave_memory(place: DiskTier | None) -> None:
    """Where there are too many vectors those leave that were not asked for longest; a disk gives them again."""
    partitions = make(max_rows=100)
    for number in range(10):
        keep(place, partitions, number, partition=f"p{number}")
        partitions.searched(place, f"p{number}", QUESTIONS[number], 1)
        partitions.searched(place, "p0", QUESTIONS[0], 1)
    held = partitions.rows
    found = [keys(partitions.searched(place, f"p{number}", QUESTIONS[number], 1)) for number in (0, 5, 9)]

    assert 5 == held
    assert [[key_of(0)], [key_of(5)] if place else [], [key_of(9)]] == found


def test_a_partition_that_is_too_large(place: DiskTier | None) -> None:
    """Of a partition with too many vectors the newest are in memory, however they came in."""
    partitions = make(max_rows=100)
    for number in range(150):
        keep(place, partitions, number)
    found = partitions.searched(place, "p", QUESTIONS[0], 1_000)
    for number in range(150, 190):
        keep(place, partitions, number)
        more = partitions.searched(place, "p", QUESTIONS[0], 1_000)

    assert {key_of(number) for number in range(50, 150)} == set(keys(found))
    assert {key_of(number) for number in range(90, 190)} <= set(keys(more))
    assert len(more) <= 125


def test_another_embedder(tier: DiskTier) -> None:
    """Vectors of another embedder are not compared; they are named once, to be made anew, and found from then on."""
    old, new = make(fingerprint="old"), make()
    key, other = keep(tier, old, 1), put(tier, 2)
    found = new.searched(tier, "p", QUESTIONS[1], 5)
    lacking = [new.foreign(tier, "p", 1), new.foreign(tier, "p", 9), new.foreign(tier, "p", 9)]
    new.add(tier, "p", key, "问题 1", QUESTIONS[30])

    assert [] == found
    assert [[Lacking(key, "问题 1", is_alias=False)], [Lacking(other, None, is_alias=False)], []] == lacking
    assert [key] == keys(new.searched(tier, "p", QUESTIONS[30], 5))
    assert [pytest.approx(1, abs=1e-3)] == [c.cosine for c in old.searched(tier, "p", QUESTIONS[1], 5)]
    new.clear()
    assert [other] == [one.key for one in new.foreign(tier, "p", 9)]


def test_the_secret(tier: DiskTier, directory: Path) -> None:
    """Who has not the secret can plant no vector, and change none."""
    partitions = make(secret=b"secret")
    keep(tier, partitions, 1)
    keep(tier, make(), 2)
    keep(tier, partitions, 3)
    with contextlib.closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as database:
        database.execute("UPDATE vector SET text = CAST('怎么退款' AS BLOB) WHERE seq = 3")

    assert [key_of(1)] == keys(partitions.searched(tier, "p", QUESTIONS[2], 5))
    assert [] == keys(make(secret=b"other").searched(tier, "p", QUESTIONS[2], 5))


def test_clearing(place: DiskTier | None) -> None:
    """What is cleared from memory is gone where there is no disk, and read again where there is one."""
    partitions = make()
    key = keep(place, partitions, 1)
    partitions.searched(place, "p", QUESTIONS[1], 1)
    partitions.clear()

    assert (0, 0) == (partitions.rows, partitions.bytes)
    assert ([key] if place else []) == keys(partitions.searched(place, "p", QUESTIONS[1], 1))


def test_clearing_during_a_search(tier: DiskTier) -> None:
    """A search that is under way finds what it was about to, and leaves nothing in memory after it was cleared."""
    partitions = make()
    key = keep(tier, partitions, 1)

    class Clearing:
        def read(self, work: Callable[[Any], Any]) -> Any:
            found = tier.read(work)
            partitions.clear()
            return found

    found = partitions.searched(cast("DiskTier", Clearing()), "p", QUESTIONS[1], 1)

    assert ([key], 0) == (keys(found), partitions.rows)


@pytest.mark.parametrize("query", [np.zeros(D + 1), np.full(D, np.nan), [], "text"])
def test_queries_that_are_none(place: DiskTier | None, query: Any) -> None:
    """A query of other dimensions, or with numbers that are none, is refused."""
    with pytest.raises(ValueError, match=r"vector|convert"):
        make().searched(place, "p", query, 1)


def test_a_disk_that_fails(tier: DiskTier) -> None:
    """What goes wrong with the disk is told as the disk tells it; later searches work."""
    partitions = make()
    key = keep(tier, partitions, 1)
    tier.close()
    with pytest.raises(StoreError):
        partitions.searched(tier, "p", QUESTIONS[1], 1)
    tier.open()

    assert [key] == keys(partitions.searched(tier, "p", QUESTIONS[1], 1))


@pytest.mark.parametrize("name", ["dimensions", "max_rows", "step_rows"])
def test_arguments(name: str) -> None:
    """What cannot be used is refused by its name."""
    with pytest.raises(ConfigurationError, match=name):
        make(**{"dimensions": D, name: 0})


def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numpy the error says what to install."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtraError, match=r"cache"):
        make()


def test_a_thread_of_its_own(tier: DiskTier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes are made anew by a thread, and not any more once the partitions are closed."""
    monkeypatch.setattr(growing, "FLAT_ROWS", 50)
    partitions = make(run=None, load_faiss=lambda: None, step_rows=40)
    keep_many(tier, partitions, MANY)
    kinds = []
    for _ in range(2):
        while not partitions.load(tier, "p"):
            pass
        partitions._worker.close()
        kinds.append(partitions._on_disk.get().get("p")._index.kind)
        partitions.close()
        partitions.clear()

    assert ["binary", "flat"] == kinds
    assert [key_of(9)] == keys(partitions.searched(tier, "p", QUESTIONS[9], 1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child(tier: DiskTier) -> None:
    """A child begins with nothing in memory, reads what is there, and disturbs nobody."""
    partitions = make()
    keep_many(tier, partitions, 20)
    partitions.searched(tier, "p", QUESTIONS[1], 1)
    pid = os.fork()
    if not pid:
        is_right = not partitions.rows and keys(partitions.searched(tier, "p", QUESTIONS[1], 1)) == [key_of(1)]
        os._exit(0 if is_right else 1)

    assert 0 == os.waitpid(pid, 0)[1]
    assert [key_of(2)] == keys(partitions.searched(tier, "p", QUESTIONS[2], 1))


def test_threads_at_once(place: DiskTier | None) -> None:
    """Threads that keep, drop and search at once get no error, and always find what stays."""
    partitions = make(max_rows=5_000)
    for number in range(20):
        keep(place, partitions, number)
    wrong: list[Any] = []

    def is_found(number: int) -> bool:
        query = reworded(QUESTIONS[number : number + 1], number, least=0.999)[0]
        return key_of(number) in keys(partitions.searched(place, "p", query, 3))

    def search(seed: int) -> None:
        wrong.extend(number % 20 for number in range(seed, seed + 60) if not is_found(number % 20))

    def change(first: int) -> None:
        for number in range(first, first + 60):
            key = keep(place, partitions, number)
            if number % 2:
                drop(place, partitions, key)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(3)]
    threads += [threading.Thread(target=change, args=(100 * n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == wrong
    assert 80 == len(partitions.searched(place, "p", QUESTIONS[0], 1_000))


def test_answers_that_left_memory() -> None:
    """Vectors of answers that left are not found any more, and partitions without any leave memory, too."""
    partitions = make()
    for number in range(40):
        keep(None, partitions, number, partition=f"p{number % 20}")
    for number in range(40):
        if number % 20:
            partitions.left(f"p{number % 20}", key_of(number))
    for place, number in (("p0", 99), ("p99", 0)):
        partitions.left(place, key_of(number))
    found = {key for n in range(20) for key in keys(partitions.searched(None, f"p{n}", QUESTIONS[n], 5))}

    assert ({key_of(0), key_of(20)}, 2) == (found, partitions.rows)
    assert (["p0"], set()) == ([*partitions._in_ram.get()._parts], partitions._left.get())
    assert [True, False] == [partitions.has_in_ram(f"p{n}") for n in range(2)]


def test_an_answer_that_comes_back() -> None:
    """What is kept again after it left is found, also where its partition had left with it."""
    partitions = make()
    for text in ("a", "b"):
        partitions.add(None, "p", "key", text, QUESTIONS[0])
        partitions.left("p", "key")
    partitions.add(None, "p", "key", "c", QUESTIONS[0])

    assert ["c"] == [one.text for one in partitions.searched(None, "p", QUESTIONS[0], 5)]


def test_answers_that_leave_and_come_at_once() -> None:
    """Threads that keep and let go in the same partition lose nothing that stays."""
    partitions = make()

    def change(first: int) -> None:
        for number in range(first, first + 100):
            key = keep(None, partitions, number)
            if number % 10:
                partitions.left("p", key)

    threads = [threading.Thread(target=change, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {key_of(n) for n in range(0, 400, 10)} == set(keys(partitions.searched(None, "p", QUESTIONS[0], 1_000)))
