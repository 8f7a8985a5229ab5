from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import sqlite3
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.failure import StoreError, contained, mapped
from tests.caching.verdicts import COLOURS, disk_in, run_in

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.caching.disk import DiskTier


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


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, asyncio.CancelledError, concurrent.futures.CancelledError])
def test_what_ends_a_program_is_an_error(kind: type[BaseException]) -> None:
    """What code of the caller's raises ends neither a program nor a task."""
    with pytest.raises(RuntimeError, match=kind.__name__), contained():
        raise kind


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_is_raised_as_it_is(kind: type[BaseException]) -> None:
    """Errors are what they are, and Ctrl-C ends the program."""
    with pytest.raises(kind), contained():
        raise kind


@pytest.mark.parametrize("kind", [ValueError, SystemExit, asyncio.CancelledError, concurrent.futures.CancelledError])
@pytest.mark.parametrize("colour", COLOURS)
def test_what_is_done_with_the_disk_fails(tmp_path: Path, colour: str, kind: type[BaseException]) -> None:
    """Whatever that raises, who asked gets what was to be given then."""

    def fail(_: DiskTier) -> str:
        raise kind

    disk = disk_in(tmp_path / "cache")
    try:
        assert "nothing" == run_in(colour, lambda io: disk.read(io, fail, "nothing"))
        assert "nothing" == run_in(colour, lambda io: disk.write(io, fail, "nothing"))
    finally:
        disk.close()
