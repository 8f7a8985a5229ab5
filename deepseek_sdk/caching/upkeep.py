"""What is done to many entries on disk at once, in small steps, so that nobody waits long for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction import SqlShelf
from deepseek_sdk.caching.eviction.schema import is_in_step, mend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.eviction import Policy
    from deepseek_sdk.caching.lane import Lane

__all__ = ["PAGE_ROWS", "compact", "delete_where"]

# So many rows in one transaction; so many bytes; so many pages given back to the disk.
PAGE_ROWS = 500
_STEP_BYTES = 2 * 2**20
_STEP_PAGES = 512
# What is free and stays so, to be written to again: one page in twenty.
_FREE_PART = 20


def delete_where(lane: Lane, where: str, values: Sequence[str | int]) -> int:
    """
    Remove entries.

    Args:
        lane: For writing.
        where: A condition on the table `entry`.
        values: Its parameters.

    Returns:
        How many.

    Raises:
        sqlite3.Error: They cannot be removed, or not all of them.
    """
    ids = f"SELECT id FROM entry WHERE {where} AND id BETWEEN ? AND ? ORDER BY id LIMIT {PAGE_ROWS}"  # noqa: S608  no input
    # What comes meanwhile is not meant: it would go on for as long as others write.
    last = lane.execute("SELECT max(id) FROM entry").fetchone()[0] or 0
    first, gone = 0, 0
    while found := lane.execute(ids, (*values, first, last)).fetchall():
        first = found[-1][0] + 1
        with lane.transaction():
            # Once more with the condition: another process may have written it anew.
            sql = f"DELETE FROM Cache WHERE rowid IN (SELECT id FROM entry WHERE {where} AND id BETWEEN ? AND ?)"  # noqa: S608  likewise
            gone += lane.execute(sql, (*values, found[0][0], found[-1][0])).rowcount
    return gone


def compact(lane: Lane, policy: Policy, max_bytes: int, now_ms: int) -> int:
    """
    Remove what is of no use any more, and give its room back to the disk.

    Args:
        lane: For writing.
        policy: What goes where there is too much.
        max_bytes: How much room there is.
        now_ms: The time, in milliseconds since 1970.

    Returns:
        How many entries went.

    Raises:
        sqlite3.Error: It cannot be done, or not all of it.
    """
    gone = delete_where(lane, "keep_ms <= ?", (now_ms,)) + _delete_strange(lane)
    while step := _make_room(lane, policy, max_bytes, now_ms):
        gone += step
    lane.insist("DELETE FROM claim WHERE until_ms <= ?", (now_ms,))
    _give_back(lane)
    # Where others read, it does what it can.
    lane.insist("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return gone


def _delete_strange(lane: Lane) -> int:
    """Remove rows whose key is no text: another program has put them there."""
    found = lane.insist("DELETE FROM Cache WHERE raw <> 1 OR typeof(key) <> 'text'").rowcount
    if not is_in_step(lane.execute):
        with lane.transaction():
            mend(lane.execute)
    return found


def _make_room(lane: Lane, policy: Policy, max_bytes: int, now_ms: int) -> int:
    with lane.transaction():
        shelf = SqlShelf(lane.execute, max_bytes)
        excess = min(shelf.size - max_bytes, _STEP_BYTES)
        return len(policy.victims(shelf, excess, now_ms)) if excess > 0 else 0


def _give_back(lane: Lane) -> None:
    while True:
        free, pages = (lane.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
        if free <= pages // _FREE_PART:
            return
        lane.give_back(min(free, _STEP_PAGES))
