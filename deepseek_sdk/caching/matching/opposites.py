"""Words that say the opposite of each other, from lists and from their prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deepseek_sdk.caching.matching.pairing import Pair

__all__ = ["opposed"]

_PREFIXES = ("un", "non", "dis", "de", "ir", "il")
# "in" and "im" negate adjectives ("invalid"), and otherwise mean a place ("input", "import").
_ADJECTIVES = ("bl", "ibl", "abl", "ent", "ant", "at", "ct", "al", "iv", "ous", "id", "et", "er", "ur")
_SHORTEST = 4  # letters of what a prefix stands before


def opposed(pair: Pair) -> tuple[str, str] | None:
    """
    Find two words that oppose each other, one of each question.

    Args:
        pair: The questions.

    Returns:
        The words, or None.
    """
    return next(_swapped(pair, lexicon().sides), None) or next(_prefixed(pair), None)


def _swapped(pair: Pair, sides: Mapping[str, frozenset[int]]) -> Iterator[tuple[str, str]]:
    theirs = [(word, sides[word]) for word in pair.only_b if word in sides]
    for word in pair.only_a if theirs else ():
        for other, numbers in theirs:
            if any(-number in numbers for number in sides.get(word, ())) and _stands(pair, word, other):
                yield word, other


def _stands(pair: Pair, word: str, other: str) -> bool:
    """Whether the two are meant: words that mean several things have to stand in the same place."""
    if not (_is_weak(word) or _is_weak(other)):
        return True
    return any(word in place.left and other in place.right for place in pair.places)


def _is_weak(word: str) -> bool:
    return word in lexicon().weak or (len(word) == 1 and not word.isascii())


def _prefixed(pair: Pair) -> Iterator[tuple[str, str]]:
    for ours, theirs in ((pair.only_a, pair.only_b), (pair.only_b, pair.only_a)):
        for word in ours:
            if len(word) >= _SHORTEST and word.isascii() and word.isalpha():
                made = [prefix + word for prefix in _PREFIXES]
                made += ["in" + word, "im" + word] if word.endswith(_ADJECTIVES) else []
                yield from ((word, other) for other in made if other in theirs)
