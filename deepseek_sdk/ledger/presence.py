"""`Presence`: which processes write to a ledger, so that the end of one that wrote nothing more is noticed."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._processes import born, is_alive

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["BEAT_S", "Lost", "Presence", "lost"]

# A process that writes to a ledger says so at least that often.
BEAT_S = 60.0
# Who is not seen from here, and was not heard of for three beats and a bit, has ended.
_SILENT_S = 200.0
_MICRO = 1_000_000
_OWN = "id = ? AND pid = ? AND started = ?"


class Presence:
    """A process in the table `processes`: its row goes when it ends well, and stays where it was killed."""

    def __init__(self) -> None:
        # Its number there, its pid and when it began: in another file that has come there, no row has all three.
        self._row = (0, 0, 0)

    def show(self, database: sqlite3.Connection, dropped: int, now: float) -> None:
        """
        Write down that this process lives, within a transaction of the caller's.

        Args:
            database: The open file.
            dropped: How many calls of this process could not be kept until now.
            now: The time, in seconds since 1970.
        """
        micros = int(now * _MICRO)
        sql = f"UPDATE processes SET beat = ?, dropped = ?, ended = NULL WHERE {_OWN}"  # noqa: S608  no input in it
        if database.execute(sql, (micros, dropped, *self._row)).rowcount:
            return
        sql = "INSERT INTO processes (pid, birth, place, started, beat, dropped) VALUES (?, ?, ?, ?, ?, ?)"
        pid = os.getpid()
        row = database.execute(sql, (pid, born(pid), _place(), micros, micros, dropped)).lastrowid
        self._row = (row or 0, pid, micros)

    def leave(self, database: sqlite3.Connection, dropped: int, now: float) -> None:
        """
        Write down that this process has nothing more to write.

        Args:
            database: The open file.
            dropped: How many calls of this process could not be kept.
            now: The time, in seconds since 1970.
        """
        database.execute(f"UPDATE processes SET dropped = ? WHERE {_OWN}", (dropped, *self._row))  # noqa: S608  likewise
        database.execute(f"DELETE FROM processes WHERE {_OWN} AND dropped = 0", self._row)  # noqa: S608  likewise
        micros = int(now * _MICRO)
        database.execute(f"UPDATE processes SET ended = ? WHERE {_OWN}", (micros, *self._row))  # noqa: S608  likewise


class Lost(NamedTuple):
    """
    A process that wrote less than it should have.

    Attributes:
        pid: Its number.
        beat: When it was last heard of, in microseconds since 1970.
        is_unclean: It ended without writing what it had.
        dropped: How many calls it could not keep.
    """

    pid: int
    beat: int
    is_unclean: bool
    dropped: int


def lost(database: sqlite3.Connection, since: int, until: int, now: float) -> Iterator[Lost]:
    """
    Find processes that wrote less than they should have.

    Args:
        database: The open file.
        since: The beginning of a period, in microseconds since 1970.
        until: Its end, likewise.
        now: The time, in seconds since 1970.

    Yields:
        What was lost in the period, by process.
    """
    columns = "pid, birth, place, beat, ended, dropped"
    sql = f"SELECT {columns} FROM processes WHERE beat >= ? AND started < ? ORDER BY beat, id"  # noqa: S608  likewise
    here = _place()
    for pid, birth, place, beat, ended, dropped in database.execute(sql, (since, until)):
        silent_s = now - beat / _MICRO
        # What runs elsewhere, in another container say, has numbers of its own.
        lives = is_alive(pid, birth, 0.0) if place == here and birth else silent_s < _SILENT_S
        if dropped or (ended is None and not lives):
            yield Lost(pid, beat, ended is None and not lives, dropped)


def _place() -> str:
    """Say where numbers of processes mean the same."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return f"{platform.node()} {namespace}".strip()
