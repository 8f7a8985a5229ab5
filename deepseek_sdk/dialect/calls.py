"""Tool calls in the history: how each is written."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed, without
from deepseek_sdk.dialect.request import with_messages
from deepseek_sdk.errors import ToolOrderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.dialect.request import Message, Request

__all__ = ["call_shapes", "ids_of", "no_calls", "repeated_ids", "unknown_calls"]


def no_calls(request: Request) -> Finding | None:
    """Find an empty list of calls: it must have one, or not be there."""
    changed = {i: without(m, "tool_calls") for i, m in request.of("assistant") if m.get("tool_calls") in ([], ())}
    if not changed:
        return None
    places = tuple(f"messages[{index}].tool_calls" for index in changed)
    return Finding(
        code="no_calls",
        places=places,
        message=f"{listed(places)} is an empty list",
        fix="it is left out",
        repair=partial(with_messages, changed=changed),
    )


def call_shapes(request: Request) -> Finding | None:
    """Find calls without type or function, arguments that are no text, and calls and results without an id."""
    changed: dict[int, Message] = {}
    places: list[str] = []
    for index, message in request.of("assistant"):
        calls = _list(message.get("tool_calls"))
        shaped = [_shaped(call, f"call_{index}_{at}") for at, call in enumerate(calls)]
        odd = [at for at, call in enumerate(calls) if shaped[at] is not call]
        if odd:
            places += [f"messages[{index}].tool_calls[{at}]" for at in odd]
            changed[index] = {**message, "tool_calls": shaped}
    results = _with_ids(request, changed)
    places += [f"messages[{index}].tool_call_id" for index in results]
    if not places:
        return None
    return Finding(
        code="call_shape",
        places=tuple(places),
        message=f"{listed(places)} is not as the API knows it",
        fix='it is sent as {"id", "type": "function", "function": {"name", "arguments"}}',
        repair=partial(with_messages, changed={**changed, **results}),
    )


def _list(calls: Any) -> Sequence[Any]:
    return calls if isinstance(calls, (list, tuple)) else ()


def _shaped(call: Any, made_up: str) -> Any:
    """Write a call as the API wants it; the same object where it is right, or cannot be read."""
    if not isinstance(call, dict):
        return call
    # Flat calls, {"id", "name", "arguments"}, are what some frameworks keep (awesome-deepseek-integration 520).
    function = call["function"] if isinstance(call.get("function"), dict) else call
    name, arguments, own = function.get("name"), function.get("arguments"), call.get("id")
    if not isinstance(name, str) or call.get("type", "function") != "function":
        return call
    if isinstance(arguments, str) and isinstance(own, str) and function is not call and "type" in call:
        return call
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": _text(own, made_up), "type": "function", "function": {"name": name, "arguments": text}}


def _text(own: Any, made_up: str) -> str:
    return made_up if own is None else own if isinstance(own, str) else str(own)


def _with_ids(request: Request, changed: Mapping[int, Message]) -> dict[int, Message]:
    """Give results without an id that of the first call that still waits."""
    results: dict[int, Message] = {}
    waiting: list[str] = []
    for index, message in request.of("assistant", "tool"):
        if message["role"] == "assistant":
            waiting = ids_of(changed.get(index, message))
            continue
        own = message.get("tool_call_id")
        answered = _text(own, waiting[0] if waiting else "")
        if answered in waiting:
            waiting.remove(answered)
        if not isinstance(own, str):
            results[index] = {**message, "tool_call_id": answered}
    return results


def ids_of(message: Message) -> list[str]:
    """
    List the ids of a message's calls.

    Args:
        message: It.

    Returns:
        Those that can be read.
    """
    ids = [call.get("id") for call in _list(message.get("tool_calls")) if isinstance(call, dict)]
    return [own for own in ids if isinstance(own, str)]


def unknown_calls(request: Request) -> Finding | None:
    """Find calls that are no calls of functions, and cannot be read as such."""
    places = []
    for index, message in request.of("assistant"):
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, (list, tuple)):
            places.append(f"messages[{index}].tool_calls")
        places += [f"messages[{index}].tool_calls[{at}]" for at, call in enumerate(_list(calls)) if not _is_read(call)]
    if not places:
        return None
    what, fix = f"{listed(places)} is no call of a function", "send a function with its name and arguments"
    return Finding(code="unknown_call", places=tuple(places), message=what, fix=fix, is_certain=False)


def _is_read(call: Any) -> bool:
    if not isinstance(call, dict) or call.get("type", "function") != "function":
        return False
    function = call.get("function", call)
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def repeated_ids(request: Request) -> Finding | None:
    """Find calls of one message that share an id; each gets one of its own, and so do their results, in order."""
    changed: dict[int, Message] = {}
    places: list[str] = []
    for index, message in request.of("assistant"):
        ids = ids_of(message)
        if len(set(ids)) != len(ids) == len(_list(message.get("tool_calls"))):
            places += [f"messages[{index}].tool_calls[{at}].id" for at, own in enumerate(ids) if own in ids[:at]]
            changed |= _renumbered(request.messages, index, ids)
    if not places:
        return None
    return Finding(
        code="repeated_id",
        places=tuple(places),
        message=f"{listed(places)} is the id of a call before it",
        fix="each gets an id of its own",
        repair=partial(with_messages, changed=changed),
        kind=ToolOrderError,
    )


def _renumbered(messages: Sequence[Any], index: int, ids: Sequence[str]) -> dict[int, Message]:
    new = [own if own not in ids[:at] else f"{own}_{index}_{at}" for at, own in enumerate(ids)]
    calls = [{**call, "id": own} for call, own in zip(messages[index]["tool_calls"], new, strict=True)]
    changed: dict[int, Message] = {index: {**messages[index], "tool_calls": calls}}
    left = list(zip(ids, new, strict=True))
    for at in range(index + 1, len(messages)):
        result = messages[at]
        if not isinstance(result, dict) or result.get("role") != "tool":
            break
        pair = next((pair for pair in left if pair[0] == result.get("tool_call_id")), None)
        if pair is not None:
            left.remove(pair)
        if pair is not None and pair[0] != pair[1]:
            changed[at] = {**result, "tool_call_id": pair[1]}
    return changed
