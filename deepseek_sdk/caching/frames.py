"""
`Frame`: what a request is but for the last text of the user, so that it can be asked anew when nobody asks it.

A record keeps that text, and of the rest only a hash. All requests of a partition have the rest in common: it is kept
once for them, beside their records, and goes with the last of them. Where it is used, the request that comes out must
have the key of the record: so a frame that somebody has changed or planted is of no use to him.
"""

from __future__ import annotations

import json
import zlib
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.key import TRANSPORT, UncacheableError, exact_key, last_text
from deepseek_sdk.caching.question import is_long

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.caching.eviction.sql_shelf import Execute
    from deepseek_sdk.caching.lane import Lane

__all__ = [
    "DDL",
    "FRAME_BYTES",
    "MEND",
    "ROOM_BYTES",
    "Frame",
    "add_frame",
    "frame_of",
    "is_in_step",
    "is_there",
    "mend",
    "read_frame",
    "room_of",
]

# What one may take on the disk, what all may, and what one may come to when it is unpacked: others wait meanwhile.
FRAME_BYTES = 16 * 2**10
ROOM_BYTES = 64 * 2**20
_UNPACKED_BYTES = 64 * 2**10
# One part of this many of the room of a cache is for frames.
_PART = 16
# What says of a conversation that it has gone on: it is hardly asked twice.
_SAID_BY_MODEL = ("assistant", "tool", "function")

_TABLE = 'CREATE TABLE IF NOT EXISTS frame ("partition" TEXT PRIMARY KEY, data BLOB NOT NULL)'
_SUM = """CREATE TABLE IF NOT EXISTS frame_sum (
    id INTEGER PRIMARY KEY CHECK (id = 0), bytes INTEGER NOT NULL DEFAULT 0
)"""
_INDEX = 'CREATE INDEX IF NOT EXISTS entry_partition ON entry ("partition")'
_INSERTED = """CREATE TRIGGER IF NOT EXISTS frame_inserted AFTER INSERT ON frame BEGIN
    UPDATE frame_sum SET bytes = bytes + length(new.data); END"""
_DELETED = """CREATE TRIGGER IF NOT EXISTS frame_deleted AFTER DELETE ON frame BEGIN
    UPDATE frame_sum SET bytes = bytes - length(old.data); END"""
_LAST = (
    'DELETE FROM frame WHERE "partition" = old."partition"'
    ' AND NOT EXISTS (SELECT 1 FROM entry WHERE "partition" = old."partition");'
)
_LEFT = f"CREATE TRIGGER IF NOT EXISTS frame_left AFTER DELETE ON entry BEGIN {_LAST} END"
_MOVED = f"""CREATE TRIGGER IF NOT EXISTS frame_moved AFTER UPDATE OF "partition" ON entry
    WHEN old."partition" IS NOT new."partition" BEGIN {_LAST} END"""

# Each may be run again; `entry` must be there.
DDL: tuple[str, ...] = (
    _TABLE,
    _SUM,
    "INSERT OR IGNORE INTO frame_sum (id) VALUES (0)",
    _INDEX,
    _INSERTED,
    _DELETED,
    _LEFT,
    _MOVED,
)
# What puts right what another program, or one that knows of no frames, has left behind.
MEND: tuple[str, ...] = (
    'DELETE FROM frame WHERE NOT EXISTS (SELECT 1 FROM entry WHERE entry."partition" = frame."partition")',
    "UPDATE frame_sum SET bytes = (SELECT COALESCE(sum(length(data)), 0) FROM frame)",
)

_IS_THERE = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = 'frame_moved')"
_IS_IN_STEP = """SELECT NOT EXISTS (SELECT "partition" FROM frame EXCEPT SELECT "partition" FROM entry)
    AND (SELECT bytes FROM frame_sum) = (SELECT COALESCE(sum(length(data)), 0) FROM frame)"""
_HAS = 'SELECT EXISTS (SELECT 1 FROM frame WHERE "partition" = ?)'
_COUNT = 'SELECT count(*) FROM (SELECT 1 FROM entry WHERE "partition" = ? LIMIT 2)'
_ADD = 'INSERT OR IGNORE INTO frame ("partition", data) VALUES (?, ?)'
_READ = 'SELECT data FROM frame WHERE "partition" = ? AND length(data) <= ?'


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """
    A request without the last text of the user.

    Attributes:
        path: Where it goes.
        params: Its query.
        body: Its JSON body, without what says only how the answer travels, and with "" for that text.
    """

    path: str
    params: Mapping[str, Any]
    body: Mapping[str, Any]

    @property
    def is_continued(self) -> bool:
        """Whether a model has said something in it: only examples for the model are like that in several requests."""
        messages = self.body.get("messages") or ()
        return any(isinstance(message, dict) and message.get("role") in _SAID_BY_MODEL for message in messages)

    def filled(self, text: str) -> dict[str, Any]:
        """
        Put a text where the last one was.

        Args:
            text: What the user says.

        Returns:
            The body of the request; the frame stays as it is.
        """
        body = _copied(self.body)
        place, name = _place(body) or (body, "prompt")
        place[name] = text
        return body

    def request_of(self, key: str, text: str, tenant: str) -> dict[str, Any] | None:
        """
        Make the request that an answer was kept for.

        Args:
            key: Of the answer.
            text: What the user said last.
            tenant: Whose it is.

        Returns:
            Its body, or None: what comes out is another request.
        """
        try:
            body = self.filled(text)
            is_it = exact_key(self.path, body, tenant=tenant, params=self.params) == key
        except (UncacheableError, RecursionError):
            return None
        return body if is_it else None

    def packed(self) -> bytes:
        """
        Write it down.

        Returns:
            JSON, packed.

        Raises:
            ValueError: It is too long, or holds something that is no JSON.
        """
        told = {"path": self.path, "params": dict(self.params), "body": dict(self.body)}
        try:
            text = json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, RecursionError) as error:
            raise ValueError(type(error).__name__) from None
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > _UNPACKED_BYTES or len(packed := zlib.compress(data)) > FRAME_BYTES:
            raise ValueError("too long")
        return packed

    @classmethod
    def unpacked(cls, data: bytes) -> Frame | None:
        """
        Read one.

        Args:
            data: What `packed()` returned, or anything else.

        Returns:
            It, or None: it is damaged.
        """
        try:
            text = zlib.decompressobj().decompress(data, _UNPACKED_BYTES).decode("utf-8", "surrogatepass")
            told = json.loads(text)
            path, params, body = told["path"], told["params"], told["body"]
        except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
            return None
        if not (isinstance(path, str) and isinstance(params, dict) and isinstance(body, dict) and _place(body)):
            return None
        return cls(path=path, params=params, body=body)


def frame_of(path: str, body: Mapping[str, Any], params: Mapping[str, Any] | None = None) -> Frame | None:
    """
    Take the last text of the user out of a request.

    Args:
        path: Where it goes.
        body: Its JSON body, which stays as it is.
        params: Its query.

    Returns:
        The rest, or None: there is no such text, it stands in several places, or the request is long.
    """
    if is_long(body) or not last_text(body):
        return None
    kept = _copied({name: value for name, value in body.items() if name not in TRANSPORT})
    found = _place(kept)
    if found is None:
        return None
    place, name = found
    place[name] = ""
    return Frame(path=path, params=dict(params or {}), body=kept)


def _copied(body: Mapping[str, Any]) -> dict[str, Any]:
    """Copy as much of a body as is changed here."""
    messages = body.get("messages")
    if not isinstance(messages, list | tuple) or not messages:
        return dict(body)
    return {**body, "messages": [*messages[:-1], deepcopy(messages[-1])]}


def _place(body: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Find where the last text of the user stands, if it is one place."""
    messages = body.get("messages")
    if messages is None:
        return (body, "prompt") if isinstance(body.get("prompt"), str) else None
    last = messages[-1] if isinstance(messages, list | tuple) and messages else None
    if not isinstance(last, dict) or last.get("role") != "user":
        return None
    content = last.get("content")
    if isinstance(content, str):
        return last, "content"
    parts = content if isinstance(content, list) else []
    texts = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return (texts[0], "text") if len(texts) == 1 and isinstance(texts[0].get("text"), str) else None


def is_there(execute: Execute) -> bool:
    """
    Tell whether a database has the tables; one that an earlier version made has not.

    Args:
        execute: Runs a statement.

    Returns:
        Whether it has.
    """
    return bool(execute(_IS_THERE, ()).fetchall()[0][0])


def is_in_step(execute: Execute) -> bool:
    """
    Tell whether every frame has an entry; this reads indexes.

    Args:
        execute: Runs a statement.

    Returns:
        True: there is nothing to mend.
    """
    return bool(execute(_IS_IN_STEP, ()).fetchall()[0][0])


def mend(execute: Execute) -> None:
    """
    Bring the tables in step with the entries, in a transaction of the caller's.

    Args:
        execute: Runs a statement.
    """
    for statement in MEND:
        execute(statement, ())


def room_of(max_bytes: int) -> int:
    """
    Say what the frames of a cache may take in all.

    Args:
        max_bytes: The room of the cache.

    Returns:
        Bytes.
    """
    return min(max_bytes // _PART, ROOM_BYTES)


def add_frame(lane: Lane, partition: str, frame: Frame, room: int) -> bool:
    """
    Keep a frame beside a record that has just been written, in the transaction of that record.

    A conversation in which a model has spoken is kept only when a second request has the same beginning.

    Args:
        lane: For writing; the transaction is the caller's.
        partition: Of the record.
        frame: What its request is but for the last text.
        room: What all frames may take, in bytes.

    Returns:
        Whether it is there now.

    Raises:
        sqlite3.Error: It cannot be written.
    """
    if lane.execute(_HAS, (partition,)).fetchone()[0]:
        return True
    entries = lane.execute(_COUNT, (partition,)).fetchone()[0]
    free = room - lane.execute("SELECT bytes FROM frame_sum").fetchone()[0]
    # Packing takes time: not where there is no room anyway.
    if entries < (2 if frame.is_continued else 1) or free <= 0:
        return False
    try:
        data = frame.packed()
    except ValueError:
        return False
    if len(data) > free:
        return False
    lane.execute(_ADD, (partition, data))
    return True


def read_frame(lane: Lane, partition: str) -> Frame | None:
    """
    Look for the frame of a partition.

    Args:
        lane: For reading.
        partition: Of the record.

    Returns:
        It, or None: there is none that can be read.

    Raises:
        sqlite3.Error: The database cannot be read.
    """
    row = lane.execute(_READ, (partition, FRAME_BYTES)).fetchone()
    return None if row is None else Frame.unpacked(bytes(row[0]))
