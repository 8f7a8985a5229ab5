"""The inferences of a call: one for each route that was asked, its retries inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.telemetry.outcome import Failure

__all__ = ["Inference", "goes_on", "usage_of"]


@dataclass(slots=True, kw_only=True, eq=False)
class Inference:
    """
    One logical inference.

    Attributes:
        account: What was asked: where, and which model.
        attempts: How often, in order.
        failures: What may be told of those that failed, by the attempt's identity.
        span: Its span, or None.
        context: The context in which that is the current one, or None.
        is_compacted: Some of the prompt was left out, so that it fits.
    """

    account: Account
    attempts: list[Attempt] = field(default_factory=list)
    failures: dict[int, Failure] = field(default_factory=dict)
    span: Any = None
    context: Any = None
    is_compacted: bool = False

    @property
    def started(self) -> float:
        """When it began, in seconds from the start of the call."""
        return self.attempts[0].started

    @property
    def ended(self) -> float | None:
        """When it ended, likewise, or None where it has not."""
        return self.attempts[-1].ended

    @property
    def failure(self) -> Failure | None:
        """How its last attempt failed, or None."""
        return self.failures.get(id(self.attempts[-1]))


def goes_on(before: Attempt, after: Attempt) -> bool:
    """
    Say whether an attempt belongs to the inference of the one before it.

    Args:
        before: An attempt.
        after: The next one.

    Returns:
        True for a retry. Another route, or another question after a complete answer, is another inference.
    """
    is_same = before.route == after.route and before.account == after.account
    return is_same and before.outcome != "complete"


def usage_of(attempts: list[Attempt]) -> tuple[Usage | None, bool]:
    """
    Add up what attempts used.

    Args:
        attempts: They.

    Returns:
        What the server told; else what is estimated; else None. And whether it is estimated.
    """
    told = [attempt.usage for attempt in attempts if attempt.usage is not None and not attempt.is_estimated]
    guessed = [attempt.usage for attempt in attempts if attempt.usage is not None]
    known = told or guessed
    if not known:
        return None, False
    total = known[0]
    for usage in known[1:]:
        total = total + usage
    return total, not told
