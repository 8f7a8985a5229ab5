"""`DiskTier`: entries on disk, shared by all processes of a machine."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from deepseek_sdk._sqlite import is_broken
from deepseek_sdk.caching.directory import bump, generation
from deepseek_sdk.caching.eviction import SqlShelf, policy_of
from deepseek_sdk.caching.failure import StoreError, mapped, stated
from deepseek_sdk.caching.hit_buffer import HitBuffer
from deepseek_sdk.caching.keyfilter import KnownKeys
from deepseek_sdk.caching.meta import COLUMNS, Meta, Row, Totals
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.caching.upkeep import PAGE_ROWS, compact, delete_where
from deepseek_sdk.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.layout import Files

__all__ = ["DiskTier", "Meta", "Row", "Totals"]

T = TypeVar("T")
_Kind = Literal["reader", "writer"]

_GET = "SELECT mode, filename, value FROM Cache WHERE key = ? AND raw = 1"
_PUT = (
    "INSERT INTO Cache (key, raw, store_time, access_time, access_count, tag, size, mode, filename, value)"
    " VALUES (?, 1, ?, ?, 0, ?, ?, ?, ?, ?) ON CONFLICT (key, raw) DO UPDATE SET store_time = excluded.store_time,"
    " access_time = excluded.access_time, tag = excluded.tag, size = excluded.size, mode = excluded.mode,"
    " filename = excluded.filename, value = excluded.value"
)
_DELETE = "DELETE FROM Cache WHERE key = ? AND raw = 1"
# What one record may take of the room, and what one write frees at most: others wait meanwhile.
_LARGEST_PART = 2
_FREED_BYTES = 8 * 2**20
# How long a process that forks waits for what its threads are at, and how long one that ends waits to write hits.
_FORK_S, _LAST_S = 2.0, 1.0
_HITS_AT_ONCE, _TURN_S = 16, 0.0001


class DiskTier:
    """
    Entries in a directory; it is opened when it is first used.

    All methods block, and may be called from any thread: one thread reads at a time, and one writes beside it. Before
    the process forks, the files are closed; parent and child open them again when they next need them.

    Args:
        directory: Where, on a disk of this machine.
        max_bytes: How much room there is.
        policy: What goes first, as `policy_of()` knows it.
        lock_s: How long to wait for other processes, in seconds.
        when_due: Called, by whoever reads, when it is time for `write_hits()`; None: whoever reads writes them.
        filter_rate: How often a filter of keys in RAM may be wrong; None: there is none, and every lookup looks.

    Attributes:
        directory: Where, as an absolute path.
        max_bytes: How much room there is.
        known: The filter of keys, or None.
        damages: How often a damaged file was put aside.

    Raises:
        ConfigurationError: There is no such policy, or *filter_rate* cannot be used.
        MissingExtraError: diskcache is not installed.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        max_bytes: int,
        policy: str = "s3-fifo",
        lock_s: float = 5.0,
        when_due: Callable[[], object] | None = None,
        filter_rate: float | None = None,
    ) -> None:
        try:
            from deepseek_sdk.caching import layout, text_disk  # noqa: PLC0415  diskcache is an extra
        except ImportError as error:
            if error.name != "diskcache":
                raise
            raise MissingExtraError("The cache on disk", "cache") from error
        self.directory = Path(directory).absolute()
        self.max_bytes = max_bytes
        self._policy = policy_of(policy)
        self._lock_s = lock_s
        self._when_due = when_due
        self._layout = layout
        self._refused = text_disk.RefusedError
        self._disk = text_disk.TextDisk(str(self.directory))
        self._hits = HitBuffer()
        self.known = None if filter_rate is None else KnownKeys(filter_rate)
        self._entries = 0
        self._files: Files | None = None
        self.damages = 0
        self._is_closed = False
        # Who opens, closes or forks takes both, in this order.
        self._locks: Mapping[_Kind, threading.RLock] = {"reader": threading.RLock(), "writer": threading.RLock()}
        self._held: list[threading.RLock] = []
        self._pid = os.getpid()
        _close_before_forks(self)

    def open(self) -> None:
        """
        Open the directory, and make it where there is none; also after `close()`.

        Raises:
            StoreError: It may not or cannot be used.
        """
        self._is_closed = False
        with mapped():
            self._ready()

    def get(self, key: str, now_ms: int) -> bytes | None:
        """
        Look for an entry, and count a hit.

        Args:
            key: Of the entry.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            Its bytes, whatever its age, or None where it is not there.

        Raises:
            StoreError: The disk cannot be used.
        """
        may_have = None if self.known is None else self._may_have(self.known, key)
        if may_have is False:
            return None
        rows = self._fetch(_GET, key)
        if not rows:
            if may_have and self.known is not None:
                self.known.missed()
            return None
        mode, filename, value = rows[0]
        try:
            found = self._disk.fetch(mode, filename, value, read=False)
        except self._refused:
            self.delete(key)
            return None
        if self._hits.add(key, self._entries, now_ms):
            self._tell(now_ms)
        return found

    def served(self, key: str, now_ms: int) -> None:
        """
        Count a hit that was served from RAM: else what is asked for most would be the first to go here.

        Args:
            key: Of the entry.
            now_ms: The time, in milliseconds since 1970.
        """
        if self._hits.add(key, self._entries, now_ms):
            self._tell(now_ms)

    def put(
        self, key: str, value: bytes, meta: Meta, now_ms: int, beside: Callable[[Lane], object] | None = None
    ) -> int:
        """
        Keep an entry, in place of the one with its key if there is one; others go where there is no room.

        Args:
            key: Of the entry.
            value: Its bytes.
            meta: What is known of it.
            now_ms: The time, in milliseconds since 1970.
            beside: What else to write, all or nothing of both; it may be called twice.

        Returns:
            How many others went.

        Raises:
            StoreError: The disk cannot be used; nothing was written.
            TypeError: The key is no text, or the value not bytes.
            ValueError: It is larger than half of the room there is.
        """
        return self.put_many([(key, value, meta)], now_ms, beside)

    def put_many(
        self, entries: Iterable[tuple[str, bytes, Meta]], now_ms: int, beside: Callable[[Lane], object] | None = None
    ) -> int:
        """
        Keep several entries, all or none.

        Args:
            entries: Key, bytes and what is known, of each.
            now_ms: The time, in milliseconds since 1970.
            beside: What else to write once they are there, all or nothing of both; it may be called twice.

        Returns:
            How many others went.

        Raises:
            StoreError: The disk cannot be used; nothing was written.
            TypeError: A key is no text, or a value not bytes.
            ValueError: One is larger than half of the room there is.
        """
        packed = [self._packed(*entry, now_ms) for entry in entries]
        return self._run("writer", lambda lane: self._write(lane, packed, now_ms, beside=beside))

    def write_beside(self, work: Callable[[Lane], T]) -> T:
        """
        Write what belongs to entries that are there already, all or nothing of it.

        Args:
            work: What; it may be called twice.

        Returns:
            Its result.

        Raises:
            StoreError: The disk cannot be used; nothing was written.
        """

        def write(lane: Lane) -> T:
            with lane.transaction():
                return work(lane)

        return self._run("writer", write)

    def delete(self, key: str) -> bool:
        """
        Remove an entry.

        Args:
            key: Of the entry.

        Returns:
            Whether it was there.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._run("writer", lambda lane: lane.insist(_DELETE, (key,)).rowcount > 0)

    def rows(self, selection: Selection | None = None) -> Iterator[Row]:
        """
        Go through entries, some at a time: others may write meanwhile, and what they write may be among them.

        Args:
            selection: Which; None: all.

        Yields:
            What is known of each.

        Raises:
            StoreError: The disk cannot be used.
        """
        where, values = (selection or Selection()).where()
        sql = f"SELECT id, {COLUMNS} FROM entry WHERE {where} AND id > ? ORDER BY id LIMIT {PAGE_ROWS}"  # noqa: S608  no input
        last = 0
        while found := self._fetch(sql, *values, last):
            yield from (Row.of(columns) for _, *columns in found)
            last = found[-1][0]

    def delete_where(self, selection: Selection) -> int:
        """
        Remove entries, some at a time.

        Args:
            selection: Which.

        Returns:
            How many.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._run("writer", lambda lane: delete_where(lane, *selection.where()))

    def totals(self) -> Totals:
        """
        Count what is there.

        Returns:
            The sums.

        Raises:
            StoreError: The disk cannot be used.
        """
        return Totals(*self._fetch("SELECT entries, small + main FROM tally")[0])

    def tenant_bytes(self, tenant: str) -> int:
        """
        Add up what the entries of one tenant take.

        Args:
            tenant: Whose.

        Returns:
            Their bytes.

        Raises:
            StoreError: The disk cannot be used.
        """
        where, values = Selection(tenant=tenant).where()
        sql = f"SELECT COALESCE(sum(size), 0) FROM entry WHERE {where}"  # noqa: S608  no input in it
        return int(self._fetch(sql, *values)[0][0])

    def generation(self) -> int:
        """
        Say which flush was the last one, of any process: what is in RAM from before it may be gone.

        Returns:
            A number that differs from the one before.
        """
        return generation(self.directory)

    def bump(self) -> None:
        """
        Tell all processes that what they have in RAM may be gone.

        Raises:
            StoreError: The disk cannot be used.
        """
        with mapped():
            bump(self.directory)

    def write_hits(self, now_ms: int, lock_s: float = 0.0) -> bool:
        """
        Write hits down, if nobody else writes.

        Args:
            now_ms: The time, in milliseconds since 1970.
            lock_s: How long to wait for those who do, in seconds.

        Returns:
            Whether all are written; otherwise they are kept for the next time.

        Raises:
            StoreError: The disk cannot be used.
        """
        lock = self._locks["writer"]
        if not (lock.acquire(timeout=lock_s) if lock_s else lock.acquire(blocking=False)):
            self._hits.defer(now_ms)
            return False
        try:
            self._run("writer", lambda lane: self._write(lane, (), now_ms, lock_s))
        except StoreError as error:
            if error.reason != "locked":
                raise
            return False
        finally:
            lock.release()
        return True

    def compact(self, now_ms: int) -> int:
        """
        Remove what is past its time or more than there is room for, and give its room back to the disk.

        Args:
            now_ms: The time, in milliseconds since 1970.

        Returns:
            How many entries went.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._run("writer", lambda lane: compact(lane, self._policy, self.max_bytes, now_ms))

    def close(self, now_ms: int | None = None) -> None:
        """
        Write hits down and close the files; may be called again.

        Args:
            now_ms: The time, in milliseconds since 1970; None: hits are not written.
        """
        if now_ms is not None and self._files is not None and self._is_mine():
            # Where that fails, some entries look a little less popular than they are.
            with contextlib.suppress(StoreError):
                self.write_hits(now_ms, _LAST_S)
        self._is_closed = True
        if self._is_mine():
            with self._locks["reader"], self._locks["writer"]:
                self._let_go()

    def read(self, work: Callable[[Lane], T]) -> T:
        """
        Read the database, for other parts of the cache.

        Args:
            work: What; it may be called twice.

        Returns:
            Its result.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._run("reader", work)

    def write(self, work: Callable[[Lane], T]) -> T:
        """
        Write to the database, for other parts of the cache.

        Args:
            work: What; it may be called twice.

        Returns:
            Its result.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._run("writer", work)

    def _fetch(self, sql: str, *values: object) -> list[Any]:
        return self._run("reader", lambda lane: lane.execute(sql, values).fetchall())

    def _packed(self, key: str, value: bytes, meta: Meta, now_ms: int) -> tuple[str, int, tuple[Any, ...]]:
        name, _ = self._disk.put(key)
        columns = self._disk.store(value, read=False, key=key)
        tag, size = meta.packed(len(value))
        if size > self.max_bytes // _LARGEST_PART:
            raise ValueError(f"{size:,} bytes are more than half of the {self.max_bytes:,} there is room for")
        return name, size, (name, now_ms / 1000, now_ms / 1000, tag, *columns)

    def _write(
        self,
        lane: Lane,
        packed: Sequence[tuple[str, int, tuple[Any, ...]]],
        now_ms: int,
        lock_s: float | None = None,
        *,
        beside: Callable[[Lane], object] | None = None,
    ) -> int:
        counts = self._hits.take(now_ms)
        try:
            with lane.transaction(lock_s):
                shelf = SqlShelf(lane.execute, self.max_bytes)
                self._count(shelf, counts, now_ms)
                if self.known is not None:
                    for key, *_ in packed:
                        self.known.add(key)
                gone = sum(self._place(lane, shelf, *one, now_ms) for one in packed)
                if beside is not None:
                    beside(lane)
                    gone += self._make_room(shelf, packed[-1][0] if packed else None, 0, now_ms)
                self._entries = shelf.entries
        except BaseException:
            self._hits.give_back(counts, now_ms)
            raise
        return gone

    def _count(self, shelf: SqlShelf, counts: Mapping[str, int], now_ms: int) -> None:
        hits = iter(counts.items())
        while some := dict(itertools.islice(hits, _HITS_AT_ONCE)):
            self._policy.hits(shelf, some, now_ms)
            # Whoever reads in another thread gets a turn: Python gives one up by itself only after milliseconds.
            time.sleep(_TURN_S)

    def _place(self, lane: Lane, shelf: SqlShelf, key: str, size: int, columns: tuple[Any, ...], now_ms: int) -> int:
        lane.execute(_PUT, columns)
        self._policy.arrive(shelf, key, size)
        return self._make_room(shelf, key, size, now_ms)

    def _make_room(self, shelf: SqlShelf, spare: str | None, size: int, now_ms: int) -> int:
        # Where the room was made smaller, it takes some writes until everything fits.
        excess = min(shelf.size - self.max_bytes, max(_FREED_BYTES, 2 * size))
        return len(self._policy.victims(shelf, excess, now_ms, spare)) if excess > 0 else 0

    def _may_have(self, known: KnownKeys, key: str) -> bool | None:
        """Ask the filter, if nobody writes at the moment: what others have written only the writer's lane tells."""
        with mapped():
            files, lock = self._ready(), self._locks["writer"]
            if not lock.acquire(blocking=False):
                return None
            try:
                if self._files is not files:
                    return None
                execute = files.writer.execute
                version = files.writer, execute("PRAGMA data_version").fetchone()[0]
                if known.is_due(version):
                    known.renew((found for (found,) in execute("SELECT key FROM entry")), version)
                return known.may_have(key, version)
            finally:
                lock.release()

    def _tell(self, now_ms: int) -> None:
        if self._when_due is not None:
            self._hits.defer(now_ms)
            self._when_due()
            return
        # Who reads has got what he wanted; what is wrong will show when somebody writes.
        with contextlib.suppress(StoreError):
            self.write_hits(now_ms)

    def _run(self, kind: _Kind, work: Callable[[Lane], T]) -> T:
        try:
            return self._insist(kind, work)
        except (sqlite3.Error, OSError) as error:
            raise stated(error) from error

    def _insist(self, kind: _Kind, work: Callable[[Lane], T]) -> T:
        while True:
            files = self._ready()
            try:
                with self._locks[kind]:
                    # A fork may have closed them meanwhile.
                    if self._files is files:
                        return work(files.reader if kind == "reader" else files.writer)
            except sqlite3.DatabaseError as error:
                if not is_broken(error):
                    raise
                self._put_aside(files, error)

    def _ready(self) -> Files:
        """Give the open database, and open it where it is not, or is no longer the one of that name."""
        if not self._is_mine():
            raise StoreError("forked", "this process was forked while the cache was in use; it goes without it")
        if self._is_closed:
            raise StoreError("closed", f"the cache {self.directory} is closed")
        files = self._files
        if files is not None and files.are_there():
            return files
        with self._locks["reader"], self._locks["writer"]:
            files = self._files
            if files is None or not files.are_there():
                self._let_go()
                may_replace = not self.damages
                files = self._layout.open_files(self.directory, self._lock_s, may_replace=may_replace)
                self.damages += files.is_replaced
                self._files = files
                self._entries = files.reader.execute("SELECT entries FROM tally").fetchone()[0]
            return files

    def _put_aside(self, files: Files, error: sqlite3.DatabaseError) -> None:
        with self._locks["reader"], self._locks["writer"]:
            if self._files is not files:
                return
            self._files = None
            if self.damages:
                # A disk that damages one file after another is not filled with them.
                files.close()
                raise error
            self.damages += 1
            self._layout.put_aside(self.directory, files, error, self._lock_s)

    def _let_go(self) -> None:
        files, self._files = self._files, None
        if files is not None:
            files.close()

    def _is_mine(self) -> bool:
        return os.getpid() == self._pid

    def _before_fork(self) -> None:
        """Close the files: what a child inherits makes SQLite believe, there, that locks of the parent are its own."""
        held = [lock for lock in self._locks.values() if lock.acquire(timeout=_FORK_S)]
        if len(held) == len(self._locks):
            self._let_go()
        else:
            for lock in held:
                lock.release()
            held = []
        self._held = held

    def _after_fork(self, *, is_child: bool) -> None:
        held, self._held = self._held, []
        for lock in held:
            lock.release()
        if is_child and held:
            self._pid = os.getpid()


def _close_before_forks(tier: DiskTier) -> None:
    if not hasattr(os, "register_at_fork"):
        return
    me = weakref.ref(tier)

    def before() -> None:
        if (found := me()) is not None:
            found._before_fork()  # noqa: SLF001  of this module

    def after(*, is_child: bool) -> None:
        if (found := me()) is not None:
            found._after_fork(is_child=is_child)  # noqa: SLF001  of this module

    os.register_at_fork(
        before=before, after_in_parent=lambda: after(is_child=False), after_in_child=lambda: after(is_child=True)
    )
