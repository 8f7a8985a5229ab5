"""Code fences and JSON inside a text: what a cut should not fall into."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import NamedTuple

__all__ = ["Fence", "fence_at", "find_fences", "find_json", "span_at"]

# A fence of CommonMark: at most three blanks, at least three backticks or tildes; only an opening one says a language.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)(?:\n|\Z)", re.MULTILINE)
_JSON_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_SHORTEST_JSON = 40
# Text that only looks like JSON is given up on after so many times its length: `[[[[` would take for ever.
_PATIENCE = 4


class Fence(NamedTuple):
    """
    A fenced block.

    Attributes:
        start: Where its opening line begins.
        end: Where its closing line ends; of one that is never closed, the end of the text.
        opening: The opening line, without its end.
        closing: What closes it.
    """

    start: int
    end: int
    opening: str
    closing: str


def find_fences(text: str) -> list[Fence]:
    """
    Find the fenced blocks of a text.

    Args:
        text: It.

    Returns:
        They, in order.
    """
    fences: list[Fence] = []
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening is None:
            # A backtick further on makes it inline code.
            opening = None if line[1][0] == "`" and "`" in line[2] else line
        elif line[1].startswith(opening[1]) and not line[2].strip():
            fences.append(_fence(opening, line.end()))
            opening = None
    if opening is not None:
        fences.append(_fence(opening, len(text) + 1))
    return fences


def _fence(opening: re.Match[str], end: int) -> Fence:
    return Fence(opening.start(), end, opening[0].rstrip("\n"), opening[1])


def fence_at(fences: list[Fence], at: int) -> Fence | None:
    """
    Tell which fence a place is in.

    Args:
        fences: The fences of the text.
        at: The place.

    Returns:
        The fence, or None outside of all, or at the very edge of one.
    """
    index = bisect_right(fences, at, key=lambda fence: fence.start) - 1
    return fences[index] if index >= 0 and fences[index].start < at < fences[index].end else None


def span_at(spans: list[tuple[int, int]], at: int) -> tuple[int, int] | None:
    """
    Tell which span a place is inside of.

    Args:
        spans: Spans, in order.
        at: The place.

    Returns:
        The span, or None outside of all, or at the very edge of one.
    """
    index = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return spans[index] if index >= 0 and spans[index][0] < at < spans[index][1] else None


def find_json(text: str) -> list[tuple[int, int]]:
    """
    Find JSON objects and arrays that begin a line.

    Args:
        text: The text they stand in.

    Returns:
        Their spans, in order; short ones are left out.
    """
    decoder, spans = json.JSONDecoder(), list[tuple[int, int]]()
    at, patience = 0, len(text) * _PATIENCE
    while patience > 0 and (start := _JSON_START.search(text, at)) is not None:
        try:
            _, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError) as error:
            patience -= 1 + max(0, getattr(error, "pos", len(text)) - start.end())
            at = start.end() + 1
            continue
        if end - start.end() >= _SHORTEST_JSON:
            spans.append((start.start(), end))
        at = end
    return spans
