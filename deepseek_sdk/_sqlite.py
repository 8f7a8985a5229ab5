"""What SQLite's errors mean for whoever shares a file with other processes."""

from __future__ import annotations

import sqlite3

__all__ = ["is_broken", "is_busy", "primary_code"]

_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


def is_broken(error: BaseException) -> bool:
    """
    Tell whether a file is damaged, or is no database: no later try will do better.

    Args:
        error: What SQLite says.

    Returns:
        Whether it is.
    """
    return primary_code(error) in _BROKEN


def is_busy(error: BaseException) -> bool:
    """
    Tell whether somebody else holds the file.

    Args:
        error: What SQLite says.

    Returns:
        Whether it may be free later.
    """
    return primary_code(error) in _BUSY


def primary_code(error: BaseException) -> int:
    """
    Give SQLite's code of an error, without what it adds in the higher bytes.

    Args:
        error: What SQLite says.

    Returns:
        The code, or 0 where there is none.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
