"""The attributes of spans, made of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from deepseek_sdk.dialect.thinking import EFFORTS
from deepseek_sdk.telemetry import semconv
from deepseek_sdk.telemetry.inference import usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk._record import Record
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.telemetry.content import Texts
    from deepseek_sdk.telemetry.inference import Inference
    from deepseek_sdk.telemetry.place import Place

__all__ = [
    "Attributes",
    "attempt_attributes",
    "cache_attributes",
    "call_attributes",
    "cost_attributes",
    "first_attributes",
    "inference_attributes",
    "operation_of",
    "request_attributes",
    "stop_attributes",
]

Attributes: TypeAlias = "dict[str, Any]"

_LONGEST_NAME = 256
# Of any other text nobody knows what it says: an effort is told only where it is one of the API's words.
_EFFORTS = frozenset(("none", *EFFORTS))
_NUMBERS = (
    ("temperature", semconv.TEMPERATURE, float),
    ("top_p", semconv.TOP_P, float),
    ("frequency_penalty", semconv.FREQUENCY_PENALTY, float),
    ("presence_penalty", semconv.PRESENCE_PENALTY, float),
    ("max_tokens", semconv.MAX_TOKENS, int),
    ("seed", semconv.SEED, int),
)


def operation_of(path: str) -> str:
    """
    Name the operation that a surface is for.

    Args:
        path: It.

    Returns:
        The value of `gen_ai.operation.name`.
    """
    return "text_completion" if path == "/completions" else "chat"


def first_attributes(path: str, model: str, place: Place, *, has_old_names: bool) -> Attributes:
    """
    Tell of an inference what is known when it begins.

    Args:
        path: Which surface it is for.
        model: The model that is asked.
        place: Where.
        has_old_names: With the names of v1.41.

    Returns:
        What samplers see, and metrics are told apart by.
    """
    told: Attributes = {
        semconv.OPERATION: operation_of(path),
        semconv.PROVIDER: place.provider,
        semconv.REQUEST_MODEL: model[:_LONGEST_NAME],
    }
    if place.host:
        told[semconv.SERVER_ADDRESS] = place.host
        if place.port is not None:
            told[semconv.SERVER_PORT] = place.port
    if has_old_names:
        told[semconv.OLD_SYSTEM] = place.provider
    return told


def request_attributes(body: Mapping[str, Any], *, is_stream: bool, template: str | None) -> Attributes:
    """
    Tell what was asked for, but not what was asked.

    Args:
        body: The body of the request.
        is_stream: The caller asked for a stream.
        template: What kind of prompt it is, or None.

    Returns:
        The attributes; what is of another type than it should be is left out.
    """
    told: Attributes = {}
    for name, attribute, kind in _NUMBERS:
        value = body.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and (kind is float or isinstance(value, int)):
            told[attribute] = kind(value)
    if is_stream:
        told[semconv.IS_STREAM] = True
    level = body.get("reasoning_effort")
    if isinstance(level, str) and level in _EFFORTS:
        told[semconv.REASONING_LEVEL] = level
    n = body.get("n")
    if isinstance(n, int) and not isinstance(n, bool) and n != 1:
        told[semconv.CHOICE_COUNT] = n
    if template is not None:
        told[semconv.PROMPT_NAME] = template
    told[semconv.OUTPUT_TYPE] = _output_type(body.get("response_format"))
    return told


def stop_attributes(body: Mapping[str, Any], texts: Texts) -> Attributes:
    """
    Tell at which words an answer was to end: texts of the caller's, for where content is told.

    Args:
        body: The body of the request.
        texts: Makes of each text what may be told.

    Returns:
        The attribute, or nothing where there are none, or where they are no texts.
    """
    stop = body.get("stop")
    stops = [stop] if isinstance(stop, str) else stop
    if not stop or not isinstance(stops, list | tuple) or not all(isinstance(item, str) for item in stops):
        return {}
    return {semconv.STOP_SEQUENCES: [texts(item) for item in stops]}


def _output_type(response_format: object) -> str:
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    return "json" if kind in ("json_object", "json_schema") else "text"


def inference_attributes(inference: Inference, record: Record) -> Attributes:
    """
    Tell how an inference went.

    Args:
        inference: It.
        record: The record of its call.

    Returns:
        The attributes, but for what it costs.
    """
    last = inference.attempts[-1]
    told: Attributes = {semconv.FINISH_REASONS: [_finish_reason(last)], semconv.ROUTE: last.route}
    if last.usage is not None or last.outcome == "complete":
        told[semconv.RESPONSE_MODEL] = last.model[:_LONGEST_NAME]
    if last.response_id is not None:
        told[semconv.RESPONSE_ID] = last.response_id
    if inference.is_compacted:
        # Never false, by convention.
        told[semconv.COMPACTED] = True
    if record.is_stream and last.outcome == "abandoned":
        told[semconv.STREAM_OUTCOME] = "abandoned"
    if inference.failure is not None:
        told[semconv.ERROR_TYPE] = inference.failure.type
    return {**told, **_usage_attributes(inference.attempts), **_time_attributes(inference, record)}


def _finish_reason(attempt: Attempt) -> str:
    reason = attempt.finish_reason if attempt.outcome == "complete" else None
    return reason if isinstance(reason, str) else "error"


def _usage_attributes(attempts: list[Attempt]) -> Attributes:
    usage, is_estimated = usage_of(attempts)
    if usage is None:
        return {}
    told: Attributes = {
        semconv.INPUT_TOKENS: usage.prompt,
        semconv.OUTPUT_TOKENS: usage.output,
        semconv.COST_ESTIMATED: is_estimated,
    }
    if is_estimated:
        # What the cache had is not known.
        return told
    return {
        **told,
        semconv.CACHE_READ_TOKENS: usage.hit,
        semconv.MISS_TOKENS: usage.miss,
        semconv.REASONING_TOKENS: usage.reasoning,
    }


def _time_attributes(inference: Inference, record: Record) -> Attributes:
    """Tell when things came, from the start of the inference; of others than the last one nothing is known."""
    times = record.times
    told: Attributes = {}
    if inference.attempts[-1] is not record.attempts[-1]:
        return told
    named = [(semconv.TIME_TO_FIRST_TOKEN, times.first_token), (semconv.TIME_TO_FIRST_ANSWER, times.first_answer)]
    if record.is_stream:
        named.append((semconv.TIME_TO_FIRST_CHUNK, times.first_event))
    for name, at in named:
        if at is not None and at >= inference.started:
            told[name] = at - inference.started
    return told


def cost_attributes(cost: Cost, currency: str | None) -> Attributes:
    """
    Tell what an inference costs.

    Args:
        cost: It.
        currency: In which currency the account is billed, or None: nobody has said.

    Returns:
        Both currencies, never converted; the parts in one of them; and which prices were used.
    """
    told: Attributes = {semconv.COST_ESTIMATED: cost.is_estimated}
    amounts = {"CNY": cost.cny, "USD": cost.usd}
    for name, amount in ((semconv.COST_CNY, cost.cny), (semconv.COST_USD, cost.usd)):
        if amount is not None:
            told[name] = float(amount)
    if currency is not None and (billed := amounts[currency]) is not None:
        told |= {semconv.COST_AMOUNT: float(billed), semconv.COST_CURRENCY: currency, semconv.COST_SOURCE: "local"}
    shown = currency or next((name for name, amount in amounts.items() if amount is not None), None)
    parts = cost.cny_parts if shown == "CNY" else cost.usd_parts
    if shown is not None and parts is not None:
        told[semconv.COST_PART_CURRENCY] = shown
        told |= {
            semconv.COST_HIT: float(parts.hit),
            semconv.COST_MISS: float(parts.miss),
            semconv.COST_OUTPUT: float(parts.output),
        }
    return told | {semconv.PRICE_TIER: cost.tier, semconv.PRICE_VERSION: cost.price_version}


def attempt_attributes(attempt: Attempt, number: int, inference: Inference | None) -> Attributes:
    """
    Tell of one attempt.

    Args:
        attempt: It.
        number: Which of the call, from 1.
        inference: What it belongs to, or None: a last resort is no model.

    Returns:
        The attributes; tokens are told by the inference alone, so that nobody counts them twice.
    """
    told: Attributes = {
        semconv.ATTEMPT_NUMBER: number,
        semconv.ROUTE: attempt.route,
        semconv.ATTEMPT_OUTCOME: attempt.outcome,
    }
    if attempt.is_possibly_billed:
        told[semconv.ATTEMPT_BILLED] = True
    if attempt.reason is not None:
        told[semconv.ATTEMPT_REASON] = attempt.reason
    failure = None if inference is None else inference.failures.get(id(attempt))
    if failure is not None:
        told[semconv.ERROR_TYPE] = failure.type
    return told


def call_attributes(record: Record) -> Attributes:
    """
    Tell what a call went through, summed up under names of this library's own.

    Args:
        record: Its record.

    Returns:
        The attributes.
    """
    told: Attributes = {semconv.REQUEST_ID: record.id, semconv.ATTEMPTS: len(record.attempts)}
    if record.degradation:
        told[semconv.DEGRADATION] = record.degradation
    if record.repairs:
        # Their texts name places of the request, and may quote it.
        told[semconv.REPAIRS] = len(record.repairs)
    if record.attempts:
        told[semconv.ROUTE] = record.attempts[-1].route
    if record.skipped:
        told[semconv.SKIPPED] = [f"{route}: {reason}" for route, reason in record.skipped]
    if record.truncated is not None:
        told[semconv.TRUNCATED] = record.truncated
    if record.routing is not None:
        told[semconv.ROUTING_BAND] = str(record.routing.band)
    usage, _ = usage_of(record.attempts)
    if usage is not None:
        told |= {
            semconv.TOTAL_INPUT: usage.prompt,
            semconv.TOTAL_OUTPUT: usage.output,
            semconv.TOTAL_CACHE_READ: usage.hit,
            semconv.TOTAL_REASONING: usage.reasoning,
        }
    for name, at in _call_times(record):
        if at is not None:
            told[name] = at
    return told


def cache_attributes(outcome: CacheOutcome, saved: Cost | None) -> Attributes:
    """
    Tell what became of a call in the cache; not which answer it gave, whose name is made of the prompt.

    Args:
        outcome: It.
        saved: What the answer would have cost, or None: nobody knows, or there is none.

    Returns:
        The attributes; both currencies, never converted.
    """
    told: Attributes = {semconv.CACHE_OUTCOME: outcome.status}
    amounts = (None, None) if saved is None else (saved.cny, saved.usd)
    for name, amount in zip((semconv.SAVED_CNY, semconv.SAVED_USD), amounts, strict=True):
        if amount is not None:
            told[name] = float(amount)
    named = (
        (semconv.CACHE_LEVEL, outcome.tier),
        (semconv.CACHE_SOURCE, outcome.level),
        (semconv.CACHE_SIMILARITY, outcome.similarity),
        (semconv.CACHE_AGE, outcome.age),
    )
    return told | {name: value for name, value in named if value is not None}


def _call_times(record: Record) -> tuple[tuple[str, float | None], ...]:
    times = record.times
    return ((semconv.TIME_TO_FIRST_TOKEN, times.first_token), (semconv.TIME_TO_FIRST_ANSWER, times.first_answer))
