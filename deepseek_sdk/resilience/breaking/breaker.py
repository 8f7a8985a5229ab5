"""`Breaker`: keeps calls from an account that fails, and lets one at a time find out whether it is well again."""

from __future__ import annotations

import logging
import random
import time
from functools import partial
from math import inf, isinf
from typing import TYPE_CHECKING, TypeVar

from deepseek_sdk.resilience.breaking.circuit import Circuit
from deepseek_sdk.resilience.breaking.permit import Permit
from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
from deepseek_sdk.resilience.breaking.states import BreakerSnapshot, BreakerState, Reason, Refusal
from deepseek_sdk.resilience.checks import check_seconds
from deepseek_sdk.resilience.registry import Registry
from deepseek_sdk.resilience.serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.states import Outcome, StateChange

__all__ = ["Breaker", "BreakerPolicy", "BreakerSnapshot", "BreakerState", "Breakers", "Permit", "Refusal"]

T = TypeVar("T")

_log = logging.getLogger("deepseek_sdk")


class _Guarded:
    """A circuit that any thread may ask and tell, one at a time; what changes is logged."""

    __slots__ = ("_account", "circuit", "serial")

    def __init__(self, account: Account, circuit: Circuit) -> None:
        self.circuit = circuit
        self.serial = Serial()
        self._account = account

    def first_token(self, permit: Permit, now: float) -> None:
        self.serial.soon(partial(self.circuit.first_token, permit, now))
        self.tell()

    def settle(self, permit: Permit, outcome: Outcome, now: float, *, is_quiet: bool) -> None:
        if permit.is_settled:
            return
        self.serial.soon(partial(self.circuit.settle, permit, outcome, now))
        if self.circuit.changes and not is_quiet:
            self.tell()

    def tell(self) -> None:
        """Log what has changed; outside of the lock, since a handler may ask for the state."""
        while self.circuit.changes:
            try:
                change = self.circuit.changes.popleft()
            except IndexError:  # another thread tells it
                return
            _tell(self._account, change)


def _tell(account: Account, change: StateChange) -> None:
    # Never the whole account: what stands for the key helps nobody here.
    if change.reason is None:
        _log.info("%s at %s is asked again", account.model, account.base_url)
        return
    when = "until closed by hand" if isinf(change.seconds) else f"for {change.seconds:.1f} s"
    _log.warning("%s at %s is left alone %s: %s", account.model, account.base_url, when, change.reason)


class Breaker:
    """
    The circuit breaker of one account; any number of threads and event loops may share it.

        breaker.state       "closed": all is well; "open": nothing goes through; "half_open": one call, to see
        breaker.open()      by hand, until close(); open(30): for half a minute, then one call may see
        breaker.reset()     as new

    Nothing is locked while a call runs.

    Args:
        account: What it guards.
        policy: Its rules.
        chance: Gives a number from 0 to 1 for each opening, so that many clients do not come back at the same instant.
        now: The clock of what is not told the time: properties, and what is done by hand.
    """

    __slots__ = ("_account", "_guarded", "_now")

    def __init__(
        self,
        account: Account,
        policy: BreakerPolicy,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._account = account
        self._guarded = _Guarded(account, Circuit(policy, chance))
        self._now = now

    def __repr__(self) -> str:
        seen = self.snapshot()
        counts = f"{seen.calls} calls, {seen.failures} failed, {seen.slow} slow"
        return f"<Breaker {self._account.model} at {self._account.base_url}: {_described(seen)}; {counts}>"

    @property
    def account(self) -> Account:
        """What it guards."""
        return self._account

    @property
    def state(self) -> BreakerState:
        """Whether calls go through; while the server asks to be left alone, it is open."""
        return self.snapshot().state

    @property
    def reason(self) -> Reason | None:
        """Why it is not closed, or None."""
        return self.snapshot().reason

    @property
    def retry_in(self) -> float | None:
        """After how many seconds it makes sense to ask; `inf`: only a hand can close it; None: it is closed."""
        return self.snapshot().retry_in

    @property
    def calls(self) -> int:
        """How many calls of the window count; those that say nothing about the server do not."""
        return self.snapshot().calls

    @property
    def failures(self) -> int:
        """How many of them failed."""
        return self.snapshot().failures

    @property
    def slow(self) -> int:
        """How many of them had no first token in time."""
        return self.snapshot().slow

    @property
    def in_flight(self) -> int:
        """How many calls were let through and have not ended."""
        return self.snapshot().in_flight

    @property
    def is_idle(self) -> bool:
        """Whether a new one would be no different, or nobody has come to probe for as long as the window."""
        return self._do(self._guarded.circuit.is_idle)

    def snapshot(self) -> BreakerSnapshot:
        """
        Look at everything at once.

        Returns:
            What there is to know; its parts are of the same instant.
        """
        return self._do(self._guarded.circuit.snapshot)

    def admit(
        self,
        now: float,
        *,
        slow_after: float = inf,
        lease: float = 60.0,
        begun: Callable[[], float | None] | None = None,
    ) -> Permit | Refusal:
        """
        Ask whether a call may go.

        Args:
            now: The time, in seconds of the monotonic clock.
            slow_after: How long its first token may take, in seconds.
            lease: How long it may be the only one, if it is the probe, in seconds.
            begun: Says when it was sent, in seconds of the monotonic clock, or None while it was not; *slow_after*
                counts from there, or from *now* without it. Asked under a lock: it must wait for nothing.

        Returns:
            A permit, which must be settled, or a refusal.
        """
        guarded = self._guarded
        circuit, serial = guarded.circuit, guarded.serial
        permit = Permit(guarded, now, slow_after, begun)
        with serial.lock:
            refusal = circuit.admit(permit, now, lease)
        if serial.waiting:
            serial.work_off()
        if circuit.changes:
            guarded.tell()
        return permit if refusal is None else refusal

    def open(self, seconds: float | None = None) -> None:
        """
        Let nothing through.

        Args:
            seconds: For how long, then one call may see; None: until `close()`.

        Raises:
            ConfigurationError: That is no number of seconds.
        """
        if seconds is not None and seconds != inf:
            check_seconds("seconds", seconds)
        self._do(partial(self._guarded.circuit.open_by_hand, inf if seconds is None else seconds))

    def close(self) -> None:
        """Let everything through."""
        self._do(self._guarded.circuit.close_by_hand)

    def reset(self) -> None:
        """Forget everything; how the calls that are in flight end will not matter."""
        self._do(lambda _: self._guarded.circuit.reset())

    def cool_down(self, seconds: float, now: float | None = None) -> None:
        """
        Let nothing through, as the server asked; then all is as it was before, without a probe.

        Args:
            seconds: For how long; two minutes at most, and nothing happens for what is not above 0.
            now: The time, in seconds of the clock that calls are admitted by; None: that of the breaker.
        """
        self._do(partial(self._guarded.circuit.cool_down, seconds), now)

    def _do(self, what: Callable[[float], T], now: float | None = None) -> T:
        now = self._now() if now is None else now
        circuit, serial = self._guarded.circuit, self._guarded.serial
        # The lock itself: its way in cannot be interrupted half-way, as by Ctrl-C, and then be taken for ever.
        with serial.lock:
            circuit.look(now)
            found = what(now)
        if serial.waiting:
            serial.work_off()
        self._guarded.tell()
        return found


def _described(seen: BreakerSnapshot) -> str:
    state = seen.state.replace("_", " ")
    if seen.retry_in is None:
        return state
    when = "until closed by hand" if isinf(seen.retry_in) else f"for {seen.retry_in:.1f} s"
    return f"{state} {when}, {seen.reason}"


class Breakers(Registry[Breaker]):
    """
    All circuit breakers of a client and its children; one object may serve a `Client` and an `AsyncClient`.

        for breaker in client.breakers: ...     those of accounts that were asked
        client.breakers[account].open()         by hand

    Args:
        policy: The rules of each, or None: there are no breakers.
        chance: See `Breaker`.
        now: See `Breaker`.

    Attributes:
        policy: The rules, or None where there are no breakers.
    """

    def __init__(
        self,
        policy: BreakerPolicy | None,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy
        super().__init__(partial(_made, policy, chance, now))

    def __repr__(self) -> str:
        if self.policy is None:
            return "Breakers(None)"
        kept = list(self)
        return f"<Breakers: {len(kept)} accounts, {sum(breaker.state != 'closed' for breaker in kept)} left alone>"

    @property
    def is_on(self) -> bool:
        """Whether there are any."""
        return self.policy is not None

    def reset(self) -> None:
        """Make each as new."""
        for breaker in self:
            breaker.reset()


def _made(
    policy: BreakerPolicy | None, chance: Callable[[], float], now: Callable[[], float], account: Account
) -> Breaker:
    if policy is None:
        message = f"there is no breaker for {account.model}: breakers are switched off"
        raise KeyError(message)
    return Breaker(account, policy, chance, now)
