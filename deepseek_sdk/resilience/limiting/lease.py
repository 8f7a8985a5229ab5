"""`Lease`: the place of one call in a limiter, from the moment it is asked for until it is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

__all__ = ["Lease"]


class Lease:
    """
    It waits in the queue, is granted, and is given back once; one that is forgotten while it is granted goes back too.

    Args:
        tokens: What the call may use, for the rate of tokens.
        until: When it stops waiting, in seconds.
        is_batch: Realtime calls go first.
        on_forgotten: Told when the garbage collector finds it granted.

    Attributes:
        tokens: As given.
        until: As given.
        is_batch: As given.
        is_granted: The call may go, and the lease has not been given back.
        is_counted: That the server accepted the call has been counted.
        wakeup: Done as soon as it has been granted, or should look again; None where it never had to wait.
        round: The round of the limit in which it was granted.
        by_calls: What its call can be refunded by.
        by_tokens: What its tokens can be refunded by.
    """

    __slots__ = (
        "_on_forgotten",
        "by_calls",
        "by_tokens",
        "is_batch",
        "is_counted",
        "is_granted",
        "round",
        "tokens",
        "until",
        "wakeup",
    )

    round: int
    by_calls: int
    by_tokens: int

    def __init__(self, tokens: int, until: float, *, is_batch: bool, on_forgotten: Callable[[Lease], None]) -> None:
        self.is_granted = self.is_counted = False
        self.tokens = tokens
        self.until = until
        self.is_batch = is_batch
        self.wakeup: Future[None] | None = None
        self._on_forgotten = on_forgotten

    def __del__(self) -> None:
        if self.is_granted:
            self._on_forgotten(self)
