from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.eviction import POLICIES, policy_of
from deepseek_sdk.caching.memory import MemoryTier

every_policy = pytest.mark.parametrize("name", POLICIES)


@dataclass(frozen=True)
class Thing:
    """What the tier needs of an entry."""

    key: str
    size: int = 1
    note: str = ""


def entry(key: str, size: int = 1, note: str = "") -> Any:
    """Make something to keep."""
    return cast("Any", Thing(key, size, note))


def tier(max_bytes: int = 10, name: str = "lru") -> MemoryTier:
    """Make a tier."""
    return MemoryTier(max_bytes, policy_of(name))


def test_what_is_put_is_found() -> None:
    """An entry is given as it is, until it is let go of."""
    kept, one = tier(), entry("a", 3)
    assert 0 == kept.put(one)

    assert one is kept.get("a")
    assert one is kept.peek("a")
    assert None is kept.get("b")
    assert (1, 3) == (kept.entries, kept.bytes)
    assert [1, 0] == [kept.discard_where(lambda entry: entry.key == "a") for _ in range(2)]
    assert None is kept.get("a")
    assert (0, 0) == (kept.entries, kept.bytes)


def test_the_newer_entry_takes_the_place() -> None:
    """There is one entry for a key: the last."""
    kept = tier()
    kept.put(entry("a", 3, "old"))
    kept.put(entry("a", 2, "new"))

    assert entry("a", 2, "new") == kept.get("a")
    assert (1, 2) == (kept.entries, kept.bytes)


def test_how_many_went() -> None:
    """A large entry may cost several others."""
    kept = tier()
    for key in "abcdefghij":
        kept.put(entry(key))

    assert 4 == kept.put(entry("k", 4))
    assert [None] * 4 == [kept.peek(key) for key in "abcd"]
    assert 10 == kept.bytes


def test_entries_larger_than_the_tier() -> None:
    """What cannot fit is not kept, and neither is the older answer that it replaces."""
    kept = tier()
    kept.put(entry("a"))
    kept.put(entry("b"))

    assert 0 == kept.put(entry("a", 11))
    assert None is kept.get("a")
    assert (1, 1) == (kept.entries, kept.bytes)


def test_no_room_at_all() -> None:
    """A tier of no bytes keeps nothing."""
    kept = tier(0)
    kept.put(entry("a"))

    assert (0, 0) == (kept.entries, kept.bytes)


def test_only_gets_count() -> None:
    """An entry that was only looked at is no more popular than before."""
    kept = tier(2)
    kept.put(entry("a"))
    kept.put(entry("b"))
    kept.peek("a")
    kept.put(entry("c"))
    kept.get("b")
    kept.put(entry("d"))

    assert [None, "b", None, "d"] == [found and found.key for found in map(kept.peek, "abcd")]


def test_what_is_past_its_time_goes_first() -> None:
    """Expired entries make room before others do."""
    kept = tier(2)
    kept.put(entry("a"))
    kept.put(entry("b"), keep_ms=5)
    kept.put(entry("c"), now_ms=5)

    assert ["a", None, "c"] == [found and found.key for found in map(kept.peek, "abc")]


def test_discard_where() -> None:
    """Those that are meant go, and no other."""
    kept = tier()
    for key in "abcd":
        kept.put(entry(key))

    assert 2 == kept.discard_where(lambda thing: thing.key in "bd")
    assert ["a", None, "c", None] == [found and found.key for found in map(kept.peek, "abcd")]
    assert 2 == kept.bytes


def test_a_predicate_may_use_the_tier() -> None:
    """What is written while it is decided stays."""
    kept = tier()
    kept.put(entry("a"))

    def replaces(thing: Any) -> bool:
        kept.put(entry("a", note="new"))
        return bool(thing.key == "a")

    assert 0 == kept.discard_where(replaces)
    assert entry("a", note="new") == kept.get("a")


@every_policy
def test_clear(name: str) -> None:
    """Nothing is left, and the tier can be used on."""
    kept = tier(2, name)
    for key in "abcde":
        kept.put(entry(key))
    kept.clear()

    assert (0, 0, None) == (kept.entries, kept.bytes, kept.get("e"))
    kept.put(entry("e"))
    assert entry("e") == kept.get("e")


@every_policy
@given(todo=st.lists(st.tuples(st.sampled_from("pgd"), st.sampled_from("abcdefghij"), st.integers(1, 12)), max_size=80))
def test_never_over_the_limit(name: str, todo: list[tuple[str, str, int]]) -> None:
    """The tier holds what it says it holds, and never more than it may."""
    kept, written = tier(10, name), {}
    for what, key, size in todo:
        if what == "p":
            kept.put(entry(key, size))
            written[key] = size
        elif what == "g":
            kept.get(key)
        else:
            kept.discard_where(lambda entry, key=key: entry.key == key)  # type: ignore[misc]
            written.pop(key, None)
        there = {key: found.size for key in "abcdefghij" if (found := kept.peek(key))}

        assert there.items() <= written.items()
        assert sum(there.values()) == kept.bytes <= 10
        assert len(there) == kept.entries
        assert what != "p" or size > 10 or there[key] == size


@every_policy
def test_threads(name: str) -> None:
    """Threads that write, read and delete at once leave a tier whose sums are right."""
    kept, start = tier(200, name), threading.Barrier(4)

    def work(seed: int) -> None:
        start.wait()
        for number in range(1500):
            key = f"{(number * 7919 + seed * 31) % 97:02x}"
            kept.put(entry(key, 1 + number % 9))
            kept.get(f"{number % 97:02x}")
            if number % 50 == 0:
                kept.discard_where(lambda thing: thing.size == 9)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    there = [found for number in range(97) if (found := kept.peek(f"{number:02x}"))]

    assert sum(found.size for found in there) == kept.bytes <= 200
    assert len(there) == kept.entries


@every_policy
def test_who_goes_is_told(name: str) -> None:
    """However an entry leaves, that is told once; one that another takes the place of has not left."""
    kept, gone = tier(3, name), list[str]()
    kept.gone = lambda entry: gone.append(entry.key)
    for key in "abcda":
        kept.put(entry(key, note=str(len(gone))))
    there = {key for key in "abcd" if kept.peek(key)}
    evicted = list(gone)
    kept.put(entry("x", 4))
    large = min(there)
    kept.put(entry(large, 4))
    kept.discard_where(lambda entry: entry.key == max(there))
    kept.clear()

    assert 4 - len(there) <= len(evicted) <= 2
    assert [large, max(there), *(there - {large, max(there)})] == gone[len(evicted) :]
