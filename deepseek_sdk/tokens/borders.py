"""Where a text may be cut so that the tokens of its parts add up to the tokens of the whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PIECE_CHARACTERS", "cut_for_counting"]

PIECE_CHARACTERS = 8192

# The vocabulary never joins characters across these: a line's end and what follows it, a word and the space before the
# next, a punctuation mark and a Chinese character (the three patterns of `pre_tokenizer` in tokenizer.json).
_BORDER = re.compile(r"(?<=[\r\n])(?=\S)|(?<=[A-Za-z])(?= [A-Za-z])|(?<=[，。、；：？！,.;:?!])(?=[\u4e00-\u9fa5])")


def cut_for_counting(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """
    Cut a text into parts that can be counted one by one.

    Args:
        text: Any.
        size: The characters that a part has at least, but for the last; more where no border follows.

    Yields:
        The parts, which join to the text.
    """
    start, size = 0, max(size, 1)
    while len(text) - start > size and (border := _BORDER.search(text, start + size)):
        yield text[start : border.start()]
        start = border.start()
    yield text[start:]
