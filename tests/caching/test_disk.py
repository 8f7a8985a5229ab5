from __future__ import annotations

import contextlib
import json
import os
import pickle
import sqlite3
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.disk import DiskTier, Row, Totals
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import LARGE, NOW_MS, is_sound, key_of, meta_of, put, run_child, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    StartTier = Callable[..., DiskTier]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Name a directory that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def start(directory: Path) -> Iterator[StartTier]:
    """Make tiers of one directory by calling this; they are closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> DiskTier:
            tier = DiskTier(directory, **{"max_bytes": LARGE, "lock_s": 0.2, **options})
            stack.callback(tier.close)
            return tier

        yield make


@pytest.fixture
def tier(start: StartTier) -> DiskTier:
    """Make a tier with room for everything."""
    return start()


@contextlib.contextmanager
def database_of(directory: Path) -> Iterator[sqlite3.Connection]:
    """Open the database as any other program would."""
    with contextlib.closing(sqlite3.connect(directory / "cache.db", isolation_level=None, timeout=0)) as database:
        yield database


def numbers(directory: Path, sql: str) -> list[Any]:
    """Read the first column of a query."""
    with database_of(directory) as database:
        return [row[0] for row in database.execute(sql)]


def test_records_come_back(tier: DiskTier, start: StartTier) -> None:
    """What was kept comes back as it was, in another tier of the same directory too; other keys are not there."""
    key = put(tier, 1)

    assert [value_of(key)] * 2 == [tier.get(key, NOW_MS), start().get(key, NOW_MS)]
    assert tier.get(key_of(2), NOW_MS) is None
    assert (True, False, None) == (tier.delete(key), tier.delete(key), tier.get(key, NOW_MS))


def test_overwriting_keeps_one_record(tier: DiskTier) -> None:
    """The last version of a record is the only one, with what is known of it."""
    key = put(tier, 1, tags={"a": "1"})
    tier.put(key, b"new", meta_of(tags={"中": "文"}, model="v4", expires_ms=7, size=500), NOW_MS)

    assert [Row(key, 500, "deepseek-flash", "v4", "acme", (("中", "文"),), NOW_MS, 7)] == list(tier.rows())
    assert Totals(1, 500) == tier.totals()
    assert b"new" == tier.get(key, NOW_MS)


def test_several_records_are_kept_or_none(tier: DiskTier) -> None:
    """Where one record of several cannot be kept, none is."""
    entries = [(key_of(number), b"x", meta_of()) for number in range(3)]
    with pytest.raises(TypeError, match="a value is bytes"):
        tier.put_many([*entries, (key_of(3), "text", meta_of())], NOW_MS)  # type: ignore[list-item]
    nothing = tier.totals()
    tier.put_many(entries, NOW_MS)

    assert [0, 3] == [nothing.entries, tier.totals().entries]


def test_too_large_records_are_refused(start: StartTier) -> None:
    """A record that would take more than half of the room is not kept, and nothing goes for it."""
    tier = start(max_bytes=20_000)
    key = put(tier, 1)
    with pytest.raises(ValueError, match="more than half"):
        tier.put(key_of(2), bytes(10_000), meta_of(), NOW_MS)

    assert [key] == [row.key for row in tier.rows()]


@pytest.mark.parametrize("policy", ["s3-fifo", "lru", "lfu", "lru-k"])
def test_room_is_limited(start: StartTier, directory: Path, policy: str) -> None:
    """There is never more than there is room for, and the tables stay in step."""
    tier, gone = start(max_bytes=100_000, policy=policy), 0
    for number in range(120):
        key = key_of(number)
        gone += tier.put(key, value_of(key, 0, 500 + 37 * number), meta_of(), NOW_MS)
        assert tier.totals().bytes <= 100_000
        assert value_of(key, 0, 500 + 37 * number) == tier.get(key, NOW_MS)

    assert 120 == tier.totals().entries + gone
    with database_of(directory) as database:
        assert is_sound(database)


def test_room_that_was_made_smaller(start: StartTier) -> None:
    """A directory with more in it than there is room for now is brought within it."""
    start().put_many([(key_of(n), value_of(key_of(n), 0, 9_000), meta_of()) for n in range(300)], NOW_MS)
    tier = start(max_bytes=500_000)
    gone = tier.compact(NOW_MS)

    assert 300 == gone + tier.totals().entries
    assert 400_000 < tier.totals().bytes <= 500_000


def test_expired_records_go_first(start: StartTier) -> None:
    """Where room is needed, what is past its time goes before anything else."""
    tier = start(max_bytes=20_000)
    old, *others = [put(tier, n, size=3_000, keep_ms=NOW_MS - 1 if n == 0 else None) for n in range(6)]
    tier.put(key_of(9), b"x", meta_of(size=4_000), NOW_MS)

    assert old not in {row.key for row in tier.rows()}
    assert {*others} <= {row.key for row in tier.rows()}


def test_hits_are_written_several_at_a_time(tier: DiskTier, directory: Path) -> None:
    """Hits reach the disk after a second, with the next record, and when the tier is closed."""
    key, hits = put(tier, 1), "SELECT hits FROM entry ORDER BY id"
    tier.put_many([(key_of(n), b"x", meta_of()) for n in range(100, 200)], NOW_MS)
    tier.get(key, NOW_MS)
    at_once = numbers(directory, hits)[0]
    tier.get(key, NOW_MS + 1_000)
    after_a_second = numbers(directory, hits)[0]
    tier.get(key_of(100), NOW_MS + 1_001)
    put(tier, 2)
    with_a_record = numbers(directory, hits)[1]
    tier.get(key_of(101), NOW_MS + 1_002)
    tier.close(NOW_MS + 1_003)

    assert (0, 2, 1, 1) == (at_once, after_a_second, with_a_record, numbers(directory, hits)[2])


def test_many_hits_are_written_at_once(tier: DiskTier, directory: Path) -> None:
    """Hits of a twentieth of the entries are enough to write them."""
    tier.put_many([(key_of(n), b"x", meta_of()) for n in range(100)], NOW_MS)
    for number in range(4):
        tier.get(key_of(number), NOW_MS)
    before = sum(numbers(directory, "SELECT hits FROM entry"))
    tier.get(key_of(4), NOW_MS)

    assert [0, 5] == [before, sum(numbers(directory, "SELECT hits FROM entry"))]


def test_somebody_else_may_write_hits(start: StartTier, directory: Path) -> None:
    """Whoever reads only says that it is time, and not again until a moment has passed."""
    told: list[int] = []
    tier = start(when_due=lambda: told.append(1))
    key = put(tier, 1)
    for _ in range(3):
        tier.get(key, NOW_MS)
    unwritten = numbers(directory, "SELECT hits FROM entry")

    assert ([0], [1]) == (unwritten, told)
    assert tier.write_hits(NOW_MS + 1)
    assert [3] == numbers(directory, "SELECT hits FROM entry")


def test_reading_does_not_wait_for_who_writes(start: StartTier, directory: Path) -> None:
    """While another process writes, records are read, and their hits are kept for later."""
    tier = start(lock_s=30)
    key = put(tier, 1)
    with database_of(directory) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            assert value_of(key) == tier.get(key, NOW_MS)
        assert not tier.write_hits(NOW_MS)
        other.execute("ROLLBACK")

    assert tier.write_hits(NOW_MS)
    assert [3] == numbers(directory, "SELECT hits FROM entry")


def test_reading_does_not_wait_for_a_thread_that_writes(tier: DiskTier) -> None:
    """While another thread writes, records are read, and hits are kept for later."""
    key, inside, done = put(tier, 1), threading.Event(), threading.Event()

    def hold(_: object) -> bool:
        inside.set()
        return done.wait(10)

    thread = threading.Thread(target=tier.write, args=(hold,))
    thread.start()
    inside.wait(10)
    found, is_flushed = tier.get(key, NOW_MS), tier.write_hits(NOW_MS)
    done.set()
    thread.join()

    assert (value_of(key), False) == (found, is_flushed)


def test_writing_waits_so_long(tier: DiskTier, directory: Path) -> None:
    """Where another process holds the file for longer than one waits, the record is not kept, and hits are not lost."""
    key = put(tier, 1)
    tier.get(key, NOW_MS)
    with database_of(directory) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            put(tier, 2)
        other.execute("ROLLBACK")
    tier.write_hits(NOW_MS)

    assert "locked" == caught.value.reason
    assert [1] == numbers(directory, "SELECT hits FROM entry")


def test_entries_are_listed_and_removed_in_pages(tier: DiskTier, directory: Path) -> None:
    """More entries than one page holds are listed once each, and removed, while another program reads."""
    entries = [(key_of(n), b"x", meta_of(tenant=f"t{n % 3}")) for n in range(1_300)]
    tier.put_many(entries, NOW_MS)
    rows = tier.rows()
    first = next(rows)
    put(tier, 2_000)
    listed = [first.key, *(row.key for row in rows)]
    with database_of(directory) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM entry").fetchall()
        gone = tier.delete_where(Selection(tenant="t1"))

    assert [*(key for key, *_ in entries), key_of(2_000)] == listed
    assert (433, 868) == (gone, tier.totals().entries)
    assert 867 // 2 < len(list(tier.rows(Selection(tenant="t0")))) < 868


def test_sums(tier: DiskTier) -> None:
    """Bytes are counted for all, and for each tenant."""
    empty = tier.totals()
    for number in range(4):
        put(tier, number, tenant=f"t{number % 2}", size=100 + number, created_ms=NOW_MS + number)

    assert Totals(0, 0) == empty
    assert Totals(4, 406) == tier.totals()
    assert (202, 204, 0) == tuple(tier.tenant_bytes(f"t{n}") for n in range(3))


def test_compacting(tier: DiskTier, directory: Path) -> None:
    """What is past its time goes, and its room goes back to the disk; the journal is emptied."""
    entries = [(key_of(n), bytes(20_000), meta_of(keep_ms=NOW_MS + n)) for n in range(200)]
    tier.put_many(entries, NOW_MS)
    gone = [tier.compact(NOW_MS + 189), tier.compact(NOW_MS + 189)]

    assert ([190, 0], 10) == (gone, tier.totals().entries)
    assert (directory / "cache.db").stat().st_size < 600_000
    assert 0 == (directory / "cache.db-wal").stat().st_size
    with database_of(directory) as database:
        assert is_sound(database)


def test_flushes_are_heard_of(tier: DiskTier, start: StartTier) -> None:
    """A flush told by one tier is heard by another."""
    tier.open()
    other, before = start(), tier.generation()
    other.bump()

    assert before != tier.generation() == other.generation()


@pytest.mark.skipif(os.name != "posix", reason="rights are POSIX's")
def test_files_are_closed_to_others(tier: DiskTier, directory: Path) -> None:
    """The directory and the files in it are ours alone."""
    put(tier, 1)

    assert 0o700 == stat.S_IMODE(directory.stat().st_mode)
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in directory.glob("cache.db*")}


def test_closing(tier: DiskTier) -> None:
    """A closed tier says so; it may be closed again, and opened."""
    key = put(tier, 1)
    tier.close(NOW_MS)
    tier.close(NOW_MS)
    with pytest.raises(StoreError, match="is closed") as caught:
        tier.get(key, NOW_MS)
    tier.open()

    assert ("closed", value_of(key)) == (caught.value.reason, tier.get(key, NOW_MS))


def test_unknown_policy(directory: Path) -> None:
    """A policy nobody knows is refused before anything is made."""
    with pytest.raises(ConfigurationError, match="s3-fifo"):
        DiskTier(directory, max_bytes=LARGE, policy="random")

    assert not directory.exists()


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_planted_pickle_is_a_miss(tier: DiskTier, directory: Path, tmp_path: Path) -> None:
    """A pickle in the table is never loaded: it is not there for who asks, and then it is gone."""
    bomb = pickle.dumps(Bomb(tmp_path / "boom"))
    pickle.loads(bomb)  # noqa: S301  that it would go off
    (tmp_path / "boom").unlink()
    put(tier, 1)
    put(tier, 2)
    with database_of(directory) as database:
        database.execute("UPDATE Cache SET mode = 4, value = ? WHERE key = ?", (bomb, key_of(1)))
        database.execute("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 1, 4, ?)", (key_of(3), bomb))
        database.execute("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 1, ?)", (bomb, b"x"))

    assert [None] * 3 == [tier.get(key_of(n), NOW_MS) for n in (1, 3, 3)]
    assert value_of(key_of(2)) == tier.get(key_of(2), NOW_MS)
    tier.compact(NOW_MS)
    assert [key_of(2)] == [row.key for row in tier.rows()]
    assert not (tmp_path / "boom").exists()


def test_planted_file_is_a_miss(tier: DiskTier, directory: Path, tmp_path: Path) -> None:
    """A row that names a file is no way to read it."""
    (tmp_path / "secret").write_bytes(b"secret")
    key = put(tier, 1)
    with database_of(directory) as database:
        database.execute("UPDATE Cache SET mode = 2, filename = '../secret', value = NULL")

    assert tier.get(key, NOW_MS) is None
    assert (0, b"secret") == (tier.totals().entries, (tmp_path / "secret").read_bytes())


def bad_files(directory: Path) -> list[str]:
    """Name the databases that were put aside."""
    return [path.name for path in directory.glob("cache.db.bad-*") if not path.name.endswith(("-wal", "-shm"))]


@pytest.mark.parametrize("damage", ["noise", "cut", "pages"])
def test_damaged_database_is_put_aside(
    start: StartTier, directory: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A database that is damaged while nobody has it open is renamed, said once, and a new one begins."""
    before = start()
    before.put_many([(key_of(n), value_of(key_of(n)), meta_of()) for n in range(200)], NOW_MS)
    before.close()
    path = directory / "cache.db"
    data = path.read_bytes()
    changed = {
        "noise": os.urandom(len(data)),
        "cut": data[: len(data) // 2],
        "pages": data[:100] + bytes(len(data) - 100),
    }
    path.write_bytes(changed[damage])
    tier = start()
    found = tier.get(key_of(1), NOW_MS)
    key = put(tier, 1)

    assert (None, value_of(key)) == (found, tier.get(key, NOW_MS))
    assert 1 == len(bad_files(directory)) == len(caplog.records)
    assert "is damaged" in caplog.text
    with database_of(directory) as database:
        assert is_sound(database)


def test_database_that_is_damaged_while_it_is_open(start: StartTier, directory: Path) -> None:
    """Two tiers find the damage; one puts the file aside, and both go on with the new one, of which nothing is lost."""
    one, other = start(), start()
    one.put_many([(key_of(n), value_of(key_of(n)), meta_of()) for n in range(2_000)], NOW_MS)
    one.compact(NOW_MS)
    other.get(key_of(0), NOW_MS)
    path = directory / "cache.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    found = [tier.get(key_of(n), NOW_MS) for n in range(1_000) for tier in (one, other)]
    keys = [put(one, 5_000), put(other, 5_001)]

    assert all(value is None or value == value_of(key_of(n // 2)) for n, value in enumerate(found))
    assert [value_of(key) for key in keys] * 2 == [tier.get(key, NOW_MS) for tier in (one, other) for key in keys]
    assert 1 == len(bad_files(directory))


def test_damage_that_comes_again_is_an_error(start: StartTier, directory: Path) -> None:
    """A tier that has put one file aside leaves the next one where it is."""
    tier, path = start(), directory / "cache.db"
    reasons = []
    for _ in range(3):
        with contextlib.suppress(StoreError):
            tier.open()
            put(tier, 1)
        tier.close()
        path.write_bytes(bytes(path.stat().st_size))
        try:
            tier.open()
        except StoreError as error:
            reasons.append(error.reason)

    assert (["corrupt"] * 2, 1) == (reasons, len(bad_files(directory)))


@pytest.mark.parametrize("content", [b"my thesis " * 1000, b"x"])
def test_file_of_somebody_else(start: StartTier, directory: Path, content: bytes) -> None:
    """A file that has the name of the database and is none, in a directory that never was a cache, is not touched."""
    directory.mkdir()
    (directory / "cache.db").write_bytes(content)
    with pytest.raises(StoreError) as caught:
        start().open()

    assert ("foreign", content) == (caught.value.reason, (directory / "cache.db").read_bytes())


def test_database_of_somebody_else(start: StartTier, directory: Path) -> None:
    """Another program's database is not touched."""
    directory.mkdir()
    with database_of(directory) as database:
        database.execute("CREATE TABLE Cache (mine)")
    with pytest.raises(StoreError, match="another program") as caught:
        start().open()

    assert ("foreign", ["Cache"]) == (caught.value.reason, numbers(directory, "SELECT name FROM sqlite_master"))


def test_later_version(tier: DiskTier, start: StartTier, directory: Path) -> None:
    """A directory that a later version has made is left alone."""
    put(tier, 1)
    with database_of(directory) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="later version") as caught:
        start().open()

    assert "version" == caught.value.reason


def test_directory_in_place_of_the_database(start: StartTier, directory: Path) -> None:
    """A directory with the name of the database cannot be used."""
    (directory / "cache.db").mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        start().open()

    assert "foreign" == caught.value.reason


def test_path_below_a_file(tmp_path: Path) -> None:
    """A directory that cannot be made is named."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file") as caught:
        DiskTier(tmp_path / "file" / "cache", max_bytes=LARGE).open()

    assert "foreign" == caught.value.reason


def test_directory_that_is_deleted_while_open(tier: DiskTier, directory: Path, tmp_path: Path) -> None:
    """Where somebody deletes or moves the directory, a new one begins."""
    key = put(tier, 1)
    directory.rename(tmp_path / "moved")
    found = tier.get(key, NOW_MS)
    put(tier, 2)

    assert found is None
    assert [key_of(2)] == numbers(directory, "SELECT key FROM entry")
    assert [key] == numbers(tmp_path / "moved", "SELECT key FROM entry")


FULL = """
import resource, signal, sys
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.failure import StoreError
from tests.caching.disks import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tier = DiskTier(sys.argv[1], max_bytes=LARGE)
key = put(tier, 1)
tier.get(key, NOW_MS)
tier.generation()
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
kept = failed = 0
reasons = set()
for number in range(100, 400):
    try:
        put(tier, number)
        kept += 1
    except StoreError as error:
        failed += 1
        reasons.add(error.reason)
assert kept and failed, (kept, failed)
assert tier.get(key, NOW_MS) == value_of(key)
there = {row.key for row in tier.rows()}
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
new = put(tier, 2)
tier.close(NOW_MS)
tier.open()
assert there | {new} == {row.key for row in tier.rows()} and len(there) == kept + 1
assert all(tier.get(key, NOW_MS) == value_of(key) for key in there | {new})
tier.read(lambda lane: print(lane.execute("PRAGMA integrity_check").fetchall()[0][0], *sorted(reasons)))
tier.close()
"""


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX's")
def test_full_disk(directory: Path) -> None:
    """Where nothing more can be written, records are refused, what was kept is read; with room, writing goes on."""
    said, *reasons = run_child(FULL, directory).split()

    assert "ok" == said
    assert {*reasons} <= {"full", "io"}


READ_ONLY = """
import os, sys
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.failure import StoreError
from tests.caching.disks import *
tier = DiskTier(sys.argv[1], max_bytes=LARGE)
put(tier, 1)
tier.close()
os.chmod(sys.argv[1], 0o755)
os.seteuid(65534)
for path in (sys.argv[1], sys.argv[1] + "/new"):
    try:
        DiskTier(path, max_bytes=LARGE).open()
    except StoreError as error:
        print(error.reason)
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_directory_that_one_may_not_write_to(tmp_path: Path) -> None:
    """A directory in which one may not make files cannot be used, nor can one be made there."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)

    assert "permission\npermission\n" == run_child(READ_ONLY, tmp_path / "cache")


FORK = """
import os, sys
from deepseek_sdk.caching.disk import DiskTier
from tests.caching.disks import *
tier = DiskTier(sys.argv[1], max_bytes=LARGE)
put(tier, 1)
(child_reads, parent_writes), (parent_reads, child_writes) = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    found = tier.get(key_of(1), NOW_MS) == value_of(key_of(1))
    put(tier, 2)
    os.write(child_writes, b"1" if found else b"0")
    os.read(child_reads, 1)  # the parent has closed it
    put(tier, 4)
    os.write(child_writes, b"2")
    os.read(child_reads, 1)  # the parent has written again
    put(tier, 5)
    tier.close(NOW_MS)
    os._exit(0)
assert os.read(parent_reads, 1) == b"1"
put(tier, 3)
tier.close(NOW_MS)
os.write(parent_writes, b".")
assert os.read(parent_reads, 1) == b"2"
tier.open()
put(tier, 6)
os.write(parent_writes, b".")
os.waitpid(pid, 0)
print(sorted(row.key for row in tier.rows()) == sorted(map(key_of, range(1, 7))))
tier.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_child_shares_the_directory(directory: Path) -> None:
    """Parent and child write to the same directory, and neither loses what the other wrote."""
    assert "True\n" == run_child(FORK, directory)
    with database_of(directory) as database:
        assert is_sound(database)


FORK_BUSY = """
import os, sys, threading
from deepseek_sdk.caching import disk
from deepseek_sdk.caching.failure import StoreError
from tests.caching.disks import *
disk._FORK_S = 0.05
tier = disk.DiskTier(sys.argv[1], max_bytes=LARGE)
put(tier, 1)
inside, done = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: tier.write(lambda lane: (inside.set(), done.wait(10))))
thread.start()
inside.wait()
pid = os.fork()
if pid == 0:
    try:
        tier.get(key_of(1), NOW_MS)
    except StoreError as error:
        print(error.reason, flush=True)
    tier.close(NOW_MS)
    os._exit(0)
os.waitpid(pid, 0)
done.set()
thread.join()
print(tier.get(key_of(1), NOW_MS) == value_of(key_of(1)))
tier.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_child_of_a_fork_in_the_middle_of_a_write(directory: Path) -> None:
    """A child that was forked while a thread held the files goes without them; the parent goes on."""
    assert "forked\nTrue\n" == run_child(FORK_BUSY, directory)


def test_filter_of_keys(start: StartTier) -> None:
    """With a filter every record is found, whoever wrote it, and most misses do not look."""
    tier, other = start(filter_rate=0.01), start()
    for number in range(50):
        put(tier, number)
    missed = [tier.get(key_of(1_000 + n), NOW_MS) for n in range(200)]
    found = []
    for number in range(50, 60):
        put(other, number)
        found.append(tier.get(key_of(number), NOW_MS))
        put(tier, number + 100)
        found.append(tier.get(key_of(number + 100), NOW_MS))

    assert [None] * 200 == missed
    assert None not in found
    assert tier.known is not None
    assert tier.known.filter is not None
    assert tier.known.filter.asked - tier.known.filter.maybe > 150
    assert all(tier.get(key_of(n), NOW_MS) == value_of(key_of(n)) for n in range(60))


def test_meta_is_json(tier: DiskTier, directory: Path) -> None:
    """What is known of a record stands beside it as JSON that SQLite reads, odd text included."""
    put(tier, 1, tags={"a\ud800": "b\0", 'q"\\': "中文"}, model="m'\"")
    (tag,) = numbers(directory, "SELECT tag FROM Cache WHERE json_valid(tag)")

    assert {"a\\ud800": "b\\x00", 'q"\\': "中文"} == json.loads(tag)["tags"] == dict(next(tier.rows()).tags)
    assert "m'\"" == next(tier.rows()).model


def test_tables_out_of_step_are_mended(tier: DiskTier, directory: Path) -> None:
    """Where another program has taken rows out of one table, compacting brings the others back in step."""
    keys = [put(tier, number) for number in range(4)]
    with database_of(directory) as database:
        database.execute("DELETE FROM entry WHERE key = ?", (keys[0],))
        tier.compact(NOW_MS)

        assert is_sound(database)
    assert {*keys} == {row.key for row in tier.rows()}


def test_failed_writes_leave_nothing(tier: DiskTier, directory: Path) -> None:
    """A write that fails half-way is undone, the next one works, and hits are kept."""
    key = put(tier, 1)
    tier.get(key, NOW_MS)
    with database_of(directory) as database:
        database.execute("CREATE TRIGGER no BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'no'); END")
        with pytest.raises(StoreError, match="no") as caught:
            put(tier, 2)
        database.execute("DROP TRIGGER no")
    new = put(tier, 3)

    assert ("io", [key, new]) == (caught.value.reason, [row.key for row in tier.rows()])
    assert [1, 0] == numbers(directory, "SELECT hits FROM entry ORDER BY id")


MISSING = """
import sys
sys.modules["diskcache"] = None
from deepseek_sdk.caching.disk import DiskTier
try:
    DiskTier(sys.argv[1], max_bytes=2**30)
except ImportError as error:
    print(error)
"""


def test_missing_extra(directory: Path) -> None:
    """Without diskcache, what to install is said."""
    assert "'deepseek-client-sdk[cache]'" in run_child(MISSING, directory)
