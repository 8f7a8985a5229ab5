"""A text that is JSON as a whole, such as the result of a tool: cut so that JSON is left."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.tokens.fitting.borders import Span

__all__ = ["Form", "JsonPlace", "find_place", "is_inside_escape"]

Form = Literal["text", "array", "object", "string"]

_BLANK = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\.")
# What is nested deeper than that is not looked into.
_DEEPEST = 8
_KINDS: dict[str, Form] = {"[": "array", "{": "object", '"': "string"}


class JsonPlace(NamedTuple):
    """
    Where a JSON text is cut: in its largest part.

    Attributes:
        form: What that part is: "array", "object" or "string".
        start: Where its inside begins.
        end: Where that ends.
        items: The elements of an array, or the members of an object; none of a string.
    """

    form: Form
    start: int
    end: int
    items: list[Span]


def find_place(text: str) -> JsonPlace | None:
    """
    Find where a text can be cut so that it stays JSON.

    Args:
        text: It.

    Returns:
        The place, or None where the text is not a JSON array or object.
    """
    start = _after_blank(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
        return _largest(text, start, end, 0) if not text[end:].strip() else None
    except (ValueError, RecursionError):
        return None


def is_inside_escape(text: str, at: int, start: int) -> bool:
    """
    Tell whether a place in a JSON string is in the middle of an escape sequence.

    Args:
        text: The text that holds the string.
        at: The place.
        start: Where the inside of the string begins.

    Returns:
        True where a cut would break it.
    """
    # Backslashes pair off from the beginning of their run; nothing further back matters.
    back = max(start, at - len(r"\ud83d\ude00"))
    while back > start and text[back - 1] == "\\":
        back -= 1
    return any(found.start() < at < found.end() for found in _ESCAPE.finditer(text, back, at + 12))


def _largest(text: str, start: int, end: int, depth: int) -> JsonPlace:
    form = _KINDS[text[start]]
    if form == "string":
        return JsonPlace(form, start + 1, end - 1, [])
    items = list(_items(text, start, end, form))
    if items and depth < _DEEPEST:
        first, last = max(items, key=lambda span: span[1] - span[0])
        value = _value_start(text, first) if form == "object" else first
        # The rest stays as it is: it must be the smaller part.
        if (last - value) * 2 > end - start and text[value] in _KINDS:
            return _largest(text, value, last, depth + 1)
    return JsonPlace(form, start + 1, end - 1, items)


def _items(text: str, start: int, end: int, form: Form) -> Iterator[Span]:
    decode = json.JSONDecoder().raw_decode
    at = _after_blank(text, start + 1)
    while at < end - 1:
        first = at
        _, at = decode(text, _value_start(text, at) if form == "object" else at)
        yield first, at
        at = _after_blank(text, _after_blank(text, at) + 1)


def _value_start(text: str, at: int) -> int:
    """Step over the name of a member."""
    _, at = json.JSONDecoder().raw_decode(text, at)
    return _after_blank(text, _after_blank(text, at) + 1)


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
