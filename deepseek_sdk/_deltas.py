"""
Make a stream's chunks fit for an accumulator.

openai's `lib/streaming/_deltas.py` adds strings up: a role, a tool call's id or its name that a server repeats come out
as "assistantassistant", and a tool call without an index raises. Such deltas are rewritten; all others are left alone.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Normaliser", "check_index"]

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


class Normaliser:
    """Remembers which roles, ids and names a stream has said."""

    __slots__ = ("_calls", "_roles")

    def __init__(self) -> None:
        self._roles: set[int] = set()
        self._calls: dict[int, list[dict[str, Any]]] = {}

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

    def _fragment(self, known: list[dict[str, Any]], fragment: dict[str, Any]) -> dict[str, Any]:
        position = _position(known, fragment)
        call = known[position]
        fixed = fragment if fragment.get("index") == position else {**fragment, "index": position}
        if fragment.get("id") and fragment["id"] == call.setdefault("id", None):
            fixed = {key: value for key, value in fixed.items() if key != "id"}
        call["id"] = call["id"] if call.get("id") else fragment.get("id")
        return _without_repeated_name(call, fixed)


def _named(chunk: dict[str, Any]) -> dict[str, Any]:
    """Make a chunk say that it is one: openai's helper passes over what does not, and expects a list of choices."""
    choices = chunk.get("choices")
    if choices is None:
        return _named({**chunk, "choices": []})
    if chunk.get("object") == "chat.completion.chunk" or (choices and "delta" not in choices[0]):
        return chunk
    return {**chunk, "object": "chat.completion.chunk"}


def _position(known: list[dict[str, Any]], fragment: dict[str, Any]) -> int:
    """Find the call that a fragment belongs to: by its index, else by its id, else the last one."""
    index = fragment.get("index")
    index = _by_id(known, fragment.get("id")) if index is None else check_index(index)
    known.extend({} for _ in range(index + 1 - len(known)))
    return index


def _by_id(known: list[dict[str, Any]], call_id: object) -> int:
    ids = [call.get("id") for call in known]
    if call_id is None:
        return max(len(known) - 1, 0)
    return ids.index(call_id) if call_id in ids else len(known)


def _without_repeated_name(call: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    function = fragment.get("function") or {}
    name = function.get("name")
    if not name:
        return fragment
    if call.setdefault("name", name) != name or not call.get("named"):
        call["named"] = True
        return fragment
    return {**fragment, "function": {key: value for key, value in function.items() if key != "name"}}
