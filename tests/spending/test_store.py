from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepseek_sdk._processes import born, is_alive
from deepseek_sdk.spending import store
from deepseek_sdk.spending.desk import Shortage
from tests.spending.desks import Counter, end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file that is not there yet, in a directory that is not there either."""
    return tmp_path / "new" / "budgets.sqlite3"


def read(path: Path, sql: str) -> list[Any]:
    """Ask the file."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


def test_what_was_spent_is_found_again(path: Path) -> None:
    """A process that comes later goes on where the one before stopped."""
    first = Counter(path)
    assert first.spend(700)
    first.desk.leave()
    second = Counter(path)

    assert not second.spend(301)
    assert second.spend(300)
    assert [(700, 0)] == read(path, "SELECT spent, written_off FROM pots")


def test_the_file_is_its_owners(path: Path) -> None:
    """Nobody else may read whose calls there were."""
    assert Counter(path).spend(1)

    assert 0o600 == path.stat().st_mode & 0o777
    assert 0o700 == path.parent.stat().st_mode & 0o777


def test_two_processes_share_a_limit(path: Path) -> None:
    """What one has reserved, the other cannot have."""
    one, two = Counter(path), Counter(path)
    ticket = one.got(600)
    refused = two.ask(500)
    end(ticket, 100)
    one.desk.tend()

    assert isinstance(refused, Shortage)
    assert (600, True) == (refused.purse.others, refused.may_return)
    assert two.spend(900)
    assert not one.spend(1)


def test_slices_save_the_way_to_the_disk(path: Path) -> None:
    """A busy process goes to the file a few times for thousands of calls."""
    one = Counter(path, 10**6)
    trips: list[str] = []
    assert one.spend(10)
    assert one.desk.store is not None
    assert one.desk.store._connection is not None
    one.desk.store._connection.set_trace_callback(lambda sql: trips.append(sql) if sql.startswith("BEGIN") else None)
    for _ in range(5000):
        assert one.spend(10)

    assert 0 < len(trips) < 20


def test_what_is_not_needed_is_given_back(path: Path) -> None:
    """A slice that was not used since the last look goes back; what calls in flight may need stays."""
    one, two = Counter(path), Counter(path)
    ticket = one.got(10)
    for _ in range(3):
        assert one.spend(10)
    assert one.purse().free > 0
    assert one.desk.tend()
    assert one.desk.tend()

    assert (0, 10) == (one.purse().free, one.purse().held)
    assert two.spend(960)
    end(ticket, 10)
    assert not one.desk.tend()


def test_others_ask_for_what_lies_idle(path: Path) -> None:
    """A process that is refused gets what another one holds in reserve, as soon as that one looks."""
    one, two = Counter(path), Counter(path)
    one.purse().refills, one.purse().wish = 1, 100
    for _ in range(3):
        assert one.spend(10)
    held = one.purse().free
    assert held > 0
    wanted = 970 - held + 1
    refused = two.ask(wanted)
    assert isinstance(refused, Shortage)
    assert refused.may_return
    one.desk.tend()

    assert 0 == one.purse().free
    assert two.spend(wanted)


def test_a_refusal_says_whether_to_wait(path: Path) -> None:
    """Nobody holds anything: there is nothing to wait for."""
    one, two = Counter(path), Counter(path)
    assert one.spend(990)
    one.desk.leave()
    refused = two.ask(11)

    assert isinstance(refused, Shortage)
    assert (990, 0, False) == (refused.purse.spent, refused.purse.others, refused.may_return)


def killed(counter: Counter, path: Path) -> None:
    """Let a process be gone: the number that the file has of it is nobody's now."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE processes SET birth = 'never' WHERE id = ?", (counter.desk.store._process,))  # type: ignore[union-attr]
        database.commit()


def test_what_a_dead_process_held_is_written_off(path: Path) -> None:
    """Nobody knows how much of it was spent: it counts as spent, and says so."""
    one, two = Counter(path), Counter(path)
    held = [one.got(300), one.got(300)]
    killed(one, path)

    assert isinstance(two.ask(500), Shortage)
    assert (600, 600, 0) == (two.purse().spent, two.purse().written_off, two.purse().others)
    assert two.spend(400)
    for ticket in held:
        end(ticket, 0)


def test_a_process_that_was_taken_for_dead_gets_everything_back(path: Path) -> None:
    """It was only out of sight, in another container or stopped: what it held is its own again."""
    one, two = Counter(path), Counter(path)
    ticket = one.got(600)
    killed(one, path)
    assert isinstance(two.ask(500), Shortage)
    end(ticket, 100)
    for _ in range(2):
        one.desk.tend()

    assert (100, 0) == (one.purse().spent, one.purse().written_off)
    assert two.spend(900)
    assert not one.spend(1)


def test_who_is_alive() -> None:
    """A process is alive while it was started when it says, and was heard of in the last minute."""
    here = os.getpid()

    assert is_alive(here, born(here), 1)
    assert is_alive(here, "", 1)
    assert not is_alive(here, born(here), 61)
    assert not is_alive(here, "1", 1)
    assert not is_alive(2**22 + 1, "", 1)
    assert "" == born(2**22 + 1)


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not be asked is there."""

    def refuse(pid: int, _: int) -> None:
        raise PermissionError(pid)

    monkeypatch.setattr(os, "kill", refuse)

    assert is_alive(2**22 + 1, "", 1)


def test_elsewhere_silence_alone_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows no process may be asked whether it is there: the question would end it."""
    monkeypatch.setattr(sys, "platform", "win32")

    assert is_alive(2**22 + 1, "", 1)
    assert not is_alive(os.getpid(), "", 61)


def test_old_periods_are_forgotten(path: Path) -> None:
    """What ended more than two months ago goes when the file is opened; all of time stays."""
    day, ever = Counter(path, period="day"), Counter(path)
    assert day.spend(5)
    assert ever.spend(5)
    for one in (day, ever):
        one.desk.leave()
    later = Counter(path)
    later.at += 72 * 86_400
    assert later.spend(1)
    later.desk.tend()

    assert [("all/ever/tokens",)] == read(path, "SELECT budget FROM pots")
    assert 1 == len(read(path, "SELECT * FROM processes"))


def broken(path: Path) -> None:
    """Overwrite a file with nonsense."""
    for suffix in ("-wal", ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.write_bytes(b"\xff" * file.stat().st_size)


def test_a_broken_file_is_put_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is no database is renamed and begun anew, with what the process knows."""
    one = Counter(path)
    assert one.spend(700)
    one.desk.leave()
    path.write_bytes(b"not a database at all" * 500)

    assert not one.spend(301)
    assert one.spend(300)
    one.desk.tend()
    assert [(1000,)] == read(path, "SELECT spent FROM pots")
    assert 1 == len(list(path.parent.glob("*.broken-*")))
    assert 1 == sum(record.levelname == "ERROR" for record in caplog.records)
    assert None is one.desk.trouble


def test_a_file_that_breaks_while_it_is_open(path: Path) -> None:
    """The same holds for one that was well when it was opened."""
    one = Counter(path)
    assert one.spend(700)
    for _ in range(2):
        one.desk.tend()
    broken(path)
    assert one.desk.store is not None
    assert one.desk.store._connection is not None
    one.desk.store._connection.execute("PRAGMA shrink_memory")  # what it has read before would hide it

    assert not one.spend(301)
    assert one.spend(300)
    assert None is one.desk.trouble
    assert list(path.parent.glob("*.broken-*"))


def test_a_file_that_another_process_has_put_aside(path: Path) -> None:
    """Of two processes that find a file broken, the second takes what the first has made, and tells its part."""
    one, two = Counter(path), Counter(path)
    assert two.spend(10)
    two.desk.leave()
    assert one.spend(700)
    one.desk.leave()
    broken(path)
    assert two.spend(100)
    two.desk.tend()
    before = read(path, "SELECT spent FROM pots")
    assert one.spend(1)
    for _ in range(2):
        one.desk.tend()

    assert [(110,)] == before
    assert [(711,)] == read(path, "SELECT spent FROM pots")
    assert 1 == len([file for file in path.parent.glob("*.broken-*") if not file.name.endswith(("-wal", "-shm"))])


def test_a_file_that_is_deleted_is_made_again(path: Path) -> None:
    """Processes that come later share a file with those that were there before."""
    one = Counter(path)
    assert one.spend(700)
    one.desk.tend()
    one.desk.tend()
    for file in path.parent.iterdir():
        file.unlink()
    ticket = one.got(100)

    assert not Counter(path).spend(201)
    assert Counter(path).spend(200)
    end(ticket, 100)


@pytest.fixture
def read_only(path: Path) -> Iterator[Path]:
    """Name a file that nobody can make, not even root: its directory is a file."""
    path.parent.write_text("a file")
    yield path
    path.parent.unlink()


def test_without_a_file_the_limit_holds_in_the_process(read_only: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where no file can be made, calls go on, limits hold, and one error says why."""
    one = Counter(read_only)

    assert [True, True, False] == [one.spend(500), one.spend(500), one.spend(1)]
    assert one.desk.trouble
    assert one.desk.tend()
    assert ["ERROR"] == [record.levelname for record in caplog.records]
    assert str(read_only) in caplog.text


def test_when_the_disk_is_back_everything_is_written(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was spent meanwhile reaches the file once it can be used again."""
    path.parent.write_text("a file")
    one = Counter(path)
    ticket = one.got(100)
    assert one.spend(500)
    path.parent.unlink()
    one.desk._retry_at = 0
    one.desk.tend()

    assert None is one.desk.trouble
    assert [(500,)] == read(path, "SELECT spent FROM pots")
    assert "again" in caplog.text
    assert not Counter(path).spend(401)
    end(ticket, 0)


def test_a_file_that_others_write_to_all_the_time(path: Path) -> None:
    """Others who write one after another do not make a file one that cannot be used."""
    one = Counter(path)
    assert one.spend(1)
    one.desk.tend()
    stop = threading.Event()

    def write() -> None:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            while not stop.is_set():
                database.execute("BEGIN IMMEDIATE")
                stop.wait(0.005)
                database.execute("COMMIT")
                for _ in range(60):
                    database.execute("SELECT 1").fetchall()

    with ThreadPoolExecutor(1) as others:
        others.submit(write)
        try:
            for _ in range(10):
                one.desk.adjust(one.purse(), 1)
        finally:
            stop.set()

    assert None is one.desk.trouble
    assert [(11,)] == read(path, "SELECT spent FROM pots")


class Busy:
    """A file that others hold the first times that somebody wants to write."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.timeouts: list[str] = []

    def execute(self, statement: str) -> None:
        """Refuse at once, as SQLite does without a timeout of its own."""
        if statement.startswith("PRAGMA"):
            self.timeouts.append(statement.rpartition(" ")[2])
        elif self.left:
            self.left -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error


def test_a_moment_in_which_a_file_is_free_is_found() -> None:
    """A file is looked at every few milliseconds: SQLite alone looks ten times a second, and others are quicker."""
    database = Busy(50)
    store._begin(database)  # type: ignore[arg-type]

    assert (0, ["0", "5000"]) == (database.left, database.timeouts)


def test_a_lock_that_nobody_gives_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that stays locked is as good as none, and what was known of others still counts."""
    monkeypatch.setattr("deepseek_sdk.spending.store._BUSY_S", 0.05)
    one, two = Counter(path), Counter(path)
    kept = two.got(300)
    assert one.spend(100)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        one.desk._retry_at = 0

        assert one.spend(600)
        assert not one.spend(1)
        assert "locked" in str(one.desk.trouble)
        database.rollback()
    one.desk._retry_at = 0
    one.desk.tend()

    assert None is one.desk.trouble
    assert [(700,)] == read(path, "SELECT spent FROM pots")
    end(kept, 0)


def test_a_file_that_is_locked_from_the_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds where the lock is there when the file is opened for the first time."""
    monkeypatch.setattr("deepseek_sdk.spending.store._BUSY_S", 0.05)
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE other (x)")
        database.execute("BEGIN EXCLUSIVE")
        one = Counter(path)

        assert one.spend(1000)
        assert not one.spend(1)
        assert "locked" in str(one.desk.trouble)


def test_a_failure_in_the_middle_leaves_no_half(path: Path) -> None:
    """What could not be written as a whole is not written at all, and written later."""
    one = Counter(path)
    assert one.spend(600)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TRIGGER no BEFORE DELETE ON leases BEGIN SELECT RAISE(ABORT, 'no'); END")
        one.desk.tend()
        assert [(0,)] == database.execute("SELECT spent FROM pots").fetchall()
        assert "no" == one.desk.trouble
        database.execute("DROP TRIGGER no")
        one.desk._retry_at = 0
        one.desk.tend()

        assert [(600,)] == database.execute("SELECT spent FROM pots").fetchall()
        assert None is one.desk.trouble
    assert not Counter(path).spend(401)


def test_a_file_of_a_later_version_is_left_alone(path: Path) -> None:
    """What this version does not understand it does not change."""
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    one = Counter(path)

    assert one.spend(1000)
    assert "later version" in str(one.desk.trouble)
    assert [(99,)] == read(path, "PRAGMA user_version")


ACTIONS = st.tuples(
    st.integers(0, 2), st.sampled_from(["spend", "begin", "end", "tend", "kill", "leave"]), st.integers(1, 400)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=30))
def test_whatever_processes_do_the_limit_holds(
    actions: list[tuple[int, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Three processes spend, reserve, rest, go and are killed in any order: never is more spent than the limit."""
    path = tmp_path_factory.mktemp("any") / "budgets.sqlite3"
    counters, spent = [Counter(path) for _ in range(3)], 0
    held: list[list[tuple[Any, int]]] = [[], [], []]
    for who, action, amount in actions:
        one = counters[who]
        if action == "spend":
            spent += amount if one.spend(amount) else 0
        elif action == "begin" and not isinstance(ticket := one.ask(amount), Shortage):
            held[who].append((ticket, amount))
        elif action == "end" and held[who]:
            ticket, reserved = held[who].pop()
            end(ticket, reserved)
            spent += reserved
        elif action == "tend":
            one.desk.tend()
        elif action == "leave":
            one.desk.leave()
        elif action == "kill" and one.desk.store is not None and one.desk.store._process:
            killed(one, path)
            # What its calls had reserved, they may have spent.
            spent += sum(reserved for _, reserved in held[who])
            counters[who], held[who] = Counter(path), []
    total = spent + sum(reserved for calls in held for _, reserved in calls)

    assert total <= 1000
    for one in counters:
        one.desk.leave()
