from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np
import pytest

from deepseek_sdk.caching.index.binary import BinaryIndex
from deepseek_sdk.caching.index.faiss_threads import faiss_or_none
from deepseek_sdk.caching.index.flat import FlatIndex
from deepseek_sdk.caching.index.ivf import IvfIndex
from deepseek_sdk.caching.index.rows import Kept
from tests.caching.vectors_made import agreement, brute, questions, reworded, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from deepseek_sdk.caching.index.rows import RowIndex
    from tests.caching.vectors_made import Array

    Make = Callable[[Array], RowIndex]

COUNT = 3_000
FAISS: ModuleType = faiss


def kept(vectors: Array) -> Kept:
    """Give vectors their numbers."""
    return Kept(np.arange(len(vectors)), vectors.astype(np.float16))


def flat(vectors: Array) -> RowIndex:
    """Make the exact one."""
    index = FlatIndex(vectors.shape[1])
    index.add(vectors)
    return index


KINDS: dict[str, Make] = {
    "flat": flat,
    "numpy": lambda vectors: BinaryIndex(kept(vectors)),
    "faiss": lambda vectors: BinaryIndex(kept(vectors), faiss=FAISS),
    "ivf": lambda vectors: IvfIndex(kept(vectors), faiss=FAISS, probes=40),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@every_kind
def test_the_nearest(make: Make) -> None:
    """What is found is what comparing with everything finds, with the same cosines, the nearest first."""
    vectors = questions(COUNT)
    index = make(vectors)
    for query in reworded(vectors[:20], least=0.97):
        found, exact = index.search(query, 3), brute(vectors, query, 3)

        assert exact[0][0] == found[0].row
        assert exact[0][1] == pytest.approx(found[0].cosine, abs=1e-5)
        assert sorted((hit.cosine for hit in found), reverse=True) == [hit.cosine for hit in found]


@every_kind
def test_decisions_at_the_boundary(make: Make) -> None:
    """Whether something is near enough is decided as comparing with everything decides it, 999 times of 1,000."""
    vectors = questions(COUNT)
    queries = reworded(vectors[np.random.default_rng(3).integers(COUNT, size=1_000)])
    index = make(vectors)
    told = np.array([index.search(query, 1)[0].cosine for query in queries], dtype=np.float32)
    exact = (queries @ vectors.astype(np.float16).astype(np.float32).T).max(axis=1)

    assert agreement(told + 1e-6, exact + 1e-6) >= 0.999


@every_kind
def test_tombstones(make: Make) -> None:
    """What was removed is not found, even where all that is near was; it is removed once, and never comes back."""
    vectors = questions(COUNT)
    index = make(vectors)
    near = [row for row, _ in brute(vectors, vectors[7], 600)]

    assert 600 == index.remove(*near)
    assert 0 == index.remove(*near, COUNT + 5, -1)
    assert (COUNT - 600, 600) == (len(index), index.dead)
    assert not set(near) & set(rows(index.search(vectors[7], 50)))
    assert 50 == len(index.search(vectors[7], 50))
    assert COUNT == index.add(vectors[7])
    assert [COUNT] == rows(index.search(vectors[7], 1))


@every_kind
def test_more_than_there_are(make: Make) -> None:
    """Who asks for more than there are gets all, and who asks for none gets none."""
    vectors = questions(300)
    index = make(vectors)
    index.remove(*range(0, 300, 2))

    assert set(range(1, 300, 2)) == set(rows(index.search(vectors[1], 1_000)))
    assert [] == index.search(vectors[1], 0)
    assert index.bytes > 300 * 64 * 2


@every_kind
def test_added_later(make: Make) -> None:
    """Vectors that are added are found under their own numbers; what is told of those numbers is so from then on."""
    vectors = questions(1_000)
    index = make(vectors[:400])
    first = index.add(vectors[400:500])
    index.add(vectors[500:], range(5_000, 5_500))

    assert 400 == first
    assert [450, 5_100] == [index.search(vectors[at], 1)[0].row for at in (450, 600)]
    assert 5_500 == index.add(questions(1, seed=8))
    assert [1_001, 501] == [len(index.kept(after).numbers) for after in (-1, 4_000)]


@every_kind
def test_nothing_added(make: Make) -> None:
    """To add nothing changes nothing."""
    index = make(questions(200))

    assert 200 == index.add(np.empty((0, 64)))
    assert 200 == len(index)


def test_an_empty_index() -> None:
    """An index begins empty."""
    index = FlatIndex(64)

    assert (0, [], 0) == (len(index), index.search(questions(1)[0], 5), index.remove(1))
    assert 0 == len(index.kept().numbers)


def test_equal_vectors_in_their_order() -> None:
    """Of equal vectors those that came first are found first, whichever way they are looked for."""
    vectors = np.repeat(questions(2), 400, axis=0)

    assert [*range(5)] == rows(flat(vectors).search(vectors[0], 5))
    assert [*range(5)] == rows(BinaryIndex(kept(vectors), candidates=20).search(vectors[0], 5))


@pytest.mark.parametrize("dimensions", [3, 100, 512])
@pytest.mark.parametrize("module", [None, FAISS], ids=["numpy", "faiss"])
def test_dimensions_of_any_number(dimensions: int, module: ModuleType | None) -> None:
    """Dimensions need not be a multiple of anything."""
    vectors = questions(600, dimensions)
    index = BinaryIndex(kept(vectors), faiss=module)

    assert [brute(vectors, q, 1)[0][1] for q in vectors[:20]] == pytest.approx(
        [index.search(q, 1)[0].cosine for q in vectors[:20]], abs=1e-5
    )


def test_faiss_keeps_its_threads() -> None:
    """A search leaves the number of threads that the caller's own use of faiss has."""
    before = faiss.omp_get_max_threads()
    KINDS["faiss"](questions(300)).search(questions(1)[0], 1)

    assert before == faiss.omp_get_max_threads()


def test_whether_there_is_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where faiss is not installed there is none, and that is no error."""
    found = [faiss_or_none()]
    monkeypatch.setitem(sys.modules, "faiss", None)
    found.append(faiss_or_none())

    assert [faiss, None] == found


@every_kind
def test_threads_at_once(make: Make) -> None:
    """Threads that add, remove and search at once disturb nobody: what stays is found by each search."""
    vectors = questions(2_000)
    index = make(vectors[:1_000])
    wrong: list[Any] = []

    def search() -> None:
        wrong.extend(at for at in range(0, 500, 5) if at not in rows(index.search(vectors[at], 3)))

    def change() -> None:
        for at in range(1_000, 2_000, 20):
            index.add(vectors[at : at + 20])
            index.remove(*range(at - 450, at - 445))

    threads = [threading.Thread(target=work) for work in (search, change, search)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == wrong
    assert 2_000 - 250 == len(index)
