"""What is written, and what happens where it cannot be."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
import threading
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Usage
from deepseek_sdk.errors import ConfigurationError, LedgerError
from deepseek_sdk.ledger import Ledger, make_ledger
from deepseek_sdk.ledger.file import LedgerFile
from deepseek_sdk.ledger.rotation import Rotation
from deepseek_sdk.ledger.rows import AttemptRow, CallRow, rows_of
from deepseek_sdk.ledger.schema import migrate
from deepseek_sdk.ledger.writer import retry_s
from tests.ledger.conftest import AT, USAGE, add_attempt, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk._record import Record
    from deepseek_sdk.pricing import Cost

MARKER = "PEKING-DUCK"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file in a directory that does not exist."""
    return tmp_path / "data" / "ledger.sqlite3"


@pytest.fixture
def make(path: Path) -> Iterator[Callable[..., Ledger]]:
    """Make ledgers that are closed at the end of the test."""
    made: list[Ledger] = []

    def make(**options: Any) -> Ledger:
        made.append(Ledger(options.pop("path", path), **{"wall": lambda: AT + 10, **options}))
        return made[-1]

    yield make
    for ledger in made:
        ledger.close()


def select(path: Path, sql: str) -> list[Any]:
    """Ask a file."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


def held(path: Path) -> sqlite3.Connection:
    """Lock a file as another process would."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


# --- what is written


def test_call_and_attempts_are_rows(make: Callable[..., Ledger], path: Path) -> None:
    """A call is one row, and each of its attempts is one; amounts are whole numbers of 10^-12."""
    record = ended(attempts=0, user="小明", session_id="s1", tenant="acme", tags={"功能": "搜索"}, template="t")
    add_attempt(record, usage=None, outcome="failed", reason="overloaded", base_url="https://u:pw@api.deepseek.com/x")
    add_attempt(record, "deepseek-v4-pro", route="spare")
    record.times.queue, record.times.first_token = 0.25, 1.2
    ledger = make()
    ledger(record)
    assert ledger.flush()

    assert [(record.id, AT * 1e6, (AT + 1.5) * 1e6, 0.25, 1.2)] == select(
        path, "SELECT request_id, at, ended, queue_s, first_token_s FROM calls"
    )
    assert [("小明", "s1", "acme", '{"功能": "搜索"}', "t", "/chat/completions")] == select(
        path, "SELECT user, session, tenant, tags, template, path FROM calls"
    )
    assert [("spare", "deepseek-flash", "deepseek-v4-pro", 2, "peak")] == select(
        path, "SELECT route, asked, model, attempts, tier FROM calls"
    )
    assert [(896, 104, 50, 20, 2_554_800_000, 374_704_000)] == select(
        path, "SELECT hit, miss, output, reasoning, cny, usd FROM calls"
    )
    assert [
        (1, "deepseek-flash", "api.deepseek.com", "failed", "overloaded", None),
        (2, "deepseek-v4-pro", "api.deepseek.com", "complete", None, 2_554_800_000),
    ] == select(path, "SELECT number, model, host, outcome, reason, cny FROM attempts ORDER BY number")


def test_same_call_is_written_once(make: Callable[..., Ledger]) -> None:
    """A call that comes twice, as after a batch whose end nobody saw, is one row."""
    ledger, record = make(), ended()
    for _ in range(2):
        ledger(record)
        ledger.flush()

    assert 1 == ledger.usage().total.calls


def test_columns_are_fields() -> None:
    """The tables have the columns that rows have."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        migrate(database)
        columns = {t: [row[1] for row in database.execute(f"PRAGMA table_info({t})")] for t in ("calls", "attempts")}

    assert {"calls": ["id", *CallRow._fields], "attempts": ["call", *AttemptRow._fields]} == columns


def test_file_is_private(make: Callable[..., Ledger], path: Path) -> None:
    """Nobody else can read the file, what lies beside it, or the directory made for it."""
    ledger = make()
    ledger(ended())
    ledger.flush()

    assert {0o600} == {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)


def test_no_content(make: Callable[..., Ledger], path: Path) -> None:
    """What a call said or was told, its headers, its key and its mended parts are not in the file."""
    record = ended(repairs=[f"removed {MARKER}"], headers={"x-marker": MARKER, "date": "x"})
    record.usage = {"prompt_tokens": 1, "marker": MARKER}
    record.attempts[0].account = record.attempts[0].account._replace(  # type: ignore[union-attr]
        base_url=f"https://{MARKER}:{MARKER}@example.com/{MARKER}?key={MARKER}", credential=MARKER
    )
    ledger = make()
    ledger(record)
    ledger.close()

    assert [(1,)] == select(path, "SELECT repairs FROM calls")
    assert MARKER.encode() not in path.read_bytes()


def test_strange_names(make: Callable[..., Ledger]) -> None:
    """Halves of characters, characters that mean something to SQLite, and names without an end can be written."""
    names = ["\ud83d", "'; DROP TABLE calls; --", "a\0b", "很长" * 1000, ""]
    ledger = make()
    for name in names:
        ledger(ended(user=name, tags={name: name}))

    rows = {row.key: row.calls for row in ledger.usage(by="user").rows}
    assert {"\\ud83d": 1, names[1]: 1, names[2]: 1, f"{names[3][:511]}…": 1, "": 1} == rows
    assert [1, 1, 1] == [ledger.usage(only={"user": name}).total.calls for name in names[:3]]
    assert names[1] == ledger.usage(by=f"tag:{names[1]}", only={"user": names[1]}).rows[0].key


def test_numbers_that_cannot_be() -> None:
    """Counts and times that no server means do not keep a row from being written."""
    record = ended(attempts=0)
    add_attempt(record, usage=Usage(hit=-5, miss=2**53, output=2**53, reasoning=0))
    record.times.total, record.times.queue = float("nan"), float("inf")
    call = rows_of(record).call

    assert (0, 2**53, 2**62) == (call.hit, call.miss, call.cny)
    assert (AT * 1e6, AT * 1e6, None, None) == (call.at, call.ended, call.queue_s, call.total_s)
    assert [0, 0, 0, 32 * 10**15] == [rows_of(ended(at)).call.at for at in (float("nan"), float("-inf"), -5.0, 1e300)]


def test_price_that_fails(make: Callable[..., Ledger], caplog: pytest.LogCaptureFixture) -> None:
    """A call whose price cannot be told is written without one."""

    def fail(_: Record) -> Cost:
        raise ZeroDivisionError

    ledger = make()
    ledger(ended(price=fail))

    assert (1, None, 1) == ((total := ledger.usage().total).calls, total.cny, total.unpriced_calls)
    assert "could not be told" in caplog.text


def test_cost_by_the_servers_clock() -> None:
    """Where prices go by the server's clock, the attempts cost what the call does."""
    record = ended(AT, attempts=2, headers={"date": "Mon, 30 Nov 2026 16:00:00 GMT"})  # midnight there
    rows = rows_of(record)

    assert "off_peak" == rows.call.tier
    assert rows.call.cny == sum(row.cny or 0 for row in rows.attempts) == 2 * 321_920_000


# --- who brings records


def test_threads(make: Callable[..., Ledger]) -> None:
    """Any number of threads bring records; none is lost, and one more thread writes them."""
    ledger = make(flush_s=0.01)

    def bring() -> None:
        for _ in range(100):
            ledger(ended())

    threads = [threading.Thread(target=bring) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 800 == ledger.usage().total.calls
    assert ("ok", 800, 0, 0) == ((state := ledger.state()).status, state.written, state.waiting, state.dropped)


def test_collector_brings_a_record(make: Callable[..., Ledger]) -> None:
    """The garbage collector may end a call in the middle of anything, here of the writing itself."""
    ledger, record = make(), ended()

    class Forgotten:
        def __del__(self) -> None:
            ledger(record)

    forgotten = Forgotten()
    forgotten.me = forgotten  # type: ignore[attr-defined]
    del forgotten
    with ledger._writers.get()._in_turn():
        gc.collect()

    assert 1 == ledger.usage().total.calls


def test_thread_writes_by_itself(path: Path) -> None:
    """Nobody has to ask for it; and when the ledger is forgotten, the thread writes what it has, and ends."""
    ledger = Ledger(path, flush_s=0.01)
    ledger(ended())
    file = ledger._writers.get()._file
    del ledger
    gc.collect()
    # It has written, and the last thing that it does is to let go of the file.
    patience = threading.Event()
    for _ in range(500):
        if file._presence._row == (0, 0, 0) or file._connection is not None:
            patience.wait(0.01)

    assert [(1,)] == select(path, "SELECT COUNT(*) FROM calls")
    assert [] == select(path, "SELECT * FROM processes")


def test_closed_ledger_begins_anew(make: Callable[..., Ledger]) -> None:
    """A call that ends after the ledger was closed is written too."""
    ledger = make()
    for _ in range(2):
        ledger(ended())
        ledger.close()

    assert 2 == make().usage().total.calls


# --- where it cannot be written


def test_file_of_another(make: Callable[..., Ledger], path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While another process holds the file calls wait, with one warning; the oldest go where too many wait."""
    make()(ended())
    make().close()
    ledger = make(max_waiting=10, flush_s=60)
    ledger(ended())
    assert ledger.flush()
    ledger._writers.get()._file._busy_s = 0.01
    ledger._writers.get()._file.close()
    with closing(held(path)):
        for _ in range(25):
            ledger(ended())
        assert [False, False] == [ledger.flush(), ledger.flush()]
        state = ledger.state()
        report = ledger.usage()

    assert ("degraded", 10, 15, "database is locked") == (state.status, state.waiting, state.dropped, state.last_error)
    assert "10 calls of this process are not written yet: database is locked." in report.notes
    assert 1 == caplog.text.count("cannot be written")
    assert ledger.flush()
    assert ("ok", 11, 0, 15) == ((now := ledger.state()).status, now.written, now.waiting, now.dropped)
    assert ("15 calls could not be written and were dropped.",) == ledger.usage().notes
    assert not ledger.usage().is_complete


@pytest.mark.parametrize("kind", ["a file in the way", "a directory"])
def test_path_that_cannot_be(make: Callable[..., Ledger], tmp_path: Path, kind: str) -> None:
    """A path that cannot be a file does not hurt a call; asking the ledger is an error."""
    (tmp_path / "file").write_text("x")
    ledger = make(path=tmp_path / "file" / "ledger" if kind == "a file in the way" else tmp_path)
    ledger(ended())

    assert not ledger.flush()
    assert ("degraded", 1) == (ledger.state().status, ledger.state().waiting)
    with pytest.raises(LedgerError, match=str(ledger.path)):
        ledger.usage()


def unwritable(tmp_path: Path, kind: str) -> Path:
    """Name a path that no ledger can be written to."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "loose").symlink_to("/proc/ledger")
    names = {
        "below a file": "file/ledger",
        "below what is below": "file/a/ledger",
        "no name": "a\0b",
        "long": "x" * 300,
    }
    return tmp_path / {"directory": ".", "loop": "loop", "loose": "loose", **names}[kind]


UNWRITABLE = ["directory", "below a file", "below what is below", "no name", "long", "loop", "loose"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
@pytest.mark.parametrize("calls", [0, 2])
@pytest.mark.parametrize("kind", UNWRITABLE)
def test_client_is_answered_with_a_note(make: Callable[..., Ledger], tmp_path: Path, kind: str, calls: int) -> None:
    """Wherever calls cannot be written, a client that asks gets sums of nothing, and is told why."""
    ledger = make(path=unwritable(tmp_path, kind))
    for _ in range(calls):
        ledger(ended())
    report = ledger.usage_noted(by="day")

    assert (0, ()) == (report.total.calls, report.rows)
    kinds = [note.kind for note in report.findings]
    # Where there is nothing yet, there is nothing that could not be read.
    assert (["unreadable"] if kind != "loose" else []) + (["waiting"] if calls else []) == kinds
    assert all(str(ledger.path) in text for text in report.notes if "cannot be read" in text)


def test_client_is_answered_beside_a_later_version(make: Callable[..., Ledger], path: Path) -> None:
    """A file that is there and is not written to is one more such place; a file that may be is an error."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    ledger = make()
    with pytest.raises(LedgerError, match="later version"):
        ledger.usage_noted()
    ledger(ended())

    assert ["unreadable", "waiting"] == [note.kind for note in ledger.usage_noted().findings]
    assert "账本无法读取" in ledger.usage_noted().findings[0].text("zh")


def test_client_is_answered_as_others_are(make: Callable[..., Ledger]) -> None:
    """Where the file is there, clients get what it says."""
    ledger = make()
    ledger(ended(user="u"))

    assert ledger.usage("24h", None, "user", only={"user": "u"}) == ledger.usage_noted(
        "24h", None, "user", only={"user": "u"}
    )
    assert 1 == ledger.usage_noted().total.calls


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
@pytest.mark.parametrize("kind", UNWRITABLE)
def test_calls_that_close_loses(
    make: Callable[..., Ledger], tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What waits even after the last try is lost, and one warning says how much, and where it was to go."""
    ledger = make(path=unwritable(tmp_path, kind), flush_s=60)
    for _ in range(3):
        ledger(ended())
    for _ in range(2):
        ledger.close()

    assert [f"the ledger {ledger.path} was closed"] == [
        text.partition(" while")[0] for text in caplog.messages if "3 calls that waited for it are lost" in text
    ]
    assert ("degraded", 0, 3) == ((state := ledger.state()).status, state.waiting, state.dropped)
    assert "3 calls could not be written and were dropped." in ledger.usage_noted().notes


def test_calls_that_close_loses_beside_others(
    make: Callable[..., Ledger], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of calls that wait for a file those are lost that it does not take; once it can be written, it says so."""
    ledger = make(flush_s=60)
    ledger(ended())
    ledger.flush()
    ledger._writers.get()._file._busy_s = 0.01
    ledger._writers.get()._file.close()
    ledger(ended())
    with closing(held(path)):
        ledger.close()
        assert ("1 calls could not be written and were dropped.",) == ledger.usage_noted().notes
    ledger(ended())

    assert ("1 calls could not be written and were dropped.",) == ledger.usage_noted().notes
    assert (2, 1) == (ledger.usage().total.calls, sum("are lost" in text for text in caplog.messages))


@pytest.mark.parametrize("calls", [0, 1])
def test_close_that_loses_nothing(
    make: Callable[..., Ledger], tmp_path: Path, calls: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Where nothing waits after the last try, there is nothing to say."""
    ledger = make() if calls else make(path=tmp_path)
    for _ in range(calls):
        ledger(ended())
    ledger.close()

    assert ([], 0) == (caplog.messages, ledger.state().dropped)


def test_what_is_lost_is_told_to_a_file_that_can_be_left(path: Path) -> None:
    """A file that takes the leave of a process, though not its calls, says how many it lacks."""
    file = LedgerFile(path, Rotation(max_bytes=None, max_age_days=None))
    file.write([], 0, AT)
    file.leave(4, AT + 1)

    assert ("4 calls could not be written and were dropped.",) == Ledger(path).usage().notes


@pytest.mark.parametrize("garbage", [b"this is no database" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_broken_file(make: Callable[..., Ledger], path: Path, garbage: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """A broken file is put aside, and a new one begins with the call that found it so."""
    path.parent.mkdir()
    path.write_bytes(garbage)
    ledger = make()
    ledger(ended())

    assert not ledger.flush()
    assert ledger.flush()
    assert 1 == ledger.usage().total.calls
    assert [garbage] == [file.read_bytes() for file in path.parent.glob("*.broken-*")]
    assert "is broken" in caplog.text


def test_file_that_breaks(make: Callable[..., Ledger], path: Path) -> None:
    """A file that breaks while it is in use is put aside as well."""
    ledger = make()
    ledger(ended())
    ledger.flush()
    ledger._writers.get()._file.close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 20_000)
    ledger(ended())
    ledger.flush()

    assert ledger.flush()
    assert 1 == ledger.usage().total.calls


def test_file_that_disappears(make: Callable[..., Ledger], path: Path) -> None:
    """Where somebody deletes the file, a new one is begun, and this process is in it."""
    ledger = make()
    ledger(ended())
    ledger.flush()
    for file in path.parent.iterdir():
        file.unlink()
    ledger(ended())

    assert 1 == ledger.usage().total.calls
    assert [(os.getpid(),)] == select(path, "SELECT pid FROM processes")


def test_file_of_a_later_version(make: Callable[..., Ledger], path: Path) -> None:
    """A file of a later version is left as it is."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    ledger = make()
    ledger(ended())

    assert not ledger.flush()
    assert "later version" in str(ledger.state().last_error)
    with pytest.raises(LedgerError, match="later version"):
        ledger.usage()
    assert [] == list(path.parent.glob("*.broken-*"))


def test_waits_between_tries() -> None:
    """A file that cannot be written is left alone for longer each time."""
    assert [1, 2, 4, 8, 16, 30, 30] == [retry_s(failures) for failures in range(1, 8)]
    assert 30 == retry_s(10**6)


# --- what a ledger is made of


def test_ledgers_of_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client or a setting says is a ledger, or none."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    ledger = Ledger(tmp_path / "x")

    assert (None, None, None) == (make_ledger(None), make_ledger(False), make_ledger("off"))
    assert ledger is make_ledger(ledger)
    assert tmp_path / "y" == make_ledger(str(tmp_path / "y")).path  # type: ignore[union-attr]
    assert {"ledger.sqlite3"} == {made.path.name for given in (True, "on") if (made := make_ledger(given))}
    assert str(ledger.path) in repr(ledger)
    for wrong in (5, "", object()):
        with pytest.raises(ConfigurationError, match="ledger must be"):
            make_ledger(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"max_bytes": 5}, {"max_bytes": True}, {"max_age_days": 0}, {"flush_s": 0}, {"flush_s": "1"}, {"max_waiting": 0}],
)
def test_options_that_cannot_be(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """Options that cannot be are told at once."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Ledger(tmp_path / "x", **wrong)


def test_nothing_is_made_before_a_call(path: Path, make: Callable[..., Ledger]) -> None:
    """A ledger that no call has reached has no file and no thread, and answers."""
    before = threading.active_count()
    ledger = make()

    assert (0, None, True) == ((report := ledger.usage(by="day")).total.calls, report.total.cny, report.is_complete)
    assert (False, before) == (path.parent.exists(), threading.active_count())


def test_rows_keep_exact_amounts() -> None:
    """Amounts are those of the record, to the last digit."""
    record = ended(attempts=3)
    cost = record.cost()
    row = rows_of(record).call

    assert cost is not None
    assert (cost.cny, cost.usd_high) == (Decimal(row.cny or 0).scaleb(-12), Decimal(row.usd_high or 0).scaleb(-12))
    assert replace(USAGE, hit=3 * 896).hit == row.hit
