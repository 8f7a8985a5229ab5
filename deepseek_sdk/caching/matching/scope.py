"""Words that say of how much of something a question is: all of it, only a part, all but a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scope_words", "scopes_of"]


def scope_words() -> frozenset[str]:
    """
    Give the words of scope.

    Returns:
        All that are known.
    """
    return frozenset({*lexicon().families["scope"], "只"})


def scopes_of(words: Sequence[str]) -> frozenset[str]:
    """
    Find the words of scope.

    Args:
        words: The tokens of a text.

    Returns:
        What they say.
    """
    known = lexicon().families["scope"]
    found = {known[word] for word in words if word in known}
    # 只 counts animals as well: 一只猫.
    is_only = any(word == "只" and not _is_count(words[at - 1] if at else "") for at, word in enumerate(words))
    return frozenset(found | {"only"} if is_only else found)


def _is_count(before: str) -> bool:
    return before in {"一", "哪", "这", "那", "几", "每", "两"} or before[:1].isdigit()
