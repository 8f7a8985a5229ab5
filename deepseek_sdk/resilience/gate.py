"""`Gate`: who may go now: concurrency, rates and line in one rule. No lock, no clock; whoever calls it takes turns."""

from __future__ import annotations

from concurrent.futures import Future
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deepseek_sdk.resilience.aimd import Aimd
    from deepseek_sdk.resilience.gcra import Gcra
    from deepseek_sdk.resilience.queue import Line

__all__ = ["Gate", "Outcome", "Place"]

Outcome = Literal["success", "overload", "other"]

# A granted place may be announced while the garbage collector interrupts the one who is about to listen, so waiters
# look again by themselves. The shortest wait is for clocks whose instants are coarse.
_LONGEST_S, _SHORTEST_S = 1.0, 0.001


class Place:
    """
    A place in the line, and then, until it is released, one of those in flight.

    Attributes:
        tokens: What the call may use, for the rate of tokens.
        is_batch: Realtime calls go first.
        until: When it stops waiting, in seconds.
        is_granted: It may go, and has not been released.
        round: The round of the limit in which it was granted.
        by_calls: What its call can be refunded by.
        by_tokens: What its tokens can be refunded by.
        news: Done as soon as it has been granted, or should look again; None where it never had to wait.
    """

    __slots__ = ("by_calls", "by_tokens", "is_batch", "is_granted", "news", "round", "tokens", "until")

    round: int
    by_calls: int
    by_tokens: int

    def __init__(self, tokens: int = 0, until: float = inf, *, is_batch: bool = False) -> None:
        self.tokens = tokens
        self.is_batch = is_batch
        self.until = until
        self.is_granted = False
        self.news: Future[None] | None = None


class Gate:
    """
    Lets calls through one by one; instants are seconds.

    Args:
        size: How many may be in flight.
        line: Who waits.
        calls: How many may be begun in a period, or None.
        tokens: How many tokens they may use in a period, or None.

    Attributes:
        in_flight: How many are.
    """

    __slots__ = ("_calls", "_is_metered", "_leader", "_line", "_size", "_tokens", "in_flight")

    def __init__(self, size: Aimd, line: Line[Place], calls: Gcra | None, tokens: Gcra | None) -> None:
        self.in_flight = 0
        self._size = size
        self._line = line
        self._calls = calls
        self._tokens = tokens
        self._is_metered = calls is not None or tokens is not None
        self._leader: Place | None = None

    def enter(self, place: Place, now: float) -> None:
        """
        Let one through, or let it wait behind all others of its kind.

        Args:
            place: It.
            now: When.
        """
        if not self._line.size and self._admits(place, now):
            self._grant(place, now)
        else:
            place.news = Future()
            self._line.add(place)
            self.pump(now)

    def pump(self, now: float) -> None:
        """
        Let all through that may go now.

        Args:
            now: When.
        """
        while (head := self._line.head(now)) is not None and self._admits(head, now):
            self._line.serve(head)
            self._grant(head, now)
        self._lead(head)

    def pause(self, place: Place, now: float) -> float:
        """
        Say when one that waits should look again: nobody calls it when only time is missing.

        Args:
            place: It.
            now: When it looks.

        Returns:
            Seconds.
        """
        if place is not self._leader:
            return _LONGEST_S
        return min(max(self._rate_wait(place, now) / 1e9, _SHORTEST_S), _LONGEST_S)

    def leave(self, place: Place, now: float) -> None:
        """
        Take back one that has not been used, waiting or granted, with all that it took.

        Args:
            place: It.
            now: When.
        """
        self._line.leave(place)
        if place.is_granted:
            place.is_granted = False
            self.in_flight -= 1
            self._refund(place)
        self.pump(now)

    def settle(self, place: Place, outcome: Outcome, tokens: int | None, named: int | None, now: float) -> None:
        """
        Take one back after its call; nothing happens where that has been done.

        Args:
            place: It.
            outcome: How the call ended.
            tokens: How many it used, or None where nobody knows.
            named: The limit that the server named when it refused, or None.
            now: When.
        """
        if not place.is_granted:
            return
        place.is_granted = False
        self.in_flight -= 1
        if outcome == "success":
            self._size.succeed(self.in_flight + 1, now)
        elif outcome == "overload":
            self._size.refuse(place.round, named, now)
        if self._tokens is not None and tokens is not None:
            self._charge(self._tokens, place, tokens, now)
        if self._line.size:
            self.pump(now)

    def _admits(self, place: Place, now: float) -> bool:
        # The one rule. Nothing is taken until all of it holds.
        return self.in_flight + 1 <= self._size.limit and not (self._is_metered and self._rate_wait(place, now))

    def _rate_wait(self, place: Place, now: float) -> int:
        """Tell how long the rates forbid it, in nanoseconds."""
        instant = round(now * 1e9)
        calls = 0 if self._calls is None else self._calls.wait(instant)
        return calls if self._tokens is None else max(calls, self._tokens.wait(instant, place.tokens))

    def _grant(self, place: Place, now: float) -> None:
        self.in_flight += 1
        place.is_granted = True
        place.round = self._size.round
        if self._is_metered:
            instant = round(now * 1e9)
            place.by_calls = 0 if self._calls is None else self._calls.take(instant)
            place.by_tokens = 0 if self._tokens is None else self._tokens.take(instant, place.tokens)
        if place.news is not None:
            place.news.set_result(None)

    def _refund(self, place: Place) -> None:
        if self._calls is not None:
            self._calls.refund(place.by_calls, 1)
        if self._tokens is not None:
            self._tokens.refund(place.by_tokens, place.tokens)

    def _charge(self, meter: Gcra, place: Place, used: int, now: float) -> None:
        if used < place.tokens:
            meter.refund(place.by_tokens, place.tokens - used)
        elif used > place.tokens:
            meter.take(round(now * 1e9), used - place.tokens)

    def _lead(self, head: Place | None) -> None:
        """Have the head of the line watch the clock, and nobody else, where only a rate holds it back."""
        leader = head if self._is_metered and self.in_flight + 1 <= self._size.limit else None
        if leader is not None and leader is not self._leader and leader.news is not None:
            news, leader.news = leader.news, Future()
            news.set_result(None)
        self._leader = leader
