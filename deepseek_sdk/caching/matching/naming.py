"""Latin names: what is written with a capital inside a sentence, and every Latin word in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.cutting import Token
    from deepseek_sdk.caching.matching.differences import Span
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["are_other_names", "is_name_longer", "is_other_person", "missing_names", "named"]

# Letters by which one name may be longer than another that is the same: "Russia" and "Russians".
_ENDING = 3
_STEM = 4
_GIVEN = 2  # characters of a Chinese given name, at most


def named(tokens: Sequence[Token]) -> tuple[str, ...]:
    """
    Name the names.

    Args:
        tokens: The tokens of a text.

    Returns:
        The words that are names, in order; only marked ones ("iOS", "C++") where capitals say nothing, as in a title.
    """
    functions = lexicon().functions
    latin = [token for token in tokens if token.kind == "latin"]
    words = [token for token in latin if token.text not in functions or _is_letter(token, is_last=token is latin[-1])]
    if any(token.kind == "chinese" for token in tokens):
        return tuple(token.text for token in words if token.text not in functions)
    first = latin[0] if latin else None
    capital = [token for token in words if token.surface[:1].isupper() and token is not first]
    is_title = any(token.text in functions and _is_capital(token) for token in latin if token is not first)
    return tuple(t.text for t in words if _is_marked(t) or (not is_title and any(t is c for c in capital)))


def missing_names(own: Text, other: Text) -> tuple[str, ...]:
    """
    Find names that only one of two texts has.

    Args:
        own: It.
        other: The text that lacks them.

    Returns:
        The names; a version is none, since its numbers are compared.
    """
    there = {*other.tokens, *other.content}
    return tuple(name for name in own.names if " " not in name and name not in there)


def are_other_names(a: Text, b: Text, place: Span) -> bool:
    """
    Tell whether one name stands for another in a place.

    Args:
        a: One question.
        b: The other.
        place: The only place where they differ.

    Returns:
        True where both are names, and not two forms of one ("Russia" and "Russian").
    """
    is_name = set(place.left) <= set(a.names) and set(place.right) <= set(b.names)
    return is_name and not _are_forms("".join(place.left), "".join(place.right))


def is_name_longer(a: Text, b: Text, place: Span) -> bool:
    """
    Tell whether one question has a longer form of a name, "Note 12 Pro" for "Note 12".

    Args:
        a: One question.
        b: The other.
        place: The only place where they differ, where one has nothing.

    Returns:
        True where what the other has is a name, right behind or before another.
    """
    text, more = (a, place.left) if place.left else (b, place.right)
    if not set(more) <= set(text.names):
        return False
    at = _start(a, b)
    beside = {*text.tokens[max(0, at - 1) : at], *text.tokens[at + len(more) : at + len(more) + 1]}
    ends = {name.rpartition(" ")[2] for name in text.names}
    return bool(beside & (set(text.names) | ends))


def is_other_person(a: Text, b: Text, place: Span) -> bool:
    """
    Tell whether a Chinese name has another given name in a place, or another character more.

    Args:
        a: One question.
        b: The other.
        place: The only place where they differ.

    Returns:
        True where what differs are unknown characters within two of a surname that no known word holds.
    """
    differing = place.left + place.right
    if len(differing) > 2 * _GIVEN or not all(_is_unknown(word) for word in differing):
        return False
    start = at = _start(a, b)
    while start and _is_unknown(a.tokens[start - 1]):
        start -= 1
    is_near = 0 < at - start <= _GIVEN and at - start + max(map(len, place)) <= _GIVEN + 1
    return is_near and a.tokens[start] in lexicon().roles["surname"]


def _start(a: Text, b: Text) -> int:
    """Give the place of the first token that differs."""
    same = zip(a.tokens, b.tokens, strict=False)
    return next((at for at, (one, other) in enumerate(same) if one != other), min(len(a.tokens), len(b.tokens)))


def _is_unknown(word: str) -> bool:
    """Whether it is a Chinese character that belongs to no known word."""
    return len(word) == 1 and "\u3400" <= word <= "\u9fff" and word not in lexicon().functions


def _are_forms(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and len(long) - len(short) <= _ENDING and long.startswith(short[:-1])


def _is_capital(token: Token) -> bool:
    """Whether it has a capital that a sentence would not give it: not "I", not the letter of "vitamin D"."""
    return len(token.surface) > 1 and token.surface[0].isupper()


def _is_letter(token: Token, *, is_last: bool) -> bool:
    """Whether it is a letter that names something: "vitamin D", "hepatitis A"; not "I", nor "A" before a noun."""
    return len(token.surface) == 1 and token.surface.isupper() and (is_last or token.surface not in "IA")


def _is_marked(token: Token) -> bool:
    """Whether the way it is written makes it a name anywhere: "iOS", "node.js", "C++"."""
    word = token.surface
    has_inner = any(c.isupper() for c in word[1:]) and any(c.islower() for c in word)
    return has_inner or "." in word or word.endswith(("+", "#"))
