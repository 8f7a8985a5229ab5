"""`tool_choice`: how a tool is asked for, and that thinking leaves no choice."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding
from deepseek_sdk.dialect.thinking import thinking_off
from deepseek_sdk.errors import ToolChoiceInThinkingError

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Request

__all__ = ["forced_tool", "tool_choice", "unknown_choice"]

_WORDS = ("none", "auto", "required")
# "any" is what Anthropic and Mistral call it.
_SYNONYMS = {"any": "required", **{word: word for word in _WORDS}}


def tool_choice(request: Request) -> Finding | None:
    """Find a choice that is written as other services write it."""
    choice = request.body["tool_choice"]
    if choice is None or choice in _WORDS or _named(choice) is not None:
        return None
    read = _read(choice)
    return Finding(
        code="tool_choice",
        places=("tool_choice",),
        message=f"tool_choice must be none, auto, required or a function, not {choice!r}",
        fix='send {"type": "function", "function": {"name": ...}}' if read is None else f"{read!r} is sent",
        repair=None if read is None else partial(_chosen, choice=read),
        is_certain=False,
    )


def _named(choice: Any) -> str | None:
    function = choice.get("function") if isinstance(choice, dict) and choice.get("type") == "function" else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None


def _read(choice: Any) -> Any:
    if isinstance(choice, str):
        return _SYNONYMS.get(choice.lower())
    if not isinstance(choice, dict):
        return None
    # {"type": "function", "name": "f"} is the Responses API's, {"type": "tool", "name": "f"} Anthropic's.
    if choice.get("type") in ("function", "tool") and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    kind = choice.get("type")
    return _SYNONYMS.get(kind) if isinstance(kind, str) else None


def _chosen(body: Body, *, choice: Any) -> Body:
    return {**body, "tool_choice": choice}


def unknown_choice(request: Request) -> Finding | None:
    """Find a choice of a function that is not among the tools."""
    name = _named(request.body["tool_choice"])
    functions = [tool.get("function") for tool in request.tools if isinstance(tool, dict)]
    names = [function.get("name") for function in functions if isinstance(function, dict)]
    if name is None or not names or name in names:
        return None
    return Finding(
        code="unknown_tool_choice",
        places=("tool_choice",),
        message=f"tool_choice names {name!r}, which is none of the tools",
        fix="name one of the tools",
    )


def forced_tool(request: Request) -> Finding | None:
    """Find a forced tool while the model thinks: on by default, thinking is switched off, asked for it stays."""
    choice = request.body["tool_choice"]
    is_forced = choice == "required" or isinstance(choice, dict)
    if not is_forced or not request.tools or not request.is_thinking:
        return None
    is_chosen = request.has_chosen_thinking
    return Finding(
        code="forced_tool",
        places=("tool_choice",),
        message="tool_choice may only be auto or none while the model thinks",
        fix="leave thinking out, or switch it off" if is_chosen else "thinking is switched off",
        repair=None if is_chosen else thinking_off,
        kind=ToolChoiceInThinkingError,
    )
