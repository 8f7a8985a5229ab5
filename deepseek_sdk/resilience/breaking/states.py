"""What a circuit says: its states, why it changes them, and how calls end."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["BreakerSnapshot", "BreakerState", "Outcome", "Reason", "Refusal", "StateChange"]

BreakerState = Literal["closed", "open", "half_open"]
Outcome = Literal["success", "failure", "neutral"]
Reason = Literal[
    "consecutive failures", "error ratio", "slow ratio", "probe failed", "by hand", "asked to be left alone"
]


class Refusal(NamedTuple):
    """
    Why a call is not let through.

    Attributes:
        retry_in: After how many seconds it makes sense to ask again; `inf` where only a hand can close the circuit.
        is_cooling: The server asked to be left alone.
    """

    retry_in: float
    is_cooling: bool


class StateChange(NamedTuple):
    """
    A change of state that somebody should hear of.

    Attributes:
        reason: Why the circuit opened, or None: it closed.
        seconds: How long it stays open, at least.
    """

    reason: Reason | None
    seconds: float = 0.0


class BreakerSnapshot(NamedTuple):
    """
    A circuit at one instant.

    Attributes:
        state: Whether calls go through; while the server asks to be left alone, it is "open".
        reason: Why it is not closed, or None.
        retry_in: After how many seconds it makes sense to ask; `inf`: only a hand can close it; None: it is closed.
        calls: How many calls of the window count; those that say nothing about the server do not.
        failures: How many of them failed.
        slow: How many of them had no first token in time.
        in_flight: How many calls were let through and have not ended.
    """

    state: BreakerState
    reason: Reason | None
    retry_in: float | None
    calls: int
    failures: int
    slow: int
    in_flight: int
