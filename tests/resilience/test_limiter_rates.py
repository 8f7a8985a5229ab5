from __future__ import annotations

from math import inf

import pytest

from tests.resilience.timed_limiter import TimedLimiter, fixed


def test_a_rate_holds_back_until_it_allows() -> None:
    """With all places free a rate still holds calls back; the first in the queue knows for how long."""
    made = TimedLimiter(rpm=120)
    for lease in [made.ask() for _ in range(60)]:
        made.release(lease, "other")
    flying = [made.ask() for _ in range(60)]
    first, second = made.ask(), made.ask()

    assert [False, False, (60, 2)] == [first.is_granted, second.is_granted, made.counts]
    assert pytest.approx(0.5) == made.look(first)[1]
    assert 1.0 == made.look(second)[1]
    made.now += 0.5
    made.look(second)
    assert [True, False] == [first.is_granted, second.is_granted]
    assert all(lease.is_granted for lease in flying)


def test_the_next_in_the_queue_watches_the_clock() -> None:
    """When the first in the queue is let through by time alone, the second is told that it is the first now."""
    made = TimedLimiter(rpm=60)
    for _ in range(60):
        made.release(made.ask(), "other")
    first, second = made.ask(), made.ask()
    wakeup, pause = made.look(second)
    assert wakeup is not None
    assert (False, 1.0) == (wakeup.done(), pause)
    made.now += 1.0
    made.look(first)

    assert (True, False) == (wakeup.done(), second.is_granted)
    made.now += 0.4
    assert pytest.approx(0.6) == made.look(second)[1]


def test_who_is_refused_uses_up_nothing() -> None:
    """One that gives up, or whose deadline passes, takes nothing from any rate."""
    made = fixed(2, rpm=3, tpm=100)
    holder, other = made.ask(tokens=40), made.ask(tokens=40)
    for until in (1001, 1002, inf):
        made.give_up(made.ask(tokens=15, until=until))
    made.ask(tokens=15, until=1003)
    made.now = 1004
    made.release(holder, "success", 40)
    made.release(other, "success", 40)

    assert made.ask(tokens=20).is_granted
    assert not made.ask(until=made.now).is_granted


def left_of(made: TimedLimiter, most: int) -> int:
    """Count the tokens that may be taken now, without taking them."""
    for tokens in range(1, most + 1):
        lease = made.ask(tokens=tokens, until=made.now)
        is_granted = lease.is_granted
        made.give_up(lease)
        if not is_granted:
            return tokens - 1
    return most


@pytest.mark.parametrize(
    ("used", "left"),
    [
        (None, 40),  # nobody knows: the estimate stands
        (60, 40),
        (10, 90),
        (1, 99),
        (90, 10),
    ],
)
def test_tokens_are_settled_after_the_call(used: int | None, left: int) -> None:
    """What was estimated too high is given back, and what was estimated too low is charged."""
    made = TimedLimiter(tpm=100)
    made.release(made.ask(tokens=60), "success", used)

    assert left == left_of(made, 100)


@pytest.mark.parametrize("told", [-1, -(10**9), -(10**30)])
def test_less_than_nothing_is_not_believed(told: int) -> None:
    """A server that says a call has used less than nothing gives back no more than the call has taken."""
    made = TimedLimiter(tpm=100)
    flying = [made.ask(tokens=60), made.ask(tokens=40)]
    made.release(flying.pop(), "success", told)

    assert 40 == left_of(made, 99)


@pytest.mark.parametrize(
    ("estimate", "told", "minutes"),
    [
        (0, 10**30, 10),
        (50, 10**30, 10),
        (50, 1000, 10),
        (50, 400, 4),  # more than estimated, and not absurd
        (250, 10**30, 25),
    ],
)
def test_an_absurd_use_does_not_block_for_ever(estimate: int, told: int, minutes: int) -> None:
    """What a server says is believed up to ten times the estimate, or the limit of a minute where that is more."""
    made = TimedLimiter(tpm=100)
    made.release(made.ask(tokens=estimate), "success", told)
    waiting = made.ask(tokens=100)
    made.now += minutes * 60 - 1
    made.look(waiting)
    assert not waiting.is_granted
    made.now += 1.001
    made.look(waiting)

    assert waiting.is_granted


def test_a_call_above_the_rate_is_not_kept_for_ever() -> None:
    """A call that needs more tokens than a minute has goes when nothing is owed, and the next ones pay for it."""
    made = TimedLimiter(tpm=100)
    made.release(made.ask(tokens=250), "other")
    waiting = made.ask(tokens=10)
    made.now += 95
    made.look(waiting)
    assert not waiting.is_granted
    made.now += 1
    made.look(waiting)

    assert waiting.is_granted


@pytest.mark.parametrize(
    ("policy", "before", "tokens", "expected"),
    [
        ({"maximum": 1}, 1, 0, "concurrency"),
        ({"rpm": 1}, 1, 0, "rpm"),
        ({"tpm": 100}, 1, 10, "tpm"),
        ({"rpm": 2, "tpm": 100}, 1, 10, "tpm"),
        ({"rpm": 1, "tpm": 10_000}, 1, 10, "rpm"),
        ({"rpm": 2, "tpm": 1000}, 2, 10, "rpm"),  # both, and this one for longer
        ({"rpm": 50, "tpm": 100}, 50, 10, "tpm"),  # likewise
        ({"maximum": 2, "tpm": 100}, 2, 10, "concurrency"),
    ],
)
def test_what_holds_a_call_back_has_a_name(policy: dict[str, int], before: int, tokens: int, expected: str) -> None:
    """It is the number of calls, or that of the rates that will hold it back for longer."""
    made = TimedLimiter(initial=100, **policy)
    flying = [made.ask(tokens=100 // before) for _ in range(before)]
    waiting = made.ask(tokens=tokens)

    assert expected == made.held_by(waiting)
    assert (len(flying), False) == (made.counts[0], waiting.is_granted)


def test_who_waits_behind_another_is_held_back_by_the_same() -> None:
    """One that could go by itself is held back by whatever holds back the first in the queue; also in the end."""
    made = TimedLimiter(tpm=100)
    made.release(made.ask(tokens=60), "other")
    first, second = made.ask(tokens=50), made.ask(tokens=10, until=1001)

    assert ["tpm", "tpm"] == [made.held_by(first), made.held_by(second)]
    made.now = 1001
    assert "tpm" == made.held_by(second)
