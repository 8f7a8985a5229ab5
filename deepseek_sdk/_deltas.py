"""
Make a stream's chunks fit for an accumulator.

openai's `lib/streaming/_deltas.py` adds strings up: a role, a tool call's id or its name that a server repeats come out
as "assistantassistant", and a tool call without an index raises. Such deltas are rewritten; all others are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Normaliser", "check_index", "check_text"]

# A place in a list is made for every index up to the one that is named.
_MOST = 1024


def check_index(index: object) -> int:
    """
    Check the index of a choice or a tool call.

    Args:
        index: What the server sent.

    Returns:
        It.

    Raises:
        TypeError: It is no index, or one that no answer has.
    """
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < _MOST:
        message = f"{index!r} is no index"
        raise TypeError(message)
    return index


def check_text(key: str, value: object) -> str:
    """
    Check a piece of text.

    Args:
        key: What it is a piece of.
        value: What the server sent.

    Returns:
        It.

    Raises:
        TypeError: It is no text.
    """
    if not isinstance(value, str):
        message = f"{key} is a string, not {type(value).__name__}"
        raise TypeError(message)
    return value


class Normaliser:
    """
    Remembers which roles, ids and names a stream has said.

    Args:
        previous: That of a stream which this one goes on from, in front of the same caller.
    """

    __slots__ = ("_calls", "_roles")

    def __init__(self, previous: Normaliser | None = None) -> None:
        self._roles: set[int] = set() if previous is None else previous._roles  # noqa: SLF001
        self._calls: dict[int, list[_ToolCall]] = {}

    def normalise(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """
        Take the next chunk.

        Args:
            chunk: It, decoded; not changed.

        Returns:
            *chunk* itself, or a copy without the repetitions.
        """
        chunk = _named(chunk)
        fixed = [self._choice(choice) for choice in chunk["choices"]]
        if all(new is old for new, old in zip(fixed, chunk["choices"], strict=True)):
            return chunk
        return {**chunk, "choices": fixed}

    def _choice(self, choice: dict[str, Any]) -> dict[str, Any]:
        delta = choice.get("delta")
        if not delta or not ("role" in delta or delta.get("tool_calls")):
            return choice
        index = choice.get("index") or 0
        fixed = self._role(index, delta)
        if delta.get("tool_calls"):
            fixed = self._tool_calls(index, fixed)
        return choice if fixed is delta else {**choice, "delta": fixed}

    def _role(self, index: int, delta: dict[str, Any]) -> dict[str, Any]:
        if not delta.get("role"):
            return delta
        if index not in self._roles:
            self._roles.add(index)
            return delta
        return {key: value for key, value in delta.items() if key != "role"}

    def _tool_calls(self, index: int, delta: dict[str, Any]) -> dict[str, Any]:
        known = self._calls.setdefault(index, [])
        fixed = [self._fragment(known, fragment) for fragment in delta["tool_calls"]]
        if all(new is old for new, old in zip(fixed, delta["tool_calls"], strict=True)):
            return delta
        return {**delta, "tool_calls": fixed}

    def _fragment(self, known: list[_ToolCall], fragment: dict[str, Any]) -> dict[str, Any]:
        position = _position(known, fragment)
        call = known[position]
        fixed = fragment if fragment.get("index") == position else {**fragment, "index": position}
        fixed = _without_repetition(fixed, "id", call.id)
        call.id = call.id or fragment.get("id")
        return _without_repeated_name(call, fixed)


@dataclass(slots=True)
class _ToolCall:
    """What a stream has said of one tool call."""

    index: int | None
    id: str | None = None
    name: str | None = None


def _named(chunk: dict[str, Any]) -> dict[str, Any]:
    """Make a chunk say that it is one: openai's helper passes over what does not, and expects a list of choices."""
    choices = chunk.get("choices")
    if choices is None:
        return _named({**chunk, "choices": []})
    is_fim = chunk.get("object") == "text_completion" or (choices and "delta" not in choices[0])
    if is_fim or chunk.get("object") == "chat.completion.chunk":
        return chunk
    return {**chunk, "object": "chat.completion.chunk"}


def _position(known: list[_ToolCall], fragment: dict[str, Any]) -> int:
    """
    Find the call that a fragment belongs to: by its index, else by its id, else the last one.

    Calls are counted as they begin: openai adds up wrongly what a server counts from 1, or backwards.
    """
    index = fragment.get("index")
    found = _by_id(known, fragment.get("id")) if index is None else _by_index(known, check_index(index))
    if found is None:
        known.append(_ToolCall(index))
        return len(known) - 1
    return found


def _by_index(known: list[_ToolCall], index: int) -> int | None:
    return next((position for position, call in enumerate(known) if call.index == index), None)


def _by_id(known: list[_ToolCall], call_id: object) -> int | None:
    if call_id is None:
        return len(known) - 1 if known else None
    return next((position for position, call in enumerate(known) if call.id == call_id), None)


def _without_repetition(fragment: dict[str, Any], key: str, said: object) -> dict[str, Any]:
    if said is None or fragment.get(key) != said:
        return fragment
    return {name: value for name, value in fragment.items() if name != key}


def _without_repeated_name(call: _ToolCall, fragment: dict[str, Any]) -> dict[str, Any]:
    function = fragment.get("function") or {}
    fixed = _without_repetition(function, "name", call.name)
    call.name = call.name or function.get("name")
    return fragment if fixed is function else {**fragment, "function": fixed}
