"""
What the schema of a strict function may contain, which DeepSeek's beta endpoint holds the model to.

The rules are those of https://api-docs.deepseek.com/guides/tool_calls, and of DeepSeek's own request parser where the
guide is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["strict_problem"]

_UNSUPPORTED = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}
_FORMATS = ("email", "hostname", "ipv4", "ipv6", "uuid")
_KINDS = frozenset({"type", "anyOf", "$ref"})
_SHAPES = {
    "properties": dict | None,
    "$def": dict | None,
    "$defs": dict | None,
    "required": list | tuple | None,
    "anyOf": list | tuple | None,
}
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")


def strict_problem(schema: Mapping[str, Any]) -> str | None:
    """
    Say what strict mode refuses.

    Args:
        schema: The parameters of a function.

    Returns:
        The first thing, with its place, or None.
    """
    if schema.get("type") != "object":
        return "parameters: the top level must be an object"
    try:
        return next(_problems(schema, "parameters"), None)
    except RecursionError:
        return "parameters: nested too deeply"


def _problems(schema: object, path: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    odd = [name for name, kind in _SHAPES.items() if not isinstance(schema.get(name), kind)]
    if odd:
        yield f"{path}: '{odd[0]}' is not what a schema has there"
        return
    if not schema.keys() & _KINDS:
        yield f"{path}: one of 'type', 'anyOf' and '$ref' is required"
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
    if path != "parameters" and not schema.get("properties"):
        yield f"{path}: an object needs properties"


def _type_problems(schema: Mapping[str, Any], kind: str, path: str) -> Iterator[str]:
    if kind not in _TYPES:
        yield f"{path}: type '{kind}' is not supported"
    for keyword in _UNSUPPORTED.get(kind, ()):
        if keyword in schema:
            yield f"{path}: '{keyword}' is not supported"
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield f"{path}: an array needs 'items'"
    if kind == "string" and schema.get("format", _FORMATS[0]) not in _FORMATS:
        yield f"{path}: format '{schema['format']}' is not supported"


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    # The guide and the parser know `$def`; what pydantic writes, `$defs`, is checked likewise.
    for group in ("properties", "$def", "$defs"):
        yield from (schema.get(group) or {}).items()
    yield "items", schema.get("items")
    for index, part in enumerate(schema.get("anyOf") or ()):
        # The parser wants each of them to be of a type by itself: a reference is not.
        is_typed = not isinstance(part, dict) or "type" in part
        yield f"anyOf[{index}]", part if is_typed else {}
