from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.keyfilter import KeyFilter, KnownKeys
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import key_of

keys = st.text() | st.integers(0, 50).map(key_of) | st.text(alphabet="0123456789abcdef", min_size=20)


@given(st.lists(keys), st.floats(0.001, 0.5))
def test_what_was_added_is_never_denied(added: list[str], rate: float) -> None:
    """A filter says yes to every key it was given, however full it is."""
    found = KeyFilter(4, rate=rate)
    for key in added:
        found.add(key)

    assert all(found.may_have(key) for key in added)
    assert (len(added), len(added) > 4) == (found.count, found.is_full)


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_it_is_wrong_as_seldom_as_it_should_be(rate: float) -> None:
    """Full, a filter is wrong about as often as asked for, and says how often that was."""
    found = KeyFilter(5_000, rate=rate)
    for number in range(5_000):
        found.add(key_of(number))
    wrong = 0
    for number in range(5_000, 25_000):
        if found.may_have(key_of(number)):
            found.mistaken()
            wrong += 1

    assert wrong / 20_000 == pytest.approx(rate, rel=0.5)
    assert found.measured_rate == wrong / 20_000


@pytest.mark.parametrize(("rate", "hashes"), [(0.5, 1), (0.1, 3), (0.01, 7), (0.001, 10)])
def test_as_many_hashes_as_are_best(rate: float, hashes: int) -> None:
    """Size and number of hashes follow from what is asked for."""
    found = KeyFilter(1_000_000, rate=rate)

    assert hashes == found.hashes
    assert math.ceil(-1_000_000 * math.log(rate) / math.log(2) ** 2) == found.bits


def test_hits_are_no_mistakes() -> None:
    """Keys that are there do not count where it is measured how often the filter is wrong."""
    found = KeyFilter(100)
    unknown = found.measured_rate
    found.add(key_of(1))
    for number in (1, 1, 2, 3):
        found.may_have(key_of(number))

    assert (None, 0.0) == (unknown, found.measured_rate)
    assert (4, 2, 0) == (found.asked, found.maybe, found.false)


@pytest.mark.parametrize("arguments", [{"capacity": 0}, {"capacity": 9, "rate": 0}, {"capacity": 9, "rate": 1.0}])
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    """What cannot be used is named."""
    with pytest.raises(ConfigurationError, match=r"capacity|rate"):
        KeyFilter(**arguments)


def test_known_keys_say_nothing_before_they_are_known() -> None:
    """Without a filter, or with one from before others wrote, one has to look."""
    known = KnownKeys(0.01)
    before = known.may_have(key_of(1), 1)
    due = known.is_due(1)
    known.renew([key_of(1)], 1)

    assert (None, True) == (before, due)
    assert [True, False, None] == [
        known.may_have(key, v) for key, v in [(key_of(1), 1), (key_of(2), 1), (key_of(2), 2)]
    ]


def test_own_keys_are_added() -> None:
    """What this process writes makes nothing stale."""
    known = KnownKeys(0.01)
    known.add(key_of(1))
    known.missed()
    known.renew([], 1)
    known.add(key_of(1))

    assert known.may_have(key_of(1), 1)


def test_it_is_not_made_anew_at_every_lookup() -> None:
    """Where others write all the time, a filter is made anew once in a while; numbers go on."""
    known = KnownKeys(0.01)
    known.renew(map(key_of, range(200)), 1)
    known.may_have("x", 1)
    fresh = known.is_due(1)
    due = [known.is_due(2) for _ in range(11)]
    known.renew([], 2)

    assert ([False] * 10 + [True], False) == (due, fresh)
    assert known.filter is not None
    assert 1 == known.filter.asked


def test_a_full_filter_is_made_anew() -> None:
    """What has grown beyond a filter gets a larger one."""
    known = KnownKeys(0.01)
    known.renew([], 1)
    for number in range(1_100):
        known.add(key_of(number))

    assert known.is_due(1)
