"""`usage`: what calls used and cost, and the calls themselves for other programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.cli._app import app
from deepseek_sdk.ledger import Ledger
from tests.cli.conftest import run_program
from tests.ledger.conftest import AT, add_attempt, ended
from tests.ledger.test_cached import cached

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a ledger of three calls."""
    path = tmp_path / "ledger.sqlite3"
    ledger = Ledger(path, wall=lambda: AT)
    failed = ended(AT - 86_400, attempts=0, user="=1+1", ending="failed", reason="timeout")
    add_attempt(failed, "qwen", is_estimated=True)
    for record in (ended(user="小明", tags={"f": "search"}), ended(user="小明"), failed):
        ledger(record)
    ledger.close()
    return path


@pytest.fixture
def usage(file: Path) -> Callable[..., Result]:
    """Run `usage` in this process, in English, with that ledger."""

    def run(*arguments: str, lang: str = "en") -> Result:
        return CliRunner().invoke(app, ["--lang", lang, "usage", *arguments], env={"DEEPSEEK_SDK_LEDGER": str(file)})

    return run


def rows(done: Result) -> list[dict[str, Any]]:
    """Read rows in JSON."""
    assert 0 == done.exit_code, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_total(usage: Callable[..., Result]) -> None:
    """Without more there is one row for all calls; amounts are exact."""
    (row,) = rows(usage("-o", "json"))

    assert (3, 1, 0, 3, "0.00128768", "0.000193152", 1, 1) == tuple(
        row[name]
        for name in (
            "calls",
            "failed",
            "abandoned",
            "attempts",
            "cny",
            "usd",
            "unpriced_calls",
            "estimated_calls",
        )
    )


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("user", ["小明", "=1+1"]),
        ("model", ["deepseek-flash", "qwen"]),
        ("day", ["2026-11-29", "2026-11-30"]),
        ("tag:f", [None, "search"]),
        ("session", [None]),
    ],
)
def test_rows(usage: Callable[..., Result], by: str, keys: list[str | None]) -> None:
    """Calls are told apart by whom they were for, what answered, and when."""
    assert keys == [row["key"] for row in rows(usage("--by", by, "-o", "json"))]


def test_periods(usage: Callable[..., Result]) -> None:
    """A period and what calls have in common choose which are counted."""
    assert 2 == rows(usage("--since", "2026-11-30", "--until", "2026-11-30", "-o", "json"))[0]["calls"]
    assert 2 == rows(usage("--only", "user=小明", "-o", "json"))[0]["calls"]
    assert 1 == rows(usage("--only", "user=小明", "--only", "tag:f=search", "-o", "json"))[0]["calls"]
    assert ["2026-11-29", "2026-11-30"] == [
        row["key"] for row in rows(usage("--by", "day", "--tz", "UTC", "-o", "json"))
    ]


def test_table(usage: Callable[..., Result]) -> None:
    """A table has a total, and beside it what the numbers do not hold."""
    done = usage("--by", "user")
    chinese = usage("--by", "user", "--lang", "zh")

    assert all(word in done.stdout for word in ("小明", "total", "0.001288", "cache miss"))
    assert "1 calls have no known price." in done.stderr
    assert "some tokens are estimates" in done.stderr
    assert all(word in chinese.stdout for word in ("合计", "缓存未命中"))
    assert "没有已知价格" in chinese.stderr


def test_range_in_a_table(usage: Callable[..., Result], file: Path) -> None:
    """Where it is not known what a call costs, a table shows the least and the most."""
    ledger, record = Ledger(file, wall=lambda: AT), ended(attempts=0, user="cut")
    add_attempt(record, is_estimated=True, is_possibly_billed=True, outcome="failed")
    ledger(record)
    ledger.close()

    assert "0.000644 (0-0.000644)" in usage("--only", "user=cut").stdout


def test_what_the_cache_saved(usage: Callable[..., Result], file: Path) -> None:
    """A table has columns for the cache where it answered something, and none where it did not; data always has."""
    headings = ("from cache", "saved CNY", "saved USD")
    assert not any(word in usage().stdout for word in headings)
    assert (0, None) == ((row := rows(usage("-o", "json"))[0])["cached"], row["saved_cny"])
    ledger = Ledger(file, wall=lambda: AT)
    for record in (cached(user="小明"), cached("stale")):
        ledger(record)
    ledger.close()

    done = usage("--by", "user")
    assert all(word in done.stdout for word in (*headings, "0.00044", "0.00088", "0.000132"))
    assert all(word in usage("--lang", "zh").stdout for word in ("本地缓存", "节省 CNY", "节省 USD"))
    assert [(None, 3, 0, None), ("hit", 1, 1, "0.00044"), ("stale", 1, 1, "0.00044")] == [
        tuple(row[name] for name in ("key", "calls", "cached", "saved_cny"))
        for row in rows(usage("--by", "cache", "-o", "json"))
    ]


def test_missing_calls_are_told(usage: Callable[..., Result], file: Path) -> None:
    """Why calls may be missing is told beside the numbers, in the language asked for."""
    ledger = Ledger(file, wall=lambda: AT)
    writer = ledger._writers.get()
    writer._lost = 7
    ledger(ended())
    ledger.close()

    assert "7 calls could not be written and were dropped." in usage().stderr
    assert "有 7 次调用因无法写入而丢弃" in usage("--lang", "zh").stderr


def test_no_formula_in_csv(usage: Callable[..., Result]) -> None:
    """A spreadsheet computes nothing that a user has put into his name."""
    table = csv.DictReader(io.StringIO(usage("--by", "user", "-o", "csv").stdout))

    assert ["小明", "'=1+1"] == [row["key"] for row in table]


def test_without_a_ledger(tmp_path: Path) -> None:
    """Without a ledger it is told how there would be one, in both languages."""
    variables = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    english = CliRunner().invoke(app, ["--lang", "en", "usage"], env=variables)
    chinese = CliRunner().invoke(app, ["--lang", "zh", "usage", "export", "--format", "csv"], env=variables)

    assert (3, 3, "") == (english.exit_code, chinese.exit_code, english.stdout)
    assert all(word in english.stderr for word in ("ledger=True", "DEEPSEEK_SDK_LEDGER=on", str(tmp_path)))
    assert "没有账本" in chinese.stderr


def test_usual_place(tmp_path: Path) -> None:
    """The ledger in the usual place is found without a setting; one that is named comes first."""
    variables = {"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        usual, other = Ledger(), Ledger(tmp_path / "other")
    for ledger, count in ((usual, 1), (other, 2)):
        for _ in range(count):
            ledger(ended())
        ledger.close()

    found = CliRunner().invoke(app, ["usage", "-o", "json"], env=variables)
    named = CliRunner().invoke(app, ["usage", "-o", "json", "--ledger", str(other.path)], env=variables)
    assert (1, 2) == (rows(found)[0]["calls"], rows(named)[0]["calls"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--by", "colour"), "told apart by"),
        (("--since", "noon"), "no instant"),
        (("--only", "user"), "NAME=VALUE"),
        (("--tz", "Mars/Crater"), "no time zone"),
        (("export", "--format", "xml"), "--format"),
        (("--by", "user", "export", "--format", "csv"), "not for export"),
        (("exprot",), "Did you mean 'export'?"),
    ],
)
def test_command_lines_that_are_wrong(usage: Callable[..., Result], arguments: tuple[str, ...], words: str) -> None:
    """What cannot be asked ends with 2, and says why."""
    done = usage(*arguments)

    assert (2, "") == (done.exit_code, done.stdout)
    assert words in done.stderr


def test_file_that_is_no_ledger(usage: Callable[..., Result], file: Path) -> None:
    """A file that cannot be read ends with 1, and is named."""
    file.write_text("no ledger" * 100)
    done = usage()

    assert (1, "") == (done.exit_code, done.stdout)
    assert "LedgerError" in done.stderr


def test_export(usage: Callable[..., Result], tmp_path: Path) -> None:
    """Calls go to stdout or to a file, as CSV or JSON lines."""
    lines = usage("export", "--format", "jsonl").stdout.splitlines()
    named, table = tmp_path / "calls.jsonl", tmp_path / "calls.csv"
    usage("export", str(named))
    done = usage("--since", "2026-11-30", "export", "--format", "csv", "--bom", str(table))

    assert ["小明", "小明", "=1+1"] == [json.loads(line)["user"] for line in lines]
    assert lines == named.read_text("utf-8").splitlines()
    assert (0, "", "2 rows\n") == (done.exit_code, done.stdout, done.stderr)
    assert table.read_bytes().startswith(b"\xef\xbb\xbfrequest_id,")
    assert ["小明", "小明"] == [row["user"] for row in csv.DictReader(table.read_text("utf-8-sig").splitlines())]


def test_export_never_overwrites_the_ledger(usage: Callable[..., Result], file: Path, tmp_path: Path) -> None:
    """The file that is named is written to: where it is the ledger, nothing happens to it."""
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    for name in (file, link):
        done = usage("export", "--format", "csv", str(name))

        assert (2, "") == (done.exit_code, done.stdout)
        assert "is the ledger itself" in done.stderr
    assert 3 == rows(usage("-o", "json"))[0]["calls"]
    assert "就是账本本身" in usage("export", "--format", "csv", str(file), lang="zh").stderr


def test_export_to_where_nothing_can_be_written(usage: Callable[..., Result], tmp_path: Path) -> None:
    """A file that cannot be written ends with 1, and is named."""
    done = usage("export", "--format", "csv", str(tmp_path / "missing" / "calls.csv"))

    assert (1, "") == (done.exit_code, done.stdout)
    assert "calls.csv cannot be written: No such file" in done.stderr


def test_export_by_the_clock_of_the_whole_command(usage: Callable[..., Result]) -> None:
    """A clock that is named before the word counts too."""
    found = list(csv.DictReader(usage("--tz", "UTC", "export", "--format", "csv").stdout.splitlines()))

    assert "2026-11-30T02:00:00.000+00:00" == found[0]["at"]


def test_export_of_attempts(usage: Callable[..., Result]) -> None:
    """Attempts can be written one by one."""
    done = usage("export", "--attempts", "--tz", "UTC")
    found = list(csv.DictReader(done.stdout.splitlines()))

    assert ["deepseek-flash", "deepseek-flash", "qwen"] == [row["model"] for row in found]
    assert "2026-11-30T02:00:00.000+00:00" == found[0]["at"]


@pytest.mark.slow
def test_process(file: Path) -> None:
    """A real process gives JSON lines for other programs."""
    done = run_program("usage", "--by", "model", "-o", "jsonl", "--ledger", str(file))

    assert (0, ["deepseek-flash", "qwen"]) == (
        done.returncode,
        [json.loads(line)["key"] for line in done.stdout.splitlines()],
    )
