"""`Layout`: the blocks of a text, and how what is kept of them is joined again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.tokens.fitting.borders import Span, blocks
from deepseek_sdk.tokens.fitting.fences import Fence, fence_at, find_fences
from deepseek_sdk.tokens.fitting.jsontext import Form, find_place, is_inside_escape

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Layout", "join", "lay_out"]


class Layout(NamedTuple):
    """
    A text, ready to be cut.

    Attributes:
        text: It.
        form: "text", or what part of a JSON text is cut: "array", "object" or "string".
        blocks: What is kept or left out as a whole, in order; what stands before and after them is always kept.
    """

    text: str
    form: Form
    blocks: list[Span]

    def kept(self, chosen: Sequence[bool]) -> tuple[Span, ...]:
        """
        Say which parts of the text are kept.

        Args:
            chosen: For each block, whether it is.

        Returns:
            The parts, in order, the first from the start of the text and the last to its end, even if they are empty.
        """
        first, last = (self.blocks[0][0], self.blocks[-1][1]) if self.blocks else (len(self.text), len(self.text))
        parts = [(0, first)]
        for (start, end), is_chosen in zip(self.blocks, chosen, strict=True):
            if is_chosen and self._continues(parts[-1][1], start):
                parts[-1] = (parts[-1][0], end)
            elif is_chosen:
                parts.append((start, end))
        if self.blocks and chosen[-1]:
            parts[-1] = (parts[-1][0], len(self.text))
        else:
            parts.append((last, len(self.text)))
        return tuple(parts)

    def _continues(self, end: int, start: int) -> bool:
        """Nothing but a comma and blanks may be between the items of JSON."""
        return end == start or (self.form in ("array", "object") and not self.text[end:start].strip(" \t\r\n,"))


def lay_out(text: str, most: int) -> Layout:
    """
    Find the blocks of a text.

    Args:
        text: It.
        most: How many characters a block may have, where that can be.

    Returns:
        The layout.
    """
    place = find_place(text)
    if place is None:
        return Layout(text, "text", blocks(text, most))
    if place.form != "string":
        return Layout(text, place.form, place.items)
    spans = blocks(text, most, start=place.start, end=place.end)
    return Layout(text, "string", _outside_escapes(text, spans, place.start))


def _outside_escapes(text: str, spans: list[Span], inside: int) -> list[Span]:
    starts = [start for start, _ in spans if start == inside or not is_inside_escape(text, start, inside)]
    ends = [*starts[1:], *([spans[-1][1]] if spans else [])]
    return list(zip(starts, ends, strict=True))


def join(text: str, form: Form, kept: Sequence[Span], markers: Sequence[str]) -> str:
    """
    Make the shorter text.

    Args:
        text: The long one.
        form: What is cut; see `Layout`.
        kept: What is kept of it.
        markers: What stands in each gap; one fewer than there are parts.

    Returns:
        The text: code fences are closed before a marker and opened again after it, and JSON stays JSON.
    """
    if form == "text":
        return _joined_text(text, kept, markers)
    parts = [text[start:end] for start, end in kept]
    if form == "string":
        quoted = [json.dumps(f" {marker} ", ensure_ascii=False)[1:-1] for marker in markers]
        return "".join(piece for pair in zip(parts, [*quoted, ""], strict=True) for piece in pair)
    return _joined_items(parts, markers, form)


def _joined_items(parts: list[str], markers: Sequence[str], form: Form) -> str:
    joined = parts[0].rstrip().rstrip(",")
    for number, (part, marker) in enumerate(zip(parts[1:], markers, strict=True), 1):
        value = json.dumps(marker, ensure_ascii=False)
        # Members need names; equal ones would hide each other.
        item = f'"… {number}": {value}' if form == "object" else value
        before = "" if joined.endswith(("[", "{")) else ", "
        rest = part.lstrip(" \t\r\n,")
        after = "" if rest.startswith(("]", "}")) and _closes(rest, form) else ", "
        joined = f"{joined}{before}{item}{after}{rest}"
    return joined


def _closes(rest: str, form: Form) -> bool:
    return rest[0] == ("}" if form == "object" else "]")


def _joined_text(text: str, kept: Sequence[Span], markers: Sequence[str]) -> str:
    fences = find_fences(text)
    joined = text[slice(*kept[0])]
    for (_, gap_start), (gap_end, end), marker in zip(kept[:-1], kept[1:], markers, strict=True):
        joined = _closed(joined, fence_at(fences, gap_start))
        joined = f"{_set_off(joined)}{marker}" if joined else marker
        rest = text[gap_end:end]
        joined += _opened(fence_at(fences, gap_end)) if rest else ""
        joined += rest if not rest or joined.endswith("\n") else _following(rest)
    return joined


def _set_off(text: str) -> str:
    """End a text with an empty line."""
    text = text.rstrip(" ")
    missing = 2 - (len(text) - len(text.rstrip("\n")))
    return text + "\n" * max(missing, 0)


def _following(rest: str) -> str:
    return "\n\n" + rest.lstrip("\n")


def _closed(text: str, fence: Fence | None) -> str:
    if fence is None:
        return text
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}{fence.closing}\n"


def _opened(fence: Fence | None) -> str:
    return "" if fence is None else f"\n\n{fence.opening}\n"
