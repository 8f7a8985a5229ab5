"""The rules of the prefix cache, on numbers and a clock of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.testing.prefix_cache import PrefixCache

if TYPE_CHECKING:
    from collections.abc import Sequence


def tokens(count: int, start: int = 0) -> list[int]:
    """Make up *count* tokens."""
    return list(range(start, start + count))


@pytest.mark.parametrize(
    ("stored", "asked", "hit"),
    [
        (tokens(127), tokens(127), 0),
        (tokens(128), tokens(128), 128),
        (tokens(300), tokens(300), 256),
        (tokens(300), tokens(1000), 256),
        (tokens(300), tokens(255), 0),
        (tokens(300), [*tokens(256), -1], 256),
        (tokens(300), [-1, *tokens(300)], 0),
        (tokens(300), [*tokens(200), -1, *tokens(99, 201)], 0),
    ],
)
def test_only_whole_units_are_hit(stored: Sequence[int], asked: Sequence[int], hit: int) -> None:
    """A request hits a persisted unit of whole blocks of 128 tokens, if it begins with all of it."""
    cache = PrefixCache(delay_s=1, interval_tokens=None)
    cache.store("me", stored, now=0)

    assert hit == cache.lookup("me", asked, now=1)


def test_units_become_usable_after_the_delay_and_are_forgotten_when_unused() -> None:
    """A unit can be hit from its delay on until nobody has hit it for its lifetime."""
    cache = PrefixCache(delay_s=1, ttl_s=10, interval_tokens=None)
    cache.store("me", tokens(128), now=0)

    hits = {now: cache.lookup("me", tokens(128), now=now) for now in (0, 0.99, 1, 10.9, 20.8, 30.9)}

    assert {0: 0, 0.99: 0, 1: 128, 10.9: 128, 20.8: 128, 30.9: 0} == hits


def test_owners_do_not_share() -> None:
    """What one owner persisted, no other hits."""
    cache = PrefixCache(delay_s=0)
    cache.store(("key", "alice"), tokens(256), now=0)

    assert 256 == cache.lookup(("key", "alice"), tokens(256), now=1)
    assert 0 == cache.lookup(("key", "bob"), tokens(256), now=1)


def test_fixed_intervals_are_persisted() -> None:
    """Inside a long input a unit is persisted at every interval."""
    cache = PrefixCache(delay_s=0, interval_tokens=256)
    cache.store("me", tokens(1000), now=0)

    assert 768 == cache.lookup("me", [*tokens(800), -1], now=1)
    assert 256 == cache.lookup("me", [*tokens(300), -1], now=1)


def test_a_shared_beginning_becomes_a_unit_at_its_second_use() -> None:
    """After A+B, A+C misses but makes A a unit, so that A+D hits it."""
    cache = PrefixCache(delay_s=0, interval_tokens=None)
    shared = tokens(256)
    cache.store("me", shared + tokens(256, 1000), now=0)

    second = cache.lookup("me", shared + tokens(256, 2000), now=1)
    cache.store("me", shared + tokens(256, 2000), now=1)
    third = cache.lookup("me", shared + tokens(256, 3000), now=2)

    assert (0, 256) == (second, third)


def test_forgotten_units_are_purged() -> None:
    """Memory does not grow with what has been forgotten."""
    cache = PrefixCache(delay_s=0, ttl_s=1, interval_tokens=None)
    for now in range(50):
        cache.store("me", tokens(512, 1000 * now), now=float(now))

    assert len(cache._units) + len(cache._seen) < 20


def test_clear_forgets_everything() -> None:
    """After `clear()` nothing is hit."""
    cache = PrefixCache(delay_s=0)
    cache.store("me", tokens(256), now=0)
    cache.clear()

    assert 0 == cache.lookup("me", tokens(256), now=1)


@pytest.mark.parametrize("interval", [0, -128, 100])
def test_an_interval_is_a_multiple_of_a_unit(interval: int) -> None:
    """Any other interval is refused."""
    with pytest.raises(ValueError, match="multiple of 128"):
        PrefixCache(interval_tokens=interval)


@given(
    stored=st.lists(st.integers(0, 3), max_size=600),
    asked=st.lists(st.integers(0, 3), max_size=600),
    interval=st.sampled_from([None, 128, 256]),
)
def test_a_hit_is_a_shared_prefix(stored: list[int], asked: list[int], interval: int | None) -> None:
    """Whatever was stored, a hit is a multiple of 128 and no longer than what both begin with."""
    cache = PrefixCache(delay_s=0, interval_tokens=interval)
    cache.store("me", stored, now=0)

    hit = cache.lookup("me", asked, now=0)

    assert 0 == hit % 128
    assert asked[:hit] == stored[:hit]
