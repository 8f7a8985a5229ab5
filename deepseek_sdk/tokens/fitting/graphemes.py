"""Where a character as readers see it ends: no cut may fall between a letter and its accent."""

from __future__ import annotations

import unicodedata

__all__ = ["is_between_characters", "next_border"]

_JOINER = "\u200d"
# Modifiers of skin colour, and the letters that flags are made of two of.
_MODIFIERS = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
# Tags, which spell the flags of regions behind a black flag.
_TAGS = range(0xE0020, 0xE0080)
# Vowels and final consonants of Hangul that is not composed.
_HANGUL_PARTS = range(0x1160, 0x1200)


def is_between_characters(text: str, at: int) -> bool:
    r"""
    Tell whether a text may be cut somewhere.

    Args:
        text: It.
        at: Where.

    Returns:
        False inside a grapheme cluster: before accents and other marks, around joiners, inside flags and "\r\n".
    """
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if after.isascii() and before.isascii():
        return not (before == "\r" and after == "\n")
    return not (_extends(after) or before == _JOINER or _is_inside_flag(text, at))


def next_border(text: str, at: int) -> int:
    """
    Find the next place where a text may be cut.

    Args:
        text: It.
        at: Where to begin.

    Returns:
        *at* or a later place.
    """
    while not is_between_characters(text, at):
        at += 1
    return at


def _extends(char: str) -> bool:
    code = ord(char)
    if code in _MODIFIERS or code in _TAGS or code in _HANGUL_PARTS or char == _JOINER:
        return True
    # Marks, variation selectors among them; half of a surrogate pair is no character at all.
    return unicodedata.category(char) in {"Mn", "Me", "Mc"} or 0xDC00 <= code < 0xE000  # noqa: PLR2004  its definition


def _is_inside_flag(text: str, at: int) -> bool:
    """Count the letters before: flags are pairs."""
    if ord(text[at]) not in _FLAG_LETTERS:
        return False
    start = at
    while start and ord(text[start - 1]) in _FLAG_LETTERS:
        start -= 1
    return (at - start) % 2 == 1
