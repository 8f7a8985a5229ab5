"""`SqlShelf`: a shelf in SQLite, over the tables of `schema`; whoever uses it holds a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.caching.eviction.shelf import MAIN, SMALL, Slot, ghost_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

__all__ = ["Execute", "SqlShelf"]

_SLOT = "SELECT key, size, queue, seq, hits, used_ms, history FROM entry"
_TALLY = "SELECT small, main, entries FROM tally"


class Execute(Protocol):
    """Runs a statement on the connection that holds the transaction: `sqlite3.Connection.execute` is one."""

    def __call__(self, sql: str, parameters: Sequence[Any], /) -> sqlite3.Cursor:
        """Run it."""


class SqlShelf:
    """
    Slots in a table; it keeps nothing of its own, so that any process goes on where another stopped.

    Args:
        execute: Runs a statement.
        limit: Bytes there is room for.
    """

    def __init__(self, execute: Execute, limit: int) -> None:
        self.limit = limit
        self._execute = execute

    @property
    def size(self) -> int:
        """Bytes that are taken."""
        small, main, _ = self._tally()
        return small + main

    @property
    def entries(self) -> int:
        """How many stand here."""
        return self._tally()[2]

    @property
    def ghosts(self) -> int:
        """How many ghosts there are; this counts them."""
        return self._number("SELECT count(*) FROM ghost")

    def size_of(self, queue: int) -> int:
        """Give the bytes that the entries of a queue take."""
        return self._tally()[queue]

    def get(self, key: str) -> Slot | None:
        """Find a slot."""
        return self._slot(f"{_SLOT} WHERE key = ?", key)

    def first(self, queue: int, spare: str | None = None) -> Slot | None:
        """Give the slot at the head of a queue."""
        return self._slot(f"{_SLOT} WHERE queue = ? AND key IS NOT ? ORDER BY seq LIMIT 1", queue, spare)

    def oldest(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the smallest `seq` of both queues."""
        heads = (self.first(SMALL, spare), self.first(MAIN, spare))
        return min((slot for slot in heads if slot is not None), key=lambda slot: slot.seq, default=None)

    def least_used(self, spare: str | None = None) -> Slot | None:
        """Give the slot with the fewest hits; of these, the one with the smallest `seq`."""
        return self._slot(f"{_SLOT} WHERE key IS NOT ? ORDER BY hits, seq LIMIT 1", spare)

    def near(self, point: str, spare: str | None = None) -> Slot | None:
        """Give the first slot whose key is *point* or comes after it; after the last key comes the first again."""
        after = self._slot(f"{_SLOT} WHERE key >= ? AND key IS NOT ? ORDER BY key LIMIT 1", point, spare)
        return after or self._slot(f"{_SLOT} WHERE key IS NOT ? ORDER BY key LIMIT 1", spare)

    def expired(self, now_ms: int, spare: str | None = None) -> Slot | None:
        """Give the slot that is past its time for longest."""
        return self._slot(f"{_SLOT} WHERE keep_ms <= ? AND key IS NOT ? ORDER BY keep_ms, key LIMIT 1", now_ms, spare)

    def write(self, slot: Slot) -> None:
        """Put a slot back with another queue, `seq`, hits, time or history; its size stays what it was."""
        self._execute(
            "UPDATE entry SET queue = ?, seq = ?, hits = ?, used_ms = ?, history = ? WHERE key = ?",
            (slot.queue, slot.seq, slot.hits, slot.used_ms, slot.history, slot.key),
        )

    def remove(self, key: str) -> None:
        """Take an entry off the shelf, and its value out of the cache."""
        # The trigger on Cache deletes the row of the shelf.
        self._execute("DELETE FROM Cache WHERE rowid = (SELECT id FROM entry WHERE key = ?)", (key,))

    def next_seq(self) -> int:
        """Give a number greater than every `seq` so far."""
        # Not RETURNING: it needs SQLite 3.35, which some systems that Python 3.11 runs on do not have.
        self._execute("UPDATE tally SET seq = seq + 1", ())
        return self._number("SELECT seq FROM tally")

    def tick(self, count: int) -> int:
        """Count arrivals and hits; give how many there have been."""
        if count:
            self._execute("UPDATE tally SET ticks = ticks + ?", (count,))
        return self._number("SELECT ticks FROM tally")

    def remember(self, key: str, history: str, most: int) -> None:
        """Keep the ghost of an entry; of all ghosts, those of the last *most* stay."""
        self._execute("UPDATE tally SET buried = buried + 1", ())
        buried = self._number("SELECT buried FROM tally")
        self._execute("REPLACE INTO ghost (key, seq, history) VALUES (?, ?, ?)", (ghost_key(key), buried, history))
        self._execute("DELETE FROM ghost WHERE seq <= ?", (buried - most,))

    def recall(self, key: str) -> str | None:
        """Take the ghost of an entry away; give its history, or None where there is no ghost."""
        ghost = ghost_key(key)
        rows = self._execute("SELECT history FROM ghost WHERE key = ?", (ghost,)).fetchall()
        if not rows:
            return None
        self._execute("DELETE FROM ghost WHERE key = ?", (ghost,))
        return str(rows[0][0])

    def _slot(self, sql: str, *values: object) -> Slot | None:
        rows = self._execute(sql, values).fetchall()
        return Slot(*rows[0]) if rows else None

    def _number(self, sql: str) -> int:
        return int(self._execute(sql, ()).fetchall()[0][0])

    def _tally(self) -> tuple[int, int, int]:
        small, main, entries = self._execute(_TALLY, ()).fetchall()[0]
        return small, main, entries
