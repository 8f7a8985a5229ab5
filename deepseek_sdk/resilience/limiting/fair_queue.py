"""`FairQueue`: who waits, and whose turn it is."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

__all__ = ["FairQueue", "Waiter"]


class Waiter(Protocol):
    """Who waits: *is_batch* says for what, *until* the instant at which it gives up."""

    @property
    def is_batch(self) -> bool:
        """Whether throughput matters to it, and latency does not."""
        ...

    @property
    def until(self) -> float:
        """When it stops waiting, in seconds."""
        ...


W = TypeVar("W", bound=Waiter)


class FairQueue(Generic[W]):
    """
    A queue in two lanes: first come, first served in each; realtime before batch, but not for ever.

    Coming, going and being served take constant time, wherever in the queue that is.

    Args:
        batch_every: While batch calls wait, at least one of so many turns is theirs.

    Attributes:
        size: How many wait.
    """

    __slots__ = ("_batch", "_batch_every", "_realtime", "_turns", "size")

    def __init__(self, batch_every: int) -> None:
        self._batch_every = batch_every
        self._realtime: OrderedDict[W, None] = OrderedDict()
        self._batch: OrderedDict[W, None] = OrderedDict()
        self._turns = 0
        self.size = 0

    def add(self, waiter: W) -> None:
        """
        Let one more wait.

        Args:
            waiter: It.
        """
        self._lane(waiter)[waiter] = None
        self.size += 1

    def leave(self, waiter: W) -> None:
        """
        Let one go, served or not; nothing happens where it is not there.

        Args:
            waiter: It.
        """
        lane = self._lane(waiter)
        if waiter in lane:
            del lane[waiter]
            self.size -= 1

    def head(self, now: float) -> W | None:
        """
        Say whose turn it is; whoever waits no longer is let go.

        Args:
            now: The instant, in seconds.

        Returns:
            The waiter, or None where nobody waits.
        """
        realtime, batch = self._first(self._realtime, now), self._first(self._batch, now)
        if realtime is None or (batch is not None and self._turns >= self._batch_every - 1):
            return batch
        return realtime

    def serve(self, waiter: W) -> None:
        """
        Give one its turn.

        Args:
            waiter: The head.
        """
        self.leave(waiter)
        self._turns = 0 if waiter.is_batch or not self._batch else self._turns + 1

    def _lane(self, waiter: W) -> OrderedDict[W, None]:
        return self._batch if waiter.is_batch else self._realtime

    def _first(self, lane: OrderedDict[W, None], now: float) -> W | None:
        while lane:
            waiter = next(iter(lane))
            if waiter.until > now:
                return waiter
            self.leave(waiter)
        return None
