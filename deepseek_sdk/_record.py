"""What happened during one call: one record, filled in as things happen, read by reports, spans and ledgers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, fields
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk._attempt import Attempt
from deepseek_sdk._estimate import estimate_usage
from deepseek_sdk._truncation import tell_truncation
from deepseek_sdk._usage import Usage
from deepseek_sdk.errors import Partial, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk._progress import Progress
    from deepseek_sdk._reply import Ending
    from deepseek_sdk._truncation import Truncation
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.routing.auto import RoutingDecision

__all__ = ["RECORD_EXTENSION", "AttemptWatcher", "Record", "Times"]

# Where a response that openai wraps keeps the record of its call.
RECORD_EXTENSION = "deepseek_sdk.record"


class AttemptWatcher(Protocol):
    """Learns of attempts when they begin and end, on whatever thread that happens."""

    def began(self, attempt: Attempt) -> None:
        """Take note that an attempt begins."""
        ...

    def ended(self, attempt: Attempt, error: BaseException | None) -> None:
        """Take note that an attempt ended, and how."""
        ...

    def headers(self, host: str) -> Mapping[str, str]:
        """Say which headers the request of the attempt that has begun carries to *host*."""
        ...

    def sending(self) -> AbstractContextManager[None]:
        """Surround the sending of that request."""
        ...


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
    """
    The record of one call; *started* is an instant of the monotonic clock, all else counts from it.

    Attributes:
        at: When it began, in seconds since 1970, by this machine's clock.
        path: Which surface it is for.
        asked: The model that the caller asked for.
        template: What kind of prompt it is, by the caller's word.
        mode: How much the model may think; see `_mode.py`.
        counted: Its tokens as counted here, where that was done before it was sent, or None.
        ending: How it ended, or None while it runs; *reason* says in one word why it failed. The error itself leads
            here, and is not kept: the two would keep each other.
        routing: How a route was chosen for the model "auto".
        price: Tells what the call costs, or None: nobody can.
        watcher: Learns of attempts, or None.
        cache: What became of it in the cache, or None: there is none.
    """

    started: float
    at: float = field(default_factory=time.time)
    path: str = ""
    asked: str = ""
    is_stream: bool = False
    session_id: str | None = None
    user: str | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    mode: str = ""
    counted: int | None = None
    routing: RoutingDecision | None = None
    ending: Ending | None = None
    reason: str | None = None
    price: Callable[[Record], Cost | None] | None = None
    watcher: AttemptWatcher | None = None
    attempts: list[Attempt] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    repairs: list[str] = field(default_factory=list)
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None
    headers: Mapping[str, str] | None = None
    answer_in_reasoning: bool = False
    skipped: list[tuple[str, str]] = field(default_factory=list)
    degradation: int = 0
    cache: CacheOutcome | None = None
    _id: str = ""
    _cost: Cost | None = None
    _is_priced: bool = False

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # What belongs to the client does not go along with a copy of an answer: the cost is worked out, and that is it.
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        return None, {**state, "_cost": self.cost(), "_is_priced": True, "price": None, "watcher": None}

    @property
    def id(self) -> str:
        """A name for the call, made when it is first asked for."""
        if not self._id:
            self._id = f"req_{os.urandom(8).hex()}"
        return self._id

    @property
    def usage_told(self) -> Usage | None:
        """The tokens of all attempts for which the server told them, or None where it told none."""
        told = [attempt.usage for attempt in self.attempts if attempt.usage is not None and not attempt.is_estimated]
        return reduce(add, told) if told else None

    @property
    def truncated(self) -> Truncation | None:
        """What a limit of tokens has cut: the answer, or the reasoning before it could begin."""
        # What was seen says more than a usage block, in which many servers leave reasoning out.
        has_seen = self.times.first_token is not None
        usage = None if self.usage is None or has_seen else Usage.parse(self.usage)
        return tell_truncation(self.finish_reason, usage, has_answer=self.times.first_answer is not None)

    def cost(self) -> Cost | None:
        """
        Tell what the call costs, by what is known so far.

        Returns:
            The cost of all its attempts, or None where no price is known.
        """
        if self._is_priced:
            return self._cost
        cost = None if self.price is None else self.price(self)
        if self.ending is not None:
            self._cost, self._is_priced = cost, True
        return cost

    def anew(self, started: float, at: float) -> Record:
        """
        Make the record of a call that asks the same once more.

        Args:
            started: When it begins, an instant of the monotonic clock.
            at: The same in seconds since 1970.

        Returns:
            A record of its own.
        """
        told = ("path", "asked", "is_stream", "session_id", "user", "tenant", "tags", "template", "mode", "price")
        return Record(started=started, at=at, **{name: getattr(self, name) for name in told})

    def end(self, ending: Ending, error: BaseException | None, now: float) -> None:
        """
        Note that the call is over; only the first ending counts.

        Args:
            ending: How it ended.
            error: What the caller gets in place of an answer, or None.
            now: When.
        """
        if self.ending is None:
            self.ending = ending
            self.reason = None if error is None else classify(error).reason
        if self.times.total is None:
            self.times.total = now - self.started

    def skip(self, route: str, reason: str) -> None:
        """
        Note that a route was not asked, though it was its turn.

        Args:
            route: It.
            reason: Why, in one word.
        """
        self.skipped.append((route, reason))

    def begin(self, *, route: str, model: str, now: float, account: Account | None = None) -> Attempt:
        """
        Note that an attempt begins.

        Args:
            route: The route that is asked.
            model: The model that is asked for.
            now: When.
            account: Whose attempt it is, or None.

        Returns:
            The attempt.
        """
        attempt = Attempt(route=route, model=model, started=now - self.started, account=account)
        self.attempts.append(attempt)
        if self.watcher is not None:
            self.watcher.began(attempt)
        return attempt

    def forget(self, attempt: Attempt) -> None:
        """
        Take back an attempt: the server wants to be asked in another way.

        Args:
            attempt: The last one.
        """
        self.attempts.remove(attempt)
        if self.watcher is not None:
            self.watcher.ended(attempt, None)

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

    def settle(
        self,
        attempt: Attempt,
        progress: Progress | None,
        now: float,
        error: BaseException | None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Note that an attempt ended.

        Args:
            attempt: It.
            progress: What came of it, or None where nothing did.
            now: When.
            error: Why it failed, or None.
            body: What was asked, to estimate what the server gives no account of.
        """
        if attempt.ended is not None:
            return
        attempt.ended = now - self.started
        attempt.outcome = _outcome(error)
        attempt.reason = None if error is None else classify(error).reason
        attempt.is_possibly_billed = error is not None and may_be_billed(error, progress)
        if progress is not None:
            self._take(attempt, progress)
        self._close(attempt, progress, error, body)

    def _close(
        self,
        attempt: Attempt,
        progress: Progress | None,
        error: BaseException | None,
        body: Mapping[str, Any] | None,
    ) -> None:
        is_costly = attempt.is_possibly_billed or (attempt.outcome == "complete" and not _is_in_process(attempt))
        if attempt.usage is None and is_costly and body is not None:
            partial = Partial() if progress is None else progress.partial()
            # Of a whole answer that is complete nothing was kept to estimate it by.
            if partial or attempt.outcome != "complete":
                attempt.usage, attempt.is_estimated = estimate_usage(body, partial), True
        if self.watcher is not None:
            self.watcher.ended(attempt, error)

    def abandon(self, attempt: Attempt, progress: Progress, now: float, body: Mapping[str, Any] | None = None) -> None:
        """
        Note that the caller let go of an answer before its end.

        Args:
            attempt: The attempt that was answering.
            progress: What came of it.
            now: When.
            body: What was asked, likewise.
        """
        if attempt.ended is not None:
            return
        attempt.ended = now - self.started
        is_left = not progress.is_complete
        attempt.outcome, attempt.is_possibly_billed = ("abandoned" if is_left else "complete"), is_left
        self._take(attempt, progress)
        self._close(attempt, progress, None, body)

    def _take(self, attempt: Attempt, progress: Progress) -> None:
        attempt.model = progress.model or attempt.model
        attempt.response_id = progress.id if isinstance(progress.id, str) else None
        attempt.finish_reason = progress.finish_reason
        if progress.usage is not None:
            attempt.usage = Usage.parse(progress.usage)
        self.usage = progress.usage
        self.finish_reason = progress.finish_reason
        self.answer_in_reasoning = progress.answer_in_reasoning


def _is_in_process(attempt: Attempt) -> bool:
    return attempt.account is None or attempt.account.backend is not None


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
