"""Answers as a file of JSON lines: taken out of a cache, and brought into another."""

from __future__ import annotations

import io
import logging
import os
import secrets
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching import flushing
from deepseek_sdk.caching.entry import BadRecordError, encode
from deepseek_sdk.caching.lines import RefusedLineError, line_of, read_line
from deepseek_sdk.caching.operations import kept, opened, peek, selected
from deepseek_sdk.caching.store import meta_of
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.selection import Selection

__all__ = ["Imported", "bring_in", "take_out"]

_log = logging.getLogger("deepseek_sdk")

# So many answers in one transaction.
_BATCH = 100
# A longer line is no answer that anybody keeps.
_LONGEST_LINE = 64 * 2**20
# So many lines that are skipped are told one by one.
_TOLD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """
    What came of an import.

    Attributes:
        kept: How many answers were taken in.
        skipped: How many lines were not, by the reason.
    """

    kept: int
    skipped: Mapping[str, int]


def take_out(cache: ExactCache, target: Any, selection: Selection) -> int:
    """
    Write answers to a file; see `ExactCache.export()`.

    Args:
        cache: Whose.
        target: A path, or a file that is open for writing.
        selection: Which.

    Returns:
        How many.

    Raises:
        ConfigurationError: The disk cannot be used, or the file is one of the cache's own.
        OSError: The file cannot be written; one that was there before is as it was.
    """
    count, unread = 0, cache.tally.stats().errors.get("bad_record", 0)
    with _written(target, cache.path) as write, opened(cache) as tier:
        for entry in _entries(cache, tier, selection):
            try:
                line = line_of(entry)
            except ValueError:
                _log.warning("the answer %s is no JSON, and was left out of the export", entry.id)
                continue
            write(line)
            count += 1
    if left_out := cache.tally.stats().errors.get("bad_record", 0) - unread:
        _log.warning(
            "%d records cannot be read, and were left out of the export: damaged, or of another secret", left_out
        )
    return count


def _entries(cache: ExactCache, tier: DiskTier | None, selection: Selection) -> Iterator[Entry]:
    keys = (
        [entry.key for entry in kept(cache, selection)] if tier is None else (row.key for row in tier.rows(selection))
    )
    now_ms = cache.now_ms()
    for key in keys:
        found = peek(cache, tier, key)
        if found is not None and cache.expiry.state(found.entry, now_ms) != "expired":
            yield found.entry


@contextmanager
def _written(target: Any, directory: Path | None) -> Iterator[Callable[[bytes], object]]:
    if hasattr(target, "write"):
        is_text = isinstance(target, io.TextIOBase) or hasattr(target, "encoding")
        yield (lambda line: target.write(line.decode())) if is_text else target.write
        return
    path = Path(target).absolute()
    if directory is not None and path.resolve().parent == directory.resolve():
        raise ConfigurationError(f"{path} would lie among the files of the cache: name another file")
    if path.exists() and not path.is_file():
        # A device or a pipe must not be replaced by a file.
        with path.open("wb") as file:
            yield file.write
        return
    yield from _replaced(path)


def _replaced(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Write a file beside the old one, which only the user may read, and put it in its place when it is whole."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with _named(path):
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        with _named(path):
            beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error name the file that was asked for, and not the one beside it."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def bring_in(
    cache: ExactCache, source: Any, *, tenant: str | None, skip: Callable[[int, str], object] | None = None
) -> Imported:
    """
    Keep answers from a file; see `ExactCache.import_()`.

    Args:
        cache: Where.
        source: A path, or a file that is open for reading.
        tenant: Only those of this tenant; None: all.
        skip: Told of each line that is skipped, its number and why, in place of the log; None: they are logged.

    Returns:
        How many.

    Raises:
        ConfigurationError: The disk cannot be used; what was kept up to then stays.
        OSError: The file cannot be read.
    """
    only = selected(tenant=tenant)
    # The file first: where there is none, no directory is made.
    with _read(source) as lines, opened(cache) as tier:
        work = _Import(cache, tier, only, skip)
        for number, line in enumerate(lines, start=1):
            work.take(number, line)
        return work.end()


@contextmanager
def _read(source: Any) -> Iterator[Iterator[bytes]]:
    if hasattr(source, "readline"):
        yield _lines(source)
        return
    with Path(source).open("rb") as file:
        yield _lines(file)


def _lines(file: Any) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long, no more than that shows it is."""
    while line := file.readline(_LONGEST_LINE):
        data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        yield data
        while line and not line.endswith("\n" if isinstance(line, str) else b"\n"):
            line = file.readline(_LONGEST_LINE)


class _Import:
    """One import on its way."""

    def __init__(
        self,
        cache: ExactCache,
        tier: DiskTier | None,
        only: Selection,
        skip: Callable[[int, str], object] | None,
    ) -> None:
        self._cache = cache
        self._tier = tier
        self._only = only
        self._now_ms = cache.now_ms()
        self._flushed_ms = cache.store.flushed_ms if tier is None else flushing.flushed_ms(tier)
        self._tell = skip
        self._batch: dict[str, Entry] = {}
        self._numbers: dict[str, int] = {}
        self._skipped: Counter[str] = Counter()
        self._kept = 0

    def take(self, number: int, line: bytes) -> None:
        """Take the next line."""
        if not line.strip():
            return
        try:
            entry = self._entry(line)
        except RefusedLineError as error:
            self._skip(error.reason, number)
            return
        self._batch[entry.key] = entry
        self._numbers[entry.key] = number
        if len(self._batch) >= _BATCH:
            self._write()

    def end(self) -> Imported:
        """Keep what is left, and tell what became of it all."""
        self._write()
        if self._tier is not None and self._kept:
            # What others have in memory may be older.
            self._tier.bump()
        if self._tell is None and (skipped := sum(self._skipped.values())):
            _log.warning("%d lines were not imported: %s", skipped, dict(self._skipped))
        return Imported(kept=self._kept, skipped=dict(self._skipped))

    def _entry(self, line: bytes) -> Entry:
        if len(line) >= _LONGEST_LINE:
            raise RefusedLineError("too_large")
        entry = read_line(line, self._cache.limits)
        entry = replace(entry, expires_ms=self._end_of(entry))
        refused = [word for word, holds in self._reasons(entry) if holds]
        if refused:
            raise RefusedLineError(refused[0])
        return entry

    def _end_of(self, entry: Entry) -> int | None:
        """Give the end that a file tells, or that of this cache where it comes first."""
        own = self._cache.expiry.expires_ms(
            key=entry.key, asked=entry.asked, model=entry.model, tags=entry.tags, created_ms=entry.created_ms
        )
        return min((end for end in (own, entry.expires_ms) if end is not None), default=None)

    def _reasons(self, entry: Entry) -> Iterator[tuple[str, bool]]:
        yield "tenant", not self._only.matches(entry)
        yield "expired", self._cache.expiry.state(entry, self._now_ms) == "expired"
        yield "flushed", entry.created_ms <= self._flushed_ms
        yield "known", self._is_known(entry)

    def _is_known(self, entry: Entry) -> bool:
        known = self._batch.get(entry.key)
        if known is None:
            found = peek(self._cache, self._tier, entry.key)
            known = None if found is None else found.entry
        return known is not None and known.created_ms >= entry.created_ms

    def _write(self) -> None:
        batch, self._batch = list(self._batch.values()), {}
        if self._tier is None:
            self._remember(batch)
        elif batch:
            self._write_down(self._tier, batch)
        self._numbers.clear()

    def _remember(self, batch: list[Entry]) -> None:
        memory = self._cache.store.memory
        for entry in batch:
            if memory is None or entry.size > memory.max_bytes:
                self._skip("too_large", self._numbers[entry.key])
            else:
                memory.put(entry, keep_ms=self._keep_ms(entry), now_ms=self._now_ms)
                self._kept += 1

    def _write_down(self, tier: DiskTier, batch: list[Entry]) -> None:
        try:
            tier.put_many(map(self._record, batch), self._now_ms)
        except (BadRecordError, ValueError):
            # One of them is too large: it must not take the others along.
            if len(batch) == 1:
                self._skip("too_large", self._numbers[batch[0].key])
                return
            for entry in batch:
                self._write_down(tier, [entry])
        else:
            self._kept += len(batch)

    def _record(self, entry: Entry) -> tuple[str, bytes, Any]:
        return entry.key, encode(entry, secret=self._cache.store.secret), meta_of(entry, self._keep_ms(entry))

    def _keep_ms(self, entry: Entry) -> int | None:
        return self._cache.expiry.keep_until_ms(entry.expires_ms)

    def _skip(self, reason: str, number: int) -> None:
        self._skipped[reason] += 1
        if self._tell is not None:
            self._tell(number, reason)
            return
        level = logging.WARNING if sum(self._skipped.values()) <= _TOLD else logging.DEBUG
        _log.log(level, "line %d was not imported: %s", number, reason)
