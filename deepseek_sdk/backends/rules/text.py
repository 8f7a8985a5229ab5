"""Text in the form in which rules compare it: one form for all that people take for the same words."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from deepseek_sdk.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Normalizer", "Question", "is_blank", "is_whole_word", "shown", "trimmed", "without_surrogates"]

# Where Chinese characters stand in Unicode; those for compatibility are gone after NFKC.
_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x2FA20), (0x30000, 0x323B0))

# The same word in another spelling, which is no matter of simplified and traditional.
_SPELLINGS = str.maketrans("欵帐著甚妳牠", "款账着什你它")

# Invisible, and often copied along: soft hyphen, zero-width characters, byte order mark, variation selectors.
_INVISIBLE = dict.fromkeys((0xAD, *range(0x200B, 0x200E), 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)))

# Around a question that is asked as a whole; full-width forms have become these by then.
_AROUND = " .,;:!?~。、·\"'“”\u2018\u2019「」『』《》〈〉【】()[]"

# Without blanks between words, or with endings attached: Thai to Myanmar, Hangul Jamo, Khmer, and all from CJK on.
_UNSPACED = (("\u0e00", "\u109f"), ("\u1100", "\u11ff"), ("\u1780", "\u17ff"))
_CJK = "\u2e80"

# Normalising changes a text once, as a rule; a few characters need a second round, none a fourth.
_ROUNDS = 4

# How much of a value a message shows.
_LONGEST_SHOWN = 100


class Normalizer:
    """
    Brings text into the form in which it is compared: its normal form.

    NFKC, then lower case, then simplified Chinese; a run of blanks is one blank. What is normal stays as it is when it
    is normalised again.

    Args:
        case_sensitive: Upper and lower case differ.

    Raises:
        MissingExtraError: The conversion to simplified Chinese is not installed.
    """

    def __init__(self, *, case_sensitive: bool = False) -> None:
        self._keeps_case = case_sensitive
        self._table = {**_simplified(), **_SPELLINGS, **_INVISIBLE}

    def __call__(self, text: str) -> str:
        """
        Normalise a text.

        Args:
            text: Any.

        Returns:
            The form in which it is compared.
        """
        return " ".join(self.characters(without_surrogates(text)).split())

    def characters(self, text: str) -> str:
        """
        Normalise the characters of a text, and leave its blanks.

        Args:
            text: Any that can be encoded.

        Returns:
            Their common forms, which may be more characters or fewer.
        """
        if text.isascii():
            return text if self._keeps_case else text.lower()
        for _ in range(_ROUNDS):
            before, text = text, self._once(text)
            if before == text:
                break
        return text

    @property
    def flags(self) -> re.RegexFlag:
        """What regular expressions are compiled with."""
        return re.NOFLAG if self._keeps_case else re.IGNORECASE

    def question(self, text: str) -> Question:
        """
        Normalise a text that parts will be quoted of.

        Args:
            text: Any.

        Returns:
            Both forms.
        """
        return Question(without_surrogates(text), self(text), self)

    def clusters(self, text: str) -> Iterator[tuple[str, int, int]]:
        """
        Normalise a text piece by piece.

        Args:
            text: Any.

        Yields:
            Each character of the normal text, blanks not yet reduced, with start and end of what it was made of.
        """
        start = 0
        for end in range(1, len(text) + 1):
            if end == len(text) or not unicodedata.combining(text[end]):
                yield from ((char, start, end) for char in self.characters(text[start:end]))
                start = end

    def _once(self, text: str) -> str:
        text = unicodedata.normalize("NFKC", text)
        return (text if self._keeps_case else text.casefold()).translate(self._table)


class Question:
    """
    What somebody asks, in both forms.

    Attributes:
        text: As it was written, but for what cannot be encoded.
        normal: As it is compared.
    """

    __slots__ = ("_normalize", "_sources", "normal", "text")

    def __init__(self, text: str, normal: str, normalize: Normalizer) -> None:
        self.text = text
        self.normal = normal
        self._normalize = normalize
        self._sources: list[tuple[int, int]] | None = None

    def quote(self, start: int, end: int) -> str:
        """
        Find what a part of the normal text was before.

        Args:
            start: Where it begins.
            end: Where it ends.

        Returns:
            The part as it was written; as it is compared where that cannot be told.
        """
        normal = self.normal[start:end]
        # As a rule nothing has moved, and finding out about every character would take longer than all the rest.
        if not normal or self._normalize(self.text[start:end]) == normal:
            return self.text[start:end] if normal else ""
        if self._sources is None:
            self._sources = self._find_sources()
        if not self._sources:
            return normal
        return self.text[self._sources[start][0] : self._sources[end - 1][1]]

    def _find_sources(self) -> list[tuple[int, int]]:
        """Tell for each normal character what it was made of; nothing where characters have grown together."""
        chars, sources = [""], [(0, 0)]
        for char, start, end in self._normalize.clusters(self.text):
            if char.isspace() and chars[-1] in {"", " "}:
                continue
            chars.append(" " if char.isspace() else char)
            sources.append((start, end))
        if chars[-1] == " ":
            chars.pop()
        return sources[1:] if "".join(chars) == self.normal else []


def _simplified() -> Mapping[int, str]:
    """Make the table from traditional characters to simplified ones."""
    try:
        import opencc  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("the rule engine", "rules") from error
    chars = [chr(code) for start, end in _HAN for code in range(start, end)]
    # Character by character: a word would become another one beside others, and then not be found.
    converted = opencc.OpenCC("t2s").convert("\n".join(chars)).split("\n")
    return {ord(char): simple for char, simple in zip(chars, converted, strict=True) if char != simple}


def without_surrogates(text: str) -> str:
    """
    Take out what is no character and cannot be encoded.

    Args:
        text: Any; JSON may hold halves of surrogate pairs.

    Returns:
        The text with U+FFFD in their place.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text


def shown(value: object) -> str:
    """
    Write a value for a message.

    Args:
        value: Any that a file of rules can hold.

    Returns:
        What it looks like, cut where it is long; its type where it cannot be written.
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return f"this {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def is_blank(text: str) -> bool:
    """
    Tell whether nothing of a text can be seen.

    Args:
        text: Any.

    Returns:
        Whether it holds nothing but blanks and characters without width.
    """
    return not text.translate(_INVISIBLE).split()


def trimmed(normal: str) -> str:
    """
    Take off what stands around a sentence.

    Args:
        normal: A normal text.

    Returns:
        It without the punctuation at both ends, or as it is where it is nothing else.
    """
    return normal.strip(_AROUND) or normal


def is_whole_word(text: str, start: int, end: int) -> bool:
    """
    Tell whether a part of a text is whole words, where words have borders.

    Args:
        text: The text.
        start: Where the part begins.
        end: Where it ends.

    Returns:
        False where a letter or digit of a script with blanks goes on beyond one of its ends.
    """
    begins_inside = start > 0 and _is_of_word(text[start - 1]) and _is_of_word(text[start])
    return not begins_inside and not (end < len(text) and _is_of_word(text[end - 1]) and _is_of_word(text[end]))


def _is_of_word(char: str) -> bool:
    if char >= _CJK or not (char.isalnum() or char == "_" or unicodedata.combining(char)):
        return False
    return char.isascii() or not any(first <= char <= last for first, last in _UNSPACED)
