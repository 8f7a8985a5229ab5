"""Strict tools: all of them or none, and only with schemas that strict mode can hold the model to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed, without
from deepseek_sdk.dialect.tools import with_tools
from deepseek_sdk.structured.strict_schema import strict_problem

if TYPE_CHECKING:
    from deepseek_sdk.dialect.request import Request

__all__ = ["strict_tools", "strict_with_format"]


def strict_tools(request: Request) -> Finding | None:
    """Find tools of which only some are strict, and strict ones whose schema cannot be."""
    functions = {index: function for index, tool in enumerate(request.tools) if (function := _function(tool))}
    strict = [index for index, function in functions.items() if function.get("strict")]
    if not strict:
        return None
    loose = [index for index in functions if index not in strict]
    problems = {index: found for index, function in functions.items() if (found := _problem(function))}
    if not loose and not problems:
        return None
    # Strict for all is what was wanted; where that cannot be, a loose tool still works, a refused request does not.
    changed = {i: _with_strict(request.tools[i], is_strict=not problems) for i in (strict if problems else loose)}
    places = tuple(f"tools[{index}]" for index in (problems or loose))
    return Finding(
        code="strict_tools",
        places=places,
        message=f"{listed(places)} {_what(next(iter(problems.values()), None))}",
        fix="none is sent as strict" if problems else "all are sent as strict",
        repair=partial(with_tools, changed=changed),
    )


def strict_with_format(request: Request) -> Finding | None:
    """Find strict tools together with a format: strict mode wants to be alone."""
    given = request.body["response_format"]
    tools = {index: tool for index, tool in enumerate(request.tools) if (_function(tool) or {}).get("strict")}
    if given is None or not tools or request.body.get("tool_choice") == "none":
        return None
    # Text is what an answer is anyhow.
    is_text = isinstance(given, dict) and given.get("type") == "text"
    loose = {index: _with_strict(tool, is_strict=False) for index, tool in tools.items()}
    return Finding(
        code="strict_with_format",
        places=("response_format",),
        message="response_format cannot be had together with strict tools",
        fix="it is left out" if is_text else "the tools are sent as not strict",
        repair=(lambda body: without(body, "response_format")) if is_text else partial(with_tools, changed=loose),
    )


def _function(tool: Any) -> dict[str, Any] | None:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) and isinstance(function.get("name"), str) else None


def _problem(function: dict[str, Any]) -> str | None:
    parameters = function.get("parameters")
    return strict_problem(parameters) if isinstance(parameters, dict) else None


def _what(problem: str | None) -> str:
    return "is not strict, and others are" if problem is None else f"cannot be strict: {problem}"


def _with_strict(tool: dict[str, Any], *, is_strict: bool) -> dict[str, Any]:
    function = without(tool["function"], "strict")
    return {**tool, "function": {**function, "strict": True} if is_strict else function}
