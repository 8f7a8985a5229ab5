"""`LedgerFile`: the file that calls are written to; it serves one thread at a time."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from deepseek_sdk._sqlite import is_broken
from deepseek_sdk.ledger.presence import Presence
from deepseek_sdk.ledger.rotation import Rotation, tidy
from deepseek_sdk.ledger.rows import AttemptRow, CallRow
from deepseek_sdk.ledger.schema import BUSY_S, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deepseek_sdk.ledger.rows import Rows

__all__ = ["LedgerFile", "insert"]

_log = logging.getLogger("deepseek_sdk")


def _insertion(table: str, columns: Sequence[str], *, manner: str = "INSERT") -> str:
    return f"{manner} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


# A batch whose end nobody saw is written again: what had arrived is not written twice.
_CALL = _insertion("calls", CallRow._fields, manner="INSERT OR IGNORE")
_ATTEMPT = _insertion("attempts", ("call", *AttemptRow._fields))


def insert(database: sqlite3.Connection, rows: Sequence[Rows]) -> None:
    """
    Write calls, within a transaction of the caller's.

    Args:
        database: The open file.
        rows: The calls.
    """
    for row in rows:
        cursor = database.execute(_CALL, row.call)
        if cursor.rowcount > 0:
            call = cursor.lastrowid
            database.executemany(_ATTEMPT, [(call, *attempt) for attempt in row.attempts])


class LedgerFile:
    """
    The file; it is opened when it is first written to, and anew where somebody has deleted or moved it.

    Several processes may write to one. It lies on a disk of this machine: over a network file system the locks of
    SQLite do not hold.

    Args:
        path: Where.
        rotation: How large and how old it may become.
        busy_s: How long to wait for others, in seconds.
    """

    def __init__(self, path: Path, rotation: Rotation, busy_s: float = BUSY_S) -> None:
        self.path = path
        self._rotation = rotation
        self._busy_s = busy_s
        self._presence = Presence()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def write(self, rows: Sequence[Rows], dropped: int, now: float) -> None:
        """
        Write calls, in one transaction.

        Args:
            rows: The calls; may be none, to show that this process lives.
            dropped: How many calls of this process could not be kept until now.
            now: The time, in seconds since 1970.

        Raises:
            sqlite3.Error: The file cannot be used; nothing was written.
            OSError: Likewise.
        """
        with self._mended() as database, _transaction(database):
            self._presence.show(database, dropped, now)
            insert(database, rows)

    def rotate(self, now: float, written: int) -> None:
        """
        Remove what is too old or too much, in small steps.

        Args:
            now: The time, in seconds since 1970.
            written: How many calls were written since the last time.

        Raises:
            sqlite3.Error: The file cannot be used.
        """
        with self._mended() as database:
            for _ in range(self._rotation.steps(written)):
                if (last := self._rotation.due(database, now)) is None:
                    break
                with _transaction(database):
                    self._rotation.step(database, last)
            tidy(database)

    def leave(self, dropped: int, now: float) -> None:
        """
        Write down that this process has written all that it could, and close the file.

        Args:
            dropped: How many calls of this process could not be kept.
            now: The time, in seconds since 1970.
        """
        if self._connection is not None and self._is_there():
            # Where that fails, it looks as if the process had been killed: nothing worse.
            with contextlib.suppress(sqlite3.Error), _transaction(self._connection) as database:
                self._presence.leave(database, dropped, now)
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when it is next used, by the same process."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    @contextlib.contextmanager
    def _mended(self) -> Iterator[sqlite3.Connection]:
        """Give the open file; a broken one is put aside, and the next try finds a new one."""
        try:
            yield self._open()
        except sqlite3.DatabaseError as error:
            if is_broken(error):
                self._quarantine(error)
            raise
        except OSError:
            self.close()
            raise

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._is_there():
            return self._connection
        self.close()
        self._create()
        self._inode = self.path.stat().st_ino
        # Threads take turns, and a forked child never gets here with a connection of its parent.
        database = sqlite3.connect(self.path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        try:
            prepare(database, self._busy_s)
        except BaseException:
            database.close()
            raise
        self._connection = database
        return database

    def _create(self) -> None:
        """Make an empty file that nobody else can read; SQLite gives what it puts beside it the same rights."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if self.path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.path))

    def _is_there(self) -> bool:
        """Tell whether the file is still the one that was opened: somebody may have moved or deleted it."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _quarantine(self, error: Exception) -> None:
        """Put a broken file aside, unless another process has done so already."""
        is_same = self._is_there()
        self.close()
        if not is_same:
            return
        aside = self.path.with_name(f"{self.path.name}.broken-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).replace(aside.with_name(aside.name + suffix))
        _log.error("the ledger %s is broken (%s): it was renamed to %s, and a new one begins", self.path, error, aside)


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.rollback()
        raise
