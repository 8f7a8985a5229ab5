"""What a question asks for: a reason, a time, a place, a person, a price."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALIKE", "question_of"]

# Questions that are asked for one another: 谁有 for 哪里有.
ALIKE: Final = ({"who", "where"}, {"when", "duration"}, {"when", "where"}, {"number", "duration"}, {"number", "much"})

_WORDS = {
    "why": "why", "为什么": "why", "为何": "why", "为啥": "why", "为毛": "why", "原因": "why",
    "when": "when", "什么时候": "when", "何时": "when", "几点": "when", "几号": "when", "哪天": "when", "哪年": "when",
    "哪一年": "when", "哪一天": "when", "几月": "when", "啥时候": "when", "什么时间": "when", "when's": "when",
    "wher": "where", "哪里": "where", "哪儿": "where", "在哪": "where", "什么地方": "where", "何处": "where",
    "who": "who", "whom": "who", "whos": "who", "谁": "who", "哪位": "who", "是谁": "who",
    "多少钱": "price", "价格": "price", "价钱": "price",
    "多久": "duration", "多长时间": "duration", "几天": "duration", "多少天": "duration",
    "多大": "age", "几岁": "age", "多大年纪": "age", "多少岁": "age",
    "多高": "height", "多远": "distance", "多重": "weight",
}  # fmt: skip
_AFTER_HOW = {
    "long": "duration", "old": "age", "tall": "height", "far": "distance", "many": "number", "often": "often",
    "heavy": "weight", "much": "much",
}  # fmt: skip


def question_of(words: Sequence[str]) -> str:
    """
    Find what is asked for.

    Args:
        words: The tokens of a text.

    Returns:
        A word for it; "" where none says, or several say different things.
    """
    found = {_WORDS[word] for word in words if word in _WORDS}
    found |= {_AFTER_HOW[word] for how, word in pairwise(words) if how == "how" and word in _AFTER_HOW}
    return found.pop() if len(found) == 1 else ""
