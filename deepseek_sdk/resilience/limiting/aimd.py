"""`Aimd`: how many calls may be in flight at a time, learnt from successes and refusals."""

from __future__ import annotations

from math import inf

__all__ = ["Aimd"]

# How long the limit that a server named is taken at its word.
_CEILING_S = 60.0


class Aimd:
    """
    A limit that rises step by step, and falls by a factor: additive increase, multiplicative decrease.

    Until the first refusal it rises by one with each success, so it doubles with each round of calls; after that by one
    with each round. It stands still while less than half of it is used: calls that nobody makes prove nothing.

    Args:
        initial: Where it begins, within the other two.
        minimum: It never falls below, unless a server names a lower limit, or *maximum* is lower.
        maximum: It never rises above.
        backoff: What it is multiplied by when the server refuses.

    Attributes:
        limit: How many; the fraction is on its way to the next one.
        round: How often it fell; what was begun in an earlier round says nothing new.
    """

    __slots__ = ("_backoff", "_ceiling", "_ceiling_until", "_is_learning", "_maximum", "_minimum", "limit", "round")

    def __init__(self, initial: int, minimum: int, maximum: int, backoff: float) -> None:
        self.limit = float(min(max(initial, minimum), maximum))
        self.round = 0
        self._minimum = minimum
        self._maximum = maximum
        self._backoff = backoff
        self._is_learning = True
        self._ceiling = inf
        self._ceiling_until = -inf

    def on_success(self, in_flight: int, now: float) -> None:
        """
        Note that a call came to a good end.

        Args:
            in_flight: How many calls were in flight, this one included.
            now: When, in seconds.
        """
        if in_flight * 2 >= self.limit:
            step = 1.0 if self._is_learning else 1.0 / self.limit
            top = min(self._maximum, self._ceiling) if now < self._ceiling_until else self._maximum
            self.limit = min(self.limit + step, top)

    def on_refusal(self, begun: int, named: int | None, now: float) -> None:
        """
        Note that a server refused a call because there were too many.

        Args:
            begun: The round in which the call was let through.
            named: The limit that the server named, or None.
            now: When, in seconds.
        """
        if begun == self.round:
            self.round += 1
            self._is_learning = False
            # Below the minimum it may be already, where a server named its limit: what is refused never raises it.
            self.limit = min(self.limit, max(self.limit * self._backoff, self._minimum))
        if named is not None:
            # "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining
            # balance": a fact, whatever the minimum says. It holds until it is topped up.
            self._ceiling, self._ceiling_until = float(max(named, 1)), now + _CEILING_S
            self.limit = min(self.limit, self._ceiling)
