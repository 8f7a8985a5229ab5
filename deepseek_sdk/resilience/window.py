"""`Window`: what happened lately, counted in a ring of buckets."""

from __future__ import annotations

from math import floor

__all__ = ["Window"]


class Window:
    """
    Named counts of the last while, each kept as a running sum.

        window = Window("calls", "failures")    of the last 60 s, in buckets of 6 s
        window.add("calls", now)
        window.sums(now)["calls"]               1

    A bucket is forgotten as a whole, so the window is up to one bucket shorter than it says. Instants may come slightly
    out of order: what is older than the window is not counted, and a sum is never of a time before the newest instant.

    Args:
        *names: What is counted.
        seconds: How long it is remembered.
        buckets: In how many steps it is forgotten.
    """

    __slots__ = ("_buckets", "_count", "_length", "_newest", "_sums")

    def __init__(self, *names: str, seconds: float = 60.0, buckets: int = 10) -> None:
        self._count = buckets
        self._length = seconds / buckets
        self._buckets = [dict.fromkeys(names, 0) for _ in range(buckets)]
        self._sums = dict.fromkeys(names, 0)
        self._newest = 0

    def add(self, name: str, at: float, amount: int = 1) -> None:
        """
        Count something.

        Args:
            name: What.
            at: When it happened, in seconds of the monotonic clock.
            amount: How often; below 0 takes back what was counted at that instant.
        """
        # Buckets begin at multiples of their length, so which one an instant belongs to needs no search.
        number = floor(at / self._length)
        if number > self._newest:
            self._turn_to(number)
        elif number <= self._newest - self._count:
            return
        self._buckets[number % self._count][name] += amount
        self._sums[name] += amount

    def sums(self, now: float) -> dict[str, int]:
        """
        Give all counts.

        Args:
            now: The time, in seconds of the monotonic clock.

        Returns:
            The count of each name; not to be changed, and out of date with the next call.
        """
        number = floor(now / self._length)
        if number > self._newest:
            self._turn_to(number)
        return self._sums

    def clear(self) -> None:
        """Forget everything."""
        for bucket in (*self._buckets, self._sums):
            bucket.update(dict.fromkeys(bucket, 0))

    def _turn_to(self, number: int) -> None:
        """Empty the buckets whose turn has come again; after a long pause that is each of them, once."""
        for turn in range(max(self._newest, number - self._count) + 1, number + 1):
            bucket = self._buckets[turn % self._count]
            for name, amount in bucket.items():
                self._sums[name] -= amount
                bucket[name] = 0
        self._newest = number
