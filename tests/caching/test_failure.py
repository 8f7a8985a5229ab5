from __future__ import annotations

import errno
import sqlite3

import pytest

from deepseek_sdk.caching.failure import StoreError, mapped


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
    with pytest.raises(StoreError) as caught, mapped():
        raise error

    assert (reason, error) == (caught.value.reason, caught.value.__cause__)
    assert str(error) == str(caught.value)


def test_other_errors_are_let_through() -> None:
    """What has nothing to do with files is no error of the disk."""
    with pytest.raises(ValueError, match="too large"), mapped():
        raise ValueError("too large")
