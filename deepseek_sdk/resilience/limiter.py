"""`Limiter`: how many calls of an account may be in flight, and begun in a minute; the rest wait in line."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.aimd import Aimd
from deepseek_sdk.resilience.gate import Gate, Place
from deepseek_sdk.resilience.gcra import Gcra
from deepseek_sdk.resilience.queue import Line
from deepseek_sdk.resilience.registry import Registry
from deepseek_sdk.resilience.serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.gate import Outcome

__all__ = ["Limiter", "LimiterPolicy", "Limiters", "Ticket"]

# "deepseek-v4-flash 2500, deepseek-v4-pro 500" concurrent requests of an account (API docs, rate limit).
_MAXIMUM, _MAXIMUM_PRO = 2500, 500
# After so long without a call rates have recovered and what was learnt is old: a new limiter does as well.
_IDLE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterPolicy:
    """
    How many calls may be in flight with an account, and how long others wait for a place.

        LimiterPolicy()                          64 at first; more while it goes well, fewer after a 429
        LimiterPolicy(initial=8, maximum=8)      never more than 8
        LimiterPolicy(maximum=4000)              an account with a raised quota
        LimiterPolicy(minimum=8)                 8 may always try, whatever is refused
        LimiterPolicy(backoff=0.5)               a 429 halves the limit
        LimiterPolicy(rpm=60)                    60 calls at once after a quiet minute, then one a second
        LimiterPolicy(tpm=100_000)               tokens in the same way: estimated before, settled after a call
        LimiterPolicy(max_wait=5)                no call waits longer than 5 s; None: as long as its deadline
        LimiterPolicy(batch_every=2)             every other place is for batch calls, while any wait

    Args:
        initial: How many at first.
        minimum: Not fewer than that, whatever is refused, unless the server names a lower limit.
        maximum: Not more than that. Not given: 500 for models with "pro" in their name, else 2500, as DeepSeek allows.
        backoff: What the limit is multiplied by after a 429.
        rpm: How many calls may be sent in a minute, or None.
        tpm: How many tokens, of prompts and answers, may be used in a minute, or None.
        max_wait: How long a call may wait for its place, in seconds, or None.
        batch_every: While batch calls wait, at least one of so many places is theirs.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    initial: int = 64
    minimum: int = 1
    maximum: int | Unset = UNSET
    backoff: float = 0.8
    rpm: int | None = None
    tpm: int | None = None
    max_wait: float | None = 60.0
    batch_every: int = 8

    def __post_init__(self) -> None:
        for name in ("initial", "minimum", "maximum", "rpm", "tpm", "batch_every"):
            _check_count(name, getattr(self, name), nothing=_NOTHING.get(name, ...))
        if not isinstance(self.maximum, Unset) and self.maximum < self.minimum:
            message = f"maximum must be at least minimum, {self.minimum}, not {self.maximum}"
            raise ConfigurationError(message)
        if not (_is_number(self.backoff) and 0 < self.backoff < 1):
            message = f"backoff must be a number above 0 and below 1, not {self.backoff!r}"
            raise ConfigurationError(message)
        if not (self.max_wait is None or (_is_number(self.max_wait) and self.max_wait >= 0)):
            message = f"max_wait must be a number of seconds, at least 0, or None, not {self.max_wait!r}"
            raise ConfigurationError(message)

    def maximum_for(self, model: str) -> int:
        """
        Tell the maximum for a model.

        Args:
            model: Its name.

        Returns:
            The *maximum* that was given, else DeepSeek's.
        """
        if not isinstance(self.maximum, Unset):
            return self.maximum
        return _MAXIMUM_PRO if "pro" in model.lower() else _MAXIMUM


_NOTHING = {"maximum": UNSET, "rpm": None, "tpm": None}


def _check_count(name: str, value: object, *, nothing: object) -> None:
    if value is not nothing and not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        message = f"{name} must be a whole number, at least 1, not {value!r}"
        raise ConfigurationError(message)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _Guarded(NamedTuple):
    """A gate, what keeps its callers apart, and the clock."""

    gate: Gate
    serial: Serial
    now: Callable[[], float]


class Ticket(Place):
    """
    A place in a limiter, from the moment it is asked for until it is released or given up.

    It is a lease: one that is forgotten while it is granted goes back by itself.
    """

    __slots__ = ("_guarded",)

    def __init__(self, guarded: _Guarded, tokens: int, until: float, *, is_batch: bool) -> None:  # all fields: speed
        self._guarded = guarded
        self.tokens = tokens
        self.until = until
        self.is_batch = is_batch
        self.is_granted = False
        self.news = None

    def __del__(self) -> None:
        if self.is_granted:
            self.release("other")

    def look(self) -> tuple[Future[None] | None, float]:
        """
        Let through whoever may go now, for a call that waits.

        Returns:
            What is done as soon as there is news for this call, and after how many seconds to look again all the same.
        """
        gate, serial, now = self._guarded
        with serial:
            instant = now()
            gate.pump(instant)
            return self.news, gate.pause(self, instant)

    def give_up(self) -> None:
        """Wait no longer; a place that was granted meanwhile goes to the next. From any thread, at any time."""
        gate, serial, now = self._guarded
        serial.soon(partial(gate.leave, self, now()))

    def release(self, outcome: Outcome, tokens: int | None = None, named: int | None = None) -> None:
        """
        Give the place back after the call; only the first time counts. From any thread, at any time.

        Args:
            outcome: How it ended: "success", "overload" for a 429, else "other".
            tokens: How many it used, or None where nobody knows: then the estimate stands.
            named: The limit that the server named in the 429, or None.
        """
        gate, serial, now = self._guarded
        serial.soon(partial(gate.settle, self, outcome, tokens, named, now()))


class Limiter:
    """
    The limiter of one account, for any number of threads and event loops.

    Args:
        account: What it limits.
        policy: Its rules.
        now: The monotonic clock, in seconds.
    """

    def __init__(self, account: Account, policy: LimiterPolicy, now: Callable[[], float] = time.monotonic) -> None:
        self._account = account
        self._policy = policy
        self._maximum = policy.maximum_for(account.model)
        self._size = Aimd(policy.initial, policy.minimum, self._maximum, policy.backoff)
        self._line: Line[Place] = Line(policy.batch_every)
        calls, tokens = (None if limit is None else Gcra(limit) for limit in (policy.rpm, policy.tpm))
        self._gate = Gate(self._size, self._line, calls, tokens)
        self._guarded = _Guarded(self._gate, Serial(), now)
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
        return self._line.size

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight or waits, and was not for so long that a new one would do as well."""
        return not (self.in_flight or self.queued) and self._guarded.now() - self._asked > _IDLE_S

    def ask(self, *, tokens: int = 0, is_batch: bool = False, until: float = inf) -> Ticket:
        """
        Ask for a place.

        Args:
            tokens: What the call may use, where the policy has *tpm*.
            is_batch: Realtime calls go first.
            until: The instant at which it stops waiting.

        Returns:
            A place in the line, or one that is granted already: see *is_granted*.
        """
        gate, serial, now = self._guarded
        ticket = Ticket(self._guarded, tokens, until, is_batch=is_batch)
        with serial.lock:
            self._asked = instant = now()
            gate.enter(ticket, instant)
        if serial.waiting:
            serial.work_off()
        return ticket

    def pump(self) -> None:
        """Let all through that may go now: only needed where time has passed and nothing else has happened."""
        gate, serial, now = self._guarded
        with serial:
            gate.pump(now())


class Limiters(Registry[Limiter]):
    """
    All limiters of a client and its children; one object may serve a `Client` and an `AsyncClient`.

        for limiter in client.limiters: ...       those of accounts that were asked
        client.limiters[account].in_flight        one of them

    Args:
        policy: The rules of each, or None: nothing is limited.
        now: The monotonic clock, in seconds.

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
