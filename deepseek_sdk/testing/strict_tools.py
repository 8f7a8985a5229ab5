"""
Strict tools, which only the beta paths know: which sets of tools are refused.

What a schema may contain says `structured.strict_schema`; the wording of the refusals is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.structured.strict_schema import strict_problem
from deepseek_sdk.testing import refusals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["check_strict_tools", "strict_problem"]


def check_strict_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    """
    Refuse tools that strict mode cannot serve.

    Args:
        tools: The tools of a request; nothing is checked if none of them is strict.

    Raises:
        Refusal: Only some are strict, or a schema breaks a rule.
    """
    functions = [tool["function"] for tool in tools]
    # Every function must be strict (tool calls guide).
    strict = [function for function in functions if function.get("strict")]
    if strict and len(strict) < len(functions):
        raise refusals.invalid(refusals.MIXED_STRICT)
    for function in strict:
        parameters = function.get("parameters")
        problem = strict_problem(parameters) if parameters else None
        if problem is not None:
            raise refusals.invalid(f"Invalid schema for function '{function['name']}': {problem}")
