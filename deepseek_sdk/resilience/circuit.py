"""When a circuit opens and closes: decisions only, without a clock, a lock or chance of their own."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._record import Record

__all__ = ["BreakerPolicy", "BreakerState", "Circuit", "News", "Outcome", "Reason", "Refusal", "Ticket", "Wait"]

BreakerState = Literal["closed", "open", "half_open"]
Outcome = Literal["success", "failure", "neutral"]
Reason = Literal[
    "consecutive failures", "error ratio", "slow ratio", "probe failed", "by hand", "asked to be left alone"
]

# However long a server asks to be left alone: openai's client obeys it no longer, either.
_LONGEST_PAUSE = 120.0
# Fewer calls than this are not worth tidying up after.
_FEW = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """
    When an account is left alone, and for how long; durations are seconds, None switches a rule off.

        BreakerPolicy(consecutive_failures=5)    opens after 5 failures with no complete answer among them
        BreakerPolicy(error_ratio=0.5)           opens when half of the calls of the last minute failed
        BreakerPolicy(slow_ratio=0.6)            opens when 6 of 10 calls of the last minute had no first token in time
        BreakerPolicy(slow_first_token=3)        "in time" is 3 s; by default 8 s, or 30 s for a call that thinks
        BreakerPolicy(minimum_calls=20)          the two ratios mean nothing before the 20th call
        BreakerPolicy(open_for=10, growth=2, open_for_longest=120)    open 10 s, then 20 s, 40 s ... up to 2 minutes
        BreakerPolicy(jitter=0.1)                each of these up to 10 % shorter or longer, by chance
        BreakerPolicy(window=60, buckets=10)     "the last minute", forgotten in steps of 6 s
        BreakerPolicy(when_open="wait")          where nothing else can answer, a call waits for the next probe

    Slowness opens a circuit only where something else can take over.
    """

    minimum_calls: int = 20
    consecutive_failures: int | None = 5
    error_ratio: float | None = 0.5
    slow_ratio: float | None = 0.6
    slow_first_token: float | Unset | None = UNSET
    window: float = 60.0
    buckets: int = 10
    open_for: float = 10.0
    open_for_longest: float = 120.0
    growth: float = 2.0
    jitter: float = 0.1
    when_open: Literal["fail", "wait"] = "fail"

    def __post_init__(self) -> None:
        self._check("minimum_calls", "a whole number from 1", lambda n: n >= 1, kind=int)
        self._check("consecutive_failures", "a whole number from 1, or None", lambda n: n >= 1, kind=int, none=True)
        self._check("error_ratio", "above 0 and at most 1, or None", lambda n: 0 < n <= 1, none=True)
        self._check("slow_ratio", "above 0 and at most 1, or None", lambda n: 0 < n <= 1, none=True)
        if self.slow_first_token is not UNSET:
            self._check("slow_first_token", "seconds above 0, or None", lambda n: 0 < n < inf, none=True)
        self._check("window", "seconds above 0", lambda n: 0 < n < inf)
        self._check("buckets", "a whole number from 1", lambda n: n >= 1, kind=int)
        self._check("open_for", "seconds above 0", lambda n: 0 < n < inf)
        self._check("open_for_longest", "seconds, not fewer than open_for", lambda n: self.open_for <= n < inf)
        self._check("growth", "a number from 1", lambda n: 1 <= n < inf)
        self._check("jitter", "from 0 to below 1", lambda n: 0 <= n < 1)
        if self.when_open not in {"fail", "wait"}:
            message = f"when_open must be 'fail' or 'wait', not {self.when_open!r}"
            raise ConfigurationError(message)

    def _check(
        self, name: str, what: str, fits: Callable[[float], bool], *, kind: type = float, none: bool = False
    ) -> None:
        value = getattr(self, name)
        if none and value is None:
            return
        is_number = isinstance(value, (int, kind)) and not isinstance(value, bool)
        if not (is_number and fits(value)):
            message = f"{name} must be {what}, not {value!r}"
            raise ConfigurationError(message)


class Wait(Protocol):
    """What tells how long a server was not waited for, because the caller was busy; `_clock.Clock` does."""

    @property
    def paused_at(self) -> float | None:
        """The instant since which the caller is waited for, or None."""
        ...

    @property
    def away(self) -> float:
        """How long the caller was waited for before, in seconds."""
        ...


class Ticket:
    """
    What a circuit knows of one call.

    Attributes:
        admitted: When it was let through, in seconds of the monotonic clock.
        slow_after: How long its first token may take, in seconds; `inf` where that does not matter.
        record: The record of the call, or None.
        place: Where its attempt will stand there.
        wait: How long its server is not waited for, once there is an answer.
        generation: The state of the circuit that it was admitted in.
        is_probe: On it depends whether the circuit closes.
        has_token: Its first token has come.
        is_slow: It was counted as slow.
        is_settled: How it ended is known.
    """

    # Not slots: there is one for each call, and most calls change none of these.
    wait: Wait | None = None
    generation = -1
    is_probe = False
    has_token = False
    is_slow = False
    is_settled = False

    def __init__(self, now: float, slow_after: float, record: Record | None) -> None:
        self.admitted = now
        self.slow_after = slow_after
        self.record = record
        self.place = 0 if record is None else len(record.attempts)

    def due_at(self, now: float) -> float:
        """
        Say when the first token is overdue.

        Args:
            now: The time.

        Returns:
            The earliest instant at which that can be, by what is known now.
        """
        begun = self._begun_at(now)
        if self.wait is None:
            return begun + self.slow_after
        paused_at = self.wait.paused_at
        return begun + self.slow_after + self.wait.away + (0.0 if paused_at is None else now - paused_at)

    def _begun_at(self, now: float) -> float:
        record = self.record
        if record is None:
            return self.admitted
        # Until then it waits for a place in our own limiter, which says nothing about the server.
        return record.started + record.attempts[self.place].started if len(record.attempts) > self.place else now


class Refusal(NamedTuple):
    """
    Why a call is not let through.

    Attributes:
        retry_in: How many seconds until one may be; `inf` where only a hand can close the circuit.
        is_cooling: The server asked to be left alone.
    """

    retry_in: float
    is_cooling: bool


class News(NamedTuple):
    """
    A change of state that somebody should hear of.

    Attributes:
        reason: Why the circuit opened, or None: it closed.
        seconds: How long it stays open, at least.
    """

    reason: Reason | None
    seconds: float = 0.0


class Circuit:
    """
    The state of one account, and all that changes it; one thing at a time, instants in any order.

    Each change of state, and each probe, is a new generation: how a call of an older one ends means nothing any more.

    Args:
        policy: The rules.
        chance: Gives a number from 0 to 1 for each opening.

    Attributes:
        state: What it is, not counting a pause that the server asked for.
        in_flight: How many calls were let through and not settled.
        news: Changes of state, for whoever tells them on.
    """

    def __init__(self, policy: BreakerPolicy, chance: Callable[[], float]) -> None:
        self.state: BreakerState = "closed"
        self.in_flight = 0
        self.news: deque[News] = deque()
        self._policy = policy
        self._chance = chance
        self._generation = 0
        self._window = Window("calls", "settled", "failures", "slow", seconds=policy.window, buckets=policy.buckets)
        self._reason: Reason | None = None
        self._streak, self._failed_at = 0, -inf
        self._changed_at = -inf
        # Open: when it is half open. Half open: when the probe's lease ends.
        self._until = -inf
        self._cooling_until = -inf
        self._next_open_for = policy.open_for
        self._awaited: list[tuple[float, int, Ticket]] = []
        self._entries = 0

    def admit(self, ticket: Ticket, now: float, lease: float) -> Refusal | None:
        """
        Let a call through, or not.

        Args:
            ticket: It.
            now: The time.
            lease: How long it may take to give its first token if it becomes the probe, in seconds.

        Returns:
            None where it may go.
        """
        if self._awaited or self._cooling_until > -inf or self.state != "closed":
            self.look(now)
        if self._cooling_until > now or self.state != "closed":
            return self._admit_probe(ticket, now, lease)
        self._count(ticket, now)
        if ticket.slow_after < inf:
            self._await(ticket, now + ticket.slow_after)
        return None

    def look(self, now: float) -> None:
        """
        Let happen what time has brought about.

        Args:
            now: The time.
        """
        if self._awaited and self._awaited[0][0] <= now:
            self._look_for_slow_ones(now)
        if self.state == "open" and self._until <= now:
            self._become("half_open", self._until)
        if -inf < self._cooling_until <= now:
            self._end_pause()

    def first_token(self, ticket: Ticket, now: float) -> None:
        """
        Note that the first token of a call has come.

        Args:
            ticket: The call.
            now: When.
        """
        if not self._counts(ticket):
            return
        is_late = ticket.due_at(now) < now
        if not ticket.is_probe:
            if is_late and not ticket.is_slow:
                self._count_slow(ticket, now)
        elif is_late:
            self._open(now, "probe failed")
        else:
            self._close(now)
            # The stream goes on: from here it is the first of the calls that count.
            ticket.is_probe, ticket.admitted = False, now
            self.in_flight -= 1
            self._count(ticket, now)

    def settle(self, ticket: Ticket, outcome: Outcome, now: float) -> None:
        """
        Note how a call ended; only the first time counts.

        Args:
            ticket: The call.
            outcome: How; neutral says nothing about the server.
            now: When.
        """
        if ticket.is_settled:
            return
        if self._awaited and self._awaited[0][0] <= now:
            self._look_for_slow_ones(now)
        if self._counts(ticket):
            if ticket.is_probe:
                self._settle_probe(outcome, now)
            else:
                self._settle_call(ticket, outcome, now)
        ticket.is_settled = True
        # It may lie among the awaited ones a little longer, and is to keep nothing of the call.
        ticket.record = ticket.wait = None
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
        self.news.append(News("by hand", seconds))

    def close_by_hand(self, now: float) -> None:
        """
        Close, and end a pause that the server asked for.

        Args:
            now: The time.
        """
        if self.state != "closed":
            self._close(now)
        elif self._cooling_until > now:
            self._end_pause()
        self._cooling_until = -inf

    def reset(self) -> None:
        """Be as new, but for the calls that are in flight: how they end means nothing any more."""
        if self.state != "closed" or self._cooling_until > -inf:
            self.news.append(News(None))
        self._become("closed", -inf)
        self._window.clear()
        self._failed_at = self._until = self._cooling_until = -inf

    def pause(self, seconds: float, now: float) -> None:
        """
        Let nothing through for a while; then all is as it was before.

        Args:
            seconds: For how long; two minutes at most.
            now: The time.
        """
        if seconds <= 0:
            return
        if self.state == "closed" and self._cooling_until <= now:
            self.news.append(News("asked to be left alone", min(seconds, _LONGEST_PAUSE)))
        self._cooling_until = max(self._cooling_until, now + min(seconds, _LONGEST_PAUSE))

    def state_at(self, now: float) -> BreakerState:
        """
        Tell the state, a pause included.

        Args:
            now: The time.

        Returns:
            The state.
        """
        return "open" if self._cooling_until > now else self.state

    def reason_at(self, now: float) -> Reason | None:
        """
        Tell why nothing, or only a probe, is let through.

        Args:
            now: The time.

        Returns:
            The reason, or None where the circuit is closed.
        """
        if self.state != "closed":
            return self._reason
        return "asked to be left alone" if self._cooling_until > now else None

    def retry_at(self) -> float:
        """
        Say when a call may be let through.

        Returns:
            The instant; one that has passed where that is now, `inf` where only a hand can close the circuit.
        """
        return self._cooling_until if self.state == "closed" else max(self._cooling_until, self._until)

    def counts(self, now: float) -> tuple[int, int, int]:
        """
        Tell what the ratios are made of.

        Args:
            now: The time.

        Returns:
            Calls, failures and slow calls of the window; those that only ended in it are calls, too.
        """
        # Calls are counted at their beginning, the rest later: some of what is counted now began before the window.
        sums = self._window.sums(now)
        return max(sums["calls"], sums["settled"], sums["slow"]), sums["failures"], sums["slow"]

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
        return oldest >= self._changed_at and oldest >= self._failed_at and not any(self.counts(now))

    def _admit_probe(self, ticket: Ticket, now: float, lease: float) -> Refusal | None:
        retry_at = self.retry_at()
        if retry_at > now:
            return Refusal(retry_at - now, is_cooling=self._cooling_until == retry_at)
        # A probe whose lease has run out is of an older generation from here.
        self._generation += 1
        self._changed_at, self._until = now, now + lease
        ticket.generation, ticket.is_probe = self._generation, True
        self.in_flight += 1
        return None

    def _count(self, ticket: Ticket, now: float) -> None:
        ticket.generation = self._generation
        self.in_flight += 1
        self._window.add("calls", now)

    def _await(self, ticket: Ticket, due_at: float) -> None:
        if len(self._awaited) > 2 * self.in_flight + _FEW:
            self._awaited = [entry for entry in self._awaited if self._is_awaited(entry[2])]
            heapq.heapify(self._awaited)
        self._entries += 1
        heapq.heappush(self._awaited, (due_at, self._entries, ticket))

    def _is_awaited(self, ticket: Ticket) -> bool:
        return not ticket.has_token and self._counts(ticket)

    def _counts(self, ticket: Ticket) -> bool:
        return not ticket.is_settled and ticket.generation == self._generation

    def _look_for_slow_ones(self, now: float) -> None:
        while self._awaited and self._awaited[0][0] <= now:
            ticket = heapq.heappop(self._awaited)[2]
            if not self._is_awaited(ticket):
                continue
            due_at = ticket.due_at(now)
            if due_at > now:
                # It began later than it was let through, or its caller was away.
                self._await(ticket, due_at)
            else:
                self._count_slow(ticket, now)

    def _count_slow(self, ticket: Ticket, now: float) -> None:
        ticket.is_slow = True
        self._window.add("slow", now)
        calls, _, slow = self.counts(now)
        if self._is_too_many(slow, calls, self._policy.slow_ratio):
            self._open(now, "slow ratio")

    def _settle_call(self, ticket: Ticket, outcome: Outcome, now: float) -> None:
        if outcome == "success":
            self._window.add("settled", now)
            self._streak = 0
        elif outcome == "failure":
            self._count_failure(now)
        elif not ticket.is_slow:
            # A call that says nothing must not thin out the others, either.
            self._window.add("calls", ticket.admitted, -1)

    def _count_failure(self, now: float) -> None:
        self._window.add("settled", now)
        self._window.add("failures", now)
        # A row of failures goes stale with the window: else one failure of a rarely used key were kept for ever.
        self._streak = self._streak + 1 if now - self._failed_at < self._policy.window else 1
        self._failed_at = max(self._failed_at, now)
        most, (calls, failures, _) = self._policy.consecutive_failures, self.counts(now)
        if most is not None and self._streak >= most:
            self._open(now, "consecutive failures")
        elif self._is_too_many(failures, calls, self._policy.error_ratio):
            self._open(now, "error ratio")

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
        self.news.append(News(reason, seconds))

    def _forget_growth(self, now: float) -> None:
        if self.state == "closed" and now - self._changed_at >= self._policy.window:
            self._next_open_for = self._policy.open_for

    def _close(self, now: float) -> None:
        self._become("closed", now)
        self._window.clear()
        self.news.append(News(None))

    def _end_pause(self) -> None:
        self._cooling_until = -inf
        if self.state == "closed":
            self.news.append(News(None))

    def _become(self, state: BreakerState, now: float) -> None:
        self.state = state
        self._generation += 1
        self._changed_at = now
        self._streak = 0
