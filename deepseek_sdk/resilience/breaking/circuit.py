"""`Circuit`: when it opens and closes: decisions only, without a clock, a lock or chance of their own."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING

from deepseek_sdk.resilience.breaking.overdue import FirstTokens
from deepseek_sdk.resilience.breaking.states import BreakerSnapshot, Refusal, StateChange
from deepseek_sdk.resilience.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.resilience.breaking.permit import Permit
    from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
    from deepseek_sdk.resilience.breaking.states import BreakerState, Outcome, Reason

__all__ = ["Circuit"]

# However long a server asks to be left alone: openai's client obeys it no longer, either.
_LONGEST_COOLDOWN = 120.0
# Seconds: few servers have answered before, and nobody is kept waiting for long.
_FIRST_LOOK = 0.25


class Circuit:
    """
    The state of one account, and all that changes it; one thing at a time, instants in any order.

    Each change of state, and each probe, is a new generation: how a call of an older one ends means nothing any more.

    Args:
        policy: The rules.
        chance: Gives a number from 0 to 1 for each opening.

    Attributes:
        state: What it is, not counting a cooldown that the server asked for.
        generation: The number of this state.
        in_flight: How many calls were let through and not settled.
        changes: Changes of state, for whoever tells them on.
        awaited: The calls of this generation whose first token is waited for.
    """

    def __init__(self, policy: BreakerPolicy, chance: Callable[[], float]) -> None:
        self.state: BreakerState = "closed"
        self.generation = 0
        self.in_flight = 0
        self.changes: deque[StateChange] = deque()
        self.awaited = FirstTokens()
        self._policy = policy
        self._chance = chance
        self._window = Window("calls", "settled", "failures", "slow", seconds=policy.window, buckets=policy.buckets)
        self._reason: Reason | None = None
        self._failed_at = -inf
        # The calls that failed in a row, oldest first.
        self._streak: deque[object] = deque(maxlen=policy.consecutive_failures)
        # Since when it is in this state, or its probe is out.
        self._changed_at = -inf
        # Open: when it is half open. Half open: when the probe's lease ends.
        self._until = -inf
        self._cooling_until = -inf
        self._next_open_for = policy.open_for

    def admit(self, permit: Permit, now: float, lease: float) -> Refusal | None:
        """
        Let a call through, or not.

        Args:
            permit: What it gets where it may go.
            now: The time.
            lease: How long it may take to give its first token if it becomes the probe, in seconds.

        Returns:
            None where it may go.
        """
        if self.awaited.next_at <= now or self._cooling_until > -inf or self.state != "closed":
            self.look(now)
        if self._cooling_until > now or self.state != "closed":
            return self._admit_probe(permit, now, lease)
        self._count(permit, now)
        if permit.slow_after < inf:
            self.awaited.add(permit, now + permit.slow_after)
        return None

    def look(self, now: float) -> None:
        """
        Let happen what time has brought about.

        Args:
            now: The time.
        """
        if self.awaited.next_at <= now:
            self._count_overdue(now)
        if self.state == "open" and self._until <= now:
            self._become("half_open", self._until)
        if -inf < self._cooling_until <= now:
            self._end_cooldown()

    def first_token(self, permit: Permit, now: float) -> None:
        """
        Note that the first token of a call has come.

        Args:
            permit: Of the call.
            now: When.
        """
        if not self._counts(permit):
            return
        is_late = permit.due_at(now) < now
        if not permit.is_probe:
            if is_late and not permit.is_slow:
                self._count_slow(permit, now)
        elif is_late:
            self._open(now, "probe failed")
        else:
            self._close(now)
            # The stream goes on: from here it is the first of the calls that count.
            permit.is_probe, permit.admitted = False, now
            self.in_flight -= 1
            self._count(permit, now)

    def settle(self, permit: Permit, outcome: Outcome, now: float) -> None:
        """
        Note how a call ended; only the first time counts.

        Args:
            permit: Of the call.
            outcome: How; neutral says nothing about the server.
            now: When.
        """
        if permit.is_settled:
            return
        if self.awaited.next_at <= now:
            self._count_overdue(now)
        if self._counts(permit):
            if permit.is_probe:
                self._settle_probe(outcome, now)
            else:
                self._settle_call(permit, outcome, now)
        permit.is_settled = True
        permit.release()
        self.in_flight -= 1

    def open_by_hand(self, seconds: float, now: float) -> None:
        """
        Open.

        Args:
            seconds: For how long, then a probe may go; `inf` for until a hand closes it.
            now: The time.
        """
        self._forget_growth(now)
        self._become("open", now)
        self._until, self._reason = now + seconds, "by hand"
        self.changes.append(StateChange("by hand", seconds))

    def close_by_hand(self, now: float) -> None:
        """
        Close, and end a cooldown.

        Args:
            now: The time.
        """
        if self.state != "closed":
            self._close(now)
        elif self._cooling_until > now:
            self._end_cooldown()
        self._cooling_until = -inf

    def reset(self) -> None:
        """Be as new, but for the calls that are in flight: how they end means nothing any more."""
        if self.state != "closed" or self._cooling_until > -inf:
            self.changes.append(StateChange(None))
        self._become("closed", -inf)
        self._window.clear()
        self._failed_at = self._until = self._cooling_until = -inf

    def cool_down(self, seconds: float, now: float) -> None:
        """
        Let nothing through for a while; then all is as it was before.

        Args:
            seconds: For how long; two minutes at most.
            now: The time.
        """
        # What a server asks for may be anything, nan included.
        if not seconds > 0:
            return
        seconds = min(seconds, _LONGEST_COOLDOWN)
        if self.state == "closed" and self._cooling_until <= now:
            self.changes.append(StateChange("asked to be left alone", seconds))
        self._cooling_until = max(self._cooling_until, now + seconds)

    def snapshot(self, now: float) -> BreakerSnapshot:
        """
        Tell everything at once.

        Args:
            now: The time.

        Returns:
            What there is to know.
        """
        is_cooling, counts = self._cooling_until > now, self._counted(now)
        if self.state == "closed" and not is_cooling:
            return BreakerSnapshot("closed", None, None, *counts, self.in_flight)
        state = "open" if is_cooling else self.state
        reason = "asked to be left alone" if self.state == "closed" else self._reason
        return BreakerSnapshot(state, reason, max(self._retry_in(now), 0.0), *counts, self.in_flight)

    def is_idle(self, now: float) -> bool:
        """
        Say whether there is nothing worth remembering.

        Args:
            now: The time.

        Returns:
            True where a new circuit would be no different, or where nobody came for as long as the window.
        """
        if self.in_flight or self._cooling_until > now or self.state == "open":
            return False
        oldest = now - self._policy.window
        return oldest >= self._changed_at and oldest >= self._failed_at and not any(self._counted(now))

    def _retry_in(self, now: float) -> float:
        return max(self._cooling_until - now, self._own_wait(now))

    def _own_wait(self, now: float) -> float:
        """In how many seconds it makes sense to ask, a cooldown not counted."""
        if self.state == "closed":
            return 0.0
        left = self._until - now
        if self.state == "half_open":
            # A probe is out. What has taken this long is likely to take as long again, so nobody sleeps for a lease.
            left = min(left, self._policy.open_for, max(now - self._changed_at, _FIRST_LOOK))
        return left

    def _admit_probe(self, permit: Permit, now: float, lease: float) -> Refusal | None:
        retry_in = self._retry_in(now)
        if retry_in > 0:
            return Refusal(retry_in, is_cooling=self._cooling_until - now == retry_in)
        # A probe whose lease has run out is of an older generation from here.
        self.generation += 1
        self._changed_at, self._until = now, now + lease
        permit.generation, permit.is_probe = self.generation, True
        self.in_flight += 1
        return None

    def _count(self, permit: Permit, now: float) -> None:
        permit.generation = self.generation
        self.in_flight += 1
        self._window.add("calls", now)

    def _counts(self, permit: Permit) -> bool:
        return not permit.is_settled and permit.generation == self.generation

    def _counted(self, now: float) -> tuple[int, int, int]:
        # Calls are counted at their beginning, the rest later: some of what is counted now began before the window.
        sums = self._window.sums(now)
        return max(sums["calls"], sums["settled"], sums["slow"]), sums["failures"], sums["slow"]

    def _count_overdue(self, now: float) -> None:
        while (permit := self.awaited.take_overdue(now)) is not None:
            self._count_slow(permit, now)

    def _count_slow(self, permit: Permit, now: float) -> None:
        permit.is_slow = True
        self._window.add("slow", now)
        calls, _, slow = self._counted(now)
        if self._is_too_many(slow, calls, self._policy.slow_ratio):
            self._open(now, "slow ratio")

    def _settle_call(self, permit: Permit, outcome: Outcome, now: float) -> None:
        if outcome == "success":
            self._window.add("settled", now)
            self._streak.clear()
        elif outcome == "failure":
            self._count_failure(permit, now)
        elif not permit.is_slow:
            # A call that says nothing must not thin out the others, either.
            self._window.add("calls", permit.admitted, -1)

    def _count_failure(self, permit: Permit, now: float) -> None:
        self._window.add("settled", now)
        self._window.add("failures", now)
        self._lengthen_streak(permit.call, now)
        most, ratio = self._policy.consecutive_failures, self._policy.error_ratio
        calls, failures, _ = self._counted(now)
        # Where nothing else can answer, a server that fails now and then is better than none.
        is_sick = not permit.is_alone or ratio is None or failures >= ratio * calls
        if most is not None and len(self._streak) >= most and is_sick:
            self._open(now, "consecutive failures")
        elif self._is_too_many(failures, calls, ratio):
            self._open(now, "error ratio")

    def _lengthen_streak(self, call: object, now: float) -> None:
        # A row of failures goes stale with the window: else one failure of a rarely used key were kept for ever.
        if now - self._failed_at >= self._policy.window:
            self._streak.clear()
        self._failed_at = max(self._failed_at, now)
        # All attempts of a call are one: a call that is repeated is no proof of more.
        if call is None or not any(call is counted for counted in self._streak):
            self._streak.append(call)

    def _is_too_many(self, bad: int, calls: int, ratio: float | None) -> bool:
        return ratio is not None and calls >= self._policy.minimum_calls and bad >= ratio * calls

    def _settle_probe(self, outcome: Outcome, now: float) -> None:
        if outcome == "success":
            self._close(now)
        elif outcome == "failure":
            self._open(now, "probe failed")
        else:
            # The lease is given back: the next call is the probe.
            self._until = -inf

    def _open(self, now: float, reason: Reason) -> None:
        policy = self._policy
        self._forget_growth(now)
        seconds = self._next_open_for * (1 + policy.jitter * (2 * self._chance() - 1))
        self._next_open_for = min(self._next_open_for * policy.growth, policy.open_for_longest)
        self._become("open", now)
        self._until, self._reason = now + seconds, reason
        self.changes.append(StateChange(reason, seconds))

    def _forget_growth(self, now: float) -> None:
        if self.state == "closed" and now - self._changed_at >= self._policy.window:
            self._next_open_for = self._policy.open_for

    def _close(self, now: float) -> None:
        self._become("closed", now)
        self._window.clear()
        self.changes.append(StateChange(None))

    def _end_cooldown(self) -> None:
        self._cooling_until = -inf
        if self.state == "closed":
            self.changes.append(StateChange(None))

    def _become(self, state: BreakerState, now: float) -> None:
        self.state = state
        self.generation += 1
        self._changed_at = now
        self._streak.clear()
        # Calls of an older generation no longer count, so nobody waits for their tokens.
        self.awaited.clear()
