from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.eviction import SqlShelf, policy_of
from deepseek_sdk.caching.eviction.schema import DDL, is_in_step, mend
from tests.caching.eviction_shelves import OnDisk, opened, tag

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

META: dict[str, Any] = {
    "asked": "deepseek-pro",
    "model": "deepseek-v4",
    "tenant": "t",
    "tags": {"team": "搜索", "n": "1"},
    "partition": "p",
    "created_ms": 1,
    "expires_ms": 2,
    "keep_ms": 3,
}
KNOWN = """SELECT id, key, queue, hits, size, asked, model, tenant, tags, "partition", created_ms, expires_ms, keep_ms
    FROM entry"""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Any]:
    """Open a directory."""
    with opened(tmp_path) as cache:
        yield cache


def rows(cache: Any, sql: str) -> list[Any]:
    """Ask the database."""
    return list(cache._sql(sql).fetchall())


def test_what_is_known_of_an_entry(cache: Any) -> None:
    """The tag of a row becomes the columns of its entry, and again when it is written again."""
    cache.set("k", b"value", tag=tag(7, **META))
    first = rows(cache, KNOWN)
    cache.set("k", b"value", tag=tag(8, tenant="u"))
    second = rows(cache, KNOWN)

    assert [(1, "k", 0, 0, 7, "deepseek-pro", "deepseek-v4", "t")] == [row[:8] for row in first]
    assert META["tags"] == json.loads(first[0][8])
    assert ("p", 1, 2, 3) == first[0][9:]
    assert [(1, "k", 0, 0, 8, None, None, "u", None, None, None, None, None)] == second


def test_rows_without_a_tag(cache: Any) -> None:
    """A row that says nothing of itself takes what its value takes."""
    cache.set("k", b"12345")

    assert [("k", 5, None)] == rows(cache, "SELECT key, size, tenant FROM entry")


def test_several_rows_at_once(cache: Any) -> None:
    """Each row that one statement writes has its own place."""
    cache._sql("INSERT INTO Cache (key, raw, value) VALUES ('a', 1, x'00'), ('b', 1, x'0000')")

    assert [("a", 1), ("b", 2)] == rows(cache, "SELECT key, seq FROM entry ORDER BY seq")
    assert [(2, 3, 0, 2)] == rows(cache, "SELECT entries, small, main, seq FROM tally")


@pytest.mark.parametrize("gone", ["delete", "clear", "pop", "expire"])
def test_every_way_out_takes_the_entry_along(cache: Any, gone: str) -> None:
    """However diskcache deletes a row, its entry goes, and the sums are right."""
    cache.set("k", b"1", tag=tag(5), expire=-1 if gone == "expire" else None)
    {
        "delete": lambda: cache.delete("k"),
        "clear": cache.clear,
        "pop": lambda: cache.pop("k"),
        "expire": cache.expire,
    }[gone]()

    assert [(0, 0, 0)] == rows(cache, "SELECT entries, small, main FROM tally")
    assert [] == rows(cache, "SELECT * FROM entry")
    assert is_in_step(cache._sql)


def test_the_tables_may_be_there(cache: Any) -> None:
    """To create what is there changes nothing."""
    cache.set("k", b"1", tag=tag(5))
    before = rows(cache, "SELECT * FROM tally") + rows(cache, "SELECT * FROM entry")
    for statement in DDL:
        cache._sql(statement)

    assert before == rows(cache, "SELECT * FROM tally") + rows(cache, "SELECT * FROM entry")


def test_a_transaction_that_is_taken_back(cache: Any) -> None:
    """What was evicted in a transaction that failed is there again, with its place."""
    store = OnDisk(cache, 3, policy_of("s3-fifo"))
    for key in "abc":
        store.put(key, 1)
    before = rows(cache, "SELECT * FROM tally") + rows(cache, "SELECT * FROM entry")
    with contextlib.suppress(KeyError), cache.transact():
        assert ["a"] == store.put("d", 1)
        raise KeyError

    assert before == rows(cache, "SELECT * FROM tally") + rows(cache, "SELECT * FROM entry")
    assert b"x" == cache.get("a")


def test_the_value_goes_with_its_entry(cache: Any) -> None:
    """What a policy takes off the shelf is no longer in the cache."""
    store = OnDisk(cache, 2, policy_of("lru"))
    for key in "abc":
        store.put(key, 1)

    assert [None, b"x", b"x"] == [cache.get(key) for key in "abc"]


def test_mending(cache: Any) -> None:
    """Rows that were changed while the triggers were away are brought back in step; places stay as they were."""
    for key in "abcd":
        cache.set(key, b"1", tag=tag(5))
    for name in ("entry_inserted", "entry_deleted"):
        cache._sql(f"DROP TRIGGER {name}")
    cache.delete("a")
    cache.set("e", b"1", tag=tag(6))
    cache.set("f", b"1", tag=tag(7))
    cache.set("g", b"1", tag="{")
    assert not is_in_step(cache._sql)
    mend(cache._sql)

    assert is_in_step(cache._sql)
    assert ["b", "c", "d", "e", "f"] == [key for (key,) in rows(cache, "SELECT key FROM entry ORDER BY seq")]
    assert [(5, 28, 0)] == rows(cache, "SELECT entries, small, main FROM tally")


def test_ids_are_used_again(cache: Any) -> None:
    """An entry whose row was replaced by another while the triggers were away is taken for the other's no longer."""
    cache.set("a", b"1", tag=tag(5))
    for name in ("entry_inserted", "entry_deleted"):
        cache._sql(f"DROP TRIGGER {name}")
    cache.delete("a")
    cache.set("b", b"1", tag=tag(6))
    assert not is_in_step(cache._sql)
    mend(cache._sql)

    assert is_in_step(cache._sql)
    assert [(1, "b", 6)] == rows(cache, "SELECT id, key, size FROM entry")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tally SET entries = 9",
        "UPDATE tally SET small = 9",
        "UPDATE tally SET main = 9",
        "DELETE FROM entry",
    ],
)
def test_each_difference_is_found(cache: Any, statement: str) -> None:
    """Sums that are wrong are found, and mended."""
    cache.set("k", b"1", tag=tag(5))
    cache._sql(statement)
    assert not is_in_step(cache._sql)
    mend(cache._sql)

    assert is_in_step(cache._sql)


def test_a_tag_that_is_no_key(cache: Any) -> None:
    """A row whose tag cannot be read is refused."""
    with pytest.raises(sqlite3.OperationalError, match="malformed JSON"):
        cache.set("k", b"1", tag="{")

    assert [] == list(cache)


@pytest.mark.parametrize(
    ("question", "index"),
    [
        (lambda shelf: shelf.get("k"), "sqlite_autoindex_entry_1"),
        (lambda shelf: shelf.first(0, "k"), "entry_queue"),
        (lambda shelf: shelf.least_used("k"), "entry_hits"),
        (lambda shelf: shelf.near("a", "k"), "sqlite_autoindex_entry_1"),
        (lambda shelf: shelf.expired(9, "k"), "entry_keep"),
    ],
)
def test_no_question_reads_the_whole_table(cache: Any, question: Any, index: str) -> None:
    """Each question of a policy goes through an index, in its order."""
    plans: list[str] = []

    def explain(sql: str, parameters: Any) -> sqlite3.Cursor:
        plans.extend(row[3] for row in cache._sql(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall())
        cursor: sqlite3.Cursor = cache._sql(sql, parameters)
        return cursor

    question(SqlShelf(explain, 10))

    assert plans
    # Entries that end in the same millisecond are few.
    orders = [plan for plan in plans if "ORDER BY" in plan and "RIGHT PART" not in plan]
    assert [] == orders
    assert all(index in plan for plan in plans if "entry" in plan)
