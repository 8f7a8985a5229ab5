"""Calls that the cache answered: what they saved, in reports and in exports, and files of before there was a cache."""

from __future__ import annotations

import csv
import io
import json
import logging
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk.ledger import Ledger, RecentCalls, UsageReport
from deepseek_sdk.ledger.file import LedgerFile
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.ledger.query import answer
from deepseek_sdk.ledger.question import Question
from deepseek_sdk.ledger.question import ask as question_of
from deepseek_sdk.ledger.reader import opened, read_usage
from deepseek_sdk.ledger.rotation import Rotation
from deepseek_sdk.ledger.rows import AttemptRow, CallRow, rows_of
from deepseek_sdk.ledger.schema import COLUMNS, MIGRATIONS
from deepseek_sdk.pricing import cost_of
from tests.ledger.conftest import AT, USAGE, add_attempt, book, ended, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deepseek_sdk import Usage
    from deepseek_sdk._record import Record
    from deepseek_sdk.pricing import Cost

# 1,000 tokens of USAGE's prompt at 0.04 CNY and 0.006 USD a million, 50 of its output at 8 CNY and 1.2 USD: peak hours.
SAVED = Decimal("0.00044"), Decimal("0.000066")


def price(usage: Usage, model: str) -> Cost | None:
    """Tell what an answer would have cost in peak hours, as clients do."""
    return cost_of(replace(usage, hit=usage.prompt, miss=0), model, AT, AT, book())


def outcome(status: Any = "hit", **more: Any) -> CacheOutcome:
    """Say that the cache had an answer."""
    given = {"tier": "exact", "level": "memory", "entry_id": "0123456789abcdef", "usage": USAGE, "price": price}
    return CacheOutcome(status=status, **{"model": "deepseek-flash", **given, **more})


def cached(status: Any = "hit", at: float = AT, **more: Any) -> Record:
    """Make the record of a call that the cache answered: nobody was asked."""
    record = ended(at, attempts=0, cache=outcome(status), **more)
    record.finish_reason = "stop"
    return record


def question(by: str | None = None) -> Question:
    """Ask about all calls."""
    return question_of(since=None, until=None, by=by, only=None, tz=BEIJING, now=AT)


@pytest.fixture(params=["file", "memory"])
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., UsageReport]]:
    """Ask what some calls used, of a ledger or of a client without one."""
    ledger = Ledger(tmp_path / "ledger.sqlite3", wall=lambda: AT + 60)
    recent = RecentCalls(wall=lambda: AT + 60)
    observer = ledger if request.param == "file" else recent

    def ask(records: list[Record], *args: Any, **options: Any) -> UsageReport:
        for record in records:
            observer(record)
        return observer.usage(*args, **options)

    yield ask
    ledger.close()


def test_row() -> None:
    """A cached answer is a row with what it saved, without tokens and attempts of its own, and costs nothing."""
    rows = rows_of(cached())
    call = rows.call

    assert ("hit", "0123456789abcdef", 440_000_000, 66_000_000) == tuple(getattr(call, name) for name in COLUMNS)
    assert (0, 0, 0, 0, 0, False) == (call.hit, call.miss, call.output, call.cny, call.usd, call.is_unpriced)
    assert (None, "deepseek-flash", 0, ()) == (call.route, call.model, call.attempts, rows.attempts)


@pytest.mark.parametrize("status", ["miss", "refresh", "bypass", "negative", "error"])
def test_rows_of_other_calls(status: str) -> None:
    """A call that the cache did not answer saved nothing; the name of what was kept of it is told."""
    call = rows_of(ended(cache=outcome(status))).call

    assert (None, "0123456789abcdef", None, None) == tuple(getattr(call, name) for name in COLUMNS)
    assert 643_840_000 == call.cny
    assert [None] * 4 == [getattr(rows_of(ended()).call, name) for name in COLUMNS]


def test_equal_call_that_fails() -> None:
    """A call that raised the error of an equal one has no answer: nothing is saved, and it costs nothing."""
    call = rows_of(cached("coalesced", ending="failed", reason="overloaded")).call

    assert (None, None, 0, "failed") == (call.cached, call.saved_cny, call.cny, call.outcome)


def test_saving_that_cannot_be_told(caplog: pytest.LogCaptureFixture) -> None:
    """Where nobody knows the price of an answer, or telling it fails, the call is written without a saving."""

    def fail(_usage: Usage, _model: str) -> Cost:
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        calls = [
            rows_of(ended(attempts=0, cache=outcome(**more))).call
            for more in ({"model": "qwen"}, {"price": None}, {"usage": None}, {"price": fail})
        ]

    assert [("hit", None, None, 0)] * 4 == [(call.cached, call.saved_cny, call.saved_usd, call.cny) for call in calls]
    assert 1 == caplog.text.count("what the cache saved could not be told")


def test_sums(ask: Callable[..., UsageReport]) -> None:
    """Reports count cached calls, and add up what they saved beside what the others cost."""
    total = ask([cached(), cached("stale"), cached("coalesced"), ended(), ended(cache=outcome("miss"))]).total

    assert (5, 3, 2, 2 * 896) == (total.calls, total.cached, total.attempts, total.hit)
    assert (2 * Decimal("0.00064384"), 3 * SAVED[0], 3 * SAVED[1]) == (total.cny, total.saved_cny, total.saved_usd)
    assert (0, 0) == (total.unpriced_calls, total.failed)


def test_calls_by_how_the_cache_answered(ask: Callable[..., UsageReport]) -> None:
    """Calls are told apart by what the cache gave; those for which somebody was asked have the key None."""
    records = [cached(user="甲"), cached(user="甲"), cached("stale"), cached("coalesced"), ended(cache=outcome("miss"))]
    rows = ask([*records, ended()], by="cache").rows

    assert [
        (None, 2, 0, None),
        ("hit", 2, 2, 2 * SAVED[0]),
        ("coalesced", 1, 1, SAVED[0]),
        ("stale", 1, 1, SAVED[0]),
    ] == [(row.key, row.calls, row.cached, row.saved_cny) for row in rows]
    assert [("甲", 2)] == [(row.key, row.calls) for row in ask([], by="user", only={"cache": "hit"}).rows]


def test_totals_are_equal_by_whatever(ask: Callable[..., UsageReport]) -> None:
    """Whatever calls are told apart by, cached ones among them, the total is the same, and each saving counts once."""
    saved_after_failures = ended(attempts=0, cache=outcome("stale"))
    for number in range(2):
        add_attempt(saved_after_failures, usage=None, outcome="failed", reason="overloaded", route=f"r{number}")
    total = ask([cached(), saved_after_failures, ended(attempts=3), cached(tags={"f": "x"})]).total

    assert (3, 3 * SAVED[0]) == (total.cached, total.saved_cny)
    for by in ("model", "route", "tier", "user", "day", "template", "cache", "tag:f"):
        report = ask([], by=by)
        assert total == report.total
        assert total.saved_usd == sum(row.saved_usd or 0 for row in report.rows)
        assert total.calls == sum(row.calls for row in report.rows)


def test_cached_calls_alone_cost_nothing(ask: Callable[..., UsageReport]) -> None:
    """Where nobody was asked the cost is nothing, not unknown; the model is the one that gave the answer."""
    record = cached()
    record.asked = "alias"
    report = ask([record], by="model")

    assert ("deepseek-flash", 1, 0, 0, 0) == tuple(
        getattr(report.rows[0], name) for name in ("key", "calls", "cny", "usd_high", "attempts")
    )
    assert report.rows[0].cny is not None
    assert {0} == {ask([], by="tier").total.cny, report.total.cny}
    assert ask([], "2030-01-01").total.saved_cny is None


def test_memory_keeps_what_the_cache_said() -> None:
    """What is kept in memory of a cached call is enough for the same row as in a file."""
    recent, record = RecentCalls(wall=lambda: AT), cached()
    recent(record)
    (rows,) = recent._rings.get().rows()

    assert rows_of(record).call._replace(request_id="") == rows.call._replace(request_id="")


def test_export(tmp_path: Path) -> None:
    """Exports have the columns at their end, savings as decimals."""
    ledger = Ledger(tmp_path / "ledger.sqlite3", wall=lambda: AT)
    for record in (cached("stale"), ended()):
        ledger(record)
    lines, table = io.StringIO(newline=""), io.StringIO(newline="")
    ledger.export(lines, form="jsonl")
    ledger.export(table)
    ledger.close()
    told, other = (json.loads(line) for line in lines.getvalue().splitlines())

    assert list(COLUMNS) == list(told)[-4:]
    assert ("stale", "0123456789abcdef", "0.00044", "0.000066", "0") == (*list(told.values())[-4:], told["cny"])
    assert [None] * 4 == list(other.values())[-4:]
    assert "0.00044" == next(csv.DictReader(io.StringIO(table.getvalue())))["saved_cny"]


# --- files of before there was a cache

_OLD = tuple(name for name in CallRow._fields if name not in COLUMNS)


def old_file(path: Path) -> sqlite3.Connection:
    """Make a file as the version before the cache did."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(MIGRATIONS[0])
    database.execute("PRAGMA user_version = 1")
    return database


def insertion(table: str, columns: Sequence[str]) -> str:
    """Give the statement that writes a row."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608  names


def write_as_before(database: sqlite3.Connection, record: Record) -> None:
    """Write a call as the version before the cache does."""
    rows = rows_of(record)
    database.execute("BEGIN IMMEDIATE")
    call = database.execute(insertion("calls", _OLD), rows.call[: len(_OLD)]).lastrowid
    attempts = [(call, *attempt) for attempt in rows.attempts]
    database.executemany(insertion("attempts", ("call", *AttemptRow._fields)), attempts)
    database.execute("COMMIT")


def test_file_of_before_goes_on(tmp_path: Path) -> None:
    """A file without the columns gets them when it is first written to; its calls stay what they were."""
    path = tmp_path / "ledger.sqlite3"
    with closing(old_file(path)) as database:
        write_as_before(database, ended(user="old"))
    ledger = Ledger(path, wall=lambda: AT)
    ledger(cached(user="new"))
    ledger.close()
    rows = ledger.usage(by="user").rows

    assert [("old", 1, 0, None), ("new", 1, 1, SAVED[0])] == [
        (row.key, row.calls, row.cached, row.saved_cny) for row in rows
    ]
    with closing(sqlite3.connect(path)) as database:
        assert [(1,)] == database.execute("PRAGMA user_version").fetchall()  # older programs may go on with it
        columns = [row[1] for row in database.execute("PRAGMA table_info(calls)")]
    assert ["id", *CallRow._fields] == columns


def test_older_program_beside(tmp_path: Path) -> None:
    """A program of before the cache, which has the file open while it changes, goes on writing; nothing is lost."""
    path = tmp_path / "ledger.sqlite3"
    ledger = Ledger(path, wall=lambda: AT, flush_s=60)
    with closing(old_file(path)) as older:
        write_as_before(older, ended(user="older"))
        ledger(cached(user="newer"))
        assert ledger.flush()
        write_as_before(older, ended(user="older"))
        ledger(cached(user="newer"))
        assert ledger.flush()
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        write_as_before(older, ended(user="older"))
    report = ledger.usage(by="user")
    ledger.close()

    assert [("older", 3, 0), ("newer", 2, 2)] == [(row.key, row.calls, row.cached) for row in report.rows]
    assert report.is_complete


def test_two_programs_change_a_file_at_once(tmp_path: Path) -> None:
    """Whichever of two programs comes first adds the columns, and the other one finds them."""
    path = tmp_path / "ledger.sqlite3"
    old_file(path).close()
    files = [LedgerFile(path, Rotation(max_bytes=None, max_age_days=None)) for _ in range(2)]
    for file in files:
        file.write([rows_of(cached())], 0, AT)
    for file in files:
        file.close()

    assert 2 == read_usage(path, question()).total.cached


def test_file_of_before_that_is_only_read(tmp_path: Path) -> None:
    """A file that nobody has written to since is read as if the cache had answered nothing, and is not changed."""
    path = tmp_path / "ledger.sqlite3"
    with closing(old_file(path)) as database:
        write_as_before(database, ended(user="old"))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    ledger, table = Ledger(path, wall=lambda: AT), io.StringIO(newline="")

    assert [(None, 1, 0, None)] == [
        (row.key, row.calls, row.cached, row.saved_usd) for row in ledger.usage(by="cache").rows
    ]
    assert 1 == ledger.export(table)
    assert "" == next(csv.DictReader(io.StringIO(table.getvalue())))["cached"]
    ledger.close()
    assert before == path.read_bytes()


def test_file_of_before_that_may_only_be_read() -> None:
    """So is one that this user may not write to, in a directory that he may not write to either."""
    program = """
    from contextlib import closing
    from tests.ledger.test_cached import old_file, write_as_before
    with closing(old_file(PATH)) as database:
        write_as_before(database, ended())
    Ledger(PATH, wall=lambda: AT).usage()  # what is imported for it may be where only root may read
    os.chmod(PATH, 0o444)
    os.chmod(os.path.dirname(PATH), 0o555)
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    total = Ledger(PATH, wall=lambda: AT).usage().total
    print(total.calls, total.cached, total.saved_cny)
    """
    with tempfile.TemporaryDirectory() as directory:
        done = run(program, Path(directory) / "ledger.sqlite3")
        Path(directory).chmod(0o700)

    assert (0, "1 0 None\n") == (done.returncode, done.stdout), done.stderr


def test_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """Who reads a file while somebody adds the columns sees what is in them."""
    path = tmp_path / "ledger.sqlite3"
    with closing(old_file(path)) as database:
        write_as_before(database, ended())
    with opened(path) as reading:
        before = answer(reading, question()).total
        ledger = Ledger(path, wall=lambda: AT)
        ledger(cached())
        ledger.close()
        after = answer(reading, question()).total

    assert [(1, 0), (2, 1)] == [(total.calls, total.cached) for total in (before, after)]
