"""What people do with a cache: look at it, and empty it as a whole or in part."""

from __future__ import annotations

import heapq
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching import flushing
from deepseek_sdk.caching.directory import DATABASE
from deepseek_sdk.caching.entry import BadRecordError, Entry, decode
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.meta import Row
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.caching.store import Found
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.stats import CacheStats

__all__ = [
    "Invalidated",
    "compact",
    "flush",
    "inspect",
    "invalidate",
    "kept",
    "key_of",
    "ls",
    "opened",
    "peek",
    "rows",
    "selected",
    "stats",
]

_ID = re.compile(r"[0-9a-fA-F]{1,64}")
_EXACT_ID = re.compile(r"[0-9a-fA-F]{16,64}")
# How tenants are written down (see `identity`): a word of the caller's, a hash of the key, or who answers.
_OWNERS = ("tenant:", "key:", "function:", "backend:", "http://", "https://")
_PEEK = "SELECT value FROM Cache WHERE key = ? AND raw = 1 AND mode = 1 AND filename IS NULL AND typeof(value) = 'blob'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalidated:
    """
    What was removed, or would be.

    Attributes:
        count: How many answers.
        bytes: What they take.
        is_dry_run: Nothing was removed.
    """

    count: int
    bytes: int
    is_dry_run: bool = False


@contextmanager
def opened(cache: ExactCache) -> Iterator[DiskTier | None]:
    """
    Give the disk to somebody who wants to know what goes wrong with it; calls that go on without it do not.

    Args:
        cache: The cache.

    Yields:
        The tier, open; None where there is no disk.

    Raises:
        ConfigurationError: The directory cannot be used; the message says why.
    """
    if cache.store.disk is None:
        yield None
        return
    tier = cache.store.disk.tier
    try:
        tier.open()
        yield tier
    except StoreError as error:
        message = f"the cache in {tier.directory} cannot be used ({error.reason}): {error}"
        raise ConfigurationError(message) from error


def stats(cache: ExactCache) -> CacheStats:
    """
    Tell what a cache has done, and what it holds; a disk that cannot be read is left out.

    Args:
        cache: It.

    Returns:
        The counts.
    """
    memory = cache.store.memory
    held: dict[str, Any] = {
        "memory_entries": 0 if memory is None else memory.entries,
        "memory_bytes": 0 if memory is None else memory.bytes,
    }
    return cache.tally.stats(**held, **(_on_disk(cache) or _as_entries(held)))


def _as_entries(held: dict[str, Any]) -> dict[str, Any]:
    return {"entries": held["memory_entries"], "bytes": held["memory_bytes"]}


def _on_disk(cache: ExactCache) -> dict[str, Any] | None:
    if cache.store.disk is None:
        return None
    tier = cache.store.disk.tier
    known = None if tier.known is None else tier.known.filter
    told = {"filter_rate": None if known is None else known.measured_rate}
    if not (tier.directory / DATABASE).exists():
        # Who asks does not make it.
        return {**told, "entries": 0, "bytes": 0}
    try:
        tier.open()
        totals = tier.totals()
    except StoreError as error:
        cache.tally.fail(error.reason)
        return {**told, "entries": None, "bytes": None}
    return {**told, "entries": totals.entries, "bytes": totals.bytes}


def ls(cache: ExactCache, *, tag: str | None, model: str | None, tenant: str | None, limit: int | None) -> list[Row]:
    """
    List answers, the newest first; see `ExactCache.ls()`.

    Args:
        cache: Of what.
        tag: With this tag.
        model: Of this model.
        tenant: Of this tenant.
        limit: How many at most.

    Returns:
        What is known of each.
    """
    if limit is not None:
        check_count("limit", limit, least=1)
    selection = selected(tag=tag, model=model, tenant=tenant)
    with opened(cache) as tier:
        found = rows(cache, tier, selection)
        return sorted(found, key=_age, reverse=True) if limit is None else heapq.nlargest(limit, found, key=_age)


def _age(row: Row) -> tuple[int, str]:
    return row.created_ms, row.key


def rows(cache: ExactCache, tier: DiskTier | None, selection: Selection) -> Iterator[Row]:
    """
    Go through answers, some at a time.

    Args:
        cache: Whose.
        tier: Its disk, open; None where there is none.
        selection: Which.

    Returns:
        What is known of each.
    """
    flushed = _flushed_ms(cache, tier)
    found = map(_row_of, kept(cache, selection)) if tier is None else tier.rows(selection)
    return (row for row in found if row.created_ms > flushed)


def _row_of(entry: Entry) -> Row:
    return Row(
        key=entry.key,
        size=entry.size,
        asked=entry.asked,
        model=entry.model,
        tenant=entry.tenant,
        tags=entry.tags,
        created_ms=entry.created_ms,
        expires_ms=entry.expires_ms,
    )


def _flushed_ms(cache: ExactCache, tier: DiskTier | None) -> int:
    return cache.store.flushed_ms if tier is None else flushing.flushed_ms(tier)


def kept(cache: ExactCache, selection: Selection) -> list[Entry]:
    """
    Give answers in memory.

    Args:
        cache: Whose.
        selection: Which.

    Returns:
        Those.
    """
    found: list[Entry] = []

    def look(entry: Entry) -> bool:
        found.append(entry)
        return False

    if cache.store.memory is not None:
        cache.store.memory.discard_where(look)
    return [entry for entry in found if selection.matches(entry)]


def peek(cache: ExactCache, tier: DiskTier | None, key: str) -> Found | None:
    """
    Look for an answer as a call does, but let nobody notice.

    Args:
        cache: Where.
        tier: Its disk, open; None where there is none.
        key: Of the request.

    Returns:
        It, however old; None where it is not there, cannot be read, or was flushed.
    """
    entry = cache.store.peek(key)
    found = None if entry is None else Found(entry, "memory")
    if found is None and tier is not None:
        entry = _read(cache, tier, key)
        found = None if entry is None else Found(entry, "disk")
    return None if found is None or found.entry.created_ms <= _flushed_ms(cache, tier) else found


def _read(cache: ExactCache, tier: DiskTier, key: str) -> Entry | None:
    row = tier.read(lambda lane: lane.execute(_PEEK, (key,)).fetchone())
    try:
        return None if row is None else decode(row[0], key, secret=cache.store.secret)
    except BadRecordError:
        cache.tally.fail("bad_record")
        return None


def inspect(cache: ExactCache, name: Any) -> Entry | None:
    """
    Give one answer with all that is known of it; see `ExactCache.inspect()`.

    Args:
        cache: Whose.
        name: Its id, or the beginning of its key.

    Returns:
        It, or None.

    Raises:
        ConfigurationError: Several begin like that, or no key does.
    """
    with opened(cache) as tier:
        key = key_of(cache, tier, name)
        found = None if key is None else peek(cache, tier, key)
    return None if found is None else found.entry


def key_of(cache: ExactCache, tier: DiskTier | None, name: Any) -> str | None:
    """
    Find the key that somebody means.

    Args:
        cache: Whose.
        tier: Its disk, open; None where there is none.
        name: An id, or the beginning of a key, in small or capital letters.

    Returns:
        The whole key, or None where no answer has one that begins like that.

    Raises:
        ConfigurationError: Several begin like that, or no key does.
    """
    if not isinstance(name, str) or _ID.fullmatch(name) is None:
        raise ConfigurationError(f"an answer is named by the first of 64 hex digits of its key, not by {name!r}")
    keys = [row.key for row in islice(rows(cache, tier, Selection(key_prefix=name.lower())), 2)]
    if len(keys) > 1:
        raise ConfigurationError(f"several answers begin with {name!r}, such as {keys[0][:16]} and {keys[1][:16]}")
    return keys[0] if keys else None


def selected(
    *,
    tag: str | None = None,
    model: str | None = None,
    tenant: str | None = None,
    older_than: float | str | timedelta | None = None,
    key: str | None = None,
    now_ms: int = 0,
) -> Selection:
    """
    Read which answers somebody means.

    Args:
        tag: "key" or "key=value".
        model: The model that was asked for, or that answered.
        tenant: Whose: the word that calls are given, or what `ls()` shows.
        older_than: Kept at least so long ago: seconds, a timedelta, "7d", "24h"; or before a date.
        key: Its key, or its id.
        now_ms: The time, in milliseconds since 1970.

    Returns:
        The selection.

    Raises:
        ConfigurationError: One of them cannot be used; the message names it.
    """
    for what, value in (("tag", tag), ("model", model), ("tenant", tenant), ("key", key)):
        _check_text(what, value)
    if key is not None and _EXACT_ID.fullmatch(key) is None:
        raise ConfigurationError(f"key must be a key of 64 hex digits or an id of 16, not {key!r}")
    return Selection(
        tag=tag,
        model=model,
        tenant=tenant if tenant is None or tenant.startswith(_OWNERS) else f"tenant:{tenant}",
        older_than_ms=None if older_than is None else _instant_ms(older_than, now_ms),
        key_prefix=None if key is None else key.lower(),
    )


def _check_text(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigurationError(f"{name} must be a text that is not empty, or None, not {value!r}")


def _instant_ms(older_than: Any, now_ms: int) -> int:
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
    if isinstance(seconds, str):
        from deepseek_sdk.ledger.period import instant  # noqa: PLC0415  only who gives a text needs it

        found = instant(seconds, now_ms / 1000, UTC)
        return 0 if found is None else int(found.timestamp() * 1000)
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not is_number or seconds < 0:
        raise ConfigurationError(f"older_than must be seconds, a timedelta, or a text such as '7d', not {older_than!r}")
    return now_ms - int(seconds * 1000)


def invalidate(cache: ExactCache, selection: Selection, *, dry_run: bool) -> Invalidated:
    """
    Remove answers from memory and disk, and let other processes forget what they have of them in memory.

    Args:
        cache: Where.
        selection: Which.
        dry_run: Only tell how many there are.

    Returns:
        How many.

    Raises:
        ConfigurationError: Nothing says which, or the disk cannot be used.
    """
    if selection == Selection():
        message = "invalidate() needs to know what: tag, model, older_than, tenant or key; flush() empties the cache"
        raise ConfigurationError(message)
    with opened(cache) as tier:
        # What another process has removed since may still be in memory, and does not count.
        sizes = {entry.key: entry.size for entry in kept(cache, selection) if cache.store.peek(entry.key) is not None}
        if tier is not None:
            sizes |= {row.key: row.size for row in tier.rows(selection)}
        if not dry_run:
            _remove(cache, tier, selection)
    return Invalidated(count=len(sizes), bytes=sum(sizes.values()), is_dry_run=dry_run)


def _remove(cache: ExactCache, tier: DiskTier | None, selection: Selection) -> None:
    if tier is not None:
        tier.delete_where(selection)
        # After it: who reads what is there now, and keeps it in memory, is told to forget it.
        tier.bump()
    if cache.store.memory is not None:
        cache.store.memory.discard_where(selection.matches)


def flush(cache: ExactCache) -> Invalidated:
    """
    Let nothing that was kept up to now be given any more, by any process; then remove it.

    Args:
        cache: The cache.

    Returns:
        How many answers were removed.

    Raises:
        ConfigurationError: The disk cannot be used; this process has forgotten what it had in memory all the same.
    """
    now_ms = cache.now_ms()
    sizes = {entry.key: entry.size for entry in kept(cache, Selection())}
    cache.store.flush(now_ms)
    if cache.negative is not None:
        cache.negative.clear()
    with opened(cache) as tier:
        if tier is None:
            return Invalidated(count=len(sizes), bytes=sum(sizes.values()))
        flushing.flush(tier, now_ms)
        size = tier.totals().bytes
        count = tier.delete_where(Selection())
        # What came meanwhile is gone from the disk, too.
        tier.bump()
        return Invalidated(count=count, bytes=max(size - tier.totals().bytes, 0))


def compact(cache: ExactCache) -> int:
    """
    Remove what is past its time, and give its room back to the disk.

    Args:
        cache: The cache.

    Returns:
        How many answers went.

    Raises:
        ConfigurationError: The disk cannot be used.
    """
    now_ms, gone = cache.now_ms(), 0
    if cache.store.memory is not None:
        gone = cache.store.memory.discard_where(lambda entry: _is_past(cache, entry, now_ms))
    with opened(cache) as tier:
        return gone if tier is None else tier.compact(now_ms)


def _is_past(cache: ExactCache, entry: Entry, now_ms: int) -> bool:
    until_ms = cache.expiry.keep_until_ms(entry.expires_ms)
    return until_ms is not None and until_ms <= now_ms
