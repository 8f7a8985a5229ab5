"""`lettered`: letters and short names that are written like words without content: A in "from A to B", IT, US."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.matching.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.cutting import Token

__all__ = ["lettered"]

# Letters that are words without content, or what an apostrophe leaves of one.
_LETTERS = frozenset("adst")


def lettered(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """
    Keep apart what a capital, or its place, makes a name: its text is then in capitals, as no other is.

    Args:
        tokens: Those of a text.

    Returns:
        The same, such names with other texts.
    """
    functions = lexicon().functions
    is_loud = not any(token.surface.islower() for token in tokens if token.kind == "latin")
    has_chinese = any(token.kind == "chinese" for token in tokens)
    return tuple(
        token._replace(text=token.text.upper())
        if token.kind == "latin"
        and token.text in functions
        and _is_name(tokens, at, is_loud=is_loud and not has_chinese)
        else token
        for at, token in enumerate(tokens)
    )


def _is_name(tokens: Sequence[Token], at: int, *, is_loud: bool) -> bool:
    surface = tokens[at].surface
    if len(surface) > 1:
        return surface.isupper() and surface.isalpha() and not is_loud
    return surface.lower() in _LETTERS and (surface not in "aA" or _is_letter(tokens, at))


def _is_letter(tokens: Sequence[Token], at: int) -> bool:
    """Whether an "a" is no article: in Chinese, at the end, before "to" or "and"; or a capital that is not first."""
    roles = lexicon().roles
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    beside = (following, tokens[at - 1] if at else None)
    if following is None or any(one is not None and one.kind == "chinese" for one in beside):
        return True
    is_before = following.text in roles["pivot"] | roles["joiner"]
    return is_before or (tokens[at].surface == "A" and at > 0 and not _is_title(tokens))


def _is_title(tokens: Sequence[Token]) -> bool:
    functions = lexicon().functions
    return any(t.text in functions and len(t.surface) > 1 and t.surface[0].isupper() for t in tokens[1:])
