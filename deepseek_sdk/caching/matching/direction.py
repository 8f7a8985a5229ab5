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

__all__ = ["are_opposed", "is_turned"]

# Of two longer questions that differ in more than this many words, no span is looked for that has moved.
_LONGEST = 16
# Words for a place, a time, or a part that somebody plays, of which one in place of the other asks for something else.
_OPPOSED = frozenset(
    frozenset(pair)
    for pair in (
        *(("for", "against"), ("for", "from"), ("for", "by"), ("to", "from"), ("of", "by"), ("about", "by")),
        *(("within", "after"), ("by", "after"), ("at", "before"), ("at", "after")),
    )
)
_WIDEST = 4  # tokens of what moves; more are clauses, which may stand in any order


def are_opposed(one: str, other: str) -> bool:
    """
    Tell whether one preposition in the place of another turns a question round: "for" and "against".

    Args:
        one: A word.
        other: The word in its place.

    Returns:
        True where it does.
    """
    return frozenset((one, other)) in _OPPOSED


def is_turned(left: Sequence[str], right: Sequence[str], *, is_alike: bool) -> bool:
    """
    Tell whether two things have changed places, or one that was a source is a goal.

    Args:
        left: The tokens of one question.
        right: Those of the other.
        is_alike: They have most of their content in common, so that a frame in both is the same one.

    Returns:
        True where they have.
    """
    if _are_persons_exchanged(left, right):
        return True
    one, other, words = _ordered(left), _ordered(right), {*left, *right}
    if one == other:
        return False
    is_mutual = not lexicon().roles["mutual"].isdisjoint(words)
    if not is_mutual and (_is_exchanged(one, other) or _has_other_subject(left, right)):
        return True
    is_framed = is_alike and lexicon().roles["apart"].isdisjoint(words)
    return is_framed and (_have_turned_arcs(one, other) or _has_turned_end(one, other) or _has_turned_end(other, one))


def _ordered(words: Sequence[str]) -> list[str]:
    """Leave out what says nothing, whatever its place; a person is one whatever the case."""
    known = lexicon()
    kept = known.roles["pivot"] | known.roles["joiner"] | known.roles["idle"] | known.roles["deed"]
    persons = [known.of("person", word) for word in words]
    return [
        person or known.canonical.get(word, word)
        for word, person in zip(words, persons, strict=True)
        if person or word in kept or word not in known.functions
    ]


def _are_persons_exchanged(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether all is the same, but for an I that is a you and a you that is an I; so for "my" and "your"."""
    if len(left) != len(right):
        return False
    known = lexicon()
    differing = {(one, other) for one, other in zip(left, right, strict=True) if one != other}
    both = {tuple(known.of("person", word) or known.of("owner", word) for word in pair) for pair in differing}
    return both == {("i", "you"), ("you", "i")}


def _has_other_subject(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether "who did X help" stands beside "who helped X": the same words, and only one has an auxiliary."""
    roles = lexicon().roles
    has_auxiliary = [not roles["auxiliary"].isdisjoint(words) for words in (left, right)]
    is_asked = all(not roles["asked"].isdisjoint(words) for words in (left, right))
    return is_asked and has_auxiliary[0] != has_auxiliary[1] and sorted(_ordered(left)) == sorted(_ordered(right))


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


def _have_turned_arcs(one: list[str], other: list[str]) -> bool:
    return not {(y, x) for x, y in _arcs(one)}.isdisjoint(_arcs(other))


def _has_turned_end(one: list[str], other: list[str]) -> bool:
    """Whether what one question comes from is what the other goes to."""
    roles = lexicon().roles
    sources, goals = _behind(one, roles["source"]), _behind(other, roles["goal"])
    return bool((sources & goals) - _behind(one, roles["goal"]) - _behind(other, roles["source"]))


def _behind(words: list[str], before: frozenset[str]) -> set[str]:
    return {word for at, word in enumerate(words[1:]) if words[at] in before}


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
