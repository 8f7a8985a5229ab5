from __future__ import annotations

from deepseek_sdk.caching.hit_buffer import HitBuffer


def test_hits_are_due_when_there_are_many() -> None:
    """A twentieth of the entries, and at most 256 of them, is many; the same one again is not another one."""
    few, many = HitBuffer(), HitBuffer()

    assert [False, False, True] == [few.add(key, 40, 1) for key in ("a", "a", "b")]
    assert [False] * 255 + [True] == [many.add(str(n), 10**6, 1) for n in range(256)]


def test_hits_are_due_after_a_second() -> None:
    """A hit is due one second after the last time, or when the clock was set back."""
    hits = HitBuffer()

    assert [False, False, True] == [hits.add("a", 10**6, now) for now in (5_000, 5_999, 6_000)]
    hits.take(6_000)
    assert [False, True] == [hits.add("a", 10**6, now) for now in (6_500, 1)]


def test_taking() -> None:
    """Hits are taken once, with the key that was served last at the end."""
    hits = HitBuffer()
    for key in "abca":
        hits.add(key, 100, 1)

    assert [("b", 1), ("c", 1), ("a", 2)] == list(hits.take(2).items())
    assert {} == hits.take(3)


def test_what_could_not_be_written_is_kept() -> None:
    """Hits that come back are added to the newer ones, and nobody is asked to write for a moment."""
    hits = HitBuffer()
    hits.add("a", 1, 1)
    hits.add("b", 1, 1)
    taken = hits.take(1)
    hits.add("a", 1, 1)
    hits.give_back(taken, 1)

    assert [False, True] == [hits.add("c", 1, now) for now in (2, 51)]
    assert [("b", 1), ("a", 2), ("c", 2)] == list(hits.take(60).items())
    hits.give_back({}, 60)
    assert hits.add("d", 1, 61)


def test_there_is_an_end_to_it() -> None:
    """Where nothing can ever be written, the oldest hits are forgotten."""
    hits = HitBuffer()
    for number in range(5_000):
        hits.add(str(number), 10**6, 1)

    assert (4_096, "904") == (len(found := hits.take(1)), next(iter(found)))
