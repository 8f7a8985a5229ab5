"""
Cut a text into tokens.

Latin words are stemmed; known phrases become one token ("turn_on"). A run of Chinese is cut by the longest word of the
lexicon that begins there; a character that begins none is a token by itself: it is cut alike in every text, which
overlapping pairs of characters would not be where one of two is replaced.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.matching.lexicon import lexicon
from deepseek_sdk.caching.matching.stem import stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.caching.matching.lexicon import Lexicon

__all__ = ["Token", "cut"]

_PARTS = re.compile(
    r"(?P<number>\d+(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)*)"
    r"|(?P<unit>[kK][mM]/[hH]|[mM]/[sS]|°[CcFf]|[%°$€£¥₹])"
    r"|(?P<latin>[^\W\d_]\.(?:[^\W\d_]\.)+|(?![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[A-Za-z\u00c0-\u024f]+"
    r"(?:\.[A-Za-z]{2,})*(?:'[A-Za-z]+)?(?:\+\+|\#(?!\w))?)"
    r"|(?P<chinese>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3007]+)"
    r"|(?P<other>[^\W\d_]+)"
    r"|(?P<sign>[-+*/=<>^!&|~@])"
)
_NUMERALS = frozenset("零\u3007一二两三四五六七八九十百千万亿")
_NUMERAL = re.compile(
    r"百分之[零\u3007一二两三四五六七八九十百]+(?:点[零\u3007一二三四五六七八九]+)?|[零\u3007一二两三四五六七八九十百千万亿]+(?:点[零\u3007一二三四五六七八九]+)?"
)
_NOT = {"can't": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"), "cannot": ("can", "not")}


class Token(NamedTuple):
    """
    A word, a number, or a sign.

    Attributes:
        text: It, in small letters and stemmed.
        kind: "latin", "chinese", "number", "numeral" (a Chinese number), "unit", "other" (of another script), "sign".
        surface: As it was written.
        is_joined: It follows the token before it without a blank.
    """

    text: str
    kind: str
    surface: str
    is_joined: bool


def cut(shown: str) -> tuple[Token, ...]:
    """
    Cut a text.

    Args:
        shown: As `normal.shown` wrote it.

    Returns:
        Its tokens.
    """
    words = lexicon()
    return tuple(_joined(list(_tokens(shown, words)), words))


def _tokens(shown: str, words: Lexicon) -> Iterator[Token]:
    end = 0
    for found in _PARTS.finditer(shown):
        kind, text = found.lastgroup or "", found.group()
        is_joined = found.start() == end
        end = found.end()
        if kind == "chinese":
            yield from _chinese(text, words, is_joined=is_joined)
        elif kind == "latin":
            yield from _latin(text, is_joined=is_joined)
        else:
            yield Token(text.replace(",", "").lower() if kind != "other" else text.casefold(), kind, text, is_joined)


def _latin(text: str, *, is_joined: bool) -> Iterator[Token]:
    """Split what an apostrophe joins: "doesn't" is "does" and "not", "what's" is "what"."""
    low = text.lower()
    if "'" not in low and low != "cannot":
        yield Token(stem(low) if "." not in low else low.strip("."), "latin", text, is_joined)
        return
    head, _, tail = low.partition("'")
    parts = _NOT.get(low) or ((head[:-1], "not") if tail == "t" and head.endswith("n") else (head,))
    for at, part in enumerate(parts):
        yield Token(stem(part), "latin", text.partition("'")[0] if not at else "not", is_joined or at > 0)


def _chinese(run: str, words: Lexicon, *, is_joined: bool) -> Iterator[Token]:
    at, longest, known = 0, words.longest, words.words
    while at < len(run):
        size = longest.get(run[at], 1)
        while size > 1 and run[at : at + size] not in known:
            size -= 1
        if size == 2 and _is_better_cut(run, at, words):  # noqa: PLR2004  characters
            size = 1
        kind = "chinese"
        is_ordinal = at > 0 and run[at - 1] == "第"
        if (size == 1 or is_ordinal) and (run[at] in _NUMERALS or run.startswith("百分之", at)):
            found = _NUMERAL.match(run, at)
            size, kind = (len(found.group()), "numeral") if found else (1, "chinese")
        text = run[at : at + size]
        yield Token(text, kind, text, is_joined or at > 0)
        at += size


def _is_better_cut(run: str, at: int, words: Lexicon) -> bool:
    """Whether the second character belongs to the word behind it: 用|法语, not 用法|语."""
    following = run[at + 1 : at + 3]
    is_known = run[at] in words.functions and len(following) > 1 and following in words.words
    return is_known and run[at + 2 : at + 4] not in words.words


def _joined(tokens: list[Token], words: Lexicon) -> Iterator[Token]:
    """Make one token of those that form a phrase."""
    at = 0
    while at < len(tokens):
        size = _phrase(tokens, at, words)
        if size == 1:
            yield tokens[at]
        else:
            part = tokens[at : at + size]
            surface = " ".join(token.surface for token in part)
            yield Token("_".join(token.text for token in part), "latin", surface, part[0].is_joined)
        at += size


def _phrase(tokens: list[Token], at: int, words: Lexicon) -> int:
    """Count the tokens of the phrase that begins here."""
    for rest in words.phrases.get(tokens[at].text, ()):
        end = at + 1 + len(rest)
        if end <= len(tokens) and all(tokens[at + 1 + i].text == part for i, part in enumerate(rest)):
            return 1 + len(rest)
    return 1
