"""Words of negation, and where they negate nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["negated"]


def negated(words: Sequence[str]) -> tuple[str, ...]:
    """
    Find negations.

    Args:
        words: The tokens of a text.

    Returns:
        The words that negate, in order; not those of a question such as 能不能.
    """
    known = lexicon().roles["negation"]
    return tuple(word for at, word in enumerate(words) if word in known and not _is_idle(words, at))


def _is_idle(words: Sequence[str], at: int) -> bool:
    """Whether it offers a choice, A不A, or stands where 吗 could: 好了没."""
    before = words[at - 1] if at else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] in {"not", "no"}:
        return before in {"or", "if", "why", "whether"}
    if words[at] == "不到" and after[:1].isdigit():
        return True
    if words[at] == "没" and before == "有":
        return True
    if before and (before == after or (after and after.startswith(before))):
        return True
    rest = words[at + 1 :]
    if words[at] == "不是" and rest and rest[-1] in {"吗", "么"}:
        return True
    return words[at] in {"没", "没有", "不", "未"} and at > 0 and lexicon().roles["ending"].issuperset(rest)
