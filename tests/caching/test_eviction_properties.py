from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.eviction import POLICIES, MemoryShelf, SqlShelf, policy_of
from deepseek_sdk.caching.eviction.schema import is_in_step
from deepseek_sdk.caching.eviction.shelf import MAIN, SMALL, ghost_key
from tests.caching.eviction_shelves import InMemory, OnDisk, Store, opened, slots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

every_policy = pytest.mark.parametrize("name", POLICIES)
pytestmark = pytest.mark.slow

LIMIT = 60
KEYS = tuple(f"{digit:x}{letter}" for digit in range(0, 16, 2) for letter in "az中")
key = st.sampled_from(KEYS)
size = st.one_of(st.integers(1, 9), st.integers(1, LIMIT))
operation = st.one_of(
    st.tuples(st.just("put"), key, size, st.integers(0, 80) | st.sampled_from((10, 30))),
    st.tuples(st.just("put"), key, size, st.none()),
    st.tuples(st.just("hit"), st.dictionaries(key, st.integers(1, 4), max_size=4)),
    st.tuples(st.just("delete"), key),
)
operations = st.lists(operation, min_size=1, max_size=60)
in_memory = settings(deadline=None, max_examples=60)
# The directory is emptied by taking back the transaction that each example runs in.
same_directory = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Any]:
    """Open a directory."""
    with opened(tmp_path) as cache:
        yield cache


class _TakenBackError(Exception):
    """Ends a transaction."""


@contextlib.contextmanager
def taken_back(cache: Any) -> Iterator[None]:
    """Leave the directory as it was."""
    with contextlib.suppress(_TakenBackError), cache.transact():
        yield
        raise _TakenBackError


def act(store: Store, now_ms: int, what: str, first: Any, *more: Any) -> list[str]:
    """Do one operation; give what went."""
    if what == "put":
        size, keep_ms = more
        return store.put(first, size, keep_ms, now_ms)
    if what == "hit":
        store.hit(first, now_ms)
    else:
        store.delete(first)
    return []


def check_sums(store: Store) -> None:
    """Compare what a shelf says of itself with the slots on it."""
    there = slots(store, KEYS).values()
    by_queue = {queue: sum(slot.size for slot in there if slot.queue == queue) for queue in (SMALL, MAIN)}

    assert by_queue == {queue: store.shelf.size_of(queue) for queue in by_queue}
    assert sum(by_queue.values()) == store.shelf.size <= LIMIT
    assert len(there) == store.shelf.entries
    assert len({slot.seq for slot in there}) == len(there)


@every_policy
@same_directory
@given(todo=operations)
def test_both_shelves_evict_the_same(cache: Any, name: str, todo: list[tuple[Any, ...]]) -> None:
    """Memory and disk are never over the limit, and hold the same entries in the same order at any time."""
    memory, disk = InMemory(LIMIT, policy_of(name)), OnDisk(cache, LIMIT, policy_of(name))
    with taken_back(cache):
        for now_ms, step in enumerate(todo):
            assert act(memory, now_ms, *step) == act(disk, now_ms, *step)
            assert slots(memory, KEYS) == slots(disk, KEYS)
            check_sums(memory)
            check_sums(disk)
            assert ghosts_of(memory.shelf) == ghosts_of(disk.shelf)
        assert is_in_step(cache._sql)


def ghosts_of(shelf: MemoryShelf | SqlShelf) -> dict[bytes, str]:
    """List the ghosts."""
    if isinstance(shelf, MemoryShelf):
        return {ghost: history for ghost, (_, history) in shelf._ghosts.items()}
    return dict(shelf._execute("SELECT key, history FROM ghost", ()).fetchall())


@every_policy
@in_memory
@given(todo=operations)
@example(todo=[("put", "0a", 1, None), ("put", "0z", LIMIT, None), ("put", "0a", LIMIT, None)])
def test_ghosts_are_of_what_is_gone(name: str, todo: list[tuple[Any, ...]]) -> None:
    """No entry on the shelf has a ghost, and there are never more ghosts than twice the most entries there were."""
    store, most = InMemory(LIMIT, policy_of(name)), 0
    for now_ms, step in enumerate(todo):
        act(store, now_ms, *step)
        most = max(most, store.shelf.entries + 1)

        assert set() == {ghost_key(key) for key in slots(store, KEYS)} & ghosts_of(store.shelf).keys()
        assert store.shelf.ghosts <= 2 * most


@every_policy
@in_memory
@given(todo=operations, again=key, size=st.integers(1, 6))
def test_an_overwrite_changes_the_size_alone(name: str, todo: list[tuple[Any, ...]], again: str, size: int) -> None:
    """An entry that is written again, and is not too large for its queue, keeps its hits, its history and its place."""
    store = InMemory(LIMIT, policy_of(name))
    for now_ms, step in enumerate(todo):
        act(store, now_ms, *step)
    before = store.shelf.get(again)
    store.put(again, size, None, len(todo))
    after = store.shelf.get(again)

    assert after is not None
    if before is not None:
        assert before._replace(size=size) == after
    assert size == after.size


@every_policy
@in_memory
@given(todo=operations, now_ms=st.integers(0, 100), needed=st.integers(1, 2 * LIMIT))
def test_expired_first(name: str, todo: list[tuple[Any, ...]], now_ms: int, needed: int) -> None:
    """Nothing that is of use goes while something past its time is there, and no more goes than has to."""
    store = InMemory(LIMIT, policy_of(name))
    for step in todo:
        act(store, 0, *step)
    there, keep = slots(store, KEYS), dict(store.shelf._keep_ms)
    expired = {key for key, until in keep.items() if until <= now_ms}
    gone = store.policy.victims(store.shelf, needed, now_ms)

    first = gone[: len(expired)]
    assert set(first) <= expired
    assert sorted(first, key=lambda key: (keep[key], key)) == first
    assert sum(there[key].size for key in gone) >= min(needed, sum(slot.size for slot in there.values()))
    assert sum(there[key].size for key in gone[:-1]) < needed


@every_policy
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=operations, after=operations)
def test_a_directory_goes_on_where_it_stopped(
    tmp_path_factory: pytest.TempPathFactory, name: str, before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]
) -> None:
    """What goes after a directory was closed and opened again is what would have gone without."""
    memory, directory = InMemory(LIMIT, policy_of(name)), tmp_path_factory.mktemp("shelf")
    for todo in (before, after):
        with opened(directory) as cache:
            disk = OnDisk(cache, LIMIT, policy_of(name))
            for now_ms, step in enumerate(todo):
                assert act(memory, now_ms, *step) == act(disk, now_ms, *step)
            assert slots(memory, KEYS) == slots(disk, KEYS)
