"""`Gcra`: so much per minute, to the nanosecond and the unit; no clock is read here, every instant is an argument."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["Gcra"]

_NS = 1_000_000_000


class Gcra:
    """
    The generic cell rate algorithm with costs and refunds, in integers.

        Gcra(60)                  60 at once after a quiet minute, then one a second
        Gcra(60, burst=1)         one a second, never two
        Gcra(100, period_s=1)     100 a second

    What is taken is a debt, which time pays off at the rate of the limit. In no window of the period more is taken than
    *limit* and *burst* together, or than *limit* and the highest cost where that is above *burst*.

    Args:
        limit: How much is paid off in a period.
        period_s: The period, in seconds.
        burst: How high the debt may be; None means *limit*.
        memory: How many takes of one debt are told apart; of older ones less is given back than might be. At least 3.

    Attributes:
        limit: As given.
    """

    __slots__ = ("_above", "_burst", "_due", "_memory", "_newest", "_serial", "_takes", "_unit", "limit")

    def __init__(self, limit: int, period_s: float = 60, burst: int | None = None, *, memory: int = 1024) -> None:
        # Instants are counted in nanoseconds times the limit: in that measure a unit is paid off in a whole number.
        self.limit = limit
        self._unit = round(period_s * _NS)
        self._burst = limit if burst is None else burst
        self._memory = memory
        self._due = 0
        self._serial = 0
        # Had it all begun with a given take, the debt would be paid off at an instant that depends on the take; the
        # latest of these instants is the true one. Here are the takes whose instants are later than those of all takes
        # after them, and by how much each is earlier than that of the one before: all that a refund can change.
        self._takes: list[int] = []
        self._above: list[int] = []
        self._newest = 0

    def wait(self, now: int, cost: int = 1) -> int:
        """
        Tell how long to wait before taking.

        Args:
            now: The instant, in nanoseconds.
            cost: How much; more than *burst* is let through when there is no debt at all, and paid off after that.

        Returns:
            Nanoseconds, 0 where it may be taken now.
        """
        room = (self._burst - min(cost, self._burst)) * self._unit
        return max(-((now * self.limit + room - self._due) // self.limit), 0)

    def take(self, now: int, cost: int = 1) -> int:
        """
        Take, whether there was a wait or not: what has been used already is charged in the same way.

        Args:
            now: The instant, in nanoseconds.
            cost: How much.

        Returns:
            A number to refund it by.
        """
        now *= self.limit
        self._forget(now)
        self._above.append(self._newest - now if self._takes else 0)
        self._serial += 1
        self._takes.append(self._serial)
        self._newest = now + cost * self._unit
        self._due = max(self._due, now) + cost * self._unit
        return self._serial

    def refund(self, serial: int, cost: int) -> None:
        """
        Undo all or part of a take, as if it had never been.

        What time has paid off since is gone: the room that it would have left could not have been saved up either.

        Args:
            serial: The number of the take.
            cost: How much of it, at most all of it.
        """
        amount = cost * self._unit
        first_later = bisect_right(self._takes, serial)
        if first_later == len(self._takes):
            self._due -= amount
            self._newest -= amount
        elif first_later:
            self._lower(first_later, amount)

    def _forget(self, now: int) -> None:
        """Drop the takes that no longer matter once something is taken now."""
        while self._takes and self._newest <= now:
            self._takes.pop()
            self._newest += self._above.pop()
        if len(self._takes) >= self._memory:
            # The second takes the place of the first: a refund of the first will find nothing.
            del self._takes[0]
            self._above[2] += self._above[1]
            del self._above[1]

    def _lower(self, later: int, amount: int) -> None:
        """Let the instants of all takes before one come earlier, down to the instant of that one."""
        rest = self._above[later] - amount
        while rest <= 0 and later > 0:
            later -= 1
            rest += self._above[later]
            del self._takes[later], self._above[later]
        self._above[later] = rest if later else 0
        self._due -= amount + (0 if later else rest)
