"""How a ledger is read: without changing it, and while others write to it."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from deepseek_sdk.errors import LedgerError
from deepseek_sdk.ledger.query import answer, findings
from deepseek_sdk.ledger.schema import BUSY_S, MIGRATIONS, missing_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deepseek_sdk.ledger.question import Question
    from deepseek_sdk.ledger.report import UsageReport

__all__ = ["opened", "read_usage"]

_OUT_OF_REACH = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


def read_usage(path: Path, question: Question) -> UsageReport:
    """
    Answer a question from a file.

    Args:
        path: The ledger.
        question: The question.

    Returns:
        The answer.

    Raises:
        LedgerError: The file cannot be read.
    """
    with opened(path) as database:
        return answer(database, question, findings(database, question))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """
    Open a ledger for reading.

    Args:
        path: The ledger.

    Yields:
        The open file.

    Raises:
        LedgerError: It is not there, is no ledger, is of a later version, or cannot be read.
    """
    try:
        if not path.is_file():
            raise LedgerError("there is no ledger here", path=str(path))
        with contextlib.closing(_connected(path)) as database:
            _check(database, path)
            _fill(database)
            yield database
    except (sqlite3.Error, OSError) as error:
        raise LedgerError(str(error) or type(error).__name__, path=str(path)) from error


def _connected(path: Path) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None)
    try:
        database.execute("SELECT COUNT(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        database.close()
        if not (error.sqlite_errorcode & 0xFF in _OUT_OF_REACH and _is_still(path)):
            raise
        # Nothing can be put beside it, and nothing is: nobody is writing to it.
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    return database


def _is_still(path: Path) -> bool:
    journal = path.with_name(f"{path.name}-wal")
    return not journal.exists() or not journal.stat().st_size


def _check(database: sqlite3.Connection, path: Path) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise LedgerError(f"it was made by a later version (schema {version})", path=str(path))
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version < len(MIGRATIONS) or not {"calls", "attempts", "processes"} <= names:
        raise LedgerError("this file is no ledger", path=str(path))


def _fill(database: sqlite3.Connection) -> None:
    """Let a file of an older version, which nobody has written to since, look as it will: columns of it are empty."""
    if missing := missing_columns(database):
        empty = ", ".join(f"NULL AS {name}" for name in missing)
        # It hides the table of that name, and takes nothing but memory.
        database.execute(f"CREATE TEMP VIEW calls AS SELECT *, {empty} FROM main.calls")  # noqa: S608  no input in it
