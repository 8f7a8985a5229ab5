"""`Lexicon`: the words that the comparison knows, read from the files beside this module when first asked for."""

from __future__ import annotations

import functools
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.matching.dates import DATE_WORDS
from deepseek_sdk.caching.matching.stem import stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Lexicon", "Unit", "lexicon", "opposing", "stemmed"]

_LANGUAGES = ("zh", "en")


class Unit(NamedTuple):
    """
    A unit.

    Attributes:
        kind: What it measures.
        factor: How many of the first unit of its kind it is.
    """

    kind: str
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """
    Words, and what is known of them.

    Attributes:
        simplified: The simplified character for a traditional one.
        longest: The length of the longest known Chinese word by its first character.
        words: The known Chinese words.
        phrases: English words that belong together, by the first of them, the longest first.
        functions: Words without content of their own.
        canonical: The word that stands for all words of its meaning.
        units: Units by their names.
        sides: For each word that has an opposite: the numbers of its pairs, negative on the right side.
        weak: Words that have to stand in each other's place to be opposites.
        families: The same of roles whose names have two parts: the first part, the word, the second part.
        roles: Words by what they do in a question.
        kinds: For each member of a closed kind: the kinds, each with the member's first name.
    """

    simplified: Mapping[int, str]
    longest: Mapping[str, int]
    words: frozenset[str]
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    functions: frozenset[str]
    canonical: Mapping[str, str]
    units: Mapping[str, Unit]
    sides: Mapping[str, frozenset[int]]
    weak: frozenset[str]
    roles: Mapping[str, frozenset[str]]
    families: Mapping[str, Mapping[str, str]]
    kinds: Mapping[str, Mapping[str, str]]

    def of(self, family: str, word: str) -> str | None:
        """
        Tell which of a family of roles a word has.

        Args:
            family: What the names of the roles begin with, such as "task".
            word: It.

        Returns:
            The rest of the role's name; None where it has none of them.
        """
        return self.families.get(family, {}).get(word)


@functools.cache
def lexicon() -> Lexicon:
    """
    Give the lexicon, which is read once.

    Returns:
        It.
    """
    functions = frozenset(stemmed(word) for name in _LANGUAGES for line in _lines(f"function_{name}") for word in line)
    units = {stemmed(word): unit for word, unit in _units()}
    sides = opposing(line for name in _LANGUAGES for line in _lines(f"antonyms_{name}"))
    canonical = dict(_synonyms())
    kinds = _kinds()
    for name, firsts in kinds.items():
        # Names of one thing in two languages do not meet in one question.
        canonical.setdefault(name, next((f for f in firsts.values() if f.isascii() == name.isascii()), name))
    kept = [word for line in _lines("words_zh") for word in line]
    roles = {line[0].strip(":"): frozenset(map(stemmed, line[1:])) for line in _lines("roles")}
    known = [*functions, *units, *sides, *canonical, *kinds, *kept, *DATE_WORDS, *frozenset().union(*roles.values())]
    chinese = frozenset(word for word in known if not word.isascii())
    return Lexicon(
        simplified={ord(pair[0]): pair[1] for line in _lines("traditional") for pair in line},
        longest=_longest(chinese),
        words=chinese,
        phrases=_phrases(word for word in known if "_" in word),
        functions=functions,
        canonical=canonical,
        units=units,
        sides=sides,
        roles=roles,
        families=_families(roles),
        weak=frozenset(stemmed(word) for line in _lines("weak") for word in line),
        kinds=kinds,
    )


def stemmed(word: str) -> str:
    """
    Write a word of a list as the tokens of a text are written.

    Args:
        word: It; several words are joined by "_".

    Returns:
        It, each word stemmed.
    """
    return "_".join(stem(part) for part in word.lower().split("_"))


def opposing(lines: Iterable[list[str]]) -> dict[str, frozenset[int]]:
    """
    Give each pair of opposites a number.

    Args:
        lines: Words, a stroke, and the words that oppose them.

    Returns:
        The numbers of each word's pairs, negative for those right of the stroke.
    """
    sides: dict[str, frozenset[int]] = {}
    for number, line in enumerate(lines, 1):
        middle = line.index("/")
        for at, word in enumerate(line):
            if at != middle:
                signed = number if at < middle else -number
                sides[stemmed(word)] = sides.get(stemmed(word), frozenset()) | {signed}
    return sides


def _lines(name: str) -> Iterator[list[str]]:
    """Read the lines of a file, without its comments."""
    text = (pkgutil.get_data("deepseek_sdk.caching.matching", f"data/{name}.txt") or b"").decode()
    for line in text.splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            yield words


def _units() -> Iterator[tuple[str, Unit]]:
    for kind, factor, *names in _lines("units"):
        for name in names:
            yield name, Unit(kind, float(factor))


def _synonyms() -> Iterator[tuple[str, str]]:
    for name in _LANGUAGES:
        for line in _lines(f"synonyms_{name}"):
            for word in line:
                yield stemmed(word), stemmed(line[0])


def _kinds() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    kind = ""
    for line in _lines("kinds"):
        if line[0].startswith("["):
            kind = line[0].strip("[]")
            continue
        for member in line:
            names = [stemmed(name) for name in member.split("=")]
            for name in names:
                found.setdefault(name, {})[kind] = names[0]
    return found


def _families(roles: Mapping[str, frozenset[str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, words in roles.items():
        family, _, role = name.partition(".")
        if role:
            found.setdefault(family, {}).update(dict.fromkeys(words, role))
    return found


def _longest(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word[0]] = max(found.get(word[0], 1), len(word))
    return found


def _phrases(words: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, set[tuple[str, ...]]] = {}
    for word in words:
        first, *rest = word.split("_")
        found.setdefault(first, set()).add(tuple(rest))
    return {first: tuple(sorted(rests, key=lambda rest: (-len(rest), rest))) for first, rests in found.items()}
