"""`Lane`: a connection to the database that one thread uses at a time; and how to insist where others write."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.failure import is_busy
from deepseek_sdk.caching.text_disk import CACHE_KIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Lane", "insist"]

# How often to look whether others are done. SQLite itself looks less often the longer it waits, and where several
# processes write one after another it may find the file locked each time.
_LOOK_S = 0.001
# What the journal may grow to before it is written back, in pages, and what is left of it then, in bytes.
_CHECKPOINT_PAGES, _JOURNAL_BYTES = 256, 4 * 2**20
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    f"PRAGMA cache_size = -{CACHE_KIB}",
    "PRAGMA mmap_size = 0",
    f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}",
    f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}",
)


def insist(database: sqlite3.Connection, sql: str, lock_s: float, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
    """
    Run a statement as soon as others let one.

    Args:
        database: An open file that does not wait by itself.
        sql: The statement.
        lock_s: How long to wait, in seconds.
        parameters: Of the statement.

    Returns:
        What it gives.

    Raises:
        sqlite3.Error: It cannot be run.
    """
    until = time.monotonic() + lock_s
    while True:
        try:
            return database.execute(sql, parameters)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= until:
                raise
            time.sleep(_LOOK_S)


class Lane:
    """
    A connection.

    Args:
        path: The database, which must be there.
        lock_s: How long to wait for others, in seconds.
        is_reader: SQLite itself waits, for what others hold for moments only.
    """

    def __init__(self, path: Path, lock_s: float, *, is_reader: bool = False) -> None:
        self._lock_s = lock_s
        # Not a name that would make a file where there is none. Threads take turns.
        self._database = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=lock_s if is_reader else 0,
            isolation_level=None,
            check_same_thread=False,
        )
        self.execute = self._database.execute
        try:
            for pragma in _PRAGMAS:
                insist(self._database, pragma, lock_s).fetchall()
            # The journal is opened now, while nobody can put the file aside.
            insist(self._database, "SELECT 1 FROM sqlite_master", lock_s).fetchall()
        except BaseException:
            self.close()
            raise

    def insist(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """
        Run one statement as a transaction of its own, as soon as others let it.

        Args:
            sql: The statement.
            parameters: Of it.

        Returns:
            What it gives.

        Raises:
            sqlite3.Error: It cannot be run.
        """
        return insist(self._database, sql, self._lock_s, parameters)

    @contextlib.contextmanager
    def transaction(self, lock_s: float | None = None) -> Iterator[None]:
        """
        Write, all or nothing.

        Args:
            lock_s: How long to wait for others, in seconds; None: as long as ever.

        Raises:
            sqlite3.Error: It cannot be done; nothing was written.
        """
        insist(self._database, "BEGIN IMMEDIATE", self._lock_s if lock_s is None else lock_s)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # Where SQLite has rolled back already, there is nothing left to do.
            with contextlib.suppress(sqlite3.Error):
                self._database.rollback()
            raise

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(sqlite3.Error):
            self._database.close()
