"""The tables of what was learnt, in the database of the cache: labels, vetoes, and what tells readers what is new."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.learning.labels import SOURCES, Label, is_finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.lane import Lane

__all__ = ["DDL", "MOST_LABELS", "MOST_PER_KEY", "MOST_VETOES", "Changes", "Mark", "News", "news", "prepare", "write"]

MOST_LABELS = 5_000
MOST_PER_KEY = 64
MOST_VETOES = 20_000

# Each may be run again. Ids are never used twice, also where the last row was deleted.
DDL: tuple[str, ...] = (
    """CREATE TABLE IF NOT EXISTS label (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, key TEXT NOT NULL, text_digest TEXT NOT NULL,
        cosine REAL NOT NULL, score REAL NOT NULL, is_right INTEGER NOT NULL, source TEXT NOT NULL,
        UNIQUE (key, text_digest, source, at_ms)
    )""",
    "CREATE TABLE IF NOT EXISTS veto (id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE)",
    # Another database has another epoch; `erased` counts what was taken away.
    """CREATE TABLE IF NOT EXISTS learnt (
        id INTEGER PRIMARY KEY CHECK (id = 0), epoch TEXT NOT NULL, erased INTEGER NOT NULL DEFAULT 0
    )""",
    "INSERT OR IGNORE INTO learnt (id, epoch) VALUES (0, hex(randomblob(8)))",
)

_COLUMNS = "at_ms, key, text_digest, cosine, score, is_right, source"
_ADD = f"INSERT INTO label ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608  no input in it
_TRIM_KEY = """DELETE FROM label WHERE key = ? AND id NOT IN
    (SELECT id FROM label WHERE key = ? ORDER BY id DESC LIMIT ?)"""
_TRIM = "DELETE FROM label WHERE id IN (SELECT id FROM label ORDER BY id DESC LIMIT -1 OFFSET ?)"
_TRIM_VETOES = "DELETE FROM veto WHERE id IN (SELECT id FROM veto ORDER BY id DESC LIMIT -1 OFFSET ?)"
_MARK = """SELECT epoch, erased, (SELECT COALESCE(max(id), 0) FROM label), (SELECT COALESCE(max(id), 0) FROM veto)
    FROM learnt"""
_LABELS = f"SELECT {_COLUMNS} FROM label WHERE id > ? ORDER BY id"  # noqa: S608  no input in it
_VETOES = "SELECT digest FROM veto WHERE id > ? ORDER BY id"


class Changes(NamedTuple):
    """
    What is to be written: first what goes, then what comes.

    Attributes:
        labels: To be kept.
        vetoes: Likewise; their digests.
        forgotten: Keys of entries whose labels go.
        pardoned: Digests of vetoes that go.
        is_cleared: All that is there goes.
    """

    labels: Sequence[Label] = ()
    vetoes: Sequence[str] = ()
    forgotten: Sequence[str] = ()
    pardoned: Sequence[str] = ()
    is_cleared: bool = False


class Mark(NamedTuple):
    """
    How far somebody has read.

    Attributes:
        epoch: Of which database.
        erased: How often something had been taken away by then.
        label: The last label.
        veto: The last veto.
    """

    epoch: str = ""
    erased: int = 0
    label: int = 0
    veto: int = 0


class News(NamedTuple):
    """
    What a reader did not know.

    Attributes:
        mark: How far he has read now.
        is_all: It is all there is; else it comes to what he knew.
        labels: Oldest first.
        vetoes: Their digests, likewise.
    """

    mark: Mark
    is_all: bool
    labels: list[Label]
    vetoes: list[str]


def prepare(lane: Lane) -> None:
    """
    Make the tables, or what is missing of them; where they are, this takes microseconds.

    Args:
        lane: A connection that may write.

    Raises:
        sqlite3.Error: They cannot be made.
    """
    with lane.transaction():
        _prepare(lane)


def write(lane: Lane, changes: Changes) -> None:
    """
    Change what is kept, and let the oldest go.

    Args:
        lane: A connection that may write.
        changes: What.

    Raises:
        sqlite3.Error: It cannot be done; nothing was written.
    """
    with lane.transaction():
        _prepare(lane)
        if _take_away(lane, changes):
            lane.execute("UPDATE learnt SET erased = erased + 1")
        for label in changes.labels:
            lane.execute(_ADD, label)
        for key in {label.key for label in changes.labels}:
            lane.execute(_TRIM_KEY, (key, key, MOST_PER_KEY))
        for digest in changes.vetoes:
            lane.execute("INSERT INTO veto (digest) VALUES (?) ON CONFLICT DO NOTHING", (digest,))
        lane.execute(_TRIM, (MOST_LABELS,))
        lane.execute(_TRIM_VETOES, (MOST_VETOES,))


def news(lane: Lane, seen: Mark) -> News | None:
    """
    Read what is new.

    Args:
        lane: A connection.
        seen: How far the reader had read.

    Returns:
        That, or None: there is nothing.

    Raises:
        sqlite3.Error: It cannot be read.
    """
    row = _rows(lane, _MARK, ())
    if not row or (mark := Mark(*row[0])) == seen:
        return None
    # What comes between these statements is read again the next time.
    is_all = (mark.epoch, mark.erased) != (seen.epoch, seen.erased)
    after = Mark() if is_all else seen
    found = (_label(*columns) for columns in _rows(lane, _LABELS, (after.label,)))
    labels = [label for label in found if label is not None]
    return News(mark, is_all, labels, [digest for (digest,) in _rows(lane, _VETOES, (after.veto,))])


def _prepare(lane: Lane) -> None:
    for statement in DDL:
        lane.execute(statement)


def _take_away(lane: Lane, changes: Changes) -> int:
    """Delete, and count what went: readers have to read all again then."""
    deletions: list[tuple[str, tuple[str, ...]]]
    deletions = [("DELETE FROM label WHERE key = ?", (key,)) for key in changes.forgotten]
    deletions += [("DELETE FROM veto WHERE digest = ?", (digest,)) for digest in changes.pardoned]
    if changes.is_cleared:
        deletions = [("DELETE FROM label", ()), ("DELETE FROM veto", ())]
    return sum(lane.execute(*deletion).rowcount for deletion in deletions)


def _rows(lane: Lane, sql: str, values: tuple[int, ...]) -> list[Any]:
    try:
        return lane.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        # Nobody has learnt anything yet.
        if "no such table" in str(error):
            return []
        raise


def _label(at_ms: Any, key: Any, text_digest: Any, cosine: Any, score: Any, is_right: Any, source: Any) -> Label | None:
    """Read a row, or None: SQLite lets anything stand in any column, and others may write there."""
    try:
        label = Label(int(at_ms), str(key), str(text_digest), float(cosine), float(score), bool(is_right), source)
    except (TypeError, ValueError):
        return None
    return label if source in SOURCES and is_finite(label) else None
