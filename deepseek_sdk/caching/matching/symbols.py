"""Signs of formulas and of code, which words leave out: x+2 is not x-2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["have_other_symbols", "symbols_of"]

# A hyphen within a word and the dot between the parts of a Chinese name (* in `Text.normal`) are no operators.
_SIGNS: Final = re.compile(
    r"[+=<>&|^\\$#@~%]+|(?<![\u3400-\u9fff])\*+|!=|(?<=[\d\s()\]])/|/(?=[\d\s(])|(?<=\w)/(?=\w)|"
    r"(?<=[\d\s(=*/+])-(?=[\da-z(\s])|(?<=\b[a-z])-(?=[a-z]\b)|[()\[\]{}]"
)
_BRACKETS: Final = frozenset("()[]{}")


def symbols_of(text: Text) -> tuple[str, ...]:
    """
    Give the operators of a text.

    Args:
        text: It.

    Returns:
        Them, in order; brackets only where there are others.
    """
    found = tuple(_SIGNS.findall(text.normal))
    return found if any(sign not in _BRACKETS for sign in found) else ()


def have_other_symbols(a: Text, b: Text) -> bool:
    """
    Tell whether two texts are formulas, or code, with other operators; or nothing but signs, and not the same.

    Args:
        a: One.
        b: The other.

    Returns:
        Whether they are. Where one has none, it may be that it says them in words.
    """
    if not any(map(str.isalnum, a.normal)) and not any(map(str.isalnum, b.normal)):
        return a.normal != b.normal
    ours, theirs = symbols_of(a), symbols_of(b)
    return bool(ours and theirs) and ours != theirs
