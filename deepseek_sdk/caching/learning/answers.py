"""`same_answer`: whether two answers say the same, where that can be seen without understanding them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.normal import LONGEST
from deepseek_sdk.caching.matching.quantities import unmatched
from deepseek_sdk.caching.matching.text import analysed

if TYPE_CHECKING:
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["same_answer"]

# An answer of a sentence: a number in it is what was asked for.
_SHORT = 80
_MARKUP = re.compile(r"[*_`#>~|]+|^\s*(?:[-+\u2022]|\d{1,2}[.)])\s+", re.MULTILINE)
_ENDS = " .!\u3002\uff01"
_YES = re.compile(r"(?:yes|yeah|yep|是的|是|对|可以|能|会|有)(?:[^\w\s]|$)|(?:yes|yeah|yep)\b")
_NO = re.compile(r"(?:no|nope|否|不|不是|不可以|不能|不会|不对|没有|不行)(?:[^\w\s]|$)|(?:nope)\b")


def same_answer(one: str, other: str) -> bool | None:
    """
    Compare two answers.

    Args:
        one: The text of an answer.
        other: The text of another one to the same question.

    Returns:
        True: they differ in nothing but markup, capitals and words that say nothing; False: one says yes and the other
        no, or they are short and tell different numbers; None: somebody has to judge.
    """
    left, right = _plain(one), _plain(other)
    if not left or not right:
        return None
    if left == right:
        return True
    if _says(left) * _says(right) < 0:
        return False
    if max(len(left), len(right)) > LONGEST:
        return None
    return _compared(analysed(left), analysed(right), is_short=max(len(left), len(right)) <= _SHORT)


def _compared(left: Text, right: Text, *, is_short: bool) -> bool | None:
    only_left, only_right = unmatched(left.numbers, right.numbers)
    if is_short and only_left and only_right:
        return False
    if only_left or only_right or left.dates != right.dates or left.negations != right.negations:
        return None
    # In order: who is faster than whom is told by nothing else.
    return True if left.content and left.content == right.content and left.names == right.names else None


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", unicodedata.normalize("NFKC", text).casefold()).split()).rstrip(_ENDS)


def _says(text: str) -> int:
    return bool(_YES.match(text)) - bool(_NO.match(text))
