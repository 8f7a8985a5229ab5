"""A breaker in a time of its own, for the tests of all its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaking.breaker import Breaker, BreakerPolicy, Permit, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")


class World:
    """A breaker in a time of its own; by chance 0.5, nothing is jittered."""

    def __init__(self, chance: Callable[[], float] = lambda: 0.5, **policy: Any) -> None:
        self.now = 1000.0
        self.breaker = Breaker(ACCOUNT, BreakerPolicy(**policy), chance, lambda: self.now)

    def go(self, **terms: Any) -> Permit:
        """Let a call through that must be let through."""
        answer = self.breaker.admit(self.now, **terms)
        assert isinstance(answer, Permit)
        return answer

    def state(self) -> str:
        """Tell the state of the breaker."""
        return self.breaker.state

    def refused(self) -> Refusal:
        """Ask for a call that must be refused."""
        answer = self.breaker.admit(self.now)
        assert isinstance(answer, Refusal)
        return answer

    def play(self, outcomes: str) -> None:
        """Let calls through, one after another: S success, F failure, N neutral, L left after the first token."""
        for outcome in outcomes:
            permit = self.go()
            if outcome == "L":
                permit.abandon(self.now, has_token=True)
            else:
                getattr(permit, {"S": "succeed", "F": "fail", "N": "neutral"}[outcome])(self.now)

    def trip(self) -> None:
        """Open the circuit."""
        self.play("FFFFF")
