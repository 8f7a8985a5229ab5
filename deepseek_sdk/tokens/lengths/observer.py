"""`LengthObserver`: tells a tracker of every answer that a client got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deepseek_sdk.tokens.lengths.quantities import LengthKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk.tokens.lengths.tracker import LengthTracker

__all__ = ["FinishedCall", "LengthObserver"]


class FinishedCall(Protocol):
    """What is read of the record of a call."""

    @property
    def attempts(self) -> Sequence[Attempt]:
        """Every time that an upstream was asked."""
        ...

    @property
    def mode(self) -> str:
        """How much the model was let think."""
        ...

    @property
    def template(self) -> str | None:
        """What kind of prompt it was."""
        ...


class LengthObserver:
    """
    Takes the records of finished calls.

    What counts are complete answers of models whose server told their usage. A model is known by the name that it is
    asked for, since that is all that is known before it answers.

    Args:
        tracker: Who is told.
    """

    __slots__ = ("_tracker",)

    def __init__(self, tracker: LengthTracker) -> None:
        self._tracker = tracker

    def __call__(self, record: FinishedCall) -> None:
        """Take the record of a call that is over; may run in the garbage collector."""
        for attempt in record.attempts:
            usage, account, started = attempt.usage, attempt.account, attempt.started
            if usage is None or account is None or attempt.is_estimated or attempt.outcome != "complete":
                continue
            seconds = None if attempt.ended is None else attempt.ended - started
            first = None if attempt.first_token is None else attempt.first_token - started
            key = LengthKey(account.model, record.mode, record.template)
            self._tracker.note(key, usage, attempt.finish_reason, seconds=seconds, first_token=first)
