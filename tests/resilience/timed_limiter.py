"""A limiter with the time set by hand, for the tests of limiters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.limiting.limiter import Limiter
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy

if TYPE_CHECKING:
    from concurrent.futures import Future

    from deepseek_sdk.resilience.limiting.gate import Obstacle, Outcome
    from deepseek_sdk.resilience.limiting.lease import Lease

FLASH = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")
PRO = FLASH._replace(model="deepseek-v4-pro")


class TimedLimiter:
    """
    A limiter that is told the time by its test.

    Attributes:
        limiter: It.
        now: The time, in seconds.
    """

    def __init__(self, **policy: Any) -> None:
        self.now = 1000.0
        self.limiter = Limiter(FLASH, LimiterPolicy(**policy), now=lambda: self.now)

    @property
    def limit(self) -> int:
        """How many calls may be in flight."""
        return self.limiter.limit

    @property
    def counts(self) -> tuple[int, int]:
        """How many are in flight, and how many wait."""
        return self.limiter.in_flight, self.limiter.queued

    def ask(self, **asked: Any) -> Lease:
        """Ask for a place, now."""
        return self.limiter.ask(self.now, **asked)

    def look(self, lease: Lease) -> tuple[Future[None] | None, float]:
        """Look, now."""
        return self.limiter.look(lease, self.now)

    def held_by(self, lease: Lease) -> Obstacle:
        """Ask what holds a call back, now."""
        return self.limiter.held_by(lease, self.now)

    def give_up(self, lease: Lease) -> None:
        """Give up, now."""
        self.limiter.give_up(lease, self.now)

    def release(self, lease: Lease, outcome: Outcome, tokens: int | None = None, named: int | None = None) -> None:
        """Give a place back, now."""
        self.limiter.release(lease, self.now, outcome, tokens, named)


def fixed(size: int, **policy: Any) -> TimedLimiter:
    """Make a limiter whose limit does not rise."""
    return TimedLimiter(initial=size, maximum=size, **policy)
