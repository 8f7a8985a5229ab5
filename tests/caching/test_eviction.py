from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.eviction import POLICIES, MemoryShelf, policy_of
from deepseek_sdk.caching.eviction.lru_k import LruK
from deepseek_sdk.caching.eviction.shelf import MAIN, SMALL
from deepseek_sdk.errors import ConfigurationError
from tests.caching.eviction_shelves import InMemory, OnDisk, Store, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.caching.eviction import Policy

every_policy = pytest.mark.parametrize("name", POLICIES)


@pytest.fixture(params=["memory", "disk"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int, str], Store]]:
    """Build a store with so many bytes and a policy of that name."""
    if request.param == "memory":
        yield lambda limit, name: InMemory(limit, policy_of(name))
        return
    with opened(tmp_path) as cache:
        yield lambda limit, name: OnDisk(cache, limit, policy_of(name))


def fill(store: Store, keys: str, size: int = 1) -> list[str]:
    """Put an entry for each letter; give what went."""
    return [gone for key in keys for gone in store.put(key, size)]


def present(store: Store, keys: str) -> str:
    """Give the letters that are there."""
    return "".join(key for key in keys if store.shelf.get(key) is not None)


def test_a_name_that_is_none() -> None:
    """The message names the choices."""
    with pytest.raises(ConfigurationError, match=r"one of 's3-fifo', 'lru', 'lfu', 'lru-k', not 'fifo'"):
        policy_of("fifo")


def test_names() -> None:
    """Each policy is found by its name."""
    assert list(POLICIES) == [policy_of(name).name for name in POLICIES]


@every_policy
def test_nothing_goes_while_there_is_room(build: Callable[[int, str], Store], name: str) -> None:
    """A shelf that is exactly full evicts nothing."""
    store = build(4, name)

    assert [] == fill(store, "abcd")
    assert 4 == store.shelf.size
    assert 4 == store.shelf.entries


@every_policy
def test_the_entry_just_written_stays(build: Callable[[int, str], Store], name: str) -> None:
    """An entry that needs all the room gets it, however popular the others are."""
    store = build(4, name)
    fill(store, "abcd")
    store.hit(dict.fromkeys("abcd", 3))

    assert ["a", "b", "c", "d"] == sorted(store.put("e", 4))
    assert "e" == present(store, "abcde")


@every_policy
def test_an_overwrite_keeps_frequency_and_place(build: Callable[[int, str], Store], name: str) -> None:
    """Writing a key again changes its size and nothing else."""
    store = build(100, name)
    fill(store, "abc")
    store.hit({"a": 2}, 7)
    before = store.shelf.get("a")
    store.put("a", 5)

    assert before is not None
    assert before._replace(size=5) == store.shelf.get("a")
    assert 7 == store.shelf.size
    assert 2 == before.hits
    assert 7 == before.used_ms


@every_policy
def test_the_overwritten_entry_stays(build: Callable[[int, str], Store], name: str) -> None:
    """The first to go would be the entry that grew: another goes instead."""
    store = build(40, name)
    fill(store, "abcd", 10)

    gone = store.put("a", 20)
    assert 1 == len(gone)
    assert ["a"] != gone


@every_policy
def test_what_is_past_its_time_goes_first(build: Callable[[int, str], Store], name: str) -> None:
    """Expired entries go before others, the one that expired first at the beginning, however popular they are."""
    store = build(4, name)
    store.put("a", 1)
    store.put("b", 1, keep_ms=20)
    store.put("c", 1, keep_ms=10)
    store.put("d", 1, keep_ms=31)
    store.hit({"b": 3, "c": 3})

    assert ["c"] == store.put("e", 1, now_ms=30)
    assert ["b"] == store.put("f", 1, now_ms=30)
    assert ["d"] != store.put("g", 1, now_ms=30)


@every_policy
def test_the_same_millisecond(build: Callable[[int, str], Store], name: str) -> None:
    """Entries that expired together go in the order of their keys, in memory as on disk."""
    store = build(3, name)
    for key in "cab":
        store.put(key, 1, keep_ms=10)

    assert ["a", "b"] == store.put("d", 2, now_ms=10)


@every_policy
def test_more_time_is_heard_of(build: Callable[[int, str], Store], name: str) -> None:
    """An entry that was written again with more time is not past its time when the old one ends."""
    store = build(2, name)
    store.put("a", 1, keep_ms=10)
    store.put("b", 1, keep_ms=20)
    store.put("a", 1, keep_ms=None)

    assert ["b"] == store.put("c", 1, now_ms=20)


@every_policy
def test_expired_entries_leave_no_ghosts(build: Callable[[int, str], Store], name: str) -> None:
    """What is past its time was not evicted for want of hits."""
    store = build(1, name)
    store.put("a", 1, keep_ms=1)
    store.put("b", 1, now_ms=1)

    assert 0 == store.shelf.ghosts


@every_policy
def test_hits_of_what_is_gone(build: Callable[[int, str], Store], name: str) -> None:
    """Hits that were counted before an entry went are passed over."""
    store = build(4, name)
    fill(store, "ab")
    store.delete("a")
    store.hit({"a": 1, "b": 1})

    assert "b" == present(store, "ab")


@every_policy
def test_no_bytes_needed(build: Callable[[int, str], Store], name: str) -> None:
    """Where nothing is needed nothing goes, past its time or not."""
    store = build(4, name)
    store.put("a", 1, keep_ms=1)

    assert [] == store.policy.victims(store.shelf, 0, 9)
    assert [] == store.policy.victims(store.shelf, -1, 9)


@every_policy
def test_more_needed_than_there_is(build: Callable[[int, str], Store], name: str) -> None:
    """A shelf can be emptied."""
    store = build(9, name)
    fill(store, "abc")
    store.hit({"a": 9})

    assert ["a", "b", "c"] == sorted(store.policy.victims(store.shelf, 99, 0))
    assert (0, 0) == (store.shelf.size, store.shelf.entries)


def test_s3_fifo_evicts_what_was_never_asked_for_again(build: Callable[[int, str], Store]) -> None:
    """One pass over new keys leaves those alone that were asked for twice."""
    store = build(20, "s3-fifo")
    fill(store, "abcdefgh")
    store.hit(dict.fromkeys("abcdefgh", 1))
    fill(store, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    assert "abcdefgh" == present(store, "abcdefgh")


def test_s3_fifo_ghosts(build: Callable[[int, str], Store]) -> None:
    """An entry that comes back soon after it went is placed in the main queue."""
    store = build(10, "s3-fifo")
    gone = fill(store, "abcdefghijkl")
    store.put(gone[0], 1)
    slot = store.shelf.get(gone[0])

    assert slot is not None
    assert MAIN == slot.queue
    assert None is store.shelf.recall(gone[0])


def test_s3_fifo_large_entries(build: Callable[[int, str], Store]) -> None:
    """An entry larger than the small queue goes to the main one at once, also if it grows so large later."""
    store = build(100, "s3-fifo")
    store.put("a", 10)
    store.put("b", 11)
    first = [slot.queue for key in "ab" if (slot := store.shelf.get(key))]
    store.put("a", 12)
    grown = store.shelf.get("a")

    assert [SMALL, MAIN] == first
    assert grown is not None
    assert MAIN == grown.queue
    assert (0, 23) == (store.shelf.size_of(SMALL), store.shelf.size_of(MAIN))


def test_s3_fifo_counts_to_three(build: Callable[[int, str], Store]) -> None:
    """More than three hits are three."""
    store = build(100, "s3-fifo")
    store.put("a", 1)
    store.hit({"a": 50})
    slot = store.shelf.get("a")

    assert slot is not None
    assert 3 == slot.hits


def test_s3_fifo_gives_each_hit_a_turn(build: Callable[[int, str], Store]) -> None:
    """Of entries in the main queue those go first that have no hits left."""
    store = build(30, "s3-fifo")
    fill(store, "abc", 10)
    fill(store, "d", 3)
    store.hit({"a": 3, "b": 1})

    assert ["c"] == store.put("e", 10)[-1:]


def test_s3_fifo_begins_anew_in_the_main_queue(build: Callable[[int, str], Store]) -> None:
    """What an entry was asked for in the small queue got it into the main one, and counts no more."""
    store = build(30, "s3-fifo")
    fill(store, "abc", 3)
    store.hit({"a": 3})
    store.put("d", 22)
    slot = store.shelf.get("a")

    assert slot is not None
    assert (MAIN, 0) == (slot.queue, slot.hits)


@pytest.mark.parametrize(
    ("point", "spare", "found"),
    [("b", None, "b"), ("ba", None, "d"), ("b", "b", "d"), ("e", None, "b"), ("d", "d", "b"), ("0", "b", "d")],
)
def test_near(build: Callable[[int, str], Store], point: str, spare: str | None, found: str) -> None:
    """The key at a point or after it is found, round and round, but for the one that is spared."""
    store = build(9, "lru-k")
    fill(store, "db")
    slot = store.shelf.near(point, spare)

    assert slot is not None
    assert found == slot.key


def test_near_nothing(build: Callable[[int, str], Store]) -> None:
    """Nothing is found where nothing else is."""
    store = build(9, "lru-k")
    assert None is store.shelf.near("a")
    store.put("a", 1)

    assert None is store.shelf.near("a", "a")


def test_s3_fifo_looks_at_so_many_and_no_more() -> None:
    """Where everything is popular, one choice does not go through all of it, and takes one with the fewest hits."""
    shelf, policy = MemoryShelf(10_000), policy_of("s3-fifo")
    for number in range(10_000):
        shelf.add(str(number), 1)
        policy.arrive(shelf, str(number), 1)
        policy.hits(shelf, {str(number): 3 if number != 50 else 2}, 0)
    before = shelf.next_seq()
    gone = policy.victims(shelf, 1, 0)

    assert ["50"] == gone
    assert shelf.next_seq() - before < 200


def test_lru(build: Callable[[int, str], Store]) -> None:
    """What was not asked for the longest time goes; hits that come together count in their order."""
    store = build(4, "lru")
    fill(store, "abcd")
    store.hit({"b": 1, "a": 1})

    assert ["c", "d", "b", "a"] == fill(store, "efgh")


def test_lru_after_s3_fifo(build: Callable[[int, str], Store]) -> None:
    """What another policy had in two queues is one queue."""
    store = build(4, "lru")
    store.policy = policy_of("s3-fifo")
    fill(store, "abcd")
    slot = store.shelf.get("a")
    assert slot is not None
    store.shelf.write(slot._replace(queue=MAIN))
    store.policy = policy_of("lru")

    assert ["a", "b"] == fill(store, "ef")


def test_lfu(build: Callable[[int, str], Store]) -> None:
    """What was asked for least often goes, the oldest first."""
    store = build(4, "lfu")
    fill(store, "abcd")
    store.hit({"a": 5, "b": 1, "c": 1})
    store.hit({"b": 1})

    assert ["d"] == store.put("e", 1)
    assert ["e"] == store.put("f", 1)
    assert ["c", "f"] == store.put("g", 2)[::-1]


def test_lfu_after_many_hits() -> None:
    """What a shelf remembers of old counts does not grow with the hits."""
    store = InMemory(3, policy_of("lfu"))
    fill(store, "abcd")
    for _ in range(1000):
        store.hit({"d": 1, "c": 1})

    assert ["b"] == fill(store, "e")
    assert store.shelf._uses is not None
    assert len(store.shelf._uses._heap) < 200


def test_lru_k_spares_what_was_used_twice(build: Callable[[int, str], Store]) -> None:
    """One pass over new keys leaves those alone that were asked for twice."""
    store = build(16, "lru-k")
    fill(store, "abcd")
    store.hit(dict.fromkeys("abcd", 1))
    fill(store, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    assert "abcd" == present(store, "abcd")


def test_lru_k_remembers_what_went(build: Callable[[int, str], Store]) -> None:
    """An entry that comes back goes on with its history: its next use is not its first."""
    store = build(2, "lru-k")
    fill(store, "ab")
    (gone,) = store.put("c", 1)
    store.put(gone, 1)
    back, new = store.shelf.get(gone), store.shelf.get("c") or store.shelf.get("b")

    assert back is not None
    assert new is not None
    assert "0" != back.history.split()[1]
    assert "0" == new.history.split()[1]


def test_lru_k_old_hits_fade(build: Callable[[int, str], Store]) -> None:
    """What was popular long ago goes before what is asked for now."""
    store = build(3, "lru-k")
    fill(store, "abc")
    store.hit({"a": 8})
    for _ in range(200):
        store.hit({"b": 1, "c": 1})

    assert ["a"] == store.put("d", 1)


def test_lru_k_after_lru(build: Callable[[int, str], Store]) -> None:
    """Entries without a history are worth their hits."""
    store = build(3, "lru")
    fill(store, "abc")
    store.hit({"a": 1, "c": 4})
    store.policy = policy_of("lru-k")
    store.hit({"a": 1})

    assert ["b"] == store.put("d", 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_lru_k_is_the_same_for_the_same_seed(seed: int) -> None:
    """The sample comes from the seed and the shelf, so that a run can be repeated."""
    assert history_of(LruK(seed=seed)) == history_of(LruK(seed=seed))
    assert history_of(LruK(seed=seed)) != history_of(LruK(seed=seed + 1))


def history_of(policy: Policy) -> list[str]:
    """Give what goes when far more entries come than there is room for."""
    store = InMemory(100, policy)
    return [gone for number in range(400) for gone in store.put(f"{number * 7919 % 4093:03x}", 1)]


@pytest.mark.parametrize("name", ["s3-fifo", "lru-k"])
def test_ghosts_are_bounded(build: Callable[[int, str], Store], name: str) -> None:
    """There are at most twice as many ghosts as entries."""
    store = build(50, name)
    for number in range(60):
        store.put(f"{number:02}", 5)

    assert 10 == store.shelf.entries
    assert 20 <= store.shelf.ghosts <= 22


def test_lru_k_hears_of_several_uses_at_once(build: Callable[[int, str], Store]) -> None:
    """Of several uses written down together, the last two are as recent as each other."""
    store = build(9, "lru-k")
    fill(store, "ab")
    store.hit({"a": 2, "b": 1})
    several, one = (slot.history.split()[:2] for key in "ab" if (slot := store.shelf.get(key)))

    assert ["4", "4"] == several
    assert ["5", "2"] == one
