"""`Breaker`: keeps calls from an account that fails, and lets one at a time find out whether it is well again."""

from __future__ import annotations

import logging
import random
import time
from functools import partial
from math import inf, isinf
from typing import TYPE_CHECKING, TypeVar

from deepseek_sdk.resilience.circuit import BreakerPolicy, BreakerState, Circuit, Reason, Refusal, Ticket
from deepseek_sdk.resilience.registry import Registry
from deepseek_sdk.resilience.serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._record import Record
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.circuit import News, Outcome

__all__ = ["Breaker", "BreakerPolicy", "BreakerState", "Breakers", "Permit", "Refusal"]

T = TypeVar("T")

_log = logging.getLogger("deepseek_sdk")


class Permit(Ticket):
    """
    Lets one call through, and learns what comes of it.

    It is settled once, by `succeed()`, `fail()` or `neutral()`; what is told later is not heard. All of it may be told
    from anywhere, the garbage collector included, and waits for nothing.
    """

    def __init__(self, desk: _Desk, now: float, slow_after: float, record: Record | None) -> None:
        super().__init__(now, slow_after, record)
        self._desk = desk

    def first_token(self, now: float) -> None:
        """
        Tell that the first token has come.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self.has_token = True
        # In time, as nearly always, it changes nothing.
        if self.is_probe or now - self.admitted > self.slow_after:
            self._desk.first_token(self, now)

    def succeed(self, now: float) -> None:
        """
        Tell that the answer is complete.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._desk.settle(self, "success", now)

    def fail(self, now: float) -> None:
        """
        Tell that the call failed in a way that counts against the account.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._desk.settle(self, "failure", now)

    def neutral(self, now: float) -> None:
        """
        Tell that the call is over, and that this says nothing about the account: given up, cancelled, refused.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._desk.settle(self, "neutral", now)


class _Desk:
    """Where a circuit is asked and told, one at a time, and what changes is logged."""

    __slots__ = ("_account", "circuit", "serial")

    def __init__(self, account: Account, circuit: Circuit) -> None:
        self.circuit = circuit
        self.serial = Serial()
        self._account = account

    def first_token(self, permit: Permit, now: float) -> None:
        self.serial.soon(partial(self.circuit.first_token, permit, now))
        self.tell()

    def settle(self, permit: Permit, outcome: Outcome, now: float) -> None:
        if permit.is_settled:
            return
        self.serial.soon(partial(self.circuit.settle, permit, outcome, now))
        # What the garbage collector reports changes no state, and it may be in the middle of a log handler.
        if outcome != "neutral" and self.circuit.news:
            self.tell()

    def tell(self) -> None:
        """Log what has changed; outside of the lock, since a handler may ask for the state."""
        while self.circuit.news:
            try:
                news = self.circuit.news.popleft()
            except IndexError:  # another thread tells it
                return
            _tell(self._account, news)


def _tell(account: Account, news: News) -> None:
    # Never the whole account: what stands for the key helps nobody here.
    if news.reason is None:
        _log.info("%s at %s is asked again", account.model, account.base_url)
        return
    when = "until closed by hand" if isinf(news.seconds) else f"for {news.seconds:.1f} s"
    _log.warning("%s at %s is left alone %s: %s", account.model, account.base_url, when, news.reason)


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

    __slots__ = ("_account", "_desk", "_now")

    def __init__(
        self,
        account: Account,
        policy: BreakerPolicy,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._account = account
        self._desk = _Desk(account, Circuit(policy, chance))
        self._now = now

    def __repr__(self) -> str:
        calls, failures, slow = self._read(self._desk.circuit.counts)
        name = f"{self._account.model} at {self._account.base_url}"
        return f"<Breaker {name}: {self._described()}; {calls} calls, {failures} failed, {slow} slow>"

    @property
    def account(self) -> Account:
        """What it guards."""
        return self._account

    @property
    def state(self) -> BreakerState:
        """Whether calls go through; while the server asks to be left alone, it is open."""
        return self._read(self._desk.circuit.state_at)

    @property
    def reason(self) -> Reason | None:
        """Why it is not closed, or None."""
        return self._read(self._desk.circuit.reason_at)

    @property
    def retry_in(self) -> float | None:
        """In how many seconds a call may go through; `inf`: only a hand can close it; None: it is closed."""
        return self._read(self._retry_in)

    @property
    def calls(self) -> int:
        """How many calls of the window count; those that were given up, cancelled or refused do not."""
        return self._read(self._desk.circuit.counts)[0]

    @property
    def failures(self) -> int:
        """How many of them failed."""
        return self._read(self._desk.circuit.counts)[1]

    @property
    def slow(self) -> int:
        """How many of them had no first token in time."""
        return self._read(self._desk.circuit.counts)[2]

    @property
    def in_flight(self) -> int:
        """How many calls were let through and have not ended."""
        return self._desk.circuit.in_flight

    @property
    def is_idle(self) -> bool:
        """Whether a new one would be no different, or nobody has come to probe for as long as the window."""
        return self._read(self._desk.circuit.is_idle)

    def admit(
        self, now: float, *, slow_after: float = inf, lease: float = 60.0, record: Record | None = None
    ) -> Permit | Refusal:
        """
        Ask whether a call may go.

        Args:
            now: The time, in seconds of the monotonic clock.
            slow_after: How long its first token may take, in seconds.
            lease: How long everybody else waits for it if it is the probe, in seconds.
            record: Its record: seconds count from the attempt that begins next, not from here.

        Returns:
            A permit, which must be settled, or a refusal.
        """
        desk = self._desk
        circuit, serial = desk.circuit, desk.serial
        permit = Permit(desk, now, slow_after, record)
        with serial.lock:
            refusal = circuit.admit(permit, now, lease)
        if serial.waiting:
            serial.work_off()
        if circuit.news:
            desk.tell()
        return permit if refusal is None else refusal

    def open(self, seconds: float | None = None) -> None:
        """
        Let nothing through.

        Args:
            seconds: For how long, then one call may see; None: until `close()`.
        """
        self._do(lambda now: self._desk.circuit.open_by_hand(inf if seconds is None else seconds, now))

    def close(self) -> None:
        """Let everything through."""
        self._do(self._desk.circuit.close_by_hand)

    def reset(self) -> None:
        """Forget everything; how the calls that are in flight end will not matter."""
        self._do(lambda _: self._desk.circuit.reset())

    def leave_alone(self, seconds: float) -> None:
        """
        Let nothing through, as the server asked; then all is as it was before, without a probe.

        Args:
            seconds: For how long; two minutes at most.
        """
        self._do(lambda now: self._desk.circuit.pause(seconds, now))

    def _read(self, what: Callable[[float], T]) -> T:
        now = self._now()
        with self._desk.serial:
            self._desk.circuit.look(now)
            found = what(now)
        self._desk.tell()
        return found

    def _do(self, what: Callable[[float], None]) -> None:
        self._read(what)

    def _retry_in(self, now: float) -> float | None:
        if self._desk.circuit.state_at(now) == "closed":
            return None
        return max(self._desk.circuit.retry_at() - now, 0.0)

    def _described(self) -> str:
        state, reason, retry_in = self.state.replace("_", " "), self.reason, self.retry_in
        if retry_in is None:
            return state
        when = "until closed by hand" if isinf(retry_in) else f"for {retry_in:.1f} s"
        return f"{state} {when}, {reason}"


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
