"""What is written down of a call: a row for it, and one for each of its attempts. No content, and no key."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from deepseek_sdk._usage import Usage
from deepseek_sdk.ledger.amounts import to_units
from deepseek_sdk.ledger.names import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk._record import Record
    from deepseek_sdk.pricing.cost import Cost

__all__ = ["AttemptRow", "CallRow", "Rows", "rows_of"]

_log = logging.getLogger("deepseek_sdk")

_MOST_TAGS = 64
_MICRO = 1_000_000
# 1,000 years: what is more is no time.
_LATEST_S = 3.2e10


class CallRow(NamedTuple):
    """A row of the table `calls`: instants in microseconds since 1970, amounts in 10^-12 of the currency."""

    request_id: str
    at: int
    ended: int | None
    user: str | None
    session: str | None
    tenant: str | None
    tags: str | None
    template: str | None
    path: str
    is_stream: bool
    route: str | None
    asked: str | None
    model: str | None
    hit: int
    miss: int
    output: int
    reasoning: int
    is_estimated: bool
    cny: int | None
    cny_low: int | None
    cny_high: int | None
    usd: int | None
    usd_low: int | None
    usd_high: int | None
    tier: str | None
    price_version: str | None
    is_unpriced: bool
    outcome: str
    reason: str | None
    finish_reason: str | None
    truncated: str | None
    queue_s: float | None
    first_event_s: float | None
    first_token_s: float | None
    first_answer_s: float | None
    total_s: float | None
    attempts: int
    possibly_billed: int
    repairs: int
    degradation: int
    cached: str | None
    cache_entry: str | None
    saved_cny: int | None
    saved_usd: int | None


class AttemptRow(NamedTuple):
    """A row of the table `attempts`, but for the call that it belongs to; instants and amounts as in `CallRow`."""

    number: int
    at: int
    route: str | None
    model: str | None
    host: str | None
    hit: int
    miss: int
    output: int
    reasoning: int
    is_estimated: bool
    cny: int | None
    cny_low: int | None
    cny_high: int | None
    usd: int | None
    usd_low: int | None
    usd_high: int | None
    tier: str | None
    outcome: str
    reason: str | None
    finish_reason: str | None
    is_possibly_billed: bool
    first_token_s: float | None
    ended_s: float | None


class Rows(NamedTuple):
    """What is written of one call."""

    call: CallRow
    attempts: tuple[AttemptRow, ...]


_NOTHING = Usage(hit=0, miss=0, output=0, reasoning=0)


def rows_of(record: Record) -> Rows:
    """
    Make the rows of a call that is over.

    Args:
        record: The call.

    Returns:
        Its rows. Tokens and amounts are those of all attempts, estimates among them.
    """
    attempts = tuple(record.attempts)
    cost = _cost(record)
    amounts = _amounts(cost)
    is_one = len(attempts) == 1
    own = [amounts if is_one else _amounts(_cost(_alone(record, attempt, cost))) for attempt in attempts]
    both = enumerate(zip(attempts, own, strict=True), start=1)
    rows = tuple(_attempt_row(number, attempt, each, record.at) for number, (attempt, each) in both)
    return Rows(_call_row(record, attempts, cost, amounts), rows)


def _cost(record: Record) -> Cost | None:
    try:
        return record.cost()
    except Exception:  # noqa: BLE001  a row without a cost is better than none
        _log.exception("the cost of a call could not be told")
        return None


def _alone(record: Record, attempt: Attempt, cost: Cost | None) -> Record:
    """Give an attempt a record of its own, with the clock by which the whole call was priced."""
    at = record.at + ((cost and cost.clock_skew) or 0.0)
    return replace(record, at=at, headers=None, attempts=[attempt], _cost=None, _is_priced=False)


def _call_row(record: Record, attempts: Sequence[Attempt], cost: Cost | None, amounts: Mapping[str, Any]) -> CallRow:
    last = attempts[-1] if attempts else None
    usage = reduce(add, [attempt.usage for attempt in attempts if attempt.usage is not None], _NOTHING)
    times = record.times
    at = _micros(record.at)
    return CallRow(
        request_id=record.id,
        at=at,
        ended=None if times.total is None else at + _micros(times.total),
        user=_text(record.user),
        session=_text(record.session_id),
        tenant=_text(record.tenant),
        tags=_tags(record.tags),
        template=_text(record.template),
        path=_text(record.path) or "",
        is_stream=record.is_stream,
        route=_text(last and last.route),
        asked=_text(record.asked),
        model=_text(last.model if last else record.cache and record.cache.model),
        **_counts(usage),
        is_estimated=any(attempt.is_estimated for attempt in attempts),
        **amounts,
        price_version=_text(cost and cost.price_version),
        is_unpriced=any(attempt.may_cost for attempt in attempts) if cost is None else cost.is_partial,
        outcome=record.ending or "running",
        reason=_text(record.reason),
        finish_reason=_text(record.finish_reason),
        truncated=record.truncated,
        queue_s=_seconds(times.queue),
        first_event_s=_seconds(times.first_event),
        first_token_s=_seconds(times.first_token),
        first_answer_s=_seconds(times.first_answer),
        total_s=_seconds(times.total),
        attempts=len(attempts),
        possibly_billed=sum(attempt.is_possibly_billed for attempt in attempts),
        repairs=len(record.repairs),
        degradation=record.degradation,
        **_cached(record),
    )


def _cached(record: Record) -> dict[str, Any]:
    """Tell what the cache gave: where it gave nothing, the columns are empty."""
    outcome = record.cache
    if outcome is None:
        return dict.fromkeys(("cached", "cache_entry", "saved_cny", "saved_usd"))
    # An equal call that failed has given its error, and no answer.
    is_answered = outcome.is_free and record.ending != "failed"
    saved = _saved(outcome) if is_answered else None
    return {
        "cached": outcome.status if is_answered else None,
        "cache_entry": _text(outcome.entry_id),
        "saved_cny": None if saved is None else to_units(saved.cny),
        "saved_usd": None if saved is None else to_units(saved.usd),
    }


def _saved(outcome: CacheOutcome) -> Cost | None:
    try:
        return outcome.saved
    except Exception:  # noqa: BLE001  likewise
        _log.exception("what the cache saved could not be told")
        return None


def _attempt_row(number: int, attempt: Attempt, amounts: Mapping[str, Any], at: float) -> AttemptRow:
    return AttemptRow(
        number=number,
        at=_micros(at) + _micros(attempt.started),
        route=_text(attempt.route),
        model=_text(attempt.model),
        host=_host(attempt),
        **_counts(attempt.usage or _NOTHING),
        is_estimated=attempt.is_estimated,
        **amounts,
        outcome=attempt.outcome,
        reason=_text(attempt.reason),
        finish_reason=_text(attempt.finish_reason),
        is_possibly_billed=attempt.is_possibly_billed,
        first_token_s=_seconds(attempt.first_token),
        ended_s=_seconds(attempt.ended),
    )


def _counts(usage: Usage) -> dict[str, Any]:
    return {name: max(getattr(usage, name), 0) for name in ("hit", "miss", "output", "reasoning")}


def _amounts(cost: Cost | None) -> dict[str, Any]:
    if cost is None:
        return dict.fromkeys(("cny", "cny_low", "cny_high", "usd", "usd_low", "usd_high", "tier"))
    cny, usd = to_units(cost.cny), to_units(cost.usd)
    # Mostly the least and the most that it may be are the amount itself.
    return {
        "cny": cny,
        "cny_low": cny if cost.cny_low is cost.cny else to_units(cost.cny_low),
        "cny_high": cny if cost.cny_high is cost.cny else to_units(cost.cny_high),
        "usd": usd,
        "usd_low": usd if cost.usd_low is cost.usd else to_units(cost.usd_low),
        "usd_high": usd if cost.usd_high is cost.usd else to_units(cost.usd_high),
        "tier": _text(cost.tier),
    }


def _host(attempt: Attempt) -> str | None:
    """Say who was asked; other parts of a URL may hold a password."""
    account = attempt.account
    if account is None:
        return None
    try:
        return _text(urlsplit(account.base_url).hostname if account.backend is None else account.base_url)
    except ValueError:
        return None


def _tags(tags: Mapping[str, str]) -> str | None:
    if not tags:
        return None
    kept = {_text(key): _text(value) for key, value in list(tags.items())[:_MOST_TAGS]}
    return json.dumps(kept, ensure_ascii=False)


def _text(value: object) -> str | None:
    return None if value is None else clean(str(value))


def _micros(seconds: float) -> int:
    return round(min(max(seconds, 0.0), _LATEST_S) * _MICRO) if math.isfinite(seconds) else 0


def _seconds(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)
