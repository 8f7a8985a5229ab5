"""Regular expressions for normal text: the characters that they name are those that the text has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk.backends.rules.text import shown

if TYPE_CHECKING:
    from deepseek_sdk.backends.rules.text import Normalizer

__all__ = ["compiled", "problem_in_pattern"]

# A character by its number.
_CODE = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
# A letter with accents or Japanese sound marks after it, or any character that may have another form.
_PLAIN = r"\w[\u0300-\u036f\u3099\u309a\uff9e\uff9f]+|[^\x00-\x7f]"
_CHAR = rf"(?P<code>{_CODE})|\\(?P<escaped>.)|(?P<plain>{_PLAIN})"

# The name of a group, a comment, a class of characters, a character.
_IN_PATTERN = (
    r"\(\?P<[^>]*>|\(\?P=[^)]*\)|\(\?\([^)]*\)|\(\?#[^)]*\)"
    rf"|(?P<opening>\[\^?)(?P<members>\]?(?:\\.|[^\]\\])*)\]|{_CHAR}"
)
_IN_CLASS = rf"(?P<low>{_CODE}|\\.|[^\\])-(?P<high>{_CODE}|\\.|[^\\])|{_CHAR}"


def compiled(source: str, normalize: Normalizer) -> re.Pattern[str]:
    """
    Compile a regular expression for normal text.

    Args:
        source: It, as somebody wrote it; `re` accepts it.
        normalize: Brings text into the form in which it is compared.

    Returns:
        It, with its own characters in that form; the names of groups stay as they are.

    Raises:
        ValueError: There is no such expression; the message says why, a sentence without its subject.
    """
    pattern = re.sub(_IN_PATTERN, lambda token: _token(token, normalize), source, flags=re.DOTALL)
    try:
        return re.compile(pattern, normalize.flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot be used on normalised text, where it is {shown(pattern)}: {error}") from error


def problem_in_pattern(source: str, normalize: Normalizer) -> str | None:
    """
    Find what keeps a regular expression from being used on normal text.

    Args:
        source: It, as somebody wrote it; `re` accepts it.
        normalize: Brings text into the form in which it is compared.

    Returns:
        What is wrong, a sentence without its subject, or None.
    """
    try:
        compiled(source, normalize)
    except ValueError as error:
        return str(error)
    return None


def _token(token: re.Match[str], normalize: Normalizer) -> str:
    if (opening := token["opening"]) is not None:
        members = re.sub(_IN_CLASS, lambda member: _member(member, normalize), token["members"], flags=re.DOTALL)
        return f"{opening}{members}]"
    if (char := _char(token)) is None:
        return token[0]
    normal = normalize.characters(char)
    # A repetition that follows is one of the whole.
    return _literal(normal) if len(normal) == 1 else f"(?:{re.escape(normal)})"


def _member(token: re.Match[str], normalize: Normalizer) -> str:
    """Normalise a member of a class."""
    if token["low"] is not None:
        return _range(token, normalize)
    char = _char(token)
    normal = "" if char is None else normalize.characters(char)
    if len(normal) > 1:
        raise ValueError(
            f"has {char!r} in brackets, which stand for one character, but it is compared as {normal!r}: "
            f"write (?:{char}|[...])"
        )
    # What does not exist in normal text does no harm.
    return _literal(normal) if normal else token[0]


def _range(token: re.Match[str], normalize: Normalizer) -> str:
    """Normalise a range that is one afterwards, such as that of the full-width digits."""
    low, high = _decoded(token["low"]), _decoded(token["high"])
    ends = normalize.characters(low), normalize.characters(high)
    if low.isascii() or any(len(end) != 1 for end in ends) or ord(high) - ord(low) != ord(ends[1]) - ord(ends[0]):
        return token[0]
    return f"{_literal(ends[0])}-{_literal(ends[1])}"


def _char(token: re.Match[str]) -> str | None:
    """Tell which character a token stands for, if it is one that may have another form."""
    char: Any = token["escaped"] or token["plain"] or (token["code"] and _decoded(token["code"]))
    return None if not char or char.isascii() else str(char)


def _decoded(atom: str) -> str:
    digits = atom.removeprefix("\\")[1:]
    return chr(int(digits, 16)) if digits else atom[-1]


def _literal(char: str) -> str:
    # A digit could become part of a repetition or of a reference to a group.
    return f"\\x{ord(char):02x}" if char.isascii() and char.isdigit() else re.escape(char)
