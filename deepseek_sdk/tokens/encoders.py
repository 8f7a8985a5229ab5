"""The packages that can encode with DeepSeek's vocabulary, in one shape; none is imported before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGEST_FAST", "Encoder", "KitokenEncoder", "TokenizersEncoder"]

# Some hundred thousand blanks in a row are too much for kitoken: it ends the process, which nobody can catch.
LONGEST_FAST = 32_768


class Encoder(Protocol):
    """
    Encodes texts.

    Attributes:
        name: The package that does.
    """

    name: str

    def counts(self, texts: list[str]) -> list[int]:
        """Count the tokens of each text, without keeping other threads from running."""

    def tokens(self, text: str) -> tuple[list[int], list[int]]:
        """Give the ids of the tokens of *text*, and how many bytes each is wide."""


class TokenizersEncoder:
    """
    Hugging Face's `tokenizers`.

    Args:
        vocabulary: The text of a `tokenizer.json`.
    """

    name = "tokenizers"

    def __init__(self, vocabulary: str) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415  an optional package

        self._tokenizer = Tokenizer.from_str(vocabulary)

    def counts(self, texts: list[str]) -> list[int]:
        """Count the tokens of each text."""
        return [len(encoding) for encoding in self._encode(texts)]

    def tokens(self, text: str) -> tuple[list[int], list[int]]:
        """Give the ids of the tokens of *text*, and how many bytes each is wide."""
        ids = self._encode([text])[0].ids
        # In a byte-level vocabulary each character of a token stands for one byte.
        return ids, [len(self._tokenizer.id_to_token(token) or "") for token in ids]

    def _encode(self, texts: list[str]) -> list[Any]:
        # Not `encode`, which holds the interpreter's lock until it is done.
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)


class KitokenEncoder:
    """
    The fast `kitoken`.

    Args:
        vocabulary: The text of a `tokenizer.json`.
    """

    name = "kitoken"

    def __init__(self, vocabulary: str) -> None:
        from kitoken import Kitoken  # noqa: PLC0415  an optional package

        self._tokenizer = Kitoken.from_tokenizers(vocabulary.encode())

    def counts(self, texts: list[str]) -> list[int]:
        """Count the tokens of each text."""
        parts = [list(_slices(text)) for text in texts]
        sizes = iter([len(ids) for ids in self._tokenizer.encode_all([part for cut in parts for part in cut])])
        return [sum(next(sizes) for _ in cut) for cut in parts]

    def tokens(self, text: str) -> tuple[list[int], list[int]]:
        """Give the ids of the tokens of *text*, and how many bytes each is wide."""
        ids = [token for part in _slices(text) for token in self._tokenizer.encode(part)]
        return ids, [len(part) for part in self._tokenizer.decode_all([[token] for token in ids])]


def _slices(text: str) -> Iterator[str]:
    yield from (text[start : start + LONGEST_FAST] for start in range(0, len(text) or 1, LONGEST_FAST))
