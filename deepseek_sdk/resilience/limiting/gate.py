"""`AdmissionGate`: who may go now: concurrency, rates and queue in one rule. It has no lock and no clock."""

from __future__ import annotations

from concurrent.futures import Future
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deepseek_sdk.resilience.limiting.aimd import Aimd
    from deepseek_sdk.resilience.limiting.fair_queue import FairQueue
    from deepseek_sdk.resilience.limiting.gcra import Gcra
    from deepseek_sdk.resilience.limiting.lease import Lease

__all__ = ["AdmissionGate", "Obstacle", "Outcome"]

Outcome = Literal["success", "overload", "other"]
Obstacle = Literal["concurrency", "rpm", "tpm"]

# A lease may be granted while the garbage collector interrupts the one who is about to listen, so waiters look again
# by themselves. The shortest wait is for clocks whose instants are coarse.
_LONGEST_S, _SHORTEST_S = 1.0, 0.001
# What a server says a call has used is believed up to so many times the estimate, or the limit of a minute.
_CREDIBLE = 10


class AdmissionGate:
    """
    Lets calls through one by one; instants are seconds, all of one clock.

    Args:
        size: How many may be in flight.
        queue: Who waits.
        calls: How many may be begun in a period, or None.
        tokens: How many tokens they may use in a period, or None.

    Attributes:
        in_flight: How many are.
    """

    __slots__ = ("_calls", "_is_metered", "_latest", "_leader", "_queue", "_size", "_tokens", "in_flight")

    def __init__(self, size: Aimd, queue: FairQueue[Lease], calls: Gcra | None, tokens: Gcra | None) -> None:
        self.in_flight = 0
        self._size = size
        self._queue = queue
        self._calls = calls
        self._tokens = tokens
        self._is_metered = calls is not None or tokens is not None
        self._leader: Lease | None = None
        self._latest = -inf

    def enter(self, lease: Lease, now: float) -> None:
        """
        Let one through, or let it wait behind all others of its kind.

        Args:
            lease: It.
            now: When.
        """
        self._latest = now
        if not self._queue.size and self._admits(lease, now):
            self._grant(lease, now)
        else:
            lease.wakeup = Future()
            self._queue.add(lease)
            self.pump(now)

    def pump(self, now: float) -> None:
        """
        Let all through that may go now.

        Args:
            now: When.
        """
        self._latest = now
        while (head := self._queue.head(now)) is not None and self._admits(head, now):
            self._queue.serve(head)
            self._grant(head, now)
        self._lead(head)

    def pause(self, lease: Lease, now: float) -> float:
        """
        Say when one that waits should look again: nobody calls it when only time is missing.

        Args:
            lease: It.
            now: When it looks.

        Returns:
            Seconds.
        """
        if lease is not self._leader:
            return _LONGEST_S
        return min(max(self._rate_wait(lease, now) / 1e9, _SHORTEST_S), _LONGEST_S)

    def held_by(self, lease: Lease, now: float) -> Obstacle:
        """
        Say what holds one back, or, where that is only its place in the queue, the first in it.

        Args:
            lease: It.
            now: When.

        Returns:
            The name of the limit.
        """
        head = self._queue.head(now)
        return self._obstacle(lease, now) or (head and self._obstacle(head, now)) or "concurrency"

    def leave(self, lease: Lease, now: float) -> None:
        """
        Take back one that has not been used, waiting or granted, with all that it took.

        Args:
            lease: It.
            now: When.
        """
        self._queue.leave(lease)
        if lease.is_granted:
            lease.is_granted = False
            self.in_flight -= 1
            self._refund(lease)
        self.pump(now)

    def accept(self, lease: Lease, now: float) -> None:
        """
        Note that the server has accepted a call; only the first time counts.

        Args:
            lease: Its lease.
            now: When.
        """
        if lease.is_granted and not lease.is_counted:
            lease.is_counted = True
            self._size.on_success(self.in_flight, now)
            if self._queue.size:
                self.pump(now)

    def settle(self, lease: Lease, outcome: Outcome, tokens: int | None, named: int | None, now: float) -> None:
        """
        Take one back after its call; nothing happens where that has been done.

        Args:
            lease: It.
            outcome: How the call ended.
            tokens: How many it used, or None where nobody knows.
            named: The limit that the server named when it refused, or None.
            now: When.
        """
        if not lease.is_granted:
            return
        lease.is_granted = False
        self.in_flight -= 1
        if outcome == "success" and not lease.is_counted:
            self._size.on_success(self.in_flight + 1, now)
        elif outcome == "overload":
            self._size.on_refusal(lease.round, named, now)
        if self._tokens is not None and tokens is not None:
            self._charge(self._tokens, lease, tokens, now)
        if self._queue.size:
            self.pump(now)

    def recover(self, lease: Lease) -> None:
        """
        Take back one that was forgotten: it cannot tell the time, so it counts as of the latest that is known.

        Args:
            lease: It.
        """
        self.settle(lease, "other", None, None, self._latest)

    def _admits(self, lease: Lease, now: float) -> bool:
        # The one rule. Nothing is taken until all of it holds.
        return self.in_flight + 1 <= self._size.limit and not (self._is_metered and self._rate_wait(lease, now))

    def _obstacle(self, lease: Lease, now: float) -> Obstacle | None:
        if self.in_flight + 1 > self._size.limit:
            return "concurrency"
        calls, tokens = self._rate_waits(lease, now)
        if not (calls or tokens):
            return None
        return "rpm" if calls >= tokens else "tpm"

    def _rate_wait(self, lease: Lease, now: float) -> int:
        return max(self._rate_waits(lease, now))

    def _rate_waits(self, lease: Lease, now: float) -> tuple[int, int]:
        """Tell how long the rates of calls and of tokens forbid it, in nanoseconds."""
        instant = round(now * 1e9)
        calls = 0 if self._calls is None else self._calls.wait(instant)
        tokens = 0 if self._tokens is None else self._tokens.wait(instant, lease.tokens)
        return calls, tokens

    def _grant(self, lease: Lease, now: float) -> None:
        if self._is_metered:
            instant = round(now * 1e9)
            lease.by_calls = 0 if self._calls is None else self._calls.take(instant)
            lease.by_tokens = 0 if self._tokens is None else self._tokens.take(instant, lease.tokens)
        # Nothing is called in between, so a key press that interrupts the program cannot divide the three.
        self.in_flight += 1
        lease.is_granted = True
        lease.round = self._size.round
        if lease.wakeup is not None:
            lease.wakeup.set_result(None)

    def _refund(self, lease: Lease) -> None:
        if self._calls is not None:
            self._calls.refund(lease.by_calls, 1)
        if self._tokens is not None:
            self._tokens.refund(lease.by_tokens, lease.tokens)

    def _charge(self, meter: Gcra, lease: Lease, told: int, now: float) -> None:
        used = min(max(told, 0), _CREDIBLE * max(lease.tokens, meter.limit))
        if used < lease.tokens:
            meter.refund(lease.by_tokens, lease.tokens - used)
        elif used > lease.tokens:
            meter.take(round(now * 1e9), used - lease.tokens)

    def _lead(self, head: Lease | None) -> None:
        """Have the head of the queue watch the clock, and nobody else, where only a rate holds it back."""
        leader = head if self._is_metered and self.in_flight + 1 <= self._size.limit else None
        if leader is not None and leader is not self._leader and leader.wakeup is not None:
            wakeup, leader.wakeup = leader.wakeup, Future()
            wakeup.set_result(None)
        self._leader = leader
