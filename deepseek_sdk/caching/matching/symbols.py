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
# Names that end in a sign, "Disney+", "A*", "B-树", and numbers below zero.
_SIGNED: Final = re.compile(
    r"(?<![a-z0-9_.])(?P<name>[a-z][a-z0-9]*)(?P<sign>[+*#]+)(?=[\s,.?!;:)]|[\u3400-\u9fff]|$)|"
    r"(?<![a-z0-9_.])(?P<letter>[a-d])-(?=[\s,.?!;:)]|[\u3400-\u9fff]|$)|"
    r"(?:^|(?<=[a-z] )|(?<=[(=:,是比为]))-(?P<number>\d+(?:\.\d+)?)"
)
_SPOKEN: Final = re.compile(r"\b(?:plus|minus|negative|star|sharp|hash)\b|[加减负星]")


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
    return (bool(ours and theirs) and ours != theirs) or _have_other_signs(a.normal, b.normal)


def _have_other_signs(a: str, b: str) -> bool:
    """Whether what both name has a sign in one text, and another or none in the other, nor one in words."""
    ours, theirs = _signed(a), _signed(b)
    return (
        ours != theirs and not _SPOKEN.search(a + b) and (_are_named(ours - theirs, b) or _are_named(theirs - ours, a))
    )


def _signed(normal: str) -> set[tuple[str, str]]:
    """Give what has a sign, and the sign."""
    found = (match.groupdict() for match in _SIGNED.finditer(normal))
    return {(one["name"] or one["letter"] or one["number"], one["sign"] or "-") for one in found}


def _are_named(signed: set[tuple[str, str]], normal: str) -> bool:
    return any(re.search(rf"(?<![a-z0-9_.]){re.escape(name)}(?![a-z0-9_])", normal) for name, _ in signed)
