"""Calls and attempts for other programs."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.errors import ConfigurationError, LedgerError
from deepseek_sdk.ledger import Ledger
from deepseek_sdk.ledger.export import export, safe_cell
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.ledger.question import ask
from deepseek_sdk.ledger.rows import CallRow
from tests.ledger.conftest import AT, add_attempt, ended

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deepseek_sdk._record import Record


def exported(path: Path, records: Sequence[Record] = (), *, since: Any = None, **options: Any) -> str:
    """Write calls to a ledger, and give what is exported of it."""
    ledger = Ledger(path, flush_s=60, wall=lambda: AT)
    for record in records:
        ledger(record)
    target = io.StringIO(newline="")
    ledger.export(target, since=since, **options)
    ledger.close()
    return target.getvalue()


def test_json_lines(tmp_path: Path) -> None:
    """A line is a call: amounts are decimals, instants have an offset, tags are a table."""
    record = ended(user="小明", tags={"功能": "搜索"})
    text = exported(tmp_path / "x", [record], form="jsonl")
    row = json.loads(text)

    assert list(CallRow._fields) == list(row)
    assert (record.id, "2026-11-30T10:00:00.000+08:00", "小明", {"功能": "搜索"}, "0.00064384", False) == tuple(
        row[name] for name in ("request_id", "at", "user", "tags", "cny", "is_estimated")
    )
    assert "小明" in text


def test_csv_of_attempts(tmp_path: Path) -> None:
    """A row is an attempt, with the call that it belongs to."""
    record = ended(attempts=1)
    add_attempt(record, "deepseek-v4-pro")
    rows = list(csv.DictReader(io.StringIO(exported(tmp_path / "x", [record, ended()], form="csv", attempts=True))))

    assert [(record.id, "1"), (record.id, "2")] == [(row["request_id"], row["number"]) for row in rows[:2]]
    assert ["deepseek-flash", "deepseek-v4-pro", "deepseek-flash"] == [row["model"] for row in rows]


@pytest.mark.parametrize(
    "name", ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff201"]
)
def test_csv_holds_no_formula(tmp_path: Path, name: str) -> None:
    """What a spreadsheet would compute begins with an apostrophe; JSON has the text as it is."""
    path = tmp_path / "x"
    rows = list(csv.DictReader(io.StringIO(exported(path, [ended(user=name)], form="csv"), newline="")))

    assert f"'{name}" == rows[0]["user"]
    assert name == json.loads(exported(path, form="jsonl"))["user"]


def test_cells() -> None:
    """Numbers, and texts that are no formula, stay as they are."""
    assert ["a=b", -5, None, "", "'=x"] == [safe_cell(value) for value in ("a=b", -5, None, "", "=x")]


def test_periods(tmp_path: Path) -> None:
    """Only the calls of the period are written; of none there is a heading."""
    path = tmp_path / "x"
    records = [ended(AT - 100), ended(AT - 10)]

    assert 1 == exported(path, records, since=AT - 50, form="jsonl").count("\n")
    assert 1 == exported(path, since=AT + 50, form="csv").count("\n")


@pytest.mark.slow
def test_memory(tmp_path: Path) -> None:
    """Any number of calls takes little memory, and comes in the order in which they ended."""
    path = tmp_path / "x"
    exported(path, [ended(AT + n) for n in range(4000)], form="csv", since=AT + 10**6)

    class Counter(io.StringIO):
        lines = 0

        def write(self, text: str) -> int:
            self.lines += 1
            return len(text)

    target = Counter()
    question = ask(since=None, until=None, by=None, only=None, tz=BEIJING, now=AT)
    tracemalloc.start()
    count = export(path, question, target, form="jsonl")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (4000, 4000) == (count, target.lines)
    assert peak < 2_000_000


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    """A file that is not there, or is no ledger, and a format that is none, are told."""
    (tmp_path / "other").write_text("x" * 1000)
    question = ask(since=None, until=None, by=None, only=None, tz=BEIJING, now=AT)

    for name, words in (("nowhere", "there is no ledger"), ("other", "not a database")):
        with pytest.raises(LedgerError, match=words):
            export(tmp_path / name, question, io.StringIO(), form="csv")
    with pytest.raises(ConfigurationError, match="'csv' or 'jsonl'"):
        export(tmp_path / "x", question, io.StringIO(), form="xml")  # type: ignore[arg-type]
