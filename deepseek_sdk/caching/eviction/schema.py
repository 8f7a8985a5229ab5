"""
The tables of a shelf in SQLite, beside the table `Cache` of diskcache, and the triggers that keep them in step.

A row of `Cache` has a row in `entry` with the same id. What `entry` knows of it comes from `Cache.tag`, a JSON object
with "asked", "model", "tenant", "tags", "partition", "created_ms", "expires_ms", "keep_ms" and "size". `tally` has one
row, with sums over `entry`: nobody needs to read all of it to know how full the shelf is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching import frames, vector_table

if TYPE_CHECKING:
    from deepseek_sdk.caching.eviction.sql_shelf import Execute

__all__ = ["DDL", "has_all", "is_in_step", "mend"]

_META = ("asked", "model", "tenant", "tags", "partition", "created_ms", "expires_ms", "keep_ms")
_NAMES = ", ".join(f'"{name}"' for name in _META)


def _meta(tag: str) -> str:
    return ", ".join(f"json_extract({tag}, '$.{name}')" for name in _META)


def _size(row: str) -> str:
    return f"COALESCE(json_extract({row}.tag, '$.size'), length({row}.value), 0)"


def _sizes(sign: str, row: str) -> str:
    """Add the size of a row to the sum of its queue, or take it away."""
    return (
        f"small = small {sign} {row}.size * ({row}.queue = 0), main = main {sign} {row}.size * ({row}.queue <> 0),"
        f" entries = entries {sign} 1"
    )


_ENTRY = """CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, queue INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0, used_ms INTEGER NOT NULL DEFAULT 0, history TEXT NOT NULL DEFAULT '',
    size INTEGER NOT NULL, asked TEXT, model TEXT, tenant TEXT, tags TEXT, "partition" TEXT,
    created_ms INTEGER, expires_ms INTEGER, keep_ms INTEGER
)"""
_GHOST = "CREATE TABLE IF NOT EXISTS ghost (key BLOB PRIMARY KEY, seq INTEGER NOT NULL, history TEXT) WITHOUT ROWID"
_TALLY = """CREATE TABLE IF NOT EXISTS tally (
    id INTEGER PRIMARY KEY CHECK (id = 0), entries INTEGER NOT NULL DEFAULT 0, small INTEGER NOT NULL DEFAULT 0,
    main INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL DEFAULT 0, ticks INTEGER NOT NULL DEFAULT 0,
    buried INTEGER NOT NULL DEFAULT 0
)"""


def _add(row: str, beyond: str) -> str:
    """Add an entry for a row of `Cache`, that far beyond the last one."""
    seq = f"(SELECT seq FROM tally) + {beyond}"  # noqa: S608  no input in it
    into = f"INSERT INTO entry (id, key, seq, size, {_NAMES})"
    return f"{into} SELECT {row}.rowid, {row}.key, {seq}, {_size(row)}, {_meta(f'{row}.tag')}"


_INSERTED = f"CREATE TRIGGER IF NOT EXISTS entry_inserted AFTER INSERT ON Cache BEGIN {_add('new', '1')}; END"
# diskcache writes a key again by UPDATE: the entry keeps its queue, its place, its hits and its vectors.
_UPDATED = f"""CREATE TRIGGER IF NOT EXISTS entry_rewritten AFTER UPDATE OF tag, value ON Cache BEGIN
    UPDATE entry SET (size, {_NAMES}) = ({_size("new")} + {vector_table.bytes_beside("new.key")}, {_meta("new.tag")})
    WHERE id = new.rowid; END"""  # noqa: S608  no input in it
_DELETED = """CREATE TRIGGER IF NOT EXISTS entry_deleted AFTER DELETE ON Cache BEGIN
    DELETE FROM entry WHERE id = old.rowid; END"""
_TALLY_INSERTED = f"""CREATE TRIGGER IF NOT EXISTS tally_inserted AFTER INSERT ON entry BEGIN
    UPDATE tally SET seq = max(seq, new.seq), {_sizes("+", "new")}; END"""  # noqa: S608  no input in it
_TALLY_DELETED = f"""CREATE TRIGGER IF NOT EXISTS tally_deleted AFTER DELETE ON entry BEGIN
    UPDATE tally SET {_sizes("-", "old")}; END"""  # noqa: S608  no input in it
_TALLY_UPDATED = """CREATE TRIGGER IF NOT EXISTS tally_updated AFTER UPDATE OF queue, size ON entry
    WHEN old.queue <> new.queue OR old.size <> new.size BEGIN
    UPDATE tally SET small = small - old.size * (old.queue = 0) + new.size * (new.queue = 0),
        main = main - old.size * (old.queue <> 0) + new.size * (new.queue <> 0); END"""

# Each may be run again; `Cache` must be there.
DDL: tuple[str, ...] = (
    _ENTRY,
    _GHOST,
    _TALLY,
    "INSERT OR IGNORE INTO tally (id) VALUES (0)",
    "CREATE INDEX IF NOT EXISTS entry_queue ON entry (queue, seq)",
    "CREATE INDEX IF NOT EXISTS entry_hits ON entry (hits, seq)",
    "CREATE INDEX IF NOT EXISTS entry_keep ON entry (keep_ms) WHERE keep_ms IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS entry_tenant ON entry (tenant, size)",
    "CREATE INDEX IF NOT EXISTS ghost_seq ON ghost (seq)",
    _INSERTED,
    # An earlier version's, which knew of no vectors.
    "DROP TRIGGER IF EXISTS entry_updated",
    _UPDATED,
    _DELETED,
    _TALLY_INSERTED,
    _TALLY_DELETED,
    _TALLY_UPDATED,
    *vector_table.DDL,
    *frames.DDL,
)

_IS_IN_STEP = """SELECT (SELECT count(*) FROM Cache) = (SELECT count(*) FROM entry)
    AND NOT EXISTS (SELECT rowid, key FROM Cache EXCEPT SELECT id, key FROM entry)
    AND (SELECT entries = (SELECT count(*) FROM entry)
        AND small = (SELECT COALESCE(sum(size), 0) FROM entry WHERE queue = 0)
        AND main = (SELECT COALESCE(sum(size), 0) FROM entry WHERE queue <> 0) FROM tally)"""
# Only what differs is read as a whole; keys are in indexes.
_LACKING = "Cache.rowid IN (SELECT rowid FROM (SELECT rowid, key FROM Cache EXCEPT SELECT id, key FROM entry))"
_MEND = (
    # A row that another program put there says nothing of itself: nobody will ask for it.
    f"DELETE FROM Cache WHERE {_LACKING} AND NOT COALESCE(json_valid(tag), 1)",  # noqa: S608  no input in it
    # Ids are used again: one that is there may be of another row.
    "DELETE FROM entry WHERE id IN (SELECT id FROM (SELECT id, key FROM entry EXCEPT SELECT rowid, key FROM Cache))",
    f"{_add('Cache', 'Cache.rowid')} FROM Cache WHERE {_LACKING}",
    """UPDATE tally SET seq = max(seq, (SELECT COALESCE(max(seq), 0) FROM entry)),
    entries = (SELECT count(*) FROM entry),
    small = (SELECT COALESCE(sum(size), 0) FROM entry WHERE queue = 0),
    main = (SELECT COALESCE(sum(size), 0) FROM entry WHERE queue <> 0)""",
)


def has_all(execute: Execute) -> bool:
    """
    Tell whether a database has all the tables; one that an earlier version made has none for vectors or frames.

    Args:
        execute: Runs a statement.

    Returns:
        Whether it has.
    """
    return vector_table.is_there(execute) and frames.is_there(execute)


def is_in_step(execute: Execute) -> bool:
    """
    Tell whether the tables say the same; this reads an index of each.

    Args:
        execute: Runs a statement.

    Returns:
        True: there is nothing to mend.
    """
    if not execute(_IS_IN_STEP, ()).fetchall()[0][0]:
        return False
    return vector_table.is_in_step(execute) and frames.is_in_step(execute)


def mend(execute: Execute) -> None:
    """
    Bring the tables back in step with `Cache`, in a transaction of the caller's.

    Args:
        execute: Runs a statement.
    """
    # First, while it is known which vectors have no entry: one that is added has none.
    vector_table.mend(execute)
    for statement in _MEND:
        execute(statement, ())
    frames.mend(execute)
