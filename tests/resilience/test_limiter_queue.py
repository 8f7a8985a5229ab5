from __future__ import annotations

import timeit
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resilience.timed_limiter import TimedLimiter, fixed

if TYPE_CHECKING:
    from deepseek_sdk.resilience.limiting.lease import Lease


def test_a_place_goes_to_the_first_in_the_queue() -> None:
    """First come, first served; each place is handed over directly, so nobody can slip in between."""
    made = fixed(1)
    holder, waiting = made.ask(), [made.ask() for _ in range(5)]
    order = []
    while waiting:
        made.release(holder, "success")
        assert not made.ask(until=made.now).is_granted
        holder = next(lease for lease in waiting if lease.is_granted)
        assert holder.wakeup is not None
        assert holder.wakeup.done()
        order.append(5 - len(waiting) + waiting.index(holder))
        waiting.remove(holder)

    assert [0, 1, 2, 3, 4] == order


def test_nobody_slips_past_one_that_waits_for_a_rate() -> None:
    """One that needs few tokens waits behind one that needs many, though there are enough for it."""
    made = TimedLimiter(tpm=100)
    made.release(made.ask(tokens=60), "other")
    large, small = made.ask(tokens=50), made.ask(tokens=10)
    states = [large.is_granted, small.is_granted]
    made.give_up(large)

    assert [False, False, True] == [*states, small.is_granted]


def served(made: TimedLimiter, holder: Lease, waiting: list[Lease]) -> list[Lease]:
    """Let one go after the other, and give the order in which the rest came."""
    order = []
    while waiting:
        made.release(holder, "success")
        holder = next(lease for lease in waiting if lease.is_granted)
        waiting.remove(holder)
        order.append(holder)
    made.release(holder, "success")
    assert (0, 0) == made.counts
    return order


@pytest.mark.slow
@given(kinds=st.lists(st.booleans(), max_size=40), every=st.integers(1, 9))
def test_batch_waits_but_does_not_starve(kinds: list[bool], every: int) -> None:
    """Realtime goes first, and still one of *batch_every* places is for batch; in each class the first comes first."""
    made = fixed(1, batch_every=every)
    holder, waiting = made.ask(), [made.ask(is_batch=is_batch) for is_batch in kinds]
    order = served(made, holder, list(waiting))
    left = sum(kinds)
    run = 0
    for lease in order:
        run = 0 if lease.is_batch or not left else run + 1
        left -= lease.is_batch
        assert run < every

    for lane in (True, False):
        assert [one for one in waiting if one.is_batch is lane] == [one for one in order if one.is_batch is lane]
    realtime_first = [one.is_batch for one in order][: every - 1]
    assert not any(realtime_first[: kinds.count(False)])


def test_who_waits_no_longer_is_passed_over() -> None:
    """A place is never given to one whose deadline has passed, nor to one that has given up."""
    made = fixed(1)
    holder = made.ask()
    short, left, patient = made.ask(until=1005), made.ask(), made.ask(until=1010)
    made.give_up(left)
    made.now = 1005
    made.release(holder, "success")

    assert [False, False, True] == [short.is_granted, left.is_granted, patient.is_granted]
    assert (1, 0) == made.counts


def test_the_queue_holds_none_that_has_given_up() -> None:
    """However many wait and give up while nothing moves, none of them stays in the queue."""
    made = fixed(1)
    holder = made.ask()
    for _ in range(1000):
        made.give_up(made.ask(is_batch=True))
        made.give_up(made.ask())

    assert (1, 0) == made.counts
    assert holder.is_granted


def test_one_that_gives_up_after_it_was_granted_passes_it_on() -> None:
    """A place that comes too late for its waiter goes to the next at once, and costs nothing."""
    made = fixed(1, rpm=2)
    holder, late, following = made.ask(), made.ask(), made.ask()
    made.release(holder, "success")
    assert late.is_granted
    made.give_up(late)

    assert (False, True, (1, 0)) == (late.is_granted, following.is_granted, made.counts)


@pytest.mark.slow
def test_coming_and_going_in_a_long_queue_costs_little() -> None:
    """In a queue of 20,000 a new one comes, and goes, as fast as in a short one."""
    made = fixed(1)
    holder = made.ask()
    waiting = [made.ask() for _ in range(20_000)]

    def once() -> None:
        made.give_up(made.ask())

    assert 100e-6 > min(timeit.repeat(once, number=1000, repeat=5)) / 1000
    started = timeit.default_timer()
    for lease in reversed(waiting):
        made.give_up(lease)
    assert 2.0 > timeit.default_timer() - started
    made.release(holder, "other")
    assert (0, 0) == made.counts
