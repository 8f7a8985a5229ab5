"""
Mend JSON that a model has written almost right, where only one reading is left: a value is never changed.

Nothing is closed that the model has left open: an answer that was cut stays cut.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mended", "mend"]

_BLANK = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.])", re.ASCII)
_LITERAL = re.compile(r"(?:true|false|null|True|False|None)\b")
_SINGLE = re.compile(r"'([^'\"\\\r\n]*+)'")
_KEY = re.compile(_STRING.pattern + r"(?=\s*:)", re.DOTALL)
# Quotes may be missing, as in {"selected: ["A"]} (DeepSeek-V3 #1069); what holds blanks need not be a name.
_BARE_KEY = re.compile(r"[\"']?([\w$.-]++)[\"']?(?=\s*:)")
_CONTROL = re.compile(r"[\x00-\x1f]")
_FENCE = re.compile(r"```[\w-]*+[ \t]*+\r?\n(.*?)```", re.DOTALL)
# What can be told from prose: "[1]" may be a reference, and "{}" a gap.
_TELLING = re.compile(r"\{\s*+[^\s}]|\[\s*+\{")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_CLOSER = {"{": "}", "[": "]"}


class Mended(NamedTuple):
    """
    JSON that can be read.

    Attributes:
        text: It.
        edits: What was mended, a few words each.
    """

    text: str
    edits: tuple[str, ...]


def mend(text: str) -> Mended | None:
    """
    Find the one JSON value in a text, and mend how it is written.

    Args:
        text: What the model has written.

    Returns:
        The value, or None where there is none, or more than one way to read it.
    """
    for candidate in _candidates(text):
        try:
            fixed, edits = _Scanner(candidate).run()
            json.loads(fixed)
        except (ValueError, RecursionError):
            continue
        around = () if candidate == text.strip() else ("text around the JSON",)
        return Mended(fixed, (*around, *edits))
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text.strip().removeprefix("\ufeff")
    blocks = [*_FENCE.finditer(text)]
    if len(blocks) == 1 and not _opens(text[: blocks[0].start()] + text[blocks[0].end() :]):
        yield blocks[0][1].strip()
    first = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    last = max(text.rfind("}"), text.rfind("]"))
    if 0 <= first < last and _TELLING.match(text, first) and not _opens(text[last + 1 :]):
        yield text[first : last + 1]


def _opens(text: str) -> bool:
    """Tell whether there may be another value, whole or cut, in what stands around one."""
    return "{" in text or "[" in text


class _Scanner:
    """Copies one object or array, token by token, and writes right what is almost right; ValueError for all else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._out: list[str] = []
        self._open: list[str] = []
        self._edits: dict[str, None] = {}

    def run(self) -> tuple[str, tuple[str, ...]]:
        self._blank()
        self._begin(self._next("{["))
        while self._open:
            self._item()
        self._blank()
        if self._place < len(self._text):
            raise ValueError("there is more than one value")
        return "".join(self._out), tuple(self._edits)

    def _item(self) -> None:
        """Take a key and the value after it, or an element: up to the comma or the closing bracket behind it."""
        self._blank()
        if self._closes():
            return
        if self._open[-1] == "{":
            self._key()
        self._value()

    def _value(self) -> None:
        self._blank()
        opening = self._text[self._place : self._place + 1]
        if opening and opening in "{[":
            self._begin(self._next("{["))
            return
        self._scalar()
        self._after()

    def _begin(self, bracket: str) -> None:
        self._out.append(bracket)
        self._open.append(bracket)

    def _closes(self) -> bool:
        bracket = self._text[self._place : self._place + 1]
        if not bracket or bracket not in "}]":
            return False
        if bracket != _CLOSER[self._open.pop()]:
            raise ValueError("brackets do not match")
        self._place += 1
        self._out.append(bracket)
        if self._open:
            self._after()
        return True

    def _after(self) -> None:
        """Take the comma behind a value, unless nothing follows it."""
        self._blank()
        if self._text[self._place : self._place + 1] in ("}", "]"):
            return
        self._next(",")
        gap = _match(_BLANK, self._text, self._place)
        if self._text[gap.end() : gap.end() + 1] in ("}", "]"):
            self._edits["trailing comma"] = None
        else:
            self._out.append(",")

    def _key(self) -> None:
        if found := _KEY.match(self._text, self._place):
            self._string(found)
        else:
            found = _match(_BARE_KEY, self._text, self._place)
            self._put(found, json.dumps(found[1], ensure_ascii=False), "quotes of a key")
        self._blank()
        self._out.append(self._next(":"))

    def _scalar(self) -> None:
        if found := _STRING.match(self._text, self._place):
            self._string(found)
        elif found := _NUMBER.match(self._text, self._place):
            self._put(found, found[0])
        elif found := _SINGLE.match(self._text, self._place):
            self._put(found, f'"{found[1]}"', "single quotes")
        else:
            found = _match(_LITERAL, self._text, self._place)
            self._put(found, _PYTHON.get(found[0], found[0]), "literals of Python" if found[0] in _PYTHON else None)

    def _string(self, found: re.Match[str]) -> None:
        escaped = _CONTROL.sub(lambda control: json.dumps(control[0])[1:-1], found[0])
        self._put(found, escaped, None if escaped == found[0] else "line breaks in a string")

    def _put(self, found: re.Match[str], text: str, edit: str | None = None) -> None:
        self._out.append(text)
        self._place = found.end()
        if edit is not None:
            self._edits[edit] = None

    def _blank(self) -> None:
        gap = _match(_BLANK, self._text, self._place)
        self._put(gap, gap[0])

    def _next(self, expected: str) -> str:
        found = self._text[self._place : self._place + 1]
        if not found or found not in expected:
            raise ValueError("something else was expected")
        self._place += 1
        return found


def _match(pattern: re.Pattern[str], text: str, place: int) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise ValueError("something else was expected")
    return found
