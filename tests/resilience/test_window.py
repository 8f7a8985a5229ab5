from __future__ import annotations

from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.resilience.window import Window

# Quarters of a second are exact, so that the naive list and the ring agree on every edge.
quarters = st.integers(0, 4 * 40).map(lambda n: n / 4)
events = st.lists(st.tuples(st.sampled_from(["calls", "failures"]), quarters, st.integers(-2, 5)), max_size=60)


@pytest.mark.parametrize(
    ("at", "now", "expected"),
    [
        (0.0, 0.0, 1),
        (0.0, 59.9, 1),
        (0.0, 60.0, 0),
        (5.9, 59.9, 1),
        (5.9, 60.0, 0),
        (6.0, 60.0, 1),
        (6.0, 65.9, 1),
        (6.0, 66.0, 0),
        (0.0, 1e9, 0),
        (1e9, 1e9 + 50, 1),
        (30.0, 20.0, 1),
    ],
)
def test_how_long_something_is_counted(at: float, now: float, expected: int) -> None:
    """An event is counted for a minute at most, and for nine of its ten parts at least."""
    window = Window("calls")
    window.add("calls", at)

    assert expected == window.sums(now)["calls"]


def test_what_is_too_old_is_not_counted() -> None:
    """An event that is told late counts where it belongs: in its own bucket, or nowhere."""
    window = Window("calls")
    window.add("calls", 100.0)
    window.add("calls", 50.0)
    window.add("calls", 35.0)

    assert 2 == window.sums(100.0)["calls"]
    assert 1 == window.sums(110.0)["calls"]


def test_what_was_counted_can_be_taken_back() -> None:
    """Taking back removes an event from its own bucket, so nothing is missing when that is forgotten."""
    window = Window("calls")
    window.add("calls", 1.0)
    window.add("calls", 30.0)
    window.add("calls", 1.0, -1)

    assert [1, 1, 0] == [window.sums(now)["calls"] for now in (59.0, 61.0, 91.0)]


def test_taking_back_what_is_forgotten_changes_nothing() -> None:
    """A count never falls below zero because of an event that has left the window."""
    window = Window("calls")
    window.add("calls", 1.0)
    window.add("calls", 100.0)
    window.add("calls", 1.0, -1)

    assert 1 == window.sums(100.0)["calls"]


def test_a_cleared_window_counts_on() -> None:
    """After clearing, only what follows is counted, and forgotten in its time."""
    window = Window("calls", "failures")
    window.add("calls", 1.0)
    window.add("failures", 20.0)
    window.clear()
    window.add("calls", 21.0)

    assert {"calls": 1, "failures": 0} == window.sums(22.0)
    assert {"calls": 0, "failures": 0} == window.sums(81.0)


@given(events=events, seconds=st.sampled_from([1.0, 2.0, 10.0]), buckets=st.sampled_from([1, 2, 4]), pause=quarters)
def test_it_counts_like_a_list(
    events: list[tuple[str, float, int]], seconds: float, buckets: int, pause: float
) -> None:
    """In whatever order events are told, the sums are those of a list that remembers each of them."""
    window, length = Window("calls", "failures", seconds=seconds, buckets=buckets), seconds / buckets
    kept: list[tuple[str, int, int]] = []
    newest = 0
    for name, at, amount in events:
        window.add(name, at, amount)
        number = floor(at / length)
        newest = max(newest, number)
        if number > newest - buckets:
            kept.append((name, number, amount))
    now = newest * length + pause
    oldest = floor(now / length) - buckets
    expected = {
        name: sum(amount for kind, number, amount in kept if kind == name and number > oldest)
        for name in ("calls", "failures")
    }

    assert expected == window.sums(now)
