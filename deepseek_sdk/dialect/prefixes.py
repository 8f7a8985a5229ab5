"""`prefix`: an answer that has begun, which only the last message can be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk.dialect.finding import Finding, listed, without
from deepseek_sdk.dialect.request import with_messages

if TYPE_CHECKING:
    from deepseek_sdk.dialect.request import Request

__all__ = ["has_prefix", "misplaced_prefix", "prefix_with_others"]


def has_prefix(request: Request) -> bool:
    """
    Look at the last message.

    Args:
        request: A request.

    Returns:
        Whether it is an answer to go on with.
    """
    last = request.messages[-1] if request.messages else None
    return isinstance(last, dict) and last.get("role") == "assistant" and last.get("prefix") is True


def misplaced_prefix(request: Request) -> Finding | None:
    """Find a prefix that is not the end, as in the history after an answer that was continued."""
    last = len(request.messages) - 1 if has_prefix(request) else -1
    odd = {index: message for index, message in request.of() if message.get("prefix") and index != last}
    if not odd:
        return None
    places = tuple(f"messages[{index}].prefix" for index in odd)
    changed = {index: without(message, "prefix") for index, message in odd.items()}
    return Finding(
        code="misplaced_prefix",
        places=places,
        message=f"{listed(places)} is not that of an answer at the end",
        fix="it is left out",
        repair=partial(with_messages, changed=changed),
    )


def prefix_with_others(request: Request) -> Finding | None:
    """Find what cannot be had together with a prefix."""
    other = _other(request) if has_prefix(request) else None
    if other is None:
        return None
    return Finding(
        code="prefix_with_others",
        places=(f"messages[{len(request.messages) - 1}].prefix", other),
        message=f"a prefix and {other} cannot be had together",
        fix="leave one of them out",
    )


def _other(request: Request) -> str | None:
    if request.tools:
        return "tools"
    # Calls in the history are refused as well.
    calling = next((index for index, message in request.of("assistant") if message.get("tool_calls")), None)
    if calling is not None:
        return f"messages[{calling}].tool_calls"
    given = request.body.get("response_format")
    is_json = isinstance(given, dict) and given.get("type") == "json_object"
    return "response_format" if is_json else None
