"""The tools of a request: their shape, their names, their number."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed, without

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Request

__all__ = ["are_sound", "repeated_tools", "too_many_tools", "tool_names", "tool_schemas", "tool_shapes", "with_tools"]

_MOST = 128
# "letters, digits, underscores and dashes, at most 64 characters" (chat reference).
_LONGEST_NAME = 64
_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{_LONGEST_NAME}}}")
_FUNCTION = ("name", "description", "parameters", "strict")


def are_sound(tools: Any) -> bool:
    """
    Look at tools once, quickly.

    Args:
        tools: The tools of a body.

    Returns:
        Whether no rule about tools can find anything.
    """
    if len(tools) > _MOST:
        return False
    names = set()
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not function or tool.get("type") != "function" or not isinstance(function, dict) or function.get("strict"):
            return False
        name, parameters = function.get("name"), function.get("parameters")
        if name.__class__ is not str or not _is_name(name) or not _is_schema(parameters):
            return False
        names.add(name)
    return len(names) == len(tools)


def _is_name(name: str) -> bool:
    # Most names are identifiers, and asking that takes less time.
    is_plain = len(name) <= _LONGEST_NAME and name.isascii() and name.isidentifier()
    return is_plain or _NAME.fullmatch(name) is not None


def _is_schema(parameters: Any) -> bool:
    return parameters is None or (isinstance(parameters, dict) and parameters.get("type") == "object")


def with_tools(body: Body, changed: Mapping[int, Any]) -> Body:
    """
    Put other tools in the place of some.

    Args:
        body: It.
        changed: The new tools by their indices; None leaves one out.

    Returns:
        A copy; the other tools are the same objects.
    """
    tools = [changed.get(index, tool) for index, tool in enumerate(body["tools"])]
    return {**body, "tools": [tool for tool in tools if tool is not None]}


def tool_shapes(request: Request) -> Finding | None:
    """Find tools that are not written as the API wants them: `{"type": "function", "function": {...}}`."""
    odd = {index: tool for index, tool in enumerate(request.tools) if not _is_shaped(tool)}
    if not odd:
        return None
    shaped = {index: _shaped(tool) for index, tool in odd.items()}
    # Where one cannot be read, the caller has to look anyway.
    places = tuple(f"tools[{index}]" for index, tool in shaped.items() if tool is None)
    return Finding(
        code="tool_shape",
        places=places or tuple(f"tools[{index}]" for index in odd),
        message=f"{listed(places or [f'tools[{index}]' for index in odd])} is no function as the API knows it",
        fix='send {"type": "function", "function": {"name": ...}}' if places else "it is wrapped",
        repair=None if places else partial(with_tools, changed=shaped),
        is_certain=False,
    )


def _is_shaped(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function" and _is_function(tool.get("function"))


def _is_function(function: Any) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _shaped(tool: Any) -> Any:
    """Read a tool without its type, or flat, as the Responses API has it."""
    if not isinstance(tool, dict) or tool.get("type", "function") != "function":
        return None
    if _is_function(tool.get("function")):
        return {"type": "function", **tool}
    if not _is_function(tool) or "function" in tool:
        return None
    return {"type": "function", "function": {name: tool[name] for name in _FUNCTION if name in tool}}


def too_many_tools(request: Request) -> Finding | None:
    """Find more tools than a request may have."""
    count = len(request.tools)
    if count <= _MOST:
        return None
    return Finding(
        code="too_many_tools",
        places=("tools",),
        message=f"{count} tools are more than the {_MOST} that a request may have",
        fix="send those that this turn can need",
    )


def tool_names(request: Request) -> Finding | None:
    """Find names that no function may have; the answer would call others by another name, so they stay."""
    places = [f"tools[{index}]" for index, name in _names(request) if not _is_name(name)]
    if not places:
        return None
    return Finding(
        code="tool_name",
        places=tuple(places),
        message=f"{listed(places)} has a name that is not 1 to 64 letters, digits, underscores and dashes",
        fix="rename the function",
    )


def _names(request: Request) -> list[tuple[int, str]]:
    return [(index, tool["function"]["name"]) for index, tool in enumerate(request.tools) if _is_shaped(tool)]


def repeated_tools(request: Request) -> Finding | None:
    """Find several functions of one name; the same one twice is sent once."""
    first: dict[str, int] = {}
    again = [index for index, name in _names(request) if first.setdefault(name, index) != index]
    if not again:
        return None
    tools = request.tools
    is_same = all(tools[index] == tools[first[tools[index]["function"]["name"]]] for index in again)
    places = tuple(f"tools[{index}]" for index in again)
    return Finding(
        code="repeated_tool",
        places=places,
        message=f"{listed(places)} has the name of a tool before it",
        fix="it is sent once" if is_same else "rename one of them",
        repair=partial(with_tools, changed=dict.fromkeys(again)) if is_same else None,
    )


def tool_schemas(request: Request) -> Finding | None:
    """Find parameters that are no schema of an object."""
    odd = {index: tool for index, tool in enumerate(request.tools) if _is_shaped(tool) and not _has_schema(tool)}
    if not odd:
        return None
    typed = {index: _typed(tool) for index, tool in odd.items()}
    places = tuple(f"tools[{index}].function.parameters" for index, tool in typed.items() if tool is None)
    named = places or tuple(f"tools[{index}].function.parameters" for index in odd)
    return Finding(
        code="tool_schema",
        places=named,
        message=f'{listed(named)} must be a schema of "type": "object"',
        fix="describe the parameters as an object" if places else 'the type "object" is added',
        repair=None if places else partial(with_tools, changed=typed),
    )


def _has_schema(tool: Any) -> bool:
    return _is_schema(tool["function"].get("parameters"))


def _typed(tool: Any) -> Any:
    function = tool["function"]
    parameters = function["parameters"]
    if not isinstance(parameters, dict) or parameters.get("type") is not None:
        return None
    return {**tool, "function": {**function, "parameters": {"type": "object", **without(parameters, "type")}}}
