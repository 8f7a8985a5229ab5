"""Cut a text into blocks: paragraphs before lines before sentences before words before characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from deepseek_sdk.tokens.fitting.fences import Fence, fence_at, find_fences, find_json, span_at
from deepseek_sdk.tokens.fitting.graphemes import is_between_characters, next_border

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Span", "blocks"]

Span: TypeAlias = tuple[int, int]

_QUOTES = r"[\"'\u201d\u2019」』）)\]]*"
# Where each ends, a block may end; the first that is fine enough is taken.
_LEVELS = (
    re.compile(r"\n(?:[^\S\n]*\n)+"),
    re.compile(r"\n"),
    re.compile(rf"[。！？]{_QUOTES}|[.!?…]{_QUOTES}\s+"),
    re.compile(r"[，、；：]|[,;:]\s+"),
    re.compile(r"\s+|(?<=[\u3400-\u9fff])(?=[\u3400-\u9fff])"),
)
_LINES = 1


class _Ground:
    """A text, and the places in it that a cut keeps out of."""

    def __init__(self, text: str, most: int) -> None:
        self.text = text
        self.most = most
        self._fences: list[Fence] = find_fences(text)
        self._json = find_json(text)

    def allows(self, at: int, level: int) -> bool:
        if span_at(self._json, at) is not None:
            return False
        fence = fence_at(self._fences, at)
        if fence is None:
            return True
        # A fence is cut between lines, and only where it would be most of what is kept.
        return fence.end - fence.start > self.most and level == _LINES

    def leave(self, at: int) -> int:
        """Go on to the end of what a place is inside of, if it may not be cut at all."""
        span = span_at(self._json, at)
        if span is not None:
            return span[1]
        fence = fence_at(self._fences, at)
        return at if fence is None or self.allows(at, _LINES) else fence.end


def blocks(text: str, most: int, *, start: int = 0, end: int | None = None) -> list[Span]:
    """
    Cut a text into blocks.

    Args:
        text: It.
        most: How many characters a block may have; JSON, and short code fences, stay whole all the same.
        start: Where to begin.
        end: Where to end; None: at the end.

    Returns:
        The blocks, without gaps between them, in order.
    """
    ground = _Ground(text, max(most, 1))
    return list(_merged(_pieces(ground, start, len(text) if end is None else end, 0), ground.most))


def _pieces(ground: _Ground, start: int, end: int, level: int) -> Iterator[Span]:
    if end - start <= ground.most:
        if start < end:
            yield start, end
        return
    if level == len(_LEVELS):
        yield from _characters(ground, start, end)
        return
    at = start
    for found in _LEVELS[level].finditer(ground.text, start, end):
        border = found.end()
        if at < border < end and is_between_characters(ground.text, border) and ground.allows(border, level):
            yield from _fine(ground, at, border, level)
            at = border
    yield from _fine(ground, at, end, level)


def _fine(ground: _Ground, start: int, end: int, level: int) -> Iterator[Span]:
    """Go on with what is still too long, at the next level: neighbours that are short are put together there."""
    if end - start <= ground.most:
        yield start, end
    else:
        yield from _merged(_pieces(ground, start, end, level + 1), ground.most)


def _characters(ground: _Ground, start: int, end: int) -> Iterator[Span]:
    while start < end:
        border = min(ground.leave(next_border(ground.text, min(start + ground.most, end))), end)
        yield start, border
        start = border


def _merged(pieces: Iterator[Span], most: int) -> Iterator[Span]:
    start = end = -1
    for piece in pieces:
        if start >= 0 and piece[1] - start > most:
            yield start, end
            start = -1
        start, end = (piece[0] if start < 0 else start), piece[1]
    if start >= 0:
        yield start, end
