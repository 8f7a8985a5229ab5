from __future__ import annotations

import errno
import sqlite3
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.failure import StoreError, explained, is_broken, is_busy

if TYPE_CHECKING:
    from pathlib import Path


def sqlite_error(code: int) -> sqlite3.OperationalError:
    """Make an error as SQLite raises it."""
    error = sqlite3.OperationalError("some words")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY), "locked"),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), "locked"),
        (sqlite_error(sqlite3.SQLITE_FULL), "full"),
        (sqlite_error(sqlite3.SQLITE_READONLY_DIRECTORY), "read_only"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX), "corrupt"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), "corrupt"),
        (sqlite_error(sqlite3.SQLITE_IOERR_READ), "io"),
        (sqlite3.ProgrammingError("no code"), "io"),
        (OSError(errno.ENOSPC, "full"), "full"),
        (OSError(errno.EROFS, "read-only"), "read_only"),
        (PermissionError(errno.EACCES, "denied"), "permission"),
        (NotADirectoryError(errno.ENOTDIR, "a file"), "foreign"),
        (OSError("no number"), "io"),
    ],
)
def test_reason(error: Exception, reason: str) -> None:
    """What SQLite and the system say becomes one word, and stays the cause."""
    with pytest.raises(StoreError) as caught, explained():
        raise error

    assert (reason, error) == (caught.value.reason, caught.value.__cause__)
    assert str(error) == str(caught.value)


def test_other_errors_are_let_through() -> None:
    """What has nothing to do with files is no error of the disk."""
    with pytest.raises(ValueError, match="too large"), explained():
        raise ValueError("too large")


def test_broken_and_busy(tmp_path: Path) -> None:
    """A file that is no database is broken; one that somebody holds is busy."""
    (tmp_path / "text").write_text("text " * 1000)
    with pytest.raises(sqlite3.DatabaseError) as no_database:
        sqlite3.connect(tmp_path / "text").execute("SELECT 1 FROM sqlite_master")
    one, other = (sqlite3.connect(tmp_path / "held", timeout=0, isolation_level=None) for _ in range(2))
    one.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError) as held:
        other.execute("BEGIN EXCLUSIVE")
    one.close()
    other.close()

    assert (True, False) == (is_broken(no_database.value), is_busy(no_database.value))
    assert (False, True) == (is_broken(held.value), is_busy(held.value))
