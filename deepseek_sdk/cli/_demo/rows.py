"""The row of a call, as `demo` prints it on stdout; every row has the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk import report
from deepseek_sdk.cli._decisions import reason_of
from deepseek_sdk.cli._numbers import milliseconds
from deepseek_sdk.cli._price.words import plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from deepseek_sdk import CallReport
    from deepseek_sdk._cache import CacheOutcome

__all__ = ["row_of"]

_CACHE = ("cache", "tier", "similarity", "decision", "saved_cny", "saved_usd")
_PLACES = 4


def row_of(
    answer: object,
    *,
    call: str,
    client: str,
    is_streamed: bool,
    is_expected: bool,
    circuits: Mapping[str | None, str] | None = None,
) -> dict[str, Any]:
    """
    Make the row of a call.

    Args:
        answer: What the call gave: a completion, a stream, or the error it raised.
        call: Names it.
        client: "sync" or "async".
        is_streamed: It was a stream.
        is_expected: It ended as it should.
        circuits: The states of the circuits after it, by route; None where there was no outage.

    Returns:
        The row.
    """
    told, states = report(answer), circuits or {}
    return {
        "call": call,
        "client": client,
        "streamed": is_streamed,
        "route": told.route,
        "model": told.model,
        "attempts": len(told.attempts),
        "first_token_ms": milliseconds(told.times.first_token),
        "total_ms": milliseconds(told.times.total),
        "hit": told.usage.hit if told.usage else None,
        "miss": told.usage.miss if told.usage else None,
        "output": told.usage.output if told.usage else None,
        "primary_circuit": states.get("primary"),
        "fallback_circuit": states.get("fallback"),
        **_of_cache(told.cache),
        "outcome": _outcome(answer, told),
        "is_expected": is_expected,
    }


def _outcome(answer: object, told: CallReport) -> str:
    if isinstance(answer, BaseException):
        return type(answer).__name__
    return "degraded" if told.degradation else "complete"


def _of_cache(outcome: CacheOutcome | None) -> dict[str, Any]:
    """Tell what the cache did; there is one in a part of the demo alone."""
    if outcome is None:
        return dict.fromkeys(_CACHE)
    saved, similarity = outcome.saved, outcome.similarity
    values = (
        outcome.status,
        outcome.tier,
        None if similarity is None else round(similarity, _PLACES),
        reason_of(outcome),
        _amount(saved.cny) if saved else None,
        _amount(saved.usd) if saved else None,
    )
    return dict(zip(_CACHE, values, strict=True))


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else plain(amount)
