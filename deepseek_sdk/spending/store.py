"""`Store`: the file in which processes of one machine keep their budgets; it serves one thread at a time."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._processes import born, is_alive
from deepseek_sdk._sqlite import is_broken
from deepseek_sdk.spending.budget import MOST
from deepseek_sdk.spending.moves import Row, Standing, StoreError
from deepseek_sdk.spending.slices import slice_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from deepseek_sdk.spending.moves import Move
    from deepseek_sdk.spending.purse import Key

__all__ = ["Store"]

_log = logging.getLogger("deepseek_sdk")

_VERSION = 1
# How long to wait for others, and how often to look whether they are done: SQLite looks every tenth of a second, and
# where others write one after another it may find the file locked each time.
_BUSY_S, _LOOK_S = 5.0, 0.002
# Others must hear of a process that holds something, before they take it for dead.
_BEAT_S = 5.0
# Periods that are over are kept for two months and a bit; a process that holds nothing, for a day.
_KEPT_S, _PROCESS_KEPT_S = 70 * 86_400, 86_400
# How long others remember that a call found nothing left, in seconds.
WANTED_S = 2.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pots (
    id INTEGER PRIMARY KEY, budget TEXT NOT NULL, unit TEXT NOT NULL, scope TEXT NOT NULL, start INTEGER NOT NULL,
    until INTEGER, spent INTEGER NOT NULL, written_off INTEGER NOT NULL DEFAULT 0, wanted REAL NOT NULL DEFAULT 0,
    UNIQUE (budget, unit, scope, start)
);
CREATE TABLE IF NOT EXISTS processes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, birth TEXT NOT NULL, beat REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS leases (
    pot INTEGER NOT NULL, process INTEGER NOT NULL, granted INTEGER NOT NULL, lost INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (pot, process)
) WITHOUT ROWID;
"""


class Store:
    """
    The file; it is opened when it is first used.

    What is written here happens in one transaction: what is spent and what is held never add up to more than the limit,
    unless a call has used more than it reserved. The file is on a disk of this machine: over a network file system the
    locks do not hold.

    Args:
        path: Where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._process = 0
        self._beaten = 0.0
        self._version = -1

    def exchange(self, moves: Sequence[Move], now: float) -> list[Standing]:
        """
        Write down what was spent, and take what is needed.

        Args:
            moves: One for each purse.
            now: The time, in seconds since 1970.

        Returns:
            A standing for each.

        Raises:
            StoreError: The file cannot be used.
        """
        with _explained():
            try:
                return self._exchange(moves, now)
            except sqlite3.DatabaseError as error:
                if not is_broken(error):
                    raise
                # Another process may have put it aside already, and the one that is there now is well.
                if self._is_there():
                    self._quarantine(error)
                return self._exchange(moves, now)

    def wanted(self, keys: Iterable[Key], now: float) -> set[Key]:
        """
        Say of what calls of other processes have found nothing left.

        Args:
            keys: What this process holds more of than it needs.
            now: The time, in seconds since 1970.

        Returns:
            Those of them, as far as something was written since the last time.

        Raises:
            StoreError: The file cannot be used.
        """
        with _explained():
            return self._wanted(keys, now)

    def _wanted(self, keys: Iterable[Key], now: float) -> set[Key]:
        database = self._open(now)
        version = database.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return set()
        self._version = version
        sql = "SELECT wanted FROM pots WHERE budget = ? AND unit = ? AND scope = ? AND start = ?"
        rows = {key: database.execute(sql, _key_row(key)).fetchone() for key in keys}
        return {key for key, row in rows.items() if row is not None and abs(now - row[0]) < WANTED_S}

    def rows(self, name: str, unit: str, start: int, now: float) -> list[Row]:
        """
        List how a budget stands.

        Args:
            name: Its name.
            unit: Its unit.
            start: When the period began.
            now: The time, in seconds since 1970.

        Returns:
            A row for each scope.

        Raises:
            StoreError: The file cannot be used.
        """
        held = "SELECT COALESCE(SUM(granted), 0) FROM leases WHERE pot = pots.id AND process <> ?"
        sql = (
            f"SELECT scope, spent, written_off, ({held}), 0 FROM pots"  # noqa: S608  no input in it
            " WHERE budget = ? AND unit = ? AND start = ? ORDER BY scope"
        )
        values = (self._process, _clean(name), unit, start)
        with _explained():
            return [Row(*row) for row in self._open(now).execute(sql, values)]

    def forgive(self, name: str, unit: str, start: int, scope: str | None, now: float) -> None:
        """
        Forget what was spent.

        Args:
            name: The budget.
            unit: Its unit.
            start: When the period began.
            scope: Whose, or None: everybody's.
            now: The time, in seconds since 1970.

        Raises:
            StoreError: The file cannot be used.
        """
        one = "" if scope is None else " AND scope = ?"
        values = (_clean(name), unit, start, *(() if scope is None else (_clean(scope),)))
        where = f"budget = ? AND unit = ? AND start = ?{one}"
        with _explained(), self._transaction(now) as database:
            of_these = f"pot IN (SELECT id FROM pots WHERE {where})"  # noqa: S608  no input in it
            # What was written off is forgotten with it, and must not come back with a process thought dead.
            database.execute(f"UPDATE leases SET lost = 0 WHERE {of_these}", values)  # noqa: S608  likewise
            database.execute(f"UPDATE pots SET spent = 0, written_off = 0 WHERE {where}", values)  # noqa: S608

    def close(self) -> None:
        """Close the file; it is opened again when it is next used."""
        connection, self._connection = self._connection, None
        self._process, self._version = 0, -1
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _exchange(self, moves: Sequence[Move], now: float) -> list[Standing]:
        with self._transaction(now) as database:
            return [self._move(database, move, now) for move in moves]

    @contextlib.contextmanager
    def _transaction(self, now: float) -> Iterator[sqlite3.Connection]:
        database = self._open(now)
        _begin(database)
        try:
            self._beat(database, now)
            yield database
            database.commit()
        except BaseException:
            # Whether this process stands in the file has to be looked up again.
            self._beaten = 0.0
            with contextlib.suppress(sqlite3.Error):
                database.rollback()
            raise

    def _beat(self, database: sqlite3.Connection, now: float) -> None:
        if self._process and abs(now - self._beaten) < _BEAT_S:
            return
        self._beaten = now
        known = database.execute("UPDATE processes SET beat = ? WHERE id = ?", (now, self._process))
        if not known.rowcount:
            pid = os.getpid()
            sql = "INSERT INTO processes (pid, birth, beat) VALUES (?, ?, ?)"
            self._process = database.execute(sql, (pid, born(pid), now)).lastrowid or 0

    def _move(self, database: sqlite3.Connection, move: Move, now: float) -> Standing:
        pot = self._pot(database, move)
        spent, written_off = pot.spent, pot.written_off
        others = {lease.process: lease for lease in self._leases(database, pot.id)}
        mine = others.pop(self._process, None)
        if mine is not None and mine.lost:
            # Somebody took this process for dead.
            spent, written_off = spent - mine.lost, written_off - mine.lost
        if move.file not in (0, self._inode):
            # The file is a new one, and others who began it may know less.
            spent = max(spent, move.known)
        spent += move.unsaved
        held = sum(lease.granted for lease in others.values())
        granted = slice_of(move.short, move.wish, move.limit - spent - held - move.base)
        may_return = False
        if granted < move.short:
            lost = self._bury(database, pot.id, others.values(), now)
            spent, written_off, held = spent + lost, written_off + lost, held - lost
            may_return = held > 0
            if may_return and not abs(now - pot.wanted) < WANTED_S / 2:
                database.execute("UPDATE pots SET wanted = ? WHERE id = ?", (now, pot.id))
        spent = min(spent, 2 * MOST)
        if (spent, written_off) != pot[1:3]:
            sql = "UPDATE pots SET spent = ?, written_off = ? WHERE id = ?"
            database.execute(sql, (spent, written_off, pot.id))
        self._hold(database, pot.id, move.base + granted, mine)
        return Standing(spent, held, written_off, granted, may_return, self._inode)

    def _hold(self, database: sqlite3.Connection, pot: int, amount: int, before: _Lease | None) -> None:
        if amount and (before is None or before.lost or before.granted != amount):
            sql = "REPLACE INTO leases (pot, process, granted) VALUES (?, ?, ?)"
            database.execute(sql, (pot, self._process, amount))
        elif not amount and before is not None:
            database.execute("DELETE FROM leases WHERE pot = ? AND process = ?", (pot, self._process))

    def _pot(self, database: sqlite3.Connection, move: Move) -> _Pot:
        key = _key_row(move.key)
        sql = (
            "SELECT id, spent, written_off, wanted FROM pots WHERE budget = ? AND unit = ? AND scope = ? AND start = ?"
        )
        if (row := database.execute(sql, key).fetchone()) is not None:
            return _Pot(*row)
        sql = "INSERT INTO pots (budget, unit, scope, start, until, spent) VALUES (?, ?, ?, ?, ?, ?)"
        pot = database.execute(sql, (*key, move.until, move.known)).lastrowid
        return _Pot(pot or 0, move.known, 0, 0.0)

    def _leases(self, database: sqlite3.Connection, pot: int) -> list[_Lease]:
        sql = (
            "SELECT process, granted, lost, pid, birth, beat FROM leases JOIN processes ON processes.id = process"
            " WHERE pot = ?"
        )
        return [_Lease(*row) for row in database.execute(sql, (pot,))]

    def _bury(self, database: sqlite3.Connection, pot: int, leases: Iterable[_Lease], now: float) -> int:
        """Count as spent what processes held that are gone: nobody knows how much of it was."""
        dead = [lease for lease in leases if lease.granted and not is_alive(lease.pid, lease.birth, now - lease.beat)]
        for lease in dead:
            sql = "UPDATE leases SET granted = 0, lost = lost + granted WHERE pot = ? AND process = ?"
            database.execute(sql, (pot, lease.process))
        return sum(lease.granted for lease in dead)

    def _open(self, now: float) -> sqlite3.Connection:
        if self._connection is not None and self._is_there():
            return self._connection
        self.close()
        try:
            self._connection = self._connect(now)
        except sqlite3.DatabaseError as error:
            if not is_broken(error):
                raise
            self._quarantine(error)
            self._connection = self._connect(now)
        self._inode = self.path.stat().st_ino
        return self._connection

    def _is_there(self) -> bool:
        """Tell whether the file is still the one that was opened: somebody may have moved or deleted it."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _connect(self, now: float) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not self.path.exists()
        # Threads take turns, and a forked child never gets here with a connection of its parent.
        database = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            if is_new:
                self.path.chmod(0o600)
            _prepare(database, now)
        except BaseException:
            database.close()
            raise
        return database

    def _quarantine(self, error: Exception) -> None:
        """Put a broken file aside."""
        self.close()
        aside = self.path.with_name(f"{self.path.name}.broken-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).replace(aside.with_name(aside.name + suffix))
        _log.error(
            "%s is broken (%s): it was renamed to %s, and what was spent is counted anew", self.path, error, aside
        )


class _Pot(NamedTuple):
    id: int
    spent: int
    written_off: int
    wanted: float


class _Lease(NamedTuple):
    process: int
    granted: int
    lost: int
    pid: int
    birth: str
    beat: float


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(str(error) or type(error).__name__) from error


def _key_row(key: Key) -> tuple[str, str, str, int]:
    return _clean(key.name), key.unit, _clean(key.scope), key.start


def _clean(text: str) -> str:
    """Replace halves of characters, which are no text for SQLite."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _prepare(database: sqlite3.Connection, now: float) -> None:
    _use_wal(database)
    database.execute("PRAGMA synchronous = NORMAL")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        message = f"the file was made by a later version (schema {version}, this one knows {_VERSION})"
        raise sqlite3.NotSupportedError(message)
    if version < _VERSION:
        _begin(database)
        for statement in (*_SCHEMA.split(";"), f"PRAGMA user_version = {_VERSION}"):
            database.execute(statement)
        database.commit()
    _tidy(database, now)


def _use_wal(database: sqlite3.Connection) -> None:
    # Where several processes switch at once, SQLite does not wait by itself.
    _insist(database, "PRAGMA journal_mode = WAL")


def _begin(database: sqlite3.Connection) -> None:
    """Begin to write; a file that others write to is not one that cannot be used."""
    database.execute("PRAGMA busy_timeout = 0")
    try:
        _insist(database, "BEGIN IMMEDIATE")
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(_BUSY_S * 1000)}")


def _insist(database: sqlite3.Connection, statement: str) -> None:
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            database.execute(statement)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_LOOK_S)
        else:
            return


def _tidy(database: sqlite3.Connection, now: float) -> None:
    _begin(database)
    database.execute("DELETE FROM pots WHERE until < ?", (now - _KEPT_S,))
    database.execute("DELETE FROM leases WHERE pot NOT IN (SELECT id FROM pots)")
    database.execute(
        "DELETE FROM processes WHERE beat < ? AND id NOT IN (SELECT process FROM leases)", (now - _PROCESS_KEPT_S,)
    )
    database.commit()
