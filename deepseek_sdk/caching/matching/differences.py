"""`difference`: what sets two questions apart, as figures for the score that decides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.matching.naming import missing_names
from deepseek_sdk.caching.matching.quantities import unmatched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["Difference", "Span", "difference", "edit_distance", "spans"]

# Aligning goes by the square of the length: of longer texts only the bags of words are compared.
_LONGEST = 120


class Span(NamedTuple):
    """
    A place where two sequences of content differ.

    Attributes:
        left: What the first has there; empty where the second has more.
        right: What the second has there.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def is_replaced(self) -> bool:
        """Whether each has something there."""
        return bool(self.left and self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """
    What sets two questions apart. Shares are from 0 to 1; every figure is the same for the pair turned round.

    Attributes:
        token_jaccard: Tokens in common, of all.
        content_jaccard: Tokens with content in common, of all.
        bigram_jaccard: Pairs of characters in common, of all.
        missing_most: Of the tokens with content of one, the share that the other lacks: the larger of the two shares.
        missing_least: The smaller of the two.
        length_ratio: The length of the shorter, of that of the longer.
        same_content: They have the same tokens with content.
        replaced: Places where one content stands for another.
        inserted: Places where one has content that the other lacks.
        single_substitution: They differ in one place, where each has something.
        single_insertion: They differ in one place, where one has nothing.
        pure_substitution: A single substitution, and all other tokens are the same as well, in the same order.
        pure_insertion: The same of a single insertion.
        substitution_distance: For a single substitution: edits between the two spans, of the longer's length; else 0.
        substitution_length: For a single substitution or insertion: the characters of the longer span; else 0.
        other_order: The same tokens in another order.
        numbers: Numbers that only one of them has.
        numbers_swapped: Each has a number that the other lacks.
        dates: Parts of dates that only one of them has.
        names: Names that only one of them has.
        names_swapped: Each has a name that the other lacks.
        negation: One negates and the other does not: their words of negation are odd and even.
        asks: They want other forms of answer.
        question: They ask for different things, "why" and "where".
        script: They are written in other scripts.
    """

    token_jaccard: float
    content_jaccard: float
    bigram_jaccard: float
    missing_most: float
    missing_least: float
    length_ratio: float
    same_content: bool
    replaced: int
    inserted: int
    single_substitution: bool
    single_insertion: bool
    pure_substitution: bool
    pure_insertion: bool
    substitution_distance: float
    substitution_length: int
    other_order: bool
    numbers: int
    numbers_swapped: bool
    dates: int
    names: int
    names_swapped: bool
    negation: bool
    asks: bool
    question: bool
    script: bool


def difference(a: Text, b: Text) -> Difference:
    """
    Compare two questions.

    Args:
        a: One.
        b: The other.

    Returns:
        What sets them apart.
    """
    places = spans(a.content, b.content)
    replaced = sum(place.is_replaced for place in places)
    only = places[0] if len(places) == 1 else None
    is_substitution = only is not None and only.is_replaced
    is_pure = only is not None and _is_pure(a, b, only)
    missing = (_missing(a.content, b.content), _missing(b.content, a.content))
    numbers = unmatched(a.numbers, b.numbers)
    names = (missing_names(a, b), missing_names(b, a))
    dates = (set(a.dates) - set(b.dates), set(b.dates) - set(a.dates))
    left, right = ("".join(only.left), "".join(only.right)) if only is not None else ("", "")
    return Difference(
        token_jaccard=_jaccard(a.tokens, b.tokens),
        content_jaccard=_jaccard(a.content, b.content),
        bigram_jaccard=_jaccard(_bigrams(a.normal), _bigrams(b.normal)),
        missing_most=max(missing),
        missing_least=min(missing),
        length_ratio=_ratio(len(a.normal), len(b.normal)),
        same_content=Counter(a.content) == Counter(b.content),
        replaced=replaced,
        inserted=len(places) - replaced,
        single_substitution=is_substitution,
        single_insertion=only is not None and not is_substitution,
        pure_substitution=is_substitution and is_pure,
        pure_insertion=only is not None and not is_substitution and is_pure,
        substitution_distance=edit_distance(left, right) / max(len(left), len(right)) if is_substitution else 0.0,
        substitution_length=max(len(left), len(right)),
        other_order=a.content != b.content and Counter(a.content) == Counter(b.content),
        numbers=len(numbers[0]) + len(numbers[1]),
        numbers_swapped=bool(numbers[0] and numbers[1]),
        dates=len(dates[0]) + len(dates[1]),
        names=len(names[0]) + len(names[1]),
        names_swapped=bool(names[0] and names[1]),
        negation=len(a.negations) % 2 != len(b.negations) % 2,
        asks=a.asks != b.asks,
        question=bool(a.question and b.question and a.question != b.question),
        script=bool(a.script and b.script and a.script != b.script),
    )


def spans(left: Sequence[str], right: Sequence[str]) -> tuple[Span, ...]:
    """
    Align two sequences.

    Args:
        left: One.
        right: The other.

    Returns:
        The places where they differ, in order; for long sequences one place, all of both.
    """
    start = _common(left, right)
    end = min(_common(left[::-1], right[::-1]), len(left) - start, len(right) - start)
    one, other = tuple(left[start : len(left) - end]), tuple(right[start : len(right) - end])
    if not one and not other:
        return ()
    if not one or not other or max(len(one), len(other)) > _LONGEST or (len(one) == len(other) == 1):
        return (Span(one, other),)
    # The aligner breaks ties by what comes first: the same pair is always given to it the same way round.
    if other < one:
        return tuple(Span(there, here) for here, there in _aligned(other, one))
    return tuple(_aligned(one, other))


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the tokens with which both begin."""
    return next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )


def _aligned(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[Span]:
    for code, start, end, there, until in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if code != "equal":
            yield Span(one[start:end], other[there:until])


def edit_distance(left: str, right: str, *, most: int = 32) -> int:
    """
    Count the edits between two short texts.

    Args:
        left: One.
        right: The other.
        most: Characters beyond so many are not looked at.

    Returns:
        How many characters have to be put in, left out or replaced.
    """
    left, right = left[:most], right[:most]
    row = list(range(len(right) + 1))
    for i, character in enumerate(left, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (character != other))
    return row[-1]


def _is_pure(a: Text, b: Text, only: Span) -> bool:
    """Whether their tokens differ in one place as well, in as many tokens as their content does."""
    places = spans(a.tokens, b.tokens)
    return len(places) == 1 and [*map(len, places[0])] == [*map(len, only)]


def _jaccard(left: Sequence[str] | set[str], right: Sequence[str] | set[str]) -> float:
    one, other = set(left), set(right)
    return len(one & other) / len(one | other) if one or other else 1.0


def _missing(own: Sequence[str], others: Sequence[str]) -> float:
    there = set(others)
    return sum(word not in there for word in own) / len(own) if own else 0.0


def _bigrams(text: str) -> set[str]:
    letters = "".join(character for character in text if character.isalnum())
    return {letters[at : at + 2] for at in range(len(letters) - 1)} or {letters}


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other) if one and other else float(one == other)
