"""`Rotation`: how large and how old a ledger may become; the oldest calls go first, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Rotation", "tidy", "used_bytes"]

_MICRO, _DAY_S = 1_000_000, 86_400
# So many calls at a time: others wait for a few milliseconds.
_STEP = 500
# Given back to the disk at a time, in pages.
_PAGES = 256
_SMALLEST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """
    The bounds of a ledger.

    Attributes:
        max_bytes: How large it may become, or None. What the journal beside it takes, 4 MiB at most, comes on top.
        max_age_days: How old a call may become, or None.
    """

    max_bytes: int | None
    max_age_days: float | None

    def __post_init__(self) -> None:
        if self.max_bytes is not None and not (_is_number(self.max_bytes) and self.max_bytes >= _SMALLEST):
            message = f"max_bytes must be a number from {_SMALLEST:,} up, or None, not {self.max_bytes!r}"
            raise ConfigurationError(message)
        if self.max_age_days is not None and not (_is_number(self.max_age_days) and self.max_age_days > 0):
            message = f"max_age_days must be a number above 0, or None, not {self.max_age_days!r}"
            raise ConfigurationError(message)

    def steps(self, written: int) -> int:
        """
        Say how much may be removed at a time.

        Args:
            written: How many calls were written.

        Returns:
            The number of steps: always more than was written, so that the bounds are met in the end.
        """
        return 2 + 2 * written // _STEP

    def step(self, database: sqlite3.Connection, last: int) -> None:
        """
        Remove a few calls, within a transaction of the caller's.

        Args:
            database: The open file.
            last: The last that goes, as `due()` says.
        """
        calls, until = database.execute("SELECT COUNT(*), MAX(at) FROM calls WHERE id <= ?", (last,)).fetchone()
        if not calls:
            return  # another process was faster
        database.execute("DELETE FROM attempts WHERE call <= ?", (last,))
        database.execute("DELETE FROM calls WHERE id <= ?", (last,))
        sql = (
            "INSERT INTO removed VALUES (1, ?, ?)"
            " ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, until = MAX(until, excluded.until)"
        )
        database.execute(sql, (calls, until))
        database.execute("DELETE FROM processes WHERE beat < (SELECT MIN(at) FROM calls)")

    def due(self, database: sqlite3.Connection, now: float) -> int | None:
        """
        Find calls that have to go.

        Args:
            database: The open file.
            now: The time, in seconds since 1970.

        Returns:
            The last of those that may go in one step, or None where all may stay.
        """
        if self.max_bytes is not None and used_bytes(database) > self.max_bytes:
            sql = "SELECT MAX(id) FROM (SELECT id FROM calls ORDER BY id LIMIT ?)"
            last: int | None = database.execute(sql, (_STEP,)).fetchone()[0]
            return last
        if self.max_age_days is None:
            return None
        # Calls are written when they end: those of one time lie together, and the first that is young ends the step.
        cutoff = int((now - self.max_age_days * _DAY_S) * _MICRO)
        last = None
        for call, at in database.execute("SELECT id, at FROM calls ORDER BY id LIMIT ?", (_STEP,)):
            if at >= cutoff:
                break
            last = call
        return last


def used_bytes(database: sqlite3.Connection) -> int:
    """
    Tell how much of a file is in use.

    Args:
        database: The open file.

    Returns:
        Bytes; what was removed does not count, though the file may still have it.
    """
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def tidy(database: sqlite3.Connection) -> None:
    """
    Give free pages back to the disk, a few at a time.

    Args:
        database: The open file.
    """
    # A row for each page: it does nothing unless they are read.
    database.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
