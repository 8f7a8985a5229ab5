"""`RouteMemory`: how long routes took lately, and which of them answered a conversation last."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from deepseek_sdk._process import PerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk.routing.auto import RoutingDecision

__all__ = ["FinishedCall", "RouteMemory"]

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")

# Callers may name sessions, and make routes for some calls.
_MOST_SESSIONS, _MOST_ROUTES = 10_000, 1000
# What the newest time weighs against all earlier ones.
_NEWEST = 0.2
# After so long a route is asked again to see how long it takes now.
_REMEMBERED_S = 300.0
# Of failures these alone say how slow a route is.
_TOO_SLOW = frozenset({"first_token_timeout", "stall", "timeout", "total_timeout", "queue_timeout"})


class FinishedCall(Protocol):
    """What is read of the record of a call."""

    @property
    def attempts(self) -> Sequence[Attempt]:
        """Every time that an upstream was asked."""
        ...

    @property
    def session_id(self) -> str | None:
        """The conversation it belongs to."""
        ...

    @property
    def routing(self) -> RoutingDecision | None:
        """How a route was chosen for it."""
        ...


class _Speed(NamedTuple):
    """A moving average of seconds, and when it last moved."""

    seconds: float
    at: float


class RouteMemory:
    """
    Learns from the records of finished calls.

    How long a route takes is the wait for its first token, or where a body was read whole, the whole time; of an
    attempt that ran out of time, as long as was waited for it. It is kept apart by the length of prompts.

    Any number of threads and event loops may share one, and the garbage collector may bring records: these wait until
    somebody asks. Each process has its own lock, and begins with what its parent knew.

    Args:
        now: The clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = PerProcess(threading.Lock)
        self._speeds: OrderedDict[tuple[str, str], _Speed] = OrderedDict()
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._told: deque[tuple[str, str, float, float]] = deque(maxlen=1000)
        self._answered: deque[tuple[str, str]] = deque(maxlen=1000)

    def __call__(self, record: FinishedCall) -> None:
        """Take the record of a call that is over; waits for nothing."""
        if record.routing is not None:
            band, now = record.routing.band, self._now()
            timed = ((attempt.route, _seconds(attempt)) for attempt in record.attempts)
            self._told.extend((route, band, seconds, now) for route, seconds in timed if seconds is not None)
        if record.session_id and record.attempts and record.attempts[-1].outcome == "complete":
            self._answered.append((record.session_id, record.attempts[-1].route))

    def seconds_of(self, route: str, band: str) -> float | None:
        """
        Tell how long a route takes.

        Args:
            route: Its name.
            band: For prompts of which length.

        Returns:
            Seconds, or None where it has not been asked for five minutes.
        """
        with self._lock.get():
            self._work_off()
            speed = self._speeds.get((route, band))
        return None if speed is None or self._now() - speed.at > _REMEMBERED_S else speed.seconds

    def warm(self, session_id: str | None) -> str | None:
        """
        Tell which route answered a conversation last.

        Args:
            session_id: The conversation.

        Returns:
            The route's name, or None where nobody knows.
        """
        if not session_id:
            return None
        with self._lock.get():
            self._work_off()
            return self._sessions.get(session_id)

    def _work_off(self) -> None:
        for _ in range(len(self._told)):
            route, band, seconds, at = self._told.popleft()
            before = self._speeds.get((route, band))
            is_old = before is None or at - before.at > _REMEMBERED_S
            average = seconds if is_old or before is None else before.seconds + _NEWEST * (seconds - before.seconds)
            _keep(self._speeds, (route, band), _Speed(average, at), _MOST_ROUTES)
        for _ in range(len(self._answered)):
            session_id, route = self._answered.popleft()
            _keep(self._sessions, session_id, route, _MOST_SESSIONS)


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _seconds(attempt: Attempt) -> float | None:
    if attempt.ended is None or not (attempt.outcome == "complete" or attempt.reason in _TOO_SLOW):
        return None
    is_seen = attempt.first_token is not None and attempt.outcome == "complete"
    return (attempt.first_token if is_seen else attempt.ended) - attempt.started  # type: ignore[operator]
