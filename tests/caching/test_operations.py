"""What people do with a cache: in memory, on disk, and where records are signed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.operations import Invalidated
from deepseek_sdk.errors import ConfigurationError
from tests.caching.cached_calls import Wall
from tests.caching.kept_answers import AT_MS, entry_of, found, keep, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    MakeCache = Callable[..., ExactCache]

DAY_MS = 86_400_000
KINDS: dict[str, dict[str, Any]] = {
    "memory": {"max_bytes": 0},
    "disk": {},
    "disk alone": {"memory_bytes": 0},
    "signed": {"secret": "s3cret"},
}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[MakeCache]:
    """Make caches that are closed at the end, in one directory."""
    caches: list[ExactCache] = []

    def make(**options: Any) -> ExactCache:
        caches.append(ExactCache(tmp_path / "cache", **{"wall": Wall(AT_MS / 1000), "ttl_s": None, **options}))
        return caches[-1]

    yield make
    for cache in caches:
        cache.close()


@pytest.fixture(params=KINDS)
def cache(request: pytest.FixtureRequest, made: MakeCache) -> ExactCache:
    """Make a cache of each kind, with four answers."""
    cache = made(**KINDS[request.param])
    entries = [
        entry_of("new", created_ms=AT_MS - 1000),
        entry_of("pro", model="deepseek-v4-pro", asked="auto", created_ms=AT_MS - 2000),
        entry_of("old", created_ms=AT_MS - 8 * DAY_MS, tags=(("feature", "chat"),)),
        entry_of("hers", created_ms=AT_MS - 3000, tenant="tenant:acme", tags=(), expires_ms=AT_MS + 1000),
    ]
    keep(cache, *entries)
    return cache


def listed(cache: ExactCache, **only: Any) -> list[str]:
    """Name the answers that are listed."""
    names = {key_of(name): name for name in ("new", "pro", "old", "hers")}
    return [names[row.key] for row in cache.ls(**only)]


def test_stats(cache: ExactCache) -> None:
    """The stats tell what is held beside what was counted."""
    stats = cache.stats()

    assert (4, 4) == (stats.entries, stats.stored)
    assert stats.bytes == sum(row.size for row in cache.ls())
    assert (0 if cache.store.memory is None else cache.store.memory.entries) == stats.memory_entries
    assert (cache.store.memory is not None) == (stats.memory_entries > 0) == (stats.memory_bytes > 0)


def test_stats_make_no_directory(made: MakeCache, tmp_path: Path) -> None:
    """Who looks at a cache that nobody has used does not make it."""
    stats = made().stats()

    assert (0, 0) == (stats.entries, stats.bytes)
    assert not (tmp_path / "cache").exists()


def test_stats_of_a_disk_that_cannot_be_read(made: MakeCache, tmp_path: Path) -> None:
    """What cannot be read is None, and counted."""
    (tmp_path / "cache").mkdir()
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("CREATE TABLE other (id)")
    database.close()
    stats = made().stats()

    assert (None, None, {"foreign": 1}) == (stats.entries, stats.bytes, stats.errors)


def test_rate_of_the_filter(made: MakeCache) -> None:
    """The measured rate of the key filter stands in the stats."""
    cache = made(key_filter=True, memory_bytes=0)
    keep(cache, entry_of("one"))
    assert (None, None) == (cache.stats().filter_rate, found(cache, key_of("two")))

    assert found(cache, key_of("three")) is None
    assert 0.0 == cache.stats().filter_rate


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({}, ["new", "pro", "hers", "old"]),
        ({"limit": 2}, ["new", "pro"]),
        ({"tag": "feature"}, ["new", "pro", "old"]),
        ({"tag": "feature=chat"}, ["old"]),
        ({"model": "deepseek-v4-pro"}, ["pro"]),
        ({"model": "auto"}, ["pro"]),
        ({"tenant": "acme"}, ["hers"]),
        ({"tenant": "tenant:小明", "limit": 9}, ["new", "pro", "old"]),
    ],
)
def test_lists(cache: ExactCache, only: dict[str, Any], expected: list[str]) -> None:
    """Answers are listed from the newest on, all or those that are asked for."""
    assert expected == listed(cache, **only)


@pytest.mark.parametrize("only", [{"limit": 0}, {"limit": True}, {"tag": ""}, {"model": 1}])
def test_lists_of_what_is_nothing(cache: ExactCache, only: dict[str, Any]) -> None:
    """What cannot be listed is named."""
    with pytest.raises(ConfigurationError, match=next(iter(only))):
        cache.ls(**only)


def test_inspect(cache: ExactCache) -> None:
    """An answer is found by its key, its id, and any beginning that is its own."""
    key = key_of("new")
    entry = cache.inspect(key)

    assert entry_of("new", created_ms=AT_MS - 1000) == entry
    assert entry == cache.inspect(key[:16]) == cache.inspect(key[:3])
    assert entry == cache.inspect(key.upper()) == cache.inspect(key[:5].upper())
    assert 1 == cache.invalidate(key=key[:16].upper(), dry_run=True).count
    assert cache.inspect(key_of("nothing")) is None


def test_inspect_what_is_ambiguous(cache: ExactCache) -> None:
    """A beginning that several have, or none can have, is an error."""
    keep(cache, entry_of("a", key="ab" + "0" * 62), entry_of("b", key="ab" + "1" * 62))

    with pytest.raises(ConfigurationError, match="ab00000000000000 and ab11111111111111"):
        cache.inspect("ab")
    for name in ("", "xyz", 12):
        with pytest.raises(ConfigurationError, match="hex digits"):
            cache.inspect(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({"tag": "feature=search"}, ["hers", "old"]),
        ({"model": "deepseek-v4-pro"}, ["new", "hers", "old"]),
        ({"older_than": "7d"}, ["new", "pro", "hers"]),
        ({"older_than": timedelta(seconds=1.5)}, ["new"]),
        ({"older_than": 2.5}, ["new", "pro"]),
        ({"older_than": 0}, []),
        ({"older_than": "2020-01-01"}, ["new", "pro", "hers", "old"]),
        ({"tenant": "acme"}, ["new", "pro", "old"]),
        ({"key": key_of("new")}, ["pro", "hers", "old"]),
        ({"key": key_of("new")[:16]}, ["pro", "hers", "old"]),
        ({"tag": "feature", "older_than": "7d"}, ["new", "pro", "hers"]),
        ({"tag": "none"}, ["new", "pro", "hers", "old"]),
    ],
)
def test_invalidate(cache: ExactCache, only: dict[str, Any], expected: list[str]) -> None:
    """What is invalidated is counted before and gone afterwards, from memory and disk; a dry run changes nothing."""
    sizes = {row.key: row.size for row in cache.ls()}
    would = cache.invalidate(**only, dry_run=True)
    assert 4 == len(cache.ls())
    did = cache.invalidate(**only)

    left = [row.key for row in cache.ls()]
    assert expected == listed(cache)
    assert Invalidated(count=4 - len(left), bytes=sum(sizes.values()) - sum(sizes[key] for key in left)) == did
    assert (did.count, did.bytes, True) == (would.count, would.bytes, would.is_dry_run)
    assert left == [row.key for row in cache.ls() if found(cache, row.key) is not None]
    assert [] == [key for key in sizes.keys() - left if found(cache, key) is not None]


def test_invalidate_nothing_in_particular(cache: ExactCache) -> None:
    """Nothing is removed where nobody says what; the message names what empties the cache."""
    with pytest.raises(ConfigurationError, match=r"flush\(\) empties"):
        cache.invalidate()
    assert 4 == len(cache.ls())


@pytest.mark.parametrize(
    "only",
    [{"older_than": -1}, {"older_than": True}, {"older_than": "x"}, {"older_than": float("nan")}, {"key": "abc"}],
)
def test_invalidate_what_is_nothing(cache: ExactCache, only: dict[str, Any]) -> None:
    """An age or a key that is none is an error, and nothing is removed."""
    with pytest.raises(ConfigurationError):
        cache.invalidate(**only)
    assert 4 == len(cache.ls())


def test_invalidate_what_is_in_memory_alone(made: MakeCache) -> None:
    """An answer that the disk has lost counts, and is forgotten."""
    cache = made()
    # With the first one the directory is made, and what is in memory is forgotten once.
    keep(cache, entry_of("old", tags=()), entry_of("new"), entry_of("pro"))
    assert cache.store.disk is not None
    cache.store.disk.tier.delete(key_of("new"))
    did = cache.invalidate(tag="feature")

    assert 2 == did.count
    assert (None, None) == (found(cache, key_of("new")), found(cache, key_of("pro")))


def test_flush(cache: ExactCache) -> None:
    """After a flush nothing that was kept before is given; what is kept later is."""
    size = cache.stats().bytes
    did = cache.flush()

    assert Invalidated(count=4, bytes=size or 0) == did
    assert ([], 0, 0) == (cache.ls(), cache.stats().entries, cache.stats().memory_entries)
    keep(cache, entry_of("old"), entry_of("new", created_ms=AT_MS + 1))
    assert found(cache, key_of("old")) is None
    assert found(cache, key_of("new")) is not None
    assert ["new"] == listed(cache)
    assert cache.inspect(key_of("old")) is None


def test_flush_forgets_refusals(made: MakeCache) -> None:
    """What was refused a moment ago is asked again after a flush."""
    cache = made(max_bytes=0)
    assert cache.negative is not None
    cache.negative.clear = lambda: keep(cache, entry_of("cleared", created_ms=AT_MS + 1))  # type: ignore[method-assign]
    cache.flush()

    assert found(cache, key_of("cleared")) is not None


def test_compact(cache: ExactCache) -> None:
    """What has ended goes, and the rest stays."""
    cache._wall.forward(2)  # type: ignore[attr-defined]

    assert 1 == cache.compact()
    assert ["new", "pro", "old"] == listed(cache)


@pytest.mark.slow
def test_another_process_forgets(made: MakeCache, tmp_path: Path) -> None:
    """What one process invalidates or flushes, another gives no longer, even out of its memory."""
    cache = made()
    keep(cache, entry_of("new"), entry_of("pro", tags=()), entry_of("old"))
    assert None not in [found(cache, key_of(name)) for name in ("new", "pro", "old")]
    in_another_process(tmp_path, f"cache.invalidate(key={key_of('old')!r})")
    assert [True, True, False] == [found(cache, key_of(name)) is not None for name in ("new", "pro", "old")]

    in_another_process(tmp_path, "cache.flush()")
    assert [None, None] == [found(cache, key_of(name)) for name in ("new", "pro")]
    assert [] == cache.ls()


def in_another_process(tmp_path: Path, work: str) -> None:
    """Do something with the same directory."""
    path, seconds = str(tmp_path / "cache"), AT_MS / 1000
    made = f"from deepseek_sdk import ExactCache; cache = ExactCache({path!r}, wall=lambda: {seconds})"
    subprocess.run([sys.executable, "-c", f"{made}; {work}; cache.close()"], check=True, timeout=50)


@pytest.mark.parametrize(
    "work",
    [
        ExactCache.ls,
        ExactCache.flush,
        ExactCache.compact,
        lambda cache: cache.inspect("ab"),
        lambda cache: cache.invalidate(tag="x"),
    ],
)
def test_a_disk_that_cannot_be_used(made: MakeCache, tmp_path: Path, work: Callable[[ExactCache], Any]) -> None:
    """Who looks at a disk, or empties it, is told what is wrong with it."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "mine.txt").write_text("", encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"cannot be used \(foreign\): .*mine\.txt"):
        work(made())


def test_records_of_another_secret(made: MakeCache) -> None:
    """A record that cannot be read is listed, and is none to look into."""
    keep(made(secret="one"), entry_of("new"))
    cache = made(secret="two")

    assert (["new"], None) == (listed(cache), cache.inspect(key_of("new")))
    assert {"bad_record": 1} == cache.stats().errors
