"""
A schema as a strict tool, both ways: DeepSeek has no `json_schema` for chats, but holds the model to a strict tool.

    lowered_to_tool(body)       the request, with the schema as the one tool that must be called
    raised_from_tool(answer)    the answer, with the arguments of that call as its content
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk._clock import is_thinking
from deepseek_sdk.structured.strict_schema import strict_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["lowered_to_tool", "raised_from_tool"]

_LONGEST_NAME = 64
# What the guide of strict mode lists; what it does not may be refused, or ignored, which would be worse.
_KNOWN = frozenset(
    {
        "$def", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
        "exclusiveMinimum", "format", "items", "maximum", "minimum", "multipleOf", "pattern", "properties", "required",
        "type",
    }
)  # fmt: skip


def lowered_to_tool(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    Ask for a schema by a strict tool.

    Args:
        body: A plain request with a `json_schema` as its response format.

    Returns:
        The request, or None where strict mode cannot serve it: a forced tool needs thinking to be off, and no other
        tools; not every schema can be strict; and log probabilities would be those of a call.
    """
    given = body.get("response_format")
    described = given.get("json_schema") if isinstance(given, dict) and given.get("type") == "json_schema" else None
    schema = described.get("schema") if isinstance(described, dict) else None
    if not isinstance(described, dict) or not isinstance(schema, dict) or not _is_free(body):
        return None
    parameters = _strict(schema)
    if parameters is None:
        return None
    name = _name(described.get("name"))
    tool = {"name": name, **_description(described), "strict": True, "parameters": parameters}
    rest = {key: value for key, value in body.items() if key != "response_format"}
    choice = {"type": "function", "function": {"name": name}}
    return {**rest, "tools": [{"type": "function", "function": tool}], "tool_choice": choice}


def raised_from_tool(answer: bytes) -> bytes | None:
    """
    Give the arguments of the one call as the content of the answer.

    Args:
        answer: The JSON answer to a request that was lowered to a tool.

    Returns:
        The answer that the caller's own request would have had, or None where the model has called nothing. Calls that
        do not say the same are no answer, and go: the caller knows of no tool.
    """
    try:
        decoded = json.loads(answer)
        choice = decoded["choices"][0]
        message = choice["message"]
        called = {call["function"]["arguments"] for call in message["tool_calls"]}
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    if not called:
        return None
    content = called.pop() if len(called) == 1 else message.get("content")
    choice["message"] = {key: value for key, value in message.items() if key != "tool_calls"} | {"content": content}
    if choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "stop"
    return json.dumps(decoded).encode()


def _is_free(body: Mapping[str, Any]) -> bool:
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list | tuple) and messages else None
    is_prefixed = isinstance(last, dict) and last.get("role") == "assistant"
    has_others = bool(body.get("tools")) or bool(body.get("stream")) or bool(body.get("logprobs"))
    return not (is_thinking(body) or has_others or is_prefixed)


def _name(given: object) -> str:
    """Give a name that a function may have: letters, digits, "_" and "-", at most 64 of them."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given if isinstance(given, str) else "")[:_LONGEST_NAME] or "answer"


def _description(described: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": described["description"]} if isinstance(described.get("description"), str) else {}


def _strict(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Write a schema as strict mode wants it, or give None where it cannot serve it."""
    try:
        written: dict[str, Any] = _written(schema, schema.get("$defs") or schema.get("$def") or {})
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    return written if strict_problem(written) is None else None


def _written(schema: Any, defs: Mapping[str, Any]) -> dict[str, Any]:
    # Titles and defaults bind nothing, and the guide does not list them, defaults of numbers apart.
    known = {"$def" if key == "$defs" else key: schema[key] for key in schema if key not in ("title", "default")}
    if unknown := known.keys() - _KNOWN:
        raise ValueError(f"unknown keywords: {unknown}")
    return _with_enum({key: _part(key, value, defs) for key, value in known.items()})


def _part(key: str, value: Any, defs: Mapping[str, Any]) -> Any:
    if key in ("properties", "$def"):
        return {name: _written(part, defs) for name, part in value.items()}
    if key == "anyOf":
        return [variant for part in value for variant in _variants(part, defs)]
    if key == "items":
        return _written(value, defs)
    # The guide's own spelling: "$def" and "#/$def/x".
    return value.replace("#/$defs/", "#/$def/") if key == "$ref" else value


def _variants(schema: Any, defs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Write one of several possibilities out: among them the parser takes neither references nor further ones."""
    if "$ref" in schema:
        return _variants(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in schema:
        return [variant for part in schema["anyOf"] for variant in _variants(part, defs)]
    return [_written(schema, defs)]


def _with_enum(schema: dict[str, Any]) -> dict[str, Any]:
    """Write a constant text as a choice of one: the guide has constants for numbers only."""
    if isinstance(schema.get("const"), str):
        schema["enum"] = [schema.pop("const")]
    return schema
