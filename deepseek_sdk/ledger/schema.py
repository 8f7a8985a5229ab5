"""The tables of the ledger, and how a file comes to have them."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from deepseek_sdk._sqlite import is_busy

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BUSY_S", "COLUMNS", "MIGRATIONS", "migrate", "missing_columns", "prepare"]

# For so long a process waits for another one to finish.
BUSY_S = 5.0
_WAL_BYTES = 4 * 2**20

_FIRST = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, ended INTEGER,
    user TEXT, session TEXT, tenant TEXT, tags TEXT, template TEXT, path TEXT NOT NULL, is_stream INTEGER NOT NULL,
    route TEXT, asked TEXT, model TEXT,
    hit INTEGER NOT NULL, miss INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
    is_estimated INTEGER NOT NULL,
    cny INTEGER, cny_low INTEGER, cny_high INTEGER, usd INTEGER, usd_low INTEGER, usd_high INTEGER,
    tier TEXT, price_version TEXT, is_unpriced INTEGER NOT NULL,
    outcome TEXT NOT NULL, reason TEXT, finish_reason TEXT, truncated TEXT,
    queue_s REAL, first_event_s REAL, first_token_s REAL, first_answer_s REAL, total_s REAL,
    attempts INTEGER NOT NULL, possibly_billed INTEGER NOT NULL, repairs INTEGER NOT NULL, degradation INTEGER NOT NULL
);
CREATE INDEX calls_at ON calls (at);
CREATE TABLE attempts (
    call INTEGER NOT NULL REFERENCES calls (id), number INTEGER NOT NULL, at INTEGER NOT NULL,
    route TEXT, model TEXT, host TEXT,
    hit INTEGER NOT NULL, miss INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
    is_estimated INTEGER NOT NULL,
    cny INTEGER, cny_low INTEGER, cny_high INTEGER, usd INTEGER, usd_low INTEGER, usd_high INTEGER, tier TEXT,
    outcome TEXT NOT NULL, reason TEXT, finish_reason TEXT, is_possibly_billed INTEGER NOT NULL,
    first_token_s REAL, ended_s REAL,
    PRIMARY KEY (call, number)
) WITHOUT ROWID;
CREATE TABLE processes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, birth TEXT NOT NULL, place TEXT NOT NULL,
    started INTEGER NOT NULL, beat INTEGER NOT NULL, ended INTEGER, dropped INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE removed (id INTEGER PRIMARY KEY CHECK (id = 1), calls INTEGER NOT NULL, until INTEGER NOT NULL);
"""

# The n-th makes of a file of version n one of version n + 1.
MIGRATIONS: tuple[str, ...] = (_FIRST,)
# What the table `calls` has come to have besides, in this order. Whoever does not know of a column leaves it empty: it
# makes no new version, so programs with an older version of this library go on writing to the same file.
COLUMNS: Mapping[str, str] = {"cached": "TEXT", "cache_entry": "TEXT", "saved_cny": "INTEGER", "saved_usd": "INTEGER"}


def prepare(database: sqlite3.Connection, busy_s: float = BUSY_S) -> None:
    """
    Make a file a ledger of this version, whatever it was; other processes may do the same at the same time.

    Args:
        database: The open file.
        busy_s: How long to wait for others, in seconds.

    Raises:
        sqlite3.Error: It cannot be one: it is broken, or of a later version.
    """
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before there is anything in it
    _use_wal(database, busy_s)
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    if _version(database) != len(MIGRATIONS) or missing_columns(database):
        migrate(database)


def migrate(database: sqlite3.Connection) -> None:
    """
    Bring the tables up to date.

    Args:
        database: The open file.

    Raises:
        sqlite3.NotSupportedError: It was made by a later version.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        version = _known(_version(database))
        for statement in ";".join(MIGRATIONS[version:]).split(";"):
            database.execute(statement)
        for name in missing_columns(database):
            database.execute(f"ALTER TABLE calls ADD COLUMN {name} {COLUMNS[name]}")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        database.execute("COMMIT")
    except BaseException:
        database.rollback()
        raise


def missing_columns(database: sqlite3.Connection) -> list[str]:
    """
    Find what a file that an older version of this library has made does not have.

    Args:
        database: The open file.

    Returns:
        Columns of the table `calls`.
    """
    there = {row[1] for row in database.execute("PRAGMA main.table_info(calls)")}
    return [name for name in COLUMNS if name not in there]


def _known(version: int) -> int:
    if version > len(MIGRATIONS):
        message = f"the file was made by a later version (schema {version}, this one knows {len(MIGRATIONS)})"
        raise sqlite3.NotSupportedError(message)
    return version


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _use_wal(database: sqlite3.Connection, busy_s: float) -> None:
    # Where several processes switch at once, SQLite does not wait by itself.
    until = time.monotonic() + busy_s
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return
