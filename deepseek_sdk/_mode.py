"""How much a request lets a model think: the first thing that the length of an answer depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk._clock import is_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ThinkingMode", "thinking_mode"]

ThinkingMode: TypeAlias = Literal["off", "low", "high", "max", "fim"]

# "minimal->low, low->low, medium->high, high->high, xhigh->high, max->max, ultra->max" (API docs, thinking mode).
_EFFORTS: dict[object, ThinkingMode] = {"none": "off", "minimal": "low", "low": "low", "max": "max", "ultra": "max"}


def thinking_mode(body: Mapping[str, Any]) -> ThinkingMode:
    """
    Tell how much a request lets the model think.

    Args:
        body: The request.

    Returns:
        "off", the effort as the service understands it, or "fim" where a completion is asked for, which never thinks.
    """
    if "prompt" in body and "messages" not in body:
        return "fim"
    if not is_thinking(body):
        return "off"
    effort = body.get("reasoning_effort")
    return _EFFORTS.get(effort, "high") if isinstance(effort, str) else "high"
