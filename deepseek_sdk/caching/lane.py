"""`Lane`: a connection to the database that one thread uses at a time; and how to insist where others write."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any, TypeVar

from deepseek_sdk._sqlite import is_busy
from deepseek_sdk.caching.text_disk import CACHE_KIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Lane", "insist"]

T = TypeVar("T")

# How often to look whether others are done. SQLite itself looks less often the longer it waits, and where several
# processes write one after another it may find the file locked each time.
_LOOK_S = 0.001
# What the journal may grow to before it is written back, in pages, and what is left of it then, in bytes.
_CHECKPOINT_PAGES, _JOURNAL_BYTES = 1_000, 4 * 2**20
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    f"PRAGMA cache_size = -{CACHE_KIB}",
    "PRAGMA mmap_size = 0",
    f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}",
    f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}",
)


def insist(run: Callable[[], T], lock_s: float) -> T:
    """
    Do something as soon as others let one.

    Args:
        run: What; SQLite does not wait by itself.
        lock_s: How long to wait, in seconds.

    Returns:
        Its result.

    Raises:
        sqlite3.Error: It cannot be done.
    """
    until = time.monotonic() + lock_s
    while True:
        try:
            return run()
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
                self.insist(pragma)
            # The journal is opened now, while nobody can put the file aside.
            self.insist("SELECT 1 FROM sqlite_master").fetchall()
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
        return insist(lambda: self.execute(sql, parameters), self._lock_s)

    def give_back(self, pages: int) -> None:
        """
        Give pages that nothing stands on back to the disk, as soon as others let one.

        Args:
            pages: How many at most.

        Raises:
            sqlite3.Error: It cannot be done.
        """
        # SQLite gives a row without columns for each page, and only a script is run to its end by Python then.
        insist(lambda: self._database.executescript(f"PRAGMA incremental_vacuum({pages})"), self._lock_s)

    @contextlib.contextmanager
    def transaction(self, lock_s: float | None = None) -> Iterator[None]:
        """
        Write, all or nothing.

        Args:
            lock_s: How long to wait for others, in seconds; None: as long as ever.

        Raises:
            sqlite3.Error: It cannot be done; nothing was written.
        """
        insist(lambda: self.execute("BEGIN IMMEDIATE"), self._lock_s if lock_s is None else lock_s)
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
