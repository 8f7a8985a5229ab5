"""The turns of a conversation, and the steps of a turn: what is dropped as a whole, so that the rest stays valid."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["last_user", "leading", "steps", "turns"]

_INSTRUCTIONS = frozenset({"system", "developer"})


def leading(messages: Sequence[Mapping[str, Any]]) -> int:
    """
    Count the messages that make up the system prompt.

    Args:
        messages: A conversation.

    Returns:
        How many instructions it begins with; later ones belong to their turns.
    """
    for index, message in enumerate(messages):
        if message.get("role") not in _INSTRUCTIONS:
            return index
    return len(messages)


def turns(messages: Sequence[Mapping[str, Any]]) -> list[range]:
    """
    Take a conversation apart.

    Args:
        messages: It.

    Returns:
        Its turns, without the system prompt: each begins with what the user says, and ends with the last answer to it.
    """
    first = leading(messages)
    begins = [index == first or _begins_turn(messages, index) for index in range(first, len(messages))]
    starts = [index for index, is_start in enumerate(begins, first) if is_start]
    return [range(*pair) for pair in pairwise([*starts, len(messages)])]


def _begins_turn(messages: Sequence[Mapping[str, Any]], index: int) -> bool:
    return _is_asking(messages[index]) and not _is_asking(messages[index - 1])


def _is_asking(message: Mapping[str, Any]) -> bool:
    return message.get("role") not in ("assistant", "tool")


def steps(messages: Sequence[Mapping[str, Any]], turn: range) -> list[range]:
    """
    Take a turn apart.

    Args:
        messages: The conversation.
        turn: The turn.

    Returns:
        Its steps: each is an answer of the model, with the results of the tools that it called.
    """
    starts = [index for index in turn if messages[index].get("role") == "assistant"]
    return [range(*pair) for pair in pairwise([*starts, turn.stop])]


def last_user(messages: Sequence[Mapping[str, Any]]) -> int:
    """
    Find the last question.

    Args:
        messages: The conversation.

    Returns:
        Its index, or -1.
    """
    return max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)
