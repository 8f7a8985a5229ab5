"""`Permit`: lets one call through, and learns what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.resilience.breaking.states import Outcome

__all__ = ["Issuer", "Permit", "Wait"]


class Wait(Protocol):
    """What tells how long a server was not waited for, because the caller was busy; `_clock.Clock` does."""

    @property
    def paused_at(self) -> float | None:
        """The instant since which the caller is waited for, or None."""
        ...

    @property
    def away(self) -> float:
        """How long the caller was waited for before, in seconds."""
        ...


class Issuer(Protocol):
    """What gives permits, and is told what comes of them."""

    def first_token(self, permit: Permit, now: float) -> None:
        """Take note of a first token that matters."""
        ...

    def settle(self, permit: Permit, outcome: Outcome, now: float, *, is_quiet: bool) -> None:
        """Take note of the end; *is_quiet*: log nothing."""
        ...


class Permit:
    """
    Lets one call through, and learns what comes of it.

    It is settled once, by `succeed()`, `fail()`, `abandon()` or `neutral()`; what is told later is not heard. All of it
    may be told from anywhere, the garbage collector included, and waits for nothing.

    Attributes:
        admitted: When the call was let through, in seconds of the monotonic clock.
        slow_after: How long its first token may take, in seconds; `inf` where that does not matter.
        begun: Tells when it was sent, or None while it was not; None: when it was let through.
        wait: How long its server is not waited for, once there is an answer.
        generation: The state of the circuit that it was admitted in.
        is_probe: On it depends whether the circuit closes.
        has_token: Its first token has come, where somebody wants to know.
        is_slow: It was counted as slow.
        is_settled: How it ended is known.
        call: What the attempts of one call have in common, or None: it is a call of its own.
        is_alone: Nothing else could answer its call.
    """

    # Not slots: there is one for each call, and most calls change none of these.
    wait: Wait | None = None
    generation = -1
    is_probe = False
    has_token = False
    is_slow = False
    is_settled = False
    call: object = None
    is_alone = False

    def __init__(self, issuer: Issuer, now: float, slow_after: float, begun: Callable[[], float | None] | None) -> None:
        self.admitted = now
        self.slow_after = slow_after
        self.begun = begun
        self._issuer = issuer

    def first_token(self, now: float) -> None:
        """
        Tell that the first token has come.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self.has_token = True
        # In time, as nearly always, it changes nothing.
        if self.is_probe or now - self.admitted > self.slow_after:
            self._issuer.first_token(self, now)

    def succeed(self, now: float) -> None:
        """
        Tell that the account has done its part.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._issuer.settle(self, "success", now, is_quiet=False)

    def fail(self, now: float) -> None:
        """
        Tell that the call failed in a way that counts against the account.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._issuer.settle(self, "failure", now, is_quiet=False)

    def neutral(self, now: float) -> None:
        """
        Tell that the call is over, and that this says nothing about the account: cancelled or refused.

        Args:
            now: When, in seconds of the monotonic clock.
        """
        self._issuer.settle(self, "neutral", now, is_quiet=True)

    def abandon(self, now: float, *, has_token: bool) -> None:
        """
        Tell that the caller has left the answer, or forgotten it.

        Args:
            now: When, in seconds of the monotonic clock.
            has_token: The answer had begun, so the account has done its part; before that it says nothing.
        """
        # Quiet: the garbage collector may tell this in the middle of a log handler.
        self._issuer.settle(self, "success" if has_token else "neutral", now, is_quiet=True)

    def release(self) -> None:
        """Keep nothing of the call: who waits for first tokens may hold this a little longer."""
        self.begun = self.wait = self.call = None

    def due_at(self, now: float) -> float:
        """
        Say when the first token is overdue.

        Args:
            now: The time.

        Returns:
            The earliest instant at which that can be, by what is known now.
        """
        begun = self.admitted if self.begun is None else self.begun()
        if begun is None:
            # It waits for a place in our own limiter, which says nothing about the server.
            begun = now
        if self.wait is None:
            return begun + self.slow_after
        paused_at = self.wait.paused_at
        return begun + self.slow_after + self.wait.away + (0.0 if paused_at is None else now - paused_at)
