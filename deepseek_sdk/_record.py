"""What happened during one call: one record, filled in as things happen, read by reports, spans and ledgers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deepseek_sdk._attempt import Attempt
from deepseek_sdk.errors import classify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._progress import Progress

__all__ = ["RECORD_EXTENSION", "Record", "Times"]

# Where a response that openai wraps keeps the record of its call.
RECORD_EXTENSION = "deepseek_sdk.record"


@dataclass(slots=True, kw_only=True)
class Times:
    """
    When things came, in seconds from the start of the call; None where they did not.

    Attributes:
        queue: How long the call waited before it was sent.
        first_event: The first event of the answer, whatever it held.
        first_token: The first content, reasoning or tool call.
        first_answer: The first content or tool call.
        total: The end.
    """

    queue: float | None = None
    first_event: float | None = None
    first_token: float | None = None
    first_answer: float | None = None
    total: float | None = None


@dataclass(slots=True, kw_only=True)
class Record:
    """The record of one call; *started* is an instant of the monotonic clock, all else counts from it."""

    started: float
    session_id: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    repairs: list[str] = field(default_factory=list)
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None
    headers: Mapping[str, str] | None = None
    answer_in_reasoning: bool = False
    skipped: list[tuple[str, str]] = field(default_factory=list)
    degradation: int = 0

    def skip(self, route: str, reason: str) -> None:
        """
        Note that a route was not asked, though it was its turn.

        Args:
            route: It.
            reason: Why, in one word.
        """
        self.skipped.append((route, reason))

    def begin(self, *, route: str, model: str, now: float) -> Attempt:
        """
        Note that an attempt begins.

        Args:
            route: The route that is asked.
            model: The model that is asked for.
            now: When.

        Returns:
            The attempt.
        """
        attempt = Attempt(route=route, model=model, started=now - self.started)
        self.attempts.append(attempt)
        return attempt

    def note(self, attempt: Attempt, progress: Progress, now: float) -> None:
        """
        Note how far an answer has come; called until its first answer token is there.

        Args:
            attempt: The attempt that answers.
            progress: What has come of it.
            now: When.
        """
        elapsed = now - self.started
        times = self.times
        times.first_event = elapsed if times.first_event is None else times.first_event
        if progress.has_token and attempt.first_token is None:
            attempt.first_token = elapsed
            times.first_token = elapsed
        if progress.has_answer and times.first_answer is None:
            times.first_answer = elapsed

    def settle(self, attempt: Attempt, progress: Progress | None, now: float, error: BaseException | None) -> None:
        """
        Note that an attempt ended.

        Args:
            attempt: It.
            progress: What came of it, or None where nothing did.
            now: When.
            error: Why it failed, or None.
        """
        if attempt.ended is not None:
            return
        attempt.ended = now - self.started
        attempt.outcome = _outcome(error)
        attempt.reason = None if error is None else classify(error).reason
        attempt.is_possibly_billed = error is not None and may_be_billed(error, progress)
        if progress is not None:
            self._take(attempt, progress)

    def abandon(self, attempt: Attempt, progress: Progress, now: float) -> None:
        """
        Note that the caller let go of an answer before its end.

        Args:
            attempt: The attempt that was answering.
            progress: What came of it.
            now: When.
        """
        self.settle(attempt, progress, now, None)
        if not progress.is_complete:
            attempt.outcome, attempt.is_possibly_billed = "abandoned", True

    def _take(self, attempt: Attempt, progress: Progress) -> None:
        attempt.model = progress.model or attempt.model
        self.usage = progress.usage
        self.finish_reason = progress.finish_reason
        self.answer_in_reasoning = progress.answer_in_reasoning


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return "complete"
    # A cancellation is no failure of the route.
    return "failed" if isinstance(error, Exception) else "abandoned"


def may_be_billed(error: BaseException, progress: Progress | None) -> bool:
    """
    Say whether a failed attempt may appear on the bill.

    Args:
        error: How it failed.
        progress: What came of it, or None where nothing did.

    Returns:
        True where tokens came, or where the request was taken and then nothing was heard.
    """
    if progress is not None and progress.has_token:
        return True
    return classify(error).reason in ("first_token_timeout", "stall", "total_timeout", "timeout", "empty_answer")
