"""What a question wants of its answer: a task, a language, a format, a length."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepseek_sdk.caching.matching.lexicon import Lexicon
    from deepseek_sdk.caching.matching.quantities import Quantity

__all__ = ["asked"]

_FORMS = ("language", "code", "format")
_LENGTHS = frozenset({"word", "sentence", "paragraph", "page", "line", "token"})


def asked(words: Sequence[str], numbers: Sequence[Quantity]) -> tuple[tuple[str, str], ...]:
    """
    Find what is wanted of the answer.

    Args:
        words: The tokens of a text.
        numbers: Its numbers.

    Returns:
        Pairs of what and which, such as ("language", "english"), ("format", "json"), ("length", "100 word"),
        ("task", "translate").
    """
    found = {("length", f"{number.value} {number.unit}") for number in numbers if number.unit in _LENGTHS}
    known = lexicon()
    found.update(_forms(words, known))
    first = next((word for word in words if word not in known.roles["polite"]), "")
    task = known.of("task", first)
    if task is not None:
        found.add(("task", task))
    return tuple(sorted(found))


def _forms(words: Sequence[str], known: Lexicon) -> Iterator[tuple[str, str]]:
    for before, word in pairwise(words):
        kinds = known.kinds.get(word)
        if kinds is not None and before in known.roles["before_form"]:
            yield from ((form, kinds[form]) for form in _FORMS if form in kinds)
