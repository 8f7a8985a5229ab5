"""`Text`: what is known of a question without understanding it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.asking import question_of
from deepseek_sdk.caching.matching.asks import asked
from deepseek_sdk.caching.matching.cutting import cut
from deepseek_sdk.caching.matching.lettering import lettered
from deepseek_sdk.caching.matching.lexicon import lexicon
from deepseek_sdk.caching.matching.naming import named
from deepseek_sdk.caching.matching.normal import folded, shown
from deepseek_sdk.caching.matching.polarity import negated
from deepseek_sdk.caching.matching.quantities import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.cutting import Token
    from deepseek_sdk.caching.matching.quantities import Quantity

__all__ = ["Text", "analysed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """
    A question, taken apart.

    Attributes:
        raw: It, as it was asked.
        normal: It in small letters, with ASCII punctuation and simplified characters.
        tokens: Its words in order; a number with its unit, and each part of a date, is one.
        content: The tokens that carry content, each by the word that stands for its meaning.
        numbers: Its numbers.
        dates: The parts of its dates.
        negations: Its words of negation.
        names: Latin names, identifiers, and versions.
        script: "zh", "en", "mixed", or "other".
        asks: What it wants of the answer: ("language", "en"), ("format", "json"), ("length", "100 word").
        question: What it asks for: "why", "who", "when", "where", "how many", ...; "" where that is not plain.
    """

    raw: str
    normal: str
    tokens: tuple[str, ...]
    content: tuple[str, ...]
    numbers: tuple[Quantity, ...]
    dates: tuple[str, ...]
    negations: tuple[str, ...]
    names: tuple[str, ...]
    script: str
    asks: tuple[tuple[str, str], ...]
    question: str


def analysed(raw: str) -> Text:
    """
    Take a question apart.

    Args:
        raw: It; what goes beyond 2,000 characters is left out.

    Returns:
        What was found.
    """
    written = shown(raw)
    reading = read(lettered(cut(written)))
    words = tuple(token.text for token in reading.tokens)
    negations = negated(words)
    return Text(
        raw=raw,
        normal=folded(written),
        tokens=words,
        content=_content(words),
        numbers=reading.numbers,
        dates=reading.dates,
        negations=negations,
        names=(*named(reading.tokens), *reading.versions),
        script=_script(reading.tokens),
        asks=asked(words, reading.numbers),
        question=question_of(words),
    )


def _content(words: Sequence[str]) -> tuple[str, ...]:
    known = lexicon()
    functions, canonical = known.functions, known.canonical
    return tuple(canonical.get(word, word) for word in words if word not in functions)


def _script(tokens: Sequence[Token]) -> str:
    """Name the script: a Latin name within Chinese, or a Chinese one within English, makes no mixture."""
    chinese = sum(len(token.surface) for token in tokens if token.kind in {"chinese", "numeral"})
    latin = sum(1 for token in tokens if token.kind == "latin")
    other = sum(1 for token in tokens if token.kind == "other")
    if other > chinese + latin:
        return "other"
    if not chinese and not latin:
        return "" if not other else "other"
    if chinese >= 2 * latin:
        return "zh"
    return "en" if latin > 3 * chinese else "mixed"
