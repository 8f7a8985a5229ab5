"""Most conversations are in order: one quick pass that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["is_sound"]

_QUESTIONS = frozenset({"system", "user", "latest_reminder"})
_PLAIN = _QUESTIONS | {"assistant"}
# role and content
_PLAIN_FIELDS = 2


def is_sound(messages: Iterable[Any], *, needs_reasoning: bool, is_thinking: bool, takes_lists: bool) -> bool:
    """
    Look at messages once, quickly.

    Args:
        messages: They.
        needs_reasoning: Every answer must bring its reasoning back.
        is_thinking: The model thinks; calls may have to bring it back.
        takes_lists: A question may be a list of texts and images.

    Returns:
        True where no rule about messages can find anything; False where one might.
    """
    # Every call passes here: plain messages must cost next to nothing.
    plain = _QUESTIONS if needs_reasoning else _PLAIN
    waiting: set[str] = set()
    try:
        for message in messages:
            is_plain = len(message) == _PLAIN_FIELDS and message["role"] in plain
            if is_plain and not waiting and message["content"].__class__ is str:
                continue
            if _is_right(message, waiting, needs_reasoning, is_thinking):
                continue
            if waiting or not takes_lists or not _is_list(message):
                return False
    except (AttributeError, KeyError, TypeError):
        return False
    return not waiting


def _is_right(
    message: dict[str, Any],
    waiting: set[str],
    needs_reasoning: bool,  # noqa: FBT001  names take time
    is_thinking: bool,  # noqa: FBT001  likewise
) -> bool:
    role = message["role"]
    if role == "tool":
        return _is_result(message, waiting)
    if waiting or "prefix" in message:
        return False
    if role == "assistant":
        lacks_reasoning = is_thinking and message.get("reasoning_content") is None
        if lacks_reasoning and (needs_reasoning or message.get("tool_calls")):
            return False
        return _is_answer(message, waiting)
    return role in _QUESTIONS and message["content"].__class__ is str


def _is_list(message: dict[str, Any]) -> bool:
    """Tell whether a message is a question with parts that the API knows."""
    is_question = message["role"] == "user" and "prefix" not in message and message["content"].__class__ is list
    return is_question and all(_is_part(part) for part in message["content"])


def _is_part(part: dict[str, Any]) -> bool:
    if part["type"] == "text":
        return part["text"].__class__ is str
    return part["type"] == "image_url" and part["image_url"]["url"].__class__ is str


def _is_result(message: dict[str, Any], waiting: set[str]) -> bool:
    own, content = message["tool_call_id"], message["content"]
    if own not in waiting or content.__class__ is not str or not content or "prefix" in message:
        return False
    waiting.discard(own)
    return True


def _is_answer(message: dict[str, Any], waiting: set[str]) -> bool:
    calls, content = message.get("tool_calls"), message["content"]
    if calls is None:
        return content.__class__ is str
    return (content is None or content.__class__ is str) and _are_calls(calls, waiting)


def _are_calls(calls: Any, waiting: set[str]) -> bool:
    for call in calls:
        function, own = call["function"], call["id"]
        is_call = call["type"] == "function" and own.__class__ is str and own not in waiting
        if not is_call or function["name"].__class__ is not str or function["arguments"].__class__ is not str:
            return False
        waiting.add(own)
    return bool(waiting)
