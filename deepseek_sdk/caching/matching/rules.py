"""The guards one by one: each looks at two questions and says whether the answer of one is none to the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from deepseek_sdk.caching.matching.asking import ALIKE
from deepseek_sdk.caching.matching.direction import are_opposed, is_turned
from deepseek_sdk.caching.matching.lexicon import lexicon
from deepseek_sdk.caching.matching.naming import are_other_names, is_name_longer, is_other_person
from deepseek_sdk.caching.matching.opposites import opposed
from deepseek_sdk.caching.matching.passage import asks_another_thing
from deepseek_sdk.caching.matching.quantities import unmatched
from deepseek_sdk.caching.matching.scope import scope_words, scopes_of
from deepseek_sdk.caching.matching.symbols import have_other_symbols

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.caching.matching.pairing import Pair
    from deepseek_sdk.caching.matching.quantities import Quantity

__all__ = ["RULES"]

# What the rest of two questions has to have in common for a negation to make one the opposite of the other.
_SAME_BUT_NEGATION = 0.9
# The like for two words that oppose each other.
_SAME_BUT_OPPOSITE = 0.2
# Kinds of words that are found in many questions: only those in the same place tell them apart.
_ALIGNED = "act"
_WIDEST = 2  # tokens of such a place
# The like for a frame such as "from A to B" that is turned round.
_SAME_BUT_DIRECTION = 0.7
_TEXT_FORMS = frozenset({"language", "code", "format", "length"})


def _script(pair: Pair) -> bool:
    """One is Chinese, the other English: so would be their answers."""
    return {pair.a.script, pair.b.script} == {"zh", "en"}


def _output(pair: Pair) -> bool:
    """They want other forms, or other tasks; or one wants a form and the other is the same but for it."""
    ours, theirs = dict(pair.a.asks), dict(pair.b.asks)
    if any(ours[what] != theirs[what] for what in ours.keys() & theirs.keys()):
        return True
    single = (ours.keys() ^ theirs.keys()) & _TEXT_FORMS
    return bool(single) and _is_form(pair, pair.only_a) and _is_form(pair, pair.only_b)


def _is_form(pair: Pair, words: set[str]) -> bool:
    """Whether words say nothing but in which form an answer is wanted."""
    known = lexicon()
    lengths = {said.replace(" ", "") for what, said in (*pair.a.asks, *pair.b.asks) if what == "length"}
    return all(
        word in known.roles["form"] or word in lengths or not _TEXT_FORMS.isdisjoint(known.kinds.get(word, ()))
        for word in words
    )


def _date(pair: Pair) -> bool:
    ours, theirs = set(pair.a.dates), set(pair.b.dates)
    return bool(ours - theirs and theirs - ours)


def _numbers(pair: Pair) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    """Give the numbers of each that the other lacks, where both have some."""
    found = unmatched(pair.a.numbers, pair.b.numbers)
    return found if all(found) else ((), ())


def _version(pair: Pair) -> bool:
    return any(number.kind == "version" for numbers in _numbers(pair) for number in numbers)


def _unit(pair: Pair) -> bool:
    """Find the same digits of other units."""
    ours, theirs = _numbers(pair)
    return bool(ours) and {one.value for one in ours} == {other.value for other in theirs}


def _number(pair: Pair) -> bool:
    return bool(_numbers(pair)[0])


def _polarity(pair: Pair) -> bool:
    """One negates and the other does not, and they are the same otherwise."""
    if len(pair.a.negations) % 2 == len(pair.b.negations) % 2:
        return _is_undone(pair)
    return pair.likeness_but_negation >= _SAME_BUT_NEGATION


def _is_undone(pair: Pair) -> bool:
    """Whether they are the same but for a verb that undoes what the other does: 取消关注, "stop following"."""
    place = pair.place
    words = () if place is None or place.is_replaced else place.left + place.right
    return len(words) == 1 and words[0] in lexicon().roles["undo"]


def _antonym(pair: Pair) -> bool:
    """Two words oppose each other, unless a negation turns one of them round."""
    found = opposed(pair)
    if found is None or pair.likeness_but(found) < _SAME_BUT_OPPOSITE:
        return False
    ours, theirs = ([word for word in text.negations if word not in found] for text in (pair.a, pair.b))
    return len(ours) % 2 == len(theirs) % 2


def _direction(pair: Pair) -> bool:
    """They have changed places, who does what to whom, or from where to where."""
    place = pair.place
    if place is not None and (len(place.left), len(place.right)) == (1, 1) and are_opposed(*place.left, *place.right):
        return True
    return is_turned(pair.a.tokens, pair.b.tokens, is_alike=pair.likeness_but(()) >= _SAME_BUT_DIRECTION)


def _entity(pair: Pair) -> bool:
    """Each names another of one kind, two cities; or one known thing stands for another, and all else is equal."""
    return _of_one_kind(pair) or _are_known_things(pair)


def _are_known_things(pair: Pair) -> bool:
    place = pair.place
    if place is None or (len(place.left), len(place.right)) != (1, 1):
        return False
    known = lexicon()
    (one,), (other,) = place
    ours, theirs = known.kinds.get(one, {}), known.kinds.get(other, {})
    is_same = known.canonical.get(one, one) == known.canonical.get(other, other)
    return bool(ours and theirs) and not is_same and set(ours.values()).isdisjoint(theirs.values())


def _of_one_kind(pair: Pair) -> bool:
    kinds = lexicon().kinds
    theirs = [word for word in pair.only_b if word in kinds]
    ours = [word for word in pair.only_a if theirs and word in kinds]
    return any(
        kinds[one][kind] != kinds[other][kind]
        and not _has(pair, kind, kinds[one][kind], kinds[other][kind])
        and (not kind.startswith(_ALIGNED) or _stand_alike(pair, one, other))
        for one in ours for other in theirs for kind in kinds[one].keys() & kinds[other].keys()
    )  # fmt: skip


def _stand_alike(pair: Pair, one: str, other: str) -> bool:
    """Whether two words stand in the same place of questions that are the same but for it."""
    place = pair.place
    return place is not None and one in place.left and other in place.right and max(map(len, place)) <= _WIDEST


def _has(pair: Pair, kind: str, one: str, other: str) -> bool:
    """Whether both members are in both questions, by whatever names."""
    kinds = lexicon().kinds
    first, second = ({kinds[w][kind] for w in text.tokens if kind in kinds.get(w, ())} for text in (pair.a, pair.b))
    return one in second or other in first


def _name(pair: Pair) -> bool:
    """They are the same but for a name, or for a part of one, or for the capitals of one: IT, US."""
    place = pair.place
    if place is None:
        return False
    if is_other_person(pair.a, pair.b, place) or [*map(str.lower, place.left)] == [*map(str.lower, place.right)]:
        return True
    return are_other_names(pair.a, pair.b, place) if place.is_replaced else is_name_longer(pair.a, pair.b, place)


def _scope(pair: Pair) -> bool:
    """They speak of other parts of the same thing."""
    ours, theirs = scopes_of(pair.a.tokens), scopes_of(pair.b.tokens)
    if ours == theirs:
        return False
    is_exchanged = bool(ours - theirs and theirs - ours)
    is_restricted = bool((ours ^ theirs) & {"only", "except"})
    return (is_exchanged and _rest_likeness(pair) >= 0.75) or (is_restricted and _rest_likeness(pair) >= 0.99)  # noqa: PLR2004  measured


def _rest_likeness(pair: Pair) -> float:
    return pair.likeness_but(scope_words())


def _question(pair: Pair) -> bool:
    """They ask other things of the same: why, and when."""
    asked = {pair.a.question, pair.b.question}
    is_other = "" not in asked and len(asked) > 1 and asked not in ALIKE
    return is_other and Counter(pair.a.content) == Counter(pair.b.content)


def _symbols(pair: Pair) -> bool:
    """They are formulas or code with other operators."""
    return have_other_symbols(pair.a, pair.b)


def _passage(pair: Pair) -> bool:
    """They ask other things of the same long passage."""
    return asks_another_thing(pair.a, pair.b)


# In the order in which they are asked: what tells most about a refusal comes first.
RULES: Final[tuple[tuple[str, Callable[[Pair], bool]], ...]] = (
    ("script", _script),
    ("output", _output),
    ("date", _date),
    ("version", _version),
    ("unit", _unit),
    ("number", _number),
    ("polarity", _polarity),
    ("antonym", _antonym),
    ("direction", _direction),
    ("entity", _entity),
    ("name", _name),
    ("scope", _scope),
    ("question", _question),
    ("symbols", _symbols),
    ("passage", _passage),
)
