from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deepseek_sdk.resilience.breaking.breaker import Refusal
from tests.resilience.breaker_world import World

if TYPE_CHECKING:
    from deepseek_sdk.resilience.breaking.breaker import Permit


class AnyOrder(RuleBasedStateMachine):
    """Calls, time and hands in any order: there is never a second probe, and always a way back."""

    LEASE = 20.0

    def __init__(self) -> None:
        super().__init__()
        self.open_permits: list[Permit] = []
        # Those whose lease has not been given back, with its end.
        self.probes: dict[Permit, float] = {}

    @initialize(ratio=st.sampled_from([None, 0.5, 1.0]), row=st.sampled_from([None, 1, 3]))
    def make(self, ratio: float | None, row: int | None) -> None:
        """Choose the rules."""
        self.world = World(
            minimum_calls=4, consecutive_failures=row, error_ratio=ratio, slow_ratio=ratio, open_for_longest=40
        )

    @rule(slow_after=st.sampled_from([inf, 3.0, 8.0]))
    def call(self, slow_after: float) -> None:
        """Ask for a call: it goes exactly when the breaker says so."""
        before = self.world.breaker.retry_in
        answer = self.world.breaker.admit(self.world.now, slow_after=slow_after, lease=self.LEASE)
        assert isinstance(answer, Refusal) == (before is not None and before > 0)
        if isinstance(answer, Refusal):
            assert pytest.approx(before) == answer.retry_in
            return
        self.open_permits.append(answer)
        if answer.is_probe:
            self.probes[answer] = self.world.now + self.LEASE

    @precondition(lambda self: self.open_permits)
    @rule(data=st.data(), outcome=st.sampled_from(["succeed", "fail", "neutral", "first_token", "abandon"]))
    def settle(self, data: st.DataObject, outcome: str) -> None:
        """Tell something of a call; of a former generation it changes nothing."""
        permit = data.draw(st.sampled_from(self.open_permits))
        before = self.world.state(), self.world.breaker.failures
        is_stale = permit.generation != self.world.breaker._guarded.circuit.generation
        if outcome == "abandon":
            permit.abandon(self.world.now, has_token=permit.has_token)
        else:
            getattr(permit, outcome)(self.world.now)
        self.probes.pop(permit, None)
        if outcome != "first_token":
            self.open_permits.remove(permit)
        if is_stale:
            assert before == (self.world.state(), self.world.breaker.failures)

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0, 45.0, 200.0]))
    def let_time_pass(self, seconds: float) -> None:
        """Wait."""
        self.world.now += seconds

    @rule(seconds=st.sampled_from([1.0, 30.0, 500.0]))
    def cool_down(self, seconds: float) -> None:
        """Be asked by the server for a cooldown."""
        self.world.breaker.cool_down(seconds)

    @rule(seconds=st.sampled_from([None, 5.0]))
    def open(self, seconds: float | None) -> None:
        """Open by hand."""
        self.world.breaker.open(seconds)
        self.probes.clear()

    @rule(name=st.sampled_from(["close", "reset"]))
    def mend(self, name: str) -> None:
        """Close by hand, or reset."""
        getattr(self.world.breaker, name)()
        self.probes.clear()
        assert "closed" == self.world.state()

    @invariant()
    def one_probe(self) -> None:
        """See that no two probes hold a lease."""
        assert sum(until > self.world.now for until in self.probes.values()) <= 1

    @invariant()
    def counts_make_sense(self) -> None:
        """See that ratios stay within 0 and 1, and that no call is lost."""
        breaker = self.world.breaker
        assert 0 <= breaker.failures <= breaker.calls
        assert 0 <= breaker.slow <= breaker.calls
        assert len([permit for permit in self.open_permits if not permit.is_settled]) == breaker.in_flight

    def teardown(self) -> None:
        """Find the way back: time, and calls that succeed, close whatever no hand has opened for ever."""
        breaker = self.world.breaker
        if breaker.retry_in == inf:
            breaker.close()
        self.world.now += 200
        # What is still in flight may have become slow meanwhile, and opened it.
        assert breaker.retry_in in {None, 0} or breaker.reason == "slow ratio"
        self.world.now += 200
        self.world.play("S")
        assert "closed" == breaker.state


AnyOrder.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
test_any_order = pytest.mark.slow(AnyOrder.TestCase)
