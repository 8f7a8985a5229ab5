"""Thinking: how it is switched, and the reasoning that a history with tools must bring back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed, without
from deepseek_sdk.dialect.request import with_messages
from deepseek_sdk.errors import ReasoningMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Message, Request

__all__ = ["EFFORTS", "missing_reasoning", "renamed_reasoning", "thinking_off", "thinking_type", "unknown_effort"]

_TYPES = ("enabled", "disabled", "adaptive")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max", "ultra")
# What other services call "as you like".
_NO_EFFORT = ("", "auto", "default")


def thinking_off(body: Body) -> Body:
    """
    Switch thinking off.

    Args:
        body: It.

    Returns:
        A copy; DeepSeek's own client leaves the effort out then, and so does this.
    """
    return {**without(body, "reasoning_effort"), "thinking": {"type": "disabled"}}


def thinking_type(request: Request) -> Finding | None:
    """Find a switch that is neither on nor off."""
    thinking = request.body["thinking"]
    if thinking is None or (isinstance(thinking, dict) and thinking.get("type") in _TYPES):
        return None
    is_empty = isinstance(thinking, dict) and thinking.get("type") is None
    return Finding(
        code="thinking_type",
        places=("thinking",),
        message=f"thinking must be one of {', '.join(_TYPES)}, not {thinking!r}",
        fix="it is left out: on is the default" if is_empty else 'send {"type": "enabled"} or {"type": "disabled"}',
        repair=partial(_dropped, name="thinking") if is_empty else None,
        is_certain=False,
    )


def _dropped(body: Body, *, name: str) -> Body:
    return without(body, name)


def unknown_effort(request: Request) -> Finding | None:
    """Find an effort that the API does not know; `none` it takes, but does not document."""
    effort = request.body["reasoning_effort"]
    if effort is None or effort in EFFORTS:
        return None
    if effort == "none":
        return _no_thinking(request)
    lowered = effort.lower() if isinstance(effort, str) else effort
    known = lowered if lowered in EFFORTS else None
    return Finding(
        code="reasoning_effort",
        places=("reasoning_effort",),
        message=f"reasoning_effort must be one of {', '.join(EFFORTS)}, not {effort!r}",
        fix=_effort_fix(lowered),
        repair=None if known is None and lowered not in _NO_EFFORT else partial(_with_effort, effort=known),
        is_certain=False,
    )


def _effort_fix(lowered: Any) -> str:
    if lowered in _NO_EFFORT:
        return "it is left out: high is the default"
    return f"{lowered!r} is sent" if lowered in EFFORTS else "choose one of these"


def _with_effort(body: Body, *, effort: str | None) -> Body:
    return without(body, "reasoning_effort") if effort is None else {**body, "reasoning_effort": effort}


def _no_thinking(request: Request) -> Finding:
    # Not on the documented list of the chat endpoint; DeepSeek's own client sends the switch and no effort.
    is_chosen = request.has_chosen_thinking
    return Finding(
        code="effort_none",
        places=("reasoning_effort",),
        message="reasoning_effort none is not documented for chat completions",
        fix="it is left out, thinking was asked for" if is_chosen else 'thinking={"type": "disabled"} is sent instead',
        severity="warning",
        repair=partial(_with_effort, effort=None) if is_chosen else thinking_off,
    )


def renamed_reasoning(request: Request) -> Finding | None:
    """Find reasoning under the name that other servers give it."""
    found = {index: message for index, message in request.with_reasoning() if _is_renamed(message)}
    if not found:
        return None
    places = tuple(f"messages[{index}].reasoning" for index in found)
    renamed = {index: {**message, "reasoning_content": message["reasoning"]} for index, message in found.items()}
    return Finding(
        code="renamed_reasoning",
        places=places,
        message=f"{listed(places)} is not where the API looks for reasoning",
        fix="it is sent as reasoning_content",
        repair=partial(with_messages, changed=renamed),
        kind=ReasoningMissingError,
        facts={"index": next(iter(found))},
    )


def _is_renamed(message: Message) -> bool:
    return message.get("reasoning_content") is None and isinstance(message.get("reasoning"), str)


def missing_reasoning(request: Request) -> Finding | None:
    """Find answers whose reasoning is missing, though the model thinks and tools are there to be called."""
    # "" is reasoning, too: a turn without a thought (deepseek-harness discussion 739).
    lacking = [index for index, message in request.with_reasoning() if message.get("reasoning_content") is None]
    return _missing(request, lacking) if lacking else None


def _missing(request: Request, lacking: Sequence[int]) -> Finding:
    places = tuple(f"messages[{index}]" for index in lacking)
    how = request.policy.on_missing_reasoning
    filled = how == "placeholder"
    # Who asked for thinking in so many words must not get an answer without.
    is_off = how == "disable_thinking" and not request.has_chosen_thinking
    fixes = ["keep the message of the answer as it is", "thinking is switched off", "a placeholder is sent"]
    return Finding(
        code="missing_reasoning",
        places=places,
        message=f"{listed(places)} must bring reasoning_content back: there are tools, and the model thinks",
        fix=fixes[1 if is_off else 2 if filled else 0],
        repair=thinking_off if is_off else partial(_filled, lacking=lacking) if filled else None,
        kind=ReasoningMissingError,
        facts={"index": lacking[0]},
    )


def _filled(body: Body, *, lacking: Sequence[int]) -> Body:
    # One text for all turns gave 40 to 47 % empty answers, a text of its own for each next to none (lingtai-kernel 9).
    texts = {index: f"(The reasoning of message {index} was not kept.)" for index in lacking}
    return with_messages(body, {i: {**body["messages"][i], "reasoning_content": text} for i, text in texts.items()})
