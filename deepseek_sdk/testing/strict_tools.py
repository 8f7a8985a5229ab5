"""
Strict tools, which only the beta paths know: what the schema of a function may contain.

The rules are those of https://api-docs.deepseek.com/guides/tool_calls; the wording of the refusals is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import refusals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["check_strict_tools", "strict_problem"]

_UNSUPPORTED = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}
_FORMATS = ("email", "hostname", "ipv4", "ipv6", "uuid")
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")


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
        problem = strict_problem(function.get("parameters") or {})
        if problem is not None:
            raise refusals.invalid(f"Invalid schema for function '{function['name']}': {problem}")


def strict_problem(schema: Mapping[str, Any]) -> str | None:
    """Return the first thing in *schema* that strict mode refuses, or None."""
    return next(_problems(schema, "parameters"), None)


def _problems(schema: object, path: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        yield from _object_problems(schema, path)
    if isinstance(kind, str):
        yield from _type_problems(schema, kind, path)
    for name, part in _children(schema):
        yield from _problems(part, f"{path}.{name}")


def _object_problems(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    # Every property required, no additional ones, on every object (tool calls guide).
    if schema.get("additionalProperties") is not False:
        yield f"{path}: 'additionalProperties' must be false"
    missing = [name for name in schema.get("properties") or {} if name not in (schema.get("required") or ())]
    if missing:
        yield f"{path}: every property must be in 'required', '{missing[0]}' is not"


def _type_problems(schema: Mapping[str, Any], kind: str, path: str) -> Iterator[str]:
    if kind not in _TYPES:
        yield f"{path}: type '{kind}' is not supported"
    for keyword in _UNSUPPORTED.get(kind, ()):
        if keyword in schema:
            yield f"{path}: '{keyword}' is not supported"
    if kind == "string" and schema.get("format", _FORMATS[0]) not in _FORMATS:
        yield f"{path}: format '{schema['format']}' is not supported"


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    # The guide writes `$def`, pydantic `$defs`; which of them the live API takes is not known.
    for group in ("properties", "$def", "$defs"):
        yield from (schema.get(group) or {}).items()
    yield "items", schema.get("items")
    for index, part in enumerate(schema.get("anyOf") or ()):
        yield f"anyOf[{index}]", part
