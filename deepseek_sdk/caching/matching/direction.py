"""
Who does what to whom, and from where to where: two things that have changed places.

Chinese questions put their words in many orders that mean the same, so an other order alone says nothing. It does
where the two questions are the same but for two spans that stand in each other's place around something that is not
symmetric ("A sues B", "A to B"; not "A and B"), or where a frame such as "from A to B" is turned round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["is_turned"]

# Of two longer questions that differ in more than this many words, no span is looked for that has moved.
_LONGEST = 16
_WIDEST = 4  # tokens of what moves; more are clauses, which may stand in any order


def is_turned(left: Sequence[str], right: Sequence[str], *, is_alike: bool) -> bool:
    """
    Tell whether two things have changed places.

    Args:
        left: The tokens of one question.
        right: Those of the other.
        is_alike: They have most of their content in common, so that a frame in both is the same one.

    Returns:
        True where they have.
    """
    one, other = _ordered(left), _ordered(right)
    if one == other or not lexicon().roles["mutual"].isdisjoint(left):
        return False
    return _is_exchanged(one, other) or (is_alike and not {(y, x) for x, y in _arcs(one)}.isdisjoint(_arcs(other)))


def _ordered(words: Sequence[str]) -> list[str]:
    """Leave out what says nothing, whatever its place."""
    known = lexicon()
    kept = known.roles["pivot"] | known.roles["joiner"] | known.roles["idle"]
    return [known.canonical.get(word, word) for word in words if word in kept or word not in known.functions]


def _is_exchanged(one: list[str], other: list[str]) -> bool:
    """Whether the other is the first with two spans exchanged, around something that is not symmetric."""
    if len(one) != len(other) or sorted(one) != sorted(other):
        return False
    start, end = 0, len(one)
    while one[start] == other[start]:
        start += 1
    while one[end - 1] == other[end - 1]:
        end -= 1
    here, there = one[start:end], other[start:end]
    return len(here) <= _LONGEST and any(_is_lasting(middle) for middle in _middles(here, there))


def _middles(here: list[str], there: list[str]) -> Iterator[list[str]]:
    """Find what stands between two spans that change places: here is x, middle, y; there is y, middle, x."""
    size = len(here)
    for x in range(1, size - 1):
        for y in range(1, size - x):
            middle = here[x : size - y]
            if (
                there == here[size - y :] + middle + here[:x]
                and _has_content(here[:x])
                and _has_content(here[size - y :])
            ):
                yield middle


def _is_lasting(middle: list[str]) -> bool:
    roles = lexicon().roles
    return roles["joiner"].isdisjoint(middle) and any(word not in roles["idle"] for word in middle)


def _has_content(span: list[str]) -> bool:
    roles = lexicon().roles
    empty = (roles["pivot"], roles["joiner"], roles["idle"])
    return len(span) <= _WIDEST and any(not any(word in words for words in empty) for word in span)


def _arcs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of a source and a goal, and of the greater and the lesser."""
    roles = lexicon().roles
    is_change = not roles["change"].isdisjoint(words)
    for at in range(1, len(words) - 1):
        word = words[at]
        if word in roles["goal"] or (word == "with" and is_change):
            yield _source(words, at, roles["source"]), words[at + 1]
        elif word in roles["rank"]:
            yield words[at - 1], words[at + 1]


def _source(words: list[str], at: int, sources: frozenset[str]) -> str:
    """Give what stands behind "from", before the goal or right after it; else what stands right before the goal."""
    before = (words[back + 1] for back in range(at - 1, -1, -1) if words[back] in sources)
    after = words[at + 3] if at + 3 < len(words) and words[at + 2] in sources else words[at - 1]
    return next(before, after)
