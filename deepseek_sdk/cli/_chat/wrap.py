"""Where lines of Chinese and English text may be broken: rich breaks at spaces only, and Chinese has none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["break_offsets"]

_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_OPENING = "（《〈「『【［｛“‘"  # noqa: RUF001  punctuation that begins no line's end
_CLOSING = "，。！？；：、）》〉」』】］｝”’…—％"  # noqa: RUF001  punctuation that begins no line
# A wide character, or a word, with the punctuation and the spaces that may not be parted from it.
_UNIT = re.compile(rf"[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}{_OPENING}{_CLOSING}]+|\S)?[{_CLOSING}]*\s*")


def break_offsets(text: str, width: int) -> list[int]:
    """
    Choose where a line is broken.

    Args:
        text: The line.
        width: The longest that a part may be, in cells; spaces at its end do not count.

    Returns:
        The offsets at which new parts begin.
    """
    offsets, used = [], 0
    for offset, unit in _units(text, width):
        if used and used + cell_len(unit.rstrip()) > width:
            offsets.append(offset)
            used = 0
        used += cell_len(unit)
    return offsets


def _units(text: str, width: int) -> Iterator[tuple[int, str]]:
    """Yield what is not to be broken; what is wider than a line is broken all the same."""
    for found in _UNIT.finditer(text):
        unit = found.group()
        if cell_len(unit.rstrip()) <= width:
            yield found.start(), unit
        else:
            yield from ((found.start() + index, character) for index, character in enumerate(unit))
