"""How a directory comes to hold the database of the cache: made once, whoever comes first, and put aside if damaged."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._sqlite import is_broken
from deepseek_sdk.caching.directory import APPLICATION_ID, DATABASE, LOCK, mark, prepare, quarantine
from deepseek_sdk.caching.eviction.schema import DDL, has_all, mend
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.lane import Lane, insist
from deepseek_sdk.caching.text_disk import make_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Files", "open_files", "put_aside"]

_log = logging.getLogger("deepseek_sdk")

_VERSION = 1
# Larger pages would save a tenth of the room, and make each write twice as much work.
_PAGE_BYTES = 4_096
# The smallest page.
_SHORTEST = 512
_CLAIM = """CREATE TABLE IF NOT EXISTS claim (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, until_ms INTEGER NOT NULL
) WITHOUT ROWID"""


class Files(NamedTuple):
    """
    The open database.

    Attributes:
        path: Where it is.
        inode: What the system calls it: another file may come to have its name.
        reader: For reading.
        writer: For writing.
        is_replaced: Another one was damaged, and put aside for it just now.
    """

    path: Path
    inode: int
    reader: Lane
    writer: Lane
    is_replaced: bool = False

    def are_there(self) -> bool:
        """
        Tell whether the name still leads to this database.

        Returns:
            False where somebody has deleted it or put it aside.
        """
        return _inode(self.path) == self.inode

    def close(self) -> None:
        """Close both connections."""
        self.reader.close()
        self.writer.close()


def open_files(directory: Path, lock_s: float, *, may_replace: bool = True) -> Files:
    """
    Open the database of a directory, and make what is missing.

    Args:
        directory: Where; an absolute path.
        lock_s: How long to wait for others, in seconds.
        may_replace: A damaged one is put aside, if it is known for one of ours.

    Returns:
        The open database.

    Raises:
        StoreError: The directory may not be used.
        sqlite3.Error: The database cannot be used.
        OSError: The directory cannot be used.
    """
    prepare(directory)
    was_ours = mark(directory)
    with _alone(directory, lock_s):
        try:
            return _open(directory, lock_s)
        except sqlite3.DatabaseError as error:
            # What is no database may be somebody's file, unless the directory is known for one of ours.
            if not is_broken(error) or (was_ours and not may_replace):
                raise
            if not was_ours:
                raise StoreError("foreign", f"{directory / DATABASE} is not a database of this cache") from error
            _put_aside(directory, error)
            return _open(directory, lock_s)._replace(is_replaced=True)


def put_aside(directory: Path, files: Files, error: Exception, lock_s: float) -> None:
    """
    Put a damaged database aside, unless another process has done so already.

    Args:
        directory: Where.
        files: What was open, and is closed now.
        error: What SQLite says.
        lock_s: How long to wait for others, in seconds.

    Raises:
        sqlite3.Error: Others do not let one.
        OSError: It cannot be renamed.
    """
    with _alone(directory, lock_s):
        is_same = files.are_there()
        files.close()
        if is_same:
            _put_aside(directory, error)


def _put_aside(directory: Path, error: Exception) -> None:
    aside = quarantine(directory)
    _log.error("the cache %s is damaged (%s): it was renamed to %s, and a new one begins", directory, error, aside.name)


@contextlib.contextmanager
def _alone(directory: Path, lock_s: float) -> Iterator[None]:
    """Keep others from making, opening or renaming the database; the system lets go for a process that is killed."""
    # An empty database as a lock: the same on every system, and nothing is ever written to it.
    _create(directory / LOCK)
    database = sqlite3.connect(directory / LOCK, timeout=0, isolation_level=None)
    try:
        insist(lambda: database.execute("BEGIN EXCLUSIVE"), lock_s)
        yield
    finally:
        database.close()


def _open(directory: Path, lock_s: float) -> Files:
    path = directory / DATABASE
    # SQLite gives what it puts beside a file the same rights.
    _create(path)
    _refuse_short(path)
    if _version(path, lock_s) < _VERSION:
        _make(directory, lock_s)
    elif not _has_all(path, lock_s):
        _make_tables(path, lock_s)
    reader = Lane(path, lock_s, is_reader=True)
    try:
        writer = Lane(path, lock_s)
    except BaseException:
        reader.close()
        raise
    return Files(path, _inode(path), reader, writer)


def _create(path: Path) -> None:
    """Make a file, unless it is there: closing one takes this process's locks away, also those of SQLite (POSIX)."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _refuse_short(path: Path) -> None:
    """Refuse what is no database: SQLite takes a short file for an empty one, and would write over it."""
    # Not opened, see above.
    if 0 < path.stat().st_size < _SHORTEST:
        error = sqlite3.DatabaseError("file is not a database")
        error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
        raise error


def _version(path: Path, lock_s: float) -> int:
    with contextlib.closing(sqlite3.connect(path, timeout=lock_s, isolation_level=None)) as database:
        tables = _number(database, "SELECT count(*) FROM sqlite_master")
        if _number(database, "PRAGMA application_id") != APPLICATION_ID:
            if tables:
                raise StoreError("foreign", f"{path} is a database of another program; name another directory")
            return 0
        version = _number(database, "PRAGMA user_version")
    if version > _VERSION:
        message = f"{path} was made by a later version (schema {version}, this one knows {_VERSION})"
        raise StoreError("version", message)
    return version


def _make(directory: Path, lock_s: float) -> None:
    path = directory / DATABASE
    with contextlib.closing(sqlite3.connect(path, timeout=lock_s, isolation_level=None)) as database:
        # These two only before there is anything in it; then whose it is, so that one half made is not a stranger's.
        database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("PRAGMA journal_mode = WAL")
    make_tables(directory, lock_s)
    _make_tables(path, lock_s)


def _has_all(path: Path, lock_s: float) -> bool:
    with contextlib.closing(sqlite3.connect(path, timeout=lock_s, isolation_level=None)) as database:
        return has_all(database.execute)


def _make_tables(path: Path, lock_s: float) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=lock_s, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        for statement in (*DDL, _CLAIM):
            database.execute(statement)
        mend(database.execute)
        database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")


def _number(database: sqlite3.Connection, sql: str) -> int:
    return int(database.execute(sql).fetchone()[0])


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116  half the price, on every lookup
    except OSError:
        return 0
