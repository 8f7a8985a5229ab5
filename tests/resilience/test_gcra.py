from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.resilience.limiting.gcra import Gcra

S = 1_000_000_000
MINUTE = 60 * S


def admitted(gcra: Gcra, now: int, attempts: int, cost: int = 1) -> int:
    """Take as often as it may be taken at one instant, and count."""
    count = 0
    while count < attempts and not gcra.wait(now, cost):
        gcra.take(now, cost)
        count += 1
    return count


@pytest.mark.parametrize(
    ("limit", "burst", "at_once", "next_after"),
    [
        (20, None, 20, 3 * S),
        (60, 1, 1, S),
        (60, 10, 10, S),
        (1, None, 1, MINUTE),
        (7, None, 7, 8_571_428_572),
        (7, 3, 3, 8_571_428_572),
        (1_000_000_007, 1, 1, 60),
    ],
)
def test_what_passes_at_once(limit: int, burst: int | None, at_once: int, next_after: int) -> None:
    """The whole burst passes at once and not one more; the next passes when it is due, to the nanosecond."""
    gcra, now = Gcra(limit, burst=burst), 12_345 * S
    count = admitted(gcra, now, 100)
    wait = gcra.wait(now)

    assert (at_once, next_after) == (count, wait)
    assert (1, 0) == (gcra.wait(now + wait - 1), gcra.wait(now + wait))


def test_a_steady_rate_is_the_limit() -> None:
    """What is asked for without pause passes at exactly the limit: over an hour not one is lost to rounding."""
    gcra, now, count = Gcra(7, burst=1), 0, 0
    while now < 60 * MINUTE:
        gcra.take(now)
        count += 1
        now += gcra.wait(now)

    assert 7 * 60 == count


def test_what_costs_more_than_the_burst_passes_when_there_is_no_debt() -> None:
    """A cost that the burst can never hold waits for a clean slate, passes, and is paid off before the next."""
    gcra = Gcra(60, burst=10)
    gcra.take(0, 10)

    assert 10 * S == gcra.wait(0, 600)
    gcra.take(10 * S, 600)
    assert 591 * S == gcra.wait(10 * S, 1)
    assert 600 * S == gcra.wait(10 * S, 600)


def test_what_has_been_used_already_is_charged() -> None:
    """A charge beyond the estimate is owed, though nobody asked whether it may be."""
    gcra = Gcra(60)
    gcra.take(0, 60)
    gcra.take(0, 30)

    assert 31 * S == gcra.wait(0)


@pytest.mark.parametrize(
    ("refunded_at", "amount", "wait"),
    [
        (0, 60, 30),
        (0, 10, 80),
        (20, 10, 60),
        (20, 60, 10),
        (59, 60, 0),
    ],
)
def test_a_refund_gives_back_what_is_still_owed(refunded_at: int, amount: int, wait: int) -> None:
    """A refund undoes as much of a take as time has not paid off."""
    gcra = Gcra(60)
    first = gcra.take(0, 60)
    gcra.take(0, 30)
    gcra.refund(first, amount)

    assert wait * S == gcra.wait(refunded_at * S, 60)


def test_a_late_refund_gives_nothing() -> None:
    """What was paid off before something else was taken is gone: else more than the burst would get through."""
    gcra = Gcra(10)
    first = gcra.take(0, 10)
    gcra.take(MINUTE, 10)
    gcra.refund(first, 10)

    assert 6 * S == gcra.wait(MINUTE)


@pytest.mark.parametrize(
    ("takes", "refunds", "memory", "wait"),
    [
        ([(0, 30), (25, 10)], [0], 1024, 10),  # 5 were owed when the second was taken: so many are given back
        ([(0, 10), (5, 10), (10, 10)], [0], 1024, 15),
        ([(0, 10), (5, 10), (10, 10)], [0, 1], 1024, 10),
        ([(0, 10), (5, 10), (10, 10)], [1, 0], 1024, 10),
        ([(0, 10), (5, 10), (10, 10)], [2, 1, 0], 1024, 0),
        ([(0, 10), (2, 10), (6, 10), (12, 10)], [0], 3, 28),  # forgotten
        ([(0, 10), (2, 10), (6, 10), (12, 10)], [2, 1], 3, 10),
    ],
)
def test_refunds_among_later_takes(takes: list[tuple[int, int]], refunds: list[int], memory: int, wait: int) -> None:
    """What is taken later is not made cheaper by a refund of what had been paid off by then."""
    gcra = Gcra(60, memory=memory)
    serials = [gcra.take(second * S, cost) for second, cost in takes]
    for index in refunds:
        gcra.refund(serials[index], takes[index][1])

    assert wait * S == gcra.wait(takes[-1][0] * S, 60)


class Ledger:
    """A limit of so much per period, said in the plainest way: all takes, replayed with what they came to cost."""

    def __init__(self, limit: int, period: int, burst: int) -> None:
        self.limit, self.period, self.burst = limit, period, burst
        self.takes: list[list[int]] = []

    def debt_ends(self) -> int:
        """Replay: when all is paid off, in nanoseconds times the limit."""
        due = 0
        for instant, cost in self.takes:
            due = max(due, instant * self.limit) + cost * self.period
        return due

    def wait(self, now: int, cost: int) -> int:
        """Tell how long until the debt leaves room, rounded up."""
        room = (self.burst - min(cost, self.burst)) * self.period
        return max(-(-(self.debt_ends() - room - now * self.limit) // self.limit), 0)

    def most_in_a_window(self) -> int:
        """Count what came to be used in the fullest window of the period."""
        starts = [instant for instant, _ in self.takes]
        return max(sum(cost for at, cost in self.takes if start <= at < start + self.period) for start in starts)


COSTS = st.integers(1, 12)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("ask"), COSTS, st.just(0)),
        st.tuples(st.just("refund"), st.integers(0, 40), st.integers(0, 12)),
    ),
    max_size=60,
)


class Both:
    """A `Gcra` and a `Ledger` that see the same."""

    def __init__(self, limit: int, burst: int, memory: int = 1024) -> None:
        self.gcra = Gcra(limit, period_s=60 / S, burst=burst, memory=memory)
        self.ledger = Ledger(limit, 60, burst)
        self.serials: list[int] = []
        self.highest = burst
        self.now = 0

    def step(self, kind: str, number: int, amount: int) -> None:
        """Let time pass, take what may be taken, or refund."""
        if kind == "pass":
            self.now += number
        elif kind == "ask" and not self.gcra.wait(self.now, number):
            self.serials.append(self.gcra.take(self.now, number))
            self.ledger.takes.append([self.now, number])
            self.highest = max(self.highest, number)
        elif kind == "refund" and self.serials:
            take = self.ledger.takes[number % len(self.serials)]
            self.gcra.refund(self.serials[number % len(self.serials)], min(amount, take[1]))
            take[1] -= min(amount, take[1])

    def waits(self) -> tuple[list[int], list[int]]:
        """Say how long each cost would have to wait, by the ledger and by the other."""
        costs = range(1, 13)
        return [self.ledger.wait(self.now, c) for c in costs], [self.gcra.wait(self.now, c) for c in costs]


@pytest.mark.slow
@given(limit=st.integers(1, 13), burst=st.integers(1, 13), steps=STEPS)
def test_no_window_holds_more_than_the_limit(limit: int, burst: int, steps: list[tuple[str, int, int]]) -> None:
    """
    Whatever is asked and refunded, it is as if each take had cost what it came to cost from the beginning.

    So no window of the period holds more than the limit and the burst, or the limit and the highest cost.
    """
    both = Both(limit, burst)
    for step in steps:
        both.step(*step)
        expected, found = both.waits()
        assert expected == found

    assert not both.serials or limit + both.highest >= both.ledger.most_in_a_window()


@pytest.mark.slow
@given(limit=st.integers(1, 13), steps=STEPS)
def test_what_it_does_not_remember_is_not_given_back(limit: int, steps: list[tuple[str, int, int]]) -> None:
    """It remembers so many takes; a refund of an older one may give less than it should, and never more."""
    both = Both(limit, 13, memory=3)
    for step in steps:
        both.step(*step)
        least, found = both.waits()
        assert all(theirs <= ours for theirs, ours in zip(least, found, strict=True))
        assert 3 >= len(both.gcra._takes)


def test_it_remembers_no_more_than_it_must() -> None:
    """Of very many takes in one debt only the newest are told apart."""
    gcra = Gcra(3000)
    serials = [gcra.take(instant) for instant in range(3000)]
    gcra.take(3000, 3000)
    known, before = len(gcra._takes), gcra.wait(3000)
    gcra.refund(serials[0], 1)
    unchanged = gcra.wait(3000)
    gcra.refund(serials[-1], 1)

    assert (1024, before, 20_000_000) == (known, unchanged, before - gcra.wait(3000))
