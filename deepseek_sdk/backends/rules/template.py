"""Replies with places to fill in: `Template`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.backends.rules.text import is_blank, shown, without_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

__all__ = ["RESERVED", "Template", "default_problem", "holds_object", "moment"]

# What is known without a match.
RESERVED = ("question", "model", "date", "time")

_BRACES = r"\{\{|\}\}|\{([^{}]*)\}|[{}]"
_JSON_STRING = r'"(?:[^"\\]|\\.)*"'


class _Part(NamedTuple):
    """Text, and the name of what follows it, None at the end."""

    text: str
    name: str | None


class Template:
    """
    A reply with places to fill in. Filling in is all it can do: no attributes, no formats, nothing within a value.

        Template("Order {order} is on its way.")
        Template("Write {{order}} for a brace.")
        Template('{"message": "{question}"}')           JSON: braces are its own, and values are escaped

    Attributes:
        names: What it fills in.
        is_json: It is a JSON object.

    Raises:
        ValueError: A brace stands alone.
    """

    __slots__ = ("_parts", "is_json", "names")

    def __init__(self, source: str) -> None:
        self.is_json = holds_object(source)
        text = without_surrogates(source)
        self._parts = tuple(_json_parts(text) if self.is_json else _parts(text))
        self.names = frozenset(part.name for part in self._parts if part.name is not None)

    def fill(self, values: Mapping[str, str]) -> str:
        """
        Fill it in.

        Args:
            values: What to write for each name; what is missing is left empty.

        Returns:
            The reply.
        """
        return "".join([part.text + self._value(values, part.name) for part in self._parts])

    def _value(self, values: Mapping[str, str], name: str | None) -> str:
        value = without_surrogates("" if name is None else values.get(name, ""))
        return json.dumps(value, ensure_ascii=False)[1:-1] if self.is_json else value


def holds_object(text: str) -> bool:
    """
    Tell whether a text is a JSON object.

    Args:
        text: The text.

    Returns:
        Whether it is.
    """
    try:
        return text.lstrip().startswith("{") and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def default_problem(default: object) -> str | None:
    """
    Find what is wrong with the reply that is given where no rule matches.

    Args:
        default: It.

    Returns:
        What is wrong, or None.
    """
    if not isinstance(default, str) or is_blank(default):
        return f"default must be text, not {shown(default)}"
    try:
        unknown = sorted(Template(default).names.difference(RESERVED))
    except ValueError as error:
        return f"default has {error}"
    known = ", ".join(f"{{{name}}}" for name in RESERVED)
    return f"default has an unknown placeholder {{{unknown[0]}}}; known are {known}" if unknown else None


def moment(now: datetime) -> dict[str, str]:
    """
    Write a moment as templates show it.

    Args:
        now: The moment.

    Returns:
        Values for "date" and "time", such as 2026-11-30 and 08:05.
    """
    return {"date": f"{now:%Y-%m-%d}", "time": f"{now:%H:%M}"}


def _parts(source: str) -> Iterator[_Part]:
    text, done = "", 0
    for found in re.finditer(_BRACES, source):
        text += source[done : found.start()]
        done = found.end()
        if found[1] is not None:
            yield _Part(text, found[1].strip())
            text = ""
        elif len(found[0]) == 1:
            raise ValueError(f"a single {found[0]!r} at character {found.start() + 1}: write {found[0] * 2!r} for one")
        else:
            text += found[0][0]
    yield _Part(text + source[done:], None)


def _json_parts(source: str) -> Iterator[_Part]:
    """Look for places in the strings of JSON only."""
    done = 0
    for found in re.finditer(_JSON_STRING, source):
        yield _Part(source[done : found.start()], None)
        yield from _parts(found[0])
        done = found.end()
    yield _Part(source[done:], None)
