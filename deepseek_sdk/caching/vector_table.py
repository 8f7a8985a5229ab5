"""
The tables of vectors, beside those of the entries, and the triggers that keep them in step.

A row of `vector` belongs to the entry with its key: it goes when the entry goes, and the entry counts for what it
takes. `vector_place` has a row for each partition and embedder that there are vectors of. It tells how many there are
and which was the last, so that nobody reads them again to know that nothing has changed. Numbers (`seq`) are never
used twice: who has seen one knows all before it.

Each vector is a row: blocks of 512 are read a little faster, but only rows come and go with their entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepseek_sdk.caching.eviction.sql_shelf import Execute

__all__ = ["DDL", "bytes_beside", "is_in_step", "is_there", "mend"]

# What a row takes beside its vector and its text: its key, which stands in an index too, and numbers.
_OVERHEAD_BYTES = 220

# What is always read comes first: a long text stands on pages of its own.
_VECTOR = """CREATE TABLE IF NOT EXISTS vector (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL, is_alias INTEGER NOT NULL DEFAULT 0,
    data BLOB NOT NULL, mac BLOB NOT NULL, key TEXT NOT NULL, text BLOB NOT NULL
)"""
# A place that is made again is another one, and so is that of a new database.
_PLACE = """CREATE TABLE IF NOT EXISTS vector_place (
    id INTEGER PRIMARY KEY AUTOINCREMENT, "partition" TEXT NOT NULL, embedder TEXT NOT NULL,
    rows INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0, born BLOB NOT NULL DEFAULT (randomblob(8)),
    UNIQUE ("partition", embedder)
)"""


def _bytes(row: str) -> str:
    return f"length({row}.data) + length({row}.text) + {_OVERHEAD_BYTES}"


def bytes_beside(key: str) -> str:
    """
    Give the SQL for the bytes that the vectors of an entry take.

    Args:
        key: The SQL for its key.

    Returns:
        An expression.
    """
    return f"(SELECT COALESCE(sum({_bytes('vector')}), 0) FROM vector WHERE vector.key = {key})"  # noqa: S608  no input in it


_INSERTED = f"""CREATE TRIGGER IF NOT EXISTS vector_inserted AFTER INSERT ON vector BEGIN
    UPDATE vector_place SET rows = rows + 1, last = new.seq WHERE id = new.place;
    UPDATE entry SET size = size + {_bytes("new")} WHERE key = new.key; END"""  # noqa: S608  likewise
_DELETED = f"""CREATE TRIGGER IF NOT EXISTS vector_deleted AFTER DELETE ON vector BEGIN
    UPDATE vector_place SET rows = rows - 1 WHERE id = old.place;
    DELETE FROM vector_place WHERE id = old.place AND rows <= 0;
    UPDATE entry SET size = size - ({_bytes("old")}) WHERE key = old.key; END"""  # noqa: S608  likewise
_ENTRY_DELETED = """CREATE TRIGGER IF NOT EXISTS vector_entry_deleted AFTER DELETE ON entry BEGIN
    DELETE FROM vector WHERE key = old.key; END"""

# Each may be run again; `entry` must be there.
DDL: tuple[str, ...] = (
    _VECTOR,
    _PLACE,
    "CREATE INDEX IF NOT EXISTS vector_in_place ON vector (place, seq)",
    "CREATE INDEX IF NOT EXISTS vector_key ON vector (key)",
    'CREATE INDEX IF NOT EXISTS entry_partition ON entry ("partition")',
    _INSERTED,
    _DELETED,
    _ENTRY_DELETED,
)

_NAMES = (
    *("vector", "vector_place", "vector_in_place", "vector_key", "entry_partition"),
    *("vector_inserted", "vector_deleted", "vector_entry_deleted"),
)
_HAS = f"SELECT count(*) FROM sqlite_master WHERE name IN ({','.join('?' * len(_NAMES))})"  # noqa: S608  no input in it
_ORPHANS = "SELECT key FROM vector EXCEPT SELECT key FROM entry"
_OF_RECORD = "COALESCE(CASE WHEN json_valid(tag) THEN json_extract(tag, '$.size') END, length(value), 0)"
_RESIZE = f"""WITH found AS (
    SELECT entry.id AS id, {_OF_RECORD} + {bytes_beside("entry.key")} AS due
    FROM entry JOIN Cache ON Cache.rowid = entry.id AND Cache.key = entry.key
) UPDATE entry SET size = (SELECT due FROM found WHERE found.id = entry.id)
WHERE id IN (SELECT found.id FROM found JOIN entry ON entry.id = found.id WHERE due <> size)"""  # noqa: S608  no input


def is_there(execute: Execute) -> bool:
    """
    Tell whether a database has the tables; one that an earlier version made has not, or another program took them.

    Args:
        execute: Runs a statement.

    Returns:
        Whether it has.
    """
    return bool(execute(_HAS, _NAMES).fetchall()[0][0] == len(_NAMES))


def is_in_step(execute: Execute) -> bool:
    """
    Tell whether every vector has its entry, and every place its vectors; this reads indexes.

    Args:
        execute: Runs a statement.

    Returns:
        True: there is nothing to mend.
    """
    orphans = f"SELECT EXISTS ({_ORPHANS})"
    counts = (
        "SELECT EXISTS (SELECT place, count(*) FROM vector GROUP BY place EXCEPT SELECT id, rows FROM vector_place)"
    )
    return not any(execute(sql, ()).fetchall()[0][0] for sql in (orphans, counts))


def mend(execute: Execute) -> None:
    """
    Bring the tables in step with the entries, in a transaction of the caller's.

    Args:
        execute: Runs a statement.
    """
    for statement in (
        f"DELETE FROM vector WHERE key IN ({_ORPHANS})",  # noqa: S608  no input in it
        "DELETE FROM vector WHERE place NOT IN (SELECT id FROM vector_place)",
        "DELETE FROM vector_place WHERE id NOT IN (SELECT place FROM vector)",
        "UPDATE vector_place SET rows = (SELECT count(*) FROM vector WHERE place = vector_place.id)",
        # A table that was dropped took nothing off them.
        _RESIZE,
    ):
        execute(statement, ())
