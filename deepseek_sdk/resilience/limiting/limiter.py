"""`Limiter`: how many calls of an account may be in flight, and begun in a minute; the rest wait in a queue."""

from __future__ import annotations

import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from deepseek_sdk.resilience.limiting.aimd import Aimd
from deepseek_sdk.resilience.limiting.fair_queue import FairQueue
from deepseek_sdk.resilience.limiting.gate import AdmissionGate
from deepseek_sdk.resilience.limiting.gcra import Gcra
from deepseek_sdk.resilience.limiting.lease import Lease
from deepseek_sdk.resilience.registry import Registry
from deepseek_sdk.resilience.serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.limiting.gate import Obstacle, Outcome
    from deepseek_sdk.resilience.limiting.policy import LimiterPolicy

__all__ = ["Limiter", "Limiters"]

# After so long without a call rates have recovered and what was learnt is old: a new limiter does as well.
_IDLE_S = 60.0


class Limiter:
    """
    The limiter of one account, for any number of threads and event loops.

        lease = limiter.ask(io.now(), until=io.now() + 5)
        limiter.look(lease, io.now())                  while it is not granted
        limiter.give_up(lease, io.now())               without having gone
        limiter.release(lease, io.now(), "success")    after the call

    It reads no clock for this: all instants are seconds of the one monotonic clock of those who ask.

    Args:
        account: What it limits.
        policy: Its rules.
        now: A clock, in seconds, for *is_idle* alone.
    """

    def __init__(self, account: Account, policy: LimiterPolicy, now: Callable[[], float] = time.monotonic) -> None:
        self._account = account
        self._policy = policy
        self._maximum = policy.maximum_for(account.model)
        self._size = Aimd(policy.initial, policy.minimum, self._maximum, policy.backoff)
        self._queue: FairQueue[Lease] = FairQueue(policy.batch_every)
        calls, tokens = (None if limit is None else Gcra(limit) for limit in (policy.rpm, policy.tpm))
        self._gate = AdmissionGate(self._size, self._queue, calls, tokens)
        self._serial = Serial()
        self._now = now
        self._asked = -inf

    def __repr__(self) -> str:
        counts = f"{self.in_flight} of {self.limit} in flight, {self.queued} waiting"
        return f"<Limiter of {self._account.model} at {self._account.base_url}: {counts}>"

    @property
    def account(self) -> Account:
        """What it limits."""
        return self._account

    @property
    def policy(self) -> LimiterPolicy:
        """Its rules."""
        return self._policy

    @property
    def limit(self) -> int:
        """How many calls may be in flight now."""
        return int(self._size.limit)

    @property
    def maximum(self) -> int:
        """How many may ever be."""
        return self._maximum

    @property
    def in_flight(self) -> int:
        """How many are."""
        return self._gate.in_flight

    @property
    def queued(self) -> int:
        """How many wait."""
        return self._queue.size

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight or waits, and was not for so long that a new one would do as well."""
        return not (self.in_flight or self.queued) and self._now() - self._asked > _IDLE_S

    def ask(self, now: float, *, tokens: int = 0, is_batch: bool = False, until: float = inf) -> Lease:
        """
        Ask for a place.

        Args:
            now: The time, in seconds.
            tokens: What the call may use, where the policy has *tpm*.
            is_batch: Realtime calls go first.
            until: The instant at which it stops waiting.

        Returns:
            A lease that waits, or one that is granted already: see *is_granted*.
        """
        serial = self._serial
        lease = Lease(tokens, until, is_batch=is_batch, on_forgotten=self._recover)
        self._asked = self._now()
        with serial.lock:
            self._gate.enter(lease, now)
        if serial.waiting:
            serial.work_off()
        return lease

    def look(self, lease: Lease, now: float) -> tuple[Future[None] | None, float]:
        """
        Let through whoever may go now, for a call that waits.

        Args:
            lease: Its lease.
            now: The time, in seconds.

        Returns:
            What is done as soon as there is news for this call, and after how many seconds to look again all the same.
        """
        # Not `with serial`: a key press that interrupts its Python code could leave it locked for ever.
        with self._serial.lock:
            self._gate.pump(now)
            found = lease.wakeup, self._gate.pause(lease, now)
        self._serial.work_off()
        return found

    def held_by(self, lease: Lease, now: float) -> Obstacle:
        """
        Say what holds back a call that waits.

        Args:
            lease: Its lease.
            now: The time, in seconds.

        Returns:
            "concurrency", "rpm" or "tpm".
        """
        with self._serial.lock:
            found = self._gate.held_by(lease, now)
        self._serial.work_off()
        return found

    def give_up(self, lease: Lease, now: float) -> None:
        """
        Wait no longer; a place that was granted meanwhile goes to the next. From any thread, at any time.

        Args:
            lease: The lease.
            now: The time, in seconds.
        """
        self._serial.soon(partial(self._gate.leave, lease, now))

    def accept(self, lease: Lease, now: float) -> None:
        """
        Note that the server has accepted a call: from any thread, at any time.

        Args:
            lease: Its lease.
            now: The time, in seconds.
        """
        self._serial.soon(partial(self._gate.accept, lease, now))

    def release(
        self, lease: Lease, now: float, outcome: Outcome, tokens: int | None = None, named: int | None = None
    ) -> None:
        """
        Give the place back after the call; only the first time counts. From any thread, at any time.

        Args:
            lease: The lease.
            now: The time, in seconds.
            outcome: How the call ended: "success", "overload" for a 429, else "other".
            tokens: How many it used, or None where nobody knows: then the estimate stands.
            named: The limit that the server named in the 429, or None.
        """
        self._serial.soon(partial(self._gate.settle, lease, outcome, tokens, named, now))

    def _recover(self, lease: Lease) -> None:
        self._serial.soon(partial(self._gate.recover, lease))


class Limiters(Registry[Limiter]):
    """
    All limiters of a client and its children; one object may serve a `Client` and an `AsyncClient`.

        for limiter in client.limiters: ...       those of accounts that were asked
        client.limiters[account].in_flight        one of them

    Args:
        policy: The rules of each, or None: nothing is limited.
        now: See `Limiter`.

    Attributes:
        policy: The rules, or None where nothing is limited.
    """

    def __init__(self, policy: LimiterPolicy | None, now: Callable[[], float] = time.monotonic) -> None:
        self.policy = policy
        super().__init__(partial(_made, policy, now))

    def __repr__(self) -> str:
        if self.policy is None:
            return "Limiters(None)"
        kept = list(self)
        in_flight, queued = sum(one.in_flight for one in kept), sum(one.queued for one in kept)
        return f"<Limiters: {len(kept)} accounts, {in_flight} calls in flight, {queued} waiting>"

    @property
    def is_on(self) -> bool:
        """Whether anything is limited."""
        return self.policy is not None


def _made(policy: LimiterPolicy | None, now: Callable[[], float], account: Account) -> Limiter:
    if policy is None:
        message = f"there is no limiter for {account.model}: limiters are switched off"
        raise KeyError(message)
    return Limiter(account, policy, now)
