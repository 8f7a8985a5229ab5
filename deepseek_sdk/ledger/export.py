"""Calls and attempts of a ledger as CSV or JSON lines, a few at a time, so that any number of them takes no memory."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.amounts import plain, to_amount
from deepseek_sdk.ledger.period import from_micros
from deepseek_sdk.ledger.reader import opened
from deepseek_sdk.ledger.rows import AttemptRow, CallRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import tzinfo
    from pathlib import Path
    from typing import TextIO

    from deepseek_sdk.ledger.question import Question

__all__ = ["Format", "export", "safe_cell"]

Format: TypeAlias = Literal["csv", "jsonl"]

# Read at once: those who write do not wait for those who read, but the journal grows meanwhile.
_PAGE = 1000
# The full-width ones are as good as the others where Chinese is written.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MONEY = frozenset({"cny", "cny_low", "cny_high", "usd", "usd_low", "usd_high", "saved_cny", "saved_usd"})
_TIMES = frozenset({"at", "ended"})
_CALL_COLUMNS = CallRow._fields
_ATTEMPT_COLUMNS = ("request_id", *AttemptRow._fields)


def export(path: Path, question: Question, target: TextIO, *, form: Format, attempts: bool = False) -> int:
    """
    Write the calls of a period, in the order in which they ended.

    Instants are in ISO 8601, amounts decimals without an exponent. In CSV, a text that a spreadsheet would take for a
    formula begins with an apostrophe.

    Args:
        path: The ledger.
        question: Which period, and by what clock instants are written.
        target: Where to; as text, without a translation of line ends.
        form: "csv" or "jsonl".
        attempts: A row for each attempt, in place of one for each call.

    Returns:
        How many rows were written.

    Raises:
        ConfigurationError: There is no such format.
        LedgerError: The ledger cannot be read.
    """
    if form not in ("csv", "jsonl"):
        raise ConfigurationError(f"the format must be 'csv' or 'jsonl', not {form!r}")
    columns = _ATTEMPT_COLUMNS if attempts else _CALL_COLUMNS
    write = _csv_of(target, columns) if form == "csv" else _jsonl_of(target)
    count = 0
    with opened(path) as database:
        for row in _selected(database, question, attempts=attempts):
            write(_told(dict(zip(columns, row, strict=True)), question.tz))
            count += 1
    return count


def _selected(database: sqlite3.Connection, question: Question, *, attempts: bool) -> Iterator[tuple[Any, ...]]:
    since, until = question.bounds
    ids = "SELECT id FROM calls WHERE id > ? AND at >= ? AND at < ? ORDER BY id LIMIT ?"
    columns = ", ".join(f"a.{name}" for name in AttemptRow._fields)
    sql = (
        f"SELECT c.request_id, {columns} FROM calls AS c JOIN attempts AS a ON a.call = c.id"  # noqa: S608  no input in it
        " WHERE c.id = ? ORDER BY a.number"
        if attempts
        else f"SELECT {', '.join(_CALL_COLUMNS)} FROM calls WHERE id = ?"  # noqa: S608  likewise
    )
    last = 0
    while page := [call for (call,) in database.execute(ids, (last, since, until, _PAGE))]:
        for call in page:
            yield from database.execute(sql, (call,)).fetchall()
        last = page[-1]


def _told(row: dict[str, Any], tz: tzinfo) -> dict[str, Any]:
    return {name: _value(name, value, tz) for name, value in row.items()}


def _value(name: str, value: Any, tz: tzinfo) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return from_micros(value, tz).isoformat(timespec="milliseconds")
    if name in _MONEY:
        return plain(to_amount(value))
    if name.startswith("is_"):
        return bool(value)
    return json.loads(value) if name == "tags" else value


def _jsonl_of(target: TextIO) -> Callable[[Mapping[str, Any]], object]:
    def write(row: Mapping[str, Any]) -> None:
        target.write(f"{json.dumps(row, ensure_ascii=False)}\n")

    return write


def _csv_of(target: TextIO, columns: tuple[str, ...]) -> Callable[[Mapping[str, Any]], object]:
    # A carriage return in a cell is quoted only where it is a part of the end of a line.
    line = io.StringIO(newline="")
    writer = csv.writer(line, lineterminator="\r\n")

    def write(cells: Iterable[Any]) -> None:
        line.seek(0)
        line.truncate()
        writer.writerow(cells)
        target.write(f"{line.getvalue()[:-2]}\n")

    write(columns)
    return lambda row: write(safe_cell(_flat(value)) for value in row.values())


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def safe_cell(value: Any) -> Any:
    """
    Make of a value what no spreadsheet takes for a formula.

    Args:
        value: The value of a cell.

    Returns:
        It; a text that begins as formulas do gets an apostrophe in front.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
