"""The row of a call, as `demo` prints it on stdout; every row has the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk import report
from deepseek_sdk.cli._numbers import milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk import CallReport

__all__ = ["row_of"]


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
        "outcome": _outcome(answer, told),
        "is_expected": is_expected,
    }


def _outcome(answer: object, told: CallReport) -> str:
    if isinstance(answer, BaseException):
        return type(answer).__name__
    return "degraded" if told.degradation else "complete"
