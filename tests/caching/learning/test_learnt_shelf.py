from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.learning.shelf import Shelf
from deepseek_sdk.caching.learning.table import MOST_LABELS, MOST_PER_KEY
from tests.caching.disks import key_of
from tests.caching.verdicts import label_of

STEPS = st.lists(st.tuples(st.sampled_from(["add", "add", "add", "forget"]), st.integers(0, 4), st.integers(0, 30)))


@settings(max_examples=30)
@given(STEPS)
def test_the_newest_stay(steps: list[tuple[str, int, int]]) -> None:
    """Whatever comes and goes, the newest of each entry and of all are there, in their order."""
    shelf, expected = Shelf(), list[tuple[int, int]]()
    for step, number, text in steps:
        if step == "forget":
            shelf.forget([key_of(number)])
            expected = [one for one in expected if one[0] != number]
        elif shelf.add(label_of(str(text), number=number)):
            expected.append((number, text))
    labels = [label_of(str(text), number=number) for number, text in expected]

    assert labels == list(shelf.recent(MOST_LABELS))
    assert [label for label in labels if label.key == key_of(1)][-MOST_PER_KEY:] == list(shelf.of(key_of(1)))
    assert len(labels) == shelf.labels


def test_bounds_of_an_entry() -> None:
    """The oldest of an entry goes where it has too many."""
    shelf = Shelf()
    for at in range(100):
        shelf.add(label_of(at_ms=at))

    assert [*range(36, 100)] == [label.at_ms for label in shelf.of(key_of(1))]
    assert (64, 100) == (shelf.labels, shelf.taken)


def test_bounds_of_all() -> None:
    """The oldest of all goes where there are too many, and an entry without labels is forgotten."""
    shelf = Shelf()
    shelf.add(label_of(number=10, at_ms=-1))
    for number in range(5_003):
        shelf.add(label_of(number=number, at_ms=number))
    shelf.add(label_of(number=5_001, at_ms=0))

    assert (5_000, ()) == (shelf.labels, shelf.of(key_of(2)))
    assert [5_002, 0] == [label.at_ms for label in shelf.recent(2)]
    assert [0] == [label.at_ms for label in shelf.since(shelf.taken - 1)]
    assert 5_000 == len(shelf.since(0))
    assert () == shelf.recent(0)


def test_bounds_of_vetoes() -> None:
    """The oldest veto goes where there are too many."""
    shelf = Shelf()
    added = [shelf.veto(str(number)) for number in (*range(20_001), 20_000)]

    assert ([True] * 20_001, False) == (added[:-1], added[-1])
    assert (False, True, 20_000) == (shelf.has_veto("0"), shelf.has_veto("1"), shelf.vetoes)
    assert (True, False) == (shelf.pardon("1"), shelf.pardon("1"))
