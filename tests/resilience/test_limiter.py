from __future__ import annotations

import gc
import threading
import timeit
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.limiting.limiter import Limiters
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from tests.resilience.timed_limiter import FLASH, PRO, TimedLimiter, fixed

if TYPE_CHECKING:
    from deepseek_sdk.resilience.limiting.lease import Lease


def test_a_place_is_released_once() -> None:
    """Only the first release counts, whatever comes later and in whatever order."""
    made = TimedLimiter(initial=2)
    first, second = made.ask(), made.ask()
    made.release(first, "success")
    made.give_up(first)
    made.release(first, "overload")
    made.release(first, "other")
    made.release(first, "success")

    assert ((1, 0), 3) == (made.counts, made.limit)
    assert second.is_granted


def test_a_forgotten_place_goes_back() -> None:
    """A place whose lease is forgotten is free again, also where it was granted to one that waits no longer."""
    made = fixed(1)
    made.ask()
    assert (0, 0) == made.counts
    holder = made.ask()
    made.ask()
    following = made.ask()
    made.release(holder, "success")

    assert following.is_granted
    assert (1, 0) == made.counts


def test_a_forgotten_place_cannot_tell_the_time() -> None:
    """It goes back as of the latest instant that anybody told: it lets through nobody whose time has passed."""
    made = fixed(1)
    holder = made.ask()
    short, patient = made.ask(until=1005), made.ask()
    made.now = 1005
    made.look(patient)
    del holder

    assert [False, True] == [short.is_granted, patient.is_granted]


def test_it_may_be_released_by_the_garbage_collector() -> None:
    """A hook that runs in the middle of the guarded lines, in the same thread, waits until they are done."""
    made = fixed(1)
    cycle: list[Any] = [made.ask()]
    cycle.append(cycle)
    del cycle
    with made.limiter._serial.lock:
        gc.collect()
        assert (1, 0) == made.counts
    made.limiter._serial.work_off()

    assert (0, 0) == made.counts


def test_a_registry_keeps_one_for_each_account() -> None:
    """The same account has the same limiter; others have their own, which can be listed."""
    limiters = Limiters(LimiterPolicy())

    assert limiters[FLASH] is limiters[Account(*FLASH)]
    assert [64, 64] == [limiters[PRO].limit, limiters[FLASH].limit]
    assert {FLASH, PRO} == {one.account for one in limiters}
    assert (2, True) == (len(limiters), limiters.is_on)
    held = limiters[PRO].ask(1000)
    assert "<Limiters: 2 accounts, 1 calls in flight, 0 waiting>" == repr(limiters)
    assert "<Limiter of deepseek-v4-pro at https://api.deepseek.com: 1 of 64 in flight, 0 waiting>" == repr(
        limiters[PRO]
    )
    assert held.is_granted


def test_limiters_can_be_off() -> None:
    """With no policy there is no limiter, and to ask for one is a mistake."""
    limiters = Limiters(None)

    assert (False, None, 0, "Limiters(None)") == (limiters.is_on, limiters.policy, len(limiters), repr(limiters))
    with pytest.raises(KeyError, match="limiters are switched off"):
        limiters[FLASH]


def test_one_is_idle_when_nothing_has_happened_for_a_minute() -> None:
    """One that is in use, or was a moment ago, is not thrown away for another account."""
    made = fixed(1)
    assert made.limiter.is_idle
    holder = made.ask()
    made.now += 100
    states = [made.limiter.is_idle]
    waiting = made.ask()
    made.release(holder, "success")
    states.append(made.limiter.is_idle)
    made.release(waiting, "success")
    states.append(made.limiter.is_idle)
    made.now += 61

    assert [False, False, False, True] == [*states, made.limiter.is_idle]


@pytest.mark.parametrize("instant", [0.0, 1e9])
def test_who_asks_may_have_another_clock(instant: float) -> None:
    """Whether one is idle does not depend on the clock of those who ask."""
    limiter = Limiters(LimiterPolicy())[FLASH]
    limiter.release(limiter.ask(instant), instant, "success")

    assert not limiter.is_idle


def test_many_threads_keep_the_limit() -> None:
    """However many threads ask, no more than the limit are ever let through, and all come through."""
    made = fixed(5)
    flying: list[int] = []
    seen: list[int] = []

    def work() -> None:
        for _ in range(60):
            lease = made.ask()
            while not lease.is_granted:
                wakeup, pause = made.look(lease)
                assert wakeup is not None
                if not wakeup.done():
                    threading.Event().wait(min(pause, 0.001))
            flying.append(1)
            seen.append(len(flying))
            flying.pop()
            made.release(lease, "success")

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 16 * 60 == len(seen)
    assert 5 >= max(seen)
    assert (0, 0) == made.counts


def test_it_costs_little() -> None:
    """To let a call through and take its place back costs microseconds; far more would be another algorithm."""
    limiter = TimedLimiter().limiter

    def once() -> None:
        limiter.release(limiter.ask(1000, until=2000), 1000, "success")

    assert 50e-6 > min(timeit.repeat(once, number=1000, repeat=5)) / 1000


class Traffic(RuleBasedStateMachine):
    """Everything that can happen to a limiter, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[Lease] = []

    @initialize(
        initial=st.integers(1, 6),
        rpm=st.one_of(st.none(), st.integers(1, 200)),
        tpm=st.one_of(st.none(), st.integers(1, 2000)),
        every=st.integers(1, 4),
    )
    def begin(self, initial: int, rpm: int | None, tpm: int | None, every: int) -> None:
        """Make one."""
        self.made = TimedLimiter(initial=initial, maximum=8, rpm=rpm, tpm=tpm, batch_every=every)

    @rule(tokens=st.integers(0, 300), is_batch=st.booleans(), patience=st.one_of(st.just(inf), st.integers(0, 9)))
    def ask(self, tokens: int, patience: float, *, is_batch: bool) -> None:
        """Ask for a place."""
        self.open.append(self.made.ask(tokens=tokens, is_batch=is_batch, until=self.made.now + patience))
        assert self.made.counts[0] <= 8

    @precondition(lambda self: self.open)
    @rule(
        which=st.integers(0, 99),
        outcome=st.sampled_from(["success", "overload", "other", "give up", "forget"]),
        tokens=st.one_of(st.none(), st.integers(-99, 400)),
        named=st.one_of(st.none(), st.integers(0, 9)),
        again=st.booleans(),
    )
    def end(self, which: int, outcome: Any, tokens: int | None, named: int | None, *, again: bool) -> None:
        """End one, perhaps twice; one that waits can only give up."""
        lease, before = self.open.pop(which % len(self.open)), self.made.limit
        if outcome == "forget" and lease.is_granted:
            del lease
            return
        for _ in range(1 + again):
            if outcome in ("give up", "forget") or not lease.is_granted:
                self.made.give_up(lease)
            else:
                self.made.release(lease, outcome, tokens, named)
        assert not lease.is_granted
        assert outcome == "success" or self.made.limit <= before

    @rule(seconds=st.floats(0, 30))
    def wait(self, seconds: float) -> None:
        """Let time pass, and let one that waits look, as every second somebody does."""
        self.made.now += seconds
        for lease in self.open:
            if not lease.is_granted:
                self.made.look(lease)
                break

    @invariant()
    def is_sound(self) -> None:
        """Check that what is in flight is what was granted, and that whoever waits does so for a reason."""
        if not hasattr(self, "made"):
            return
        made, granted = self.made, [lease for lease in self.open if lease.is_granted]
        assert len(granted) == made.counts[0]
        assert 1 <= made.limit <= 8
        head = made.limiter._queue.head(made.now)
        if head is not None and made.counts[0] < made.limit:
            assert made.held_by(head) != "concurrency"
            assert made.look(head)[1] <= 1.0

    def teardown(self) -> None:
        """When all have ended, nothing is left, and after a while the next goes at once."""
        if not hasattr(self, "made"):
            return
        for lease in self.open:
            self.made.give_up(lease)
            self.made.release(lease, "other")
        assert (0, 0) == self.made.counts
        self.made.now += 100_000
        assert self.made.ask(tokens=300).is_granted


TestTraffic = pytest.mark.slow(Traffic.TestCase)
TestTraffic.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
