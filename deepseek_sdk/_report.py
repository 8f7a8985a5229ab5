"""`report()`: what a call went through, told from its answer, its stream or its error."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import openai

from deepseek_sdk._record import RECORD_EXTENSION, Record, Times
from deepseek_sdk.errors import trace_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk._truncation import Truncation
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.routing.auto import RoutingDecision

__all__ = ["CallReport", "attached", "blame", "report"]

T = TypeVar("T")

_KEY = "_deepseek_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """
    What a call went through, at the moment it was asked for: of a running stream, what is known so far.

    Attributes:
        route: The route that answered, or was asked last; None before any was, and where the cache answered.
        model: The model that answered, by the server's word, or was asked last.
        attempts: Every upstream attempt, in order.
        usage: Tokens of all attempts for which the server told them, or None where it told none.
        cost: What they cost, with an estimate for attempts of which the server told nothing; None: no price is known.
        times: When things came, in seconds from the start of the call.
        finish_reason: How the answer ended, or None.
        session_id: The session the call belongs to, or None.
        trace_id: The server's id of the request, or None.
        repairs: What was mended on the way, a line each.
        possibly_billed_attempts: Failed or abandoned attempts that the server may bill.
        answer_in_reasoning: The answer ended with nothing said outside the reasoning channel.
        skipped: Routes that were not asked though it was their turn, and why: "circuit_open", "limiter_timeout".
        degradation: How far the answer is from what was asked for: 0 not at all, 3 it comes from a rule engine.
        request_id: A name that the call has here; spans and the ledger have the same.
        user: Whose call it is, or None; so *tenant*, *tags*, and *template*: what kind of prompt it is.
        routing: How a route was chosen for the model "auto", or None.
        truncated: What *max_tokens* has cut: "answer", "reasoning" before the answer could begin, or None.
        cache: What became of it in the cache, or None: the client has none.
    """

    route: str | None
    model: str | None
    attempts: tuple[Attempt, ...]
    usage: Usage | None
    times: Times
    finish_reason: str | None
    session_id: str | None
    trace_id: str | None
    repairs: tuple[str, ...]
    possibly_billed_attempts: int
    answer_in_reasoning: bool
    skipped: tuple[tuple[str, str], ...] = ()
    degradation: int = 0
    cost: Cost | None = None
    request_id: str = ""
    user: str | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    routing: RoutingDecision | None = None
    truncated: Truncation | None = None
    cache: CacheOutcome | None = None


def report(answer: object) -> CallReport:
    """
    Tell what a call went through.

    Args:
        answer: What the call gave: a completion, a stream, a raw response, or the exception it raised.

    Returns:
        The report.

    Raises:
        TypeError: *answer* is none of these, or is not of this library's clients.
    """
    record = _find(answer)
    if record is None:
        kind = type(answer).__name__
        message = f"this {kind} has no report: give the completion, the stream, the raw response or the error"
        raise TypeError(message)
    return _snapshot(record)


def attached(answer: T, record: Record) -> T:
    """
    Let `report()` find a record from an answer.

    Args:
        answer: What the caller gets.
        record: The record of the call.

    Returns:
        *answer*.
    """
    # pydantic keeps cached properties in __dict__ beside the fields and leaves them out of ==, dump and repr.
    if hasattr(answer, "__dict__"):
        answer.__dict__[_KEY] = record
    return answer


def blame(error: BaseException, record: Record) -> None:
    """
    Let an error tell what led to it.

    Args:
        error: What the caller gets.
        record: The record of the call.
    """
    attached(error, record)
    record.end("failed", error, time.monotonic())
    if isinstance(error, openai.OpenAIError):
        told = _snapshot(record)
        error.attempts, error.trace_id = told.attempts, told.trace_id  # type: ignore[attr-defined]


def _find(answer: object) -> Record | None:
    found = getattr(answer, "__dict__", {}).get(_KEY)
    if isinstance(found, Record):
        return found
    for name in ("response", "http_response", "_response"):
        extensions = getattr(getattr(answer, name, None), "extensions", None)
        if extensions and isinstance(extensions.get(RECORD_EXTENSION), Record):
            return extensions[RECORD_EXTENSION]  # type: ignore[no-any-return]
    return None


def _model(record: Record) -> str | None:
    if record.attempts:
        return record.attempts[-1].model
    return None if record.cache is None else record.cache.model


def _snapshot(record: Record) -> CallReport:
    last = record.attempts[-1] if record.attempts else None
    return CallReport(
        route=last.route if last else None,
        model=_model(record),
        attempts=tuple(replace(attempt) for attempt in record.attempts),
        usage=record.usage_told,
        times=replace(record.times),
        finish_reason=record.finish_reason,
        session_id=record.session_id,
        trace_id=None if record.headers is None else trace_id(record.headers),
        repairs=tuple(record.repairs),
        possibly_billed_attempts=sum(attempt.is_possibly_billed for attempt in record.attempts),
        answer_in_reasoning=record.answer_in_reasoning,
        skipped=tuple(record.skipped),
        degradation=record.degradation,
        cost=record.cost(),
        request_id=record.id,
        user=record.user,
        tenant=record.tenant,
        tags=dict(record.tags),
        template=record.template,
        routing=record.routing,
        truncated=record.truncated,
        cache=record.cache,
    )
