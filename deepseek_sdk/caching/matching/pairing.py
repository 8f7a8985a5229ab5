"""`Pair`: two questions side by side, as the guards look at them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.differences import spans
from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk.caching.matching.differences import Span
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["Pair", "likeness"]


class Pair:
    """
    Two questions; what several guards need is found once.

    Args:
        a: One.
        b: The other.
    """

    def __init__(self, a: Text, b: Text) -> None:
        self.a = a
        self.b = b
        ours, theirs = set(a.tokens), set(b.tokens)
        self.only_a = ours - theirs
        self.only_b = theirs - ours

    @cached_property
    def places(self) -> tuple[Span, ...]:
        """Where their tokens differ."""
        return spans(self.a.tokens, self.b.tokens)

    @property
    def place(self) -> Span | None:
        """Where their tokens differ, if that is one place; else None."""
        return self.places[0] if len(self.places) == 1 else None

    @cached_property
    def likeness_but_negation(self) -> float:
        """The share of the content that both have, words of negation left out."""
        return self.likeness_but({*self.a.negations, *self.b.negations})

    def likeness_but(self, words: Iterable[str]) -> float:
        """
        Tell what share of the content both have, some words left out.

        Args:
            words: The words that do not count.

        Returns:
            The share.
        """
        canonical = lexicon().canonical
        without = {canonical.get(word, word) for word in words} | set(words)
        left, right = ([word for word in text.content if word not in without] for text in (self.a, self.b))
        return likeness(left, right)


def likeness(left: tuple[str, ...] | list[str], right: tuple[str, ...] | list[str]) -> float:
    """
    Tell what share of two contents is common.

    Args:
        left: One.
        right: The other.

    Returns:
        From 0 to 1; 1 for two without content.
    """
    one, other = set(left), set(right)
    return len(one & other) / len(one | other) if one or other else 1.0
