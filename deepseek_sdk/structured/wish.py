"""`Wish`: what a request wants its answer to be, beyond words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Wish", "wish_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """
    What an answer has to be.

    Attributes:
        wants_json: The content has to be JSON.
        schema: What the JSON has to satisfy, or None: it only has to be JSON.
        tools: What may be called, by name: the function as the request describes it.
        parse: What the caller's `parse()` makes of the answer, or None for `create()`: it knows best what fits.
        is_binding: An answer that does not fit is an error; else the caller gets it as it came.
        has_logprobs: The content belongs to its log probabilities, so it cannot be rewritten.
    """

    wants_json: bool
    schema: Mapping[str, Any] | None = None
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parse: Callable[[Any], Any] | None = None
    is_binding: bool = False
    has_logprobs: bool = False

    @property
    def needs_schemas(self) -> bool:
        """Whether something may have to satisfy a schema."""
        return self.schema is not None or any(tool.get("strict") is True for tool in self.tools.values())


def wish_of(body: Mapping[str, Any], parse: Callable[[Any], Any] | None = None) -> Wish | None:
    """
    Read what a request wants.

    Args:
        body: The request.
        parse: What the caller's `parse()` makes of the answer, or None.

    Returns:
        The wish, or None where any answer is as good as any other, or several are wanted.
    """
    kind, described = _format(body.get("response_format"))
    tools = _functions(body.get("tools"))
    if not (kind or tools) or _is_several(body.get("n")):
        return None
    schema = described.get("schema")
    return Wish(
        wants_json=bool(kind),
        schema=schema if isinstance(schema, dict) else None,
        tools=tools,
        parse=parse,
        # What says of itself that it is not strict is met as well as can be: openai's words.
        is_binding=(kind == "json_schema" and described.get("strict") is not False) or (parse is not None and not kind),
        has_logprobs=bool(body.get("logprobs")),
    )


def _format(given: object) -> tuple[str, Mapping[str, Any]]:
    """Read the response format: its kind, "" where it is text, and what it says about a schema."""
    kind = given.get("type") if isinstance(given, dict) else None
    if not isinstance(given, dict) or kind not in ("json_object", "json_schema"):
        return "", {}
    described = given.get("json_schema")
    return kind, described if kind == "json_schema" and isinstance(described, dict) else {}


def _functions(tools: object) -> dict[str, Mapping[str, Any]]:
    found = (
        [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list | tuple) else []
    )
    return {str(function.get("name")): function for function in found if isinstance(function, dict)}


def _is_several(n: object) -> bool:
    return isinstance(n, int) and n > 1
