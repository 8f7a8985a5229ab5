"""What two texts ask beside a long passage that both have: a contract, a mail, a list of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["asks_another_thing"]

# So much in common, at the beginning and at the end, is no question: it is what the question is about.
_PASSAGE_TOKENS: Final = 16
# What is reworded differs in several words; a question is told by few.
_QUESTION_TOKENS: Final = 2


def asks_another_thing(a: Text, b: Text) -> bool:
    """
    Tell whether two texts share a long passage, and differ in what they ask of it.

    All figures of likeness come near to 1 then, whatever is asked.

    Args:
        a: One.
        b: The other.

    Returns:
        Whether what is left of them beside the passage carries other content, and little.
    """
    before = _common(a.tokens, b.tokens)
    room = min(len(a.tokens), len(b.tokens)) - before
    after = min(_common(a.tokens[::-1], b.tokens[::-1]), room)
    if before + after < _PASSAGE_TOKENS:
        return False
    ours, theirs = (_rest(text, before, after) for text in (a, b))
    return ours != theirs and min(len(ours), len(theirs)) <= _QUESTION_TOKENS


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the tokens that both begin with."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _rest(text: Text, before: int, after: int) -> set[str]:
    content = set(text.content)
    return {token for token in text.tokens[before : len(text.tokens) - after] if token in content}
