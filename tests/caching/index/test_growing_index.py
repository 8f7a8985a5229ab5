from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.index import GrowingIndex, growing
from tests.caching.vectors_made import brute, questions, reworded, rows

if TYPE_CHECKING:
    from collections.abc import Callable

D = 32


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes change where these tests reach."""
    monkeypatch.setattr(growing, "FLAT_ROWS", 200)
    monkeypatch.setattr(growing, "BINARY_ROWS", 1_000)


class Later:
    """Work that waits until somebody does it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def __call__(self, work: Callable[[], object]) -> None:
        """Let work wait."""
        self.waiting.append(work)

    def work(self) -> int:
        """Do what waits; give how much that was."""
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work()
        return len(waiting)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("has_faiss", [True, False])
def test_kinds_by_size(has_faiss: bool) -> None:  # noqa: FBT001  a parameter of the test
    """As more comes, other ways of searching are taken; without faiss the bits do for any number."""
    index = GrowingIndex(D) if has_faiss else GrowingIndex(D, load_faiss=lambda: None)
    vectors = questions(1_500, D)
    kinds = []
    for first in range(0, 1_500, 100):
        index.add(vectors[first : first + 100])
        kinds.append(index.kind)

    assert ["flat"] * 2 + ["binary"] * 8 + (["ivf"] if has_faiss else ["binary"]) * 5 == kinds
    assert [brute(vectors, q, 1)[0][0] for q in vectors[::100]] == [index.search(q, 1)[0].row for q in vectors[::100]]
    assert index.bytes > 1_500 * D * 2


@pytest.mark.usefixtures("small")
def test_shrinking() -> None:
    """Tombstones are cleared away once a quarter of the rows are, and what is small again is searched as such."""
    index = GrowingIndex(D)
    index.add(questions(400, D))
    index.remove(*range(99))
    bytes_before, dead = index.bytes, index._index.dead
    index.remove(99, 100, 101)

    assert (99, 0) == (dead, index._index.dead)
    assert index.bytes < bytes_before
    assert "binary" == index.kind
    index.remove(*range(300))
    assert ("flat", 100) == (index.kind, len(index))


@pytest.mark.usefixtures("small")
def test_numbers_are_never_used_again() -> None:
    """Not even where all that had come last is gone, and its tombstones with it."""
    index = GrowingIndex(D)
    index.add(questions(100, D))
    index.remove(*range(40, 100))

    assert 0 == index._index.dead
    assert 100 == index.add(questions(1, D, seed=3))
    assert [*range(40), 100] == index.numbers()
    assert 101 == index.add(np.empty((0, D)))


@pytest.mark.usefixtures("small")
def test_changes_while_another_is_made() -> None:
    """What is added and removed while another index is made is so in that one, too."""
    later = Later()
    index = GrowingIndex(D, run=later)
    vectors = questions(2_000, D)
    index.add(vectors[:150])
    index.add(vectors[150:300])
    snapshots = []
    made = index._made
    index._made = lambda kept: (snapshots.append(len(kept.numbers)), change(), made(kept))[2]  # type: ignore[method-assign,func-returns-value]

    def change() -> None:
        index.add(vectors[300:1_000])
        index.remove(*range(0, 1_000, 2))
        index.add(vectors[1_000:1_100])

    assert ("flat", 1, 0) == (index.kind, later.work(), later.work())
    assert [300] == snapshots
    assert [*range(1, 1_000, 2), *range(1_000, 1_100)] == index.numbers()
    assert "binary" == index.kind
    assert [1_050, 501] == [index.search(vectors[at], 1)[0].row for at in (1_050, 501)]


@pytest.mark.usefixtures("small")
def test_many_at_once() -> None:
    """Many that come at once are searched by their bits at once, by numpy, until a better index is there."""
    later = Later()
    index = GrowingIndex(D, run=later)
    vectors = questions(700, D)
    index.add(vectors[:300], range(10, 310))
    index.add(vectors[300:], range(400, 800))
    before = index.kind, index._learnt, [index.search(vectors[at], 1)[0].row for at in (7, 350)]

    assert ("binary", 0, [17, 450]) == before
    assert 1 == later.work()
    assert (700, [17, 450]) == (index._learnt, [index.search(vectors[at], 1)[0].row for at in (7, 350)])


@pytest.mark.usefixtures("small")
def test_one_is_made_at_a_time() -> None:
    """However much happens meanwhile, one index is being made and no more."""
    later = Later()
    index = GrowingIndex(D, run=later)
    for seed in range(5):
        index.add(questions(300, D, seed))

    assert 1 == len(later.waiting)


@pytest.mark.usefixtures("small")
def test_an_index_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    """What there is goes on where another index cannot be made; that is told once."""

    def broken() -> Any:
        raise MemoryError("no room")

    index = GrowingIndex(D, load_faiss=broken)
    vectors = questions(600, D)
    index.add(vectors[:150])
    index.add(vectors[150:])

    assert ("flat", 600) == (index.kind, len(index))
    assert [432] == rows(index.search(vectors[432], 1))
    assert 1 == len(caplog.records)


@pytest.mark.usefixtures("small")
def test_what_it_has_learnt_is_learnt_again() -> None:
    """An index that has learnt from few vectors learns again when there are several times as many."""
    index = GrowingIndex(D, load_faiss=lambda: None)
    for first in range(0, 900, 100):
        index.add(questions(900, D)[first : first + 100])

    assert (900, 300) == (len(index), index._learnt)
    index.add(questions(350, D, seed=2))
    assert 1_250 == index._learnt


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 60)),
        st.tuples(st.just("remove"), st.integers(0, 400)),
        st.tuples(st.just("work"), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(operations=OPERATIONS)
def test_any_order_of_things(operations: list[tuple[str, int]]) -> None:
    """Whatever is added, removed and made anew in whatever order: what is found is what is there."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(growing, "FLAT_ROWS", 50)
    monkeypatch.setattr(growing, "BINARY_ROWS", 100_000)
    later = Later()
    index = GrowingIndex(D, load_faiss=lambda: None, run=later)
    there: dict[int, Any] = {}
    vectors, count = questions(2_000, D), 0
    for what, number in operations:
        if what == "add":
            assert count == index.add(vectors[count : count + number])
            there.update((row, vectors[row]) for row in range(count, count + number))
            count += number
        elif what == "remove":
            gone = [row for row in there if row % 7 == number % 7][:number]
            assert len(gone) == index.remove(*gone)
            for row in gone:
                del there[row]
        else:
            later.work()
    monkeypatch.undo()

    assert list(there) == index.numbers()
    assert len(there) == len(index)
    for row in list(there)[:3]:
        assert row in rows(index.search(there[row], 2))


@pytest.mark.usefixtures("small")
def test_searches_overlap_a_compaction() -> None:
    """Searches go on while an index is made anew in another thread."""
    entered, goes_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def run(work: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    index = GrowingIndex(D, run=run)
    made = index._made
    index._made = lambda kept: (entered.set(), goes_on.wait(10), made(kept))[2]  # type: ignore[method-assign,func-returns-value]
    vectors = questions(400, D)
    index.add(vectors[:150])
    index.add(vectors[150:])
    is_entered = entered.wait(10)
    found = [index.search(query, 1)[0].row for query in reworded(vectors[:5], least=0.999)]
    kind = index.kind
    goes_on.set()
    for thread in threads:
        thread.join()

    assert is_entered
    assert (["flat", "binary"], [*range(5)]) == ([kind, index.kind], found)
