"""The four clocks of a call, as decisions: no clock is read here, every instant is an argument."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Literal

from deepseek_sdk.errors import DeadlineError, FirstTokenTimeout, StallTimeout, TotalTimeout

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["UNSET", "Clock", "Deadlines", "Limits", "Unset", "effective_limits"]

# openai's default timeout has this read limit; a program that kept it did not ask for one.
OPENAI_DEFAULT_READ = 600.0
SILENCE = 120.0
FIRST_TOKEN, FIRST_TOKEN_THINKING, STALL = 8.0, 30.0, 15.0


class Unset(Enum):
    """The type of `UNSET`: a value that was not given, where None would mean "off"."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Literal[Unset.UNSET] = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """
    How long a call may take, in seconds; None switches a clock off, what is not given keeps its default.

        Deadlines(first_token=8)      content, reasoning or a tool call within 8 s of each attempt's start
        Deadlines(stall=15)           after that never silent for 15 s; keep-alives do not count
        Deadlines(connect=5)          TCP and TLS within 5 s
        Deadlines(total=60)           the whole call, retries and all, within 60 s
        Deadlines(stall=None)         a stall is never cut

    *first_token* and *stall* need a stream to look at: where one of them is given, plain calls are read as one.
    """

    connect: float | Unset | None = UNSET
    first_token: float | Unset | None = UNSET
    stall: float | Unset | None = UNSET
    total: float | Unset | None = UNSET

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_seconds(field.name, getattr(self, field.name))

    @property
    def needs_stream(self) -> bool:
        """Whether a clock is set that only a streamed answer can be held to."""
        return isinstance(self.first_token, (int, float)) or isinstance(self.stall, (int, float))

    def over(self, other: Deadlines) -> Deadlines:
        """
        Lay these deadlines over others.

        Args:
            other: Where to take what is not given here.

        Returns:
            Both together.
        """
        pairs = {field.name: (getattr(self, field.name), getattr(other, field.name)) for field in fields(self)}
        return Deadlines(**{name: theirs if ours is UNSET else ours for name, (ours, theirs) in pairs.items()})


def _check_seconds(name: str, value: object) -> None:
    if value is None or value is UNSET:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        message = f"{name} must be a number of seconds or None, not {value!r}"
        raise TypeError(message)
    if not value > 0:
        message = f"{name} must be above 0 seconds (None switches it off), not {value!r}"
        raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What holds for one attempt: seconds, `inf` where there is no limit."""

    first_token: float
    stall: float
    total: float = inf


def effective_limits(
    deadlines: Deadlines, *, read_timeout: float | None, is_direct: bool, is_thinking: bool, can_move_on: bool
) -> Limits:
    """
    Decide what holds for a call.

    Args:
        deadlines: What the client and the call asked for.
        read_timeout: The `read` part of openai's *timeout*, in seconds; None means no limit.
        is_direct: The answer is read whole, so there is no token to wait for.
        is_thinking: The model reasons before it answers.
        can_move_on: Something could take over: only then are the clocks short by default.

    Returns:
        The limits.
    """
    total = _choose(deadlines.total, inf)
    if is_direct:
        # Keep-alives are all there is to see of a generation: as in openai, only the HTTP client's own timeout applies.
        return Limits(first_token=inf, stall=inf, total=total)
    first_token = _or_inf(read_timeout)
    stall = SILENCE if read_timeout == OPENAI_DEFAULT_READ else first_token
    if can_move_on:
        first_token = min(first_token, FIRST_TOKEN_THINKING if is_thinking else FIRST_TOKEN)
        stall = min(stall, STALL)
    return Limits(
        first_token=_choose(deadlines.first_token, first_token), stall=_choose(deadlines.stall, stall), total=total
    )


def _or_inf(seconds: float | None) -> float:
    return inf if seconds is None else seconds


def _choose(given: float | Unset | None, default: float) -> float:
    return default if isinstance(given, Unset) else _or_inf(given)


def is_thinking(body: Mapping[str, Any]) -> bool:
    """
    Say whether a request lets the model think.

    Args:
        body: The request.

    Returns:
        True unless thinking is switched off: the service thinks by default.
    """
    thinking = body.get("thinking")
    return not (isinstance(thinking, dict) and thinking.get("type") == "disabled")


class Clock:
    """
    The clocks of one attempt.

    Attributes:
        at: The instant at which the next of them runs out.
        stall: How long the answer may be silent, in seconds.
        total_at: The instant at which the whole call must be over.
        paused_at: The instant since which the caller, not the server, is waited for, or None.
        away: How long the caller was waited for before that, in seconds.
    """

    __slots__ = ("_is_answering", "_limits", "at", "away", "paused_at", "stall", "total_at")

    def __init__(self, limits: Limits, *, call_started: float, now: float) -> None:
        self._limits = limits
        self.stall = limits.stall
        self.total_at = call_started + limits.total
        self._is_answering = False
        self.paused_at: float | None = None
        self.away = 0.0
        self.at = min(now + limits.first_token, self.total_at)

    @classmethod
    def of_total(cls, limits: Limits, *, call_started: float, now: float) -> Clock:
        """
        Make the clock of a call that waits for no server: only the whole of it can be too long.

        Args:
            limits: What holds for the call.
            call_started: When it began.
            now: The time.

        Returns:
            The clock.
        """
        return cls(Limits(first_token=inf, stall=inf, total=limits.total), call_started=call_started, now=now)

    def progress(self, now: float) -> None:
        """
        Note that something of the answer arrived.

        Args:
            now: When.
        """
        self._is_answering = True
        self.at = min(now + self.stall, self.total_at)

    def resume(self, now: float) -> None:
        """
        Note that the server is waited for again: the time the caller took is not the server's.

        Args:
            now: When.
        """
        if self.paused_at is not None:
            pause = now - self.paused_at
            self.away += pause
            self.at = min(self.at + pause, self.total_at)
            self.paused_at = None

    def lift(self, now: float) -> None:
        """
        Take off the limit of the whole call: somebody else watches it.

        Args:
            now: The instant from which on the others count anew.
        """
        self.total_at = inf
        self.at = now + (self.stall if self._is_answering else self._limits.first_token)

    def expired(self) -> tuple[type[DeadlineError], float]:
        """
        Name the clock that ran out at *at*.

        Returns:
            The error to raise, and the limit in seconds.
        """
        if self.at == self.total_at:
            return TotalTimeout, self._limits.total
        if self._is_answering:
            return StallTimeout, self._limits.stall
        return FirstTokenTimeout, self._limits.first_token
