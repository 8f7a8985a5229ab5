"""Files that hold the default model: what is no such file is refused in words."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.e5.source import read_source

if TYPE_CHECKING:
    from pathlib import Path

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁你好")
# Two rows of 32 weights: nibbles 0 to 15 twice, with a scale of 0.5, and all 8, with a scale of 2.
ROW = np.float16(0.5).tobytes() + bytes(value | (value << 4) for value in range(16))
ZERO = np.float16(2).tobytes() + b"\x88" * 16


def content(*, magic: bytes = b"E5S1", block: int = 32, pieces: tuple[str, ...] = PIECES) -> bytes:
    """Give a small file."""
    texts = [piece.encode() for piece in pieces]
    ends = [sum(map(len, texts[:index])) for index in range(len(texts) + 1)]
    head = magic + struct.pack("<I7ifi", 1, 32, 1, 1, 32, 2, 4, 1, 1e-12, block)
    head += struct.pack("<5iQ", len(texts), 0, 2, 1, 3, ends[-1]) + struct.pack(f"<{len(ends)}I", *ends)
    head += struct.pack(f"<{len(texts)}f", *range(len(texts))) + b"".join(texts) + struct.pack("<iI", 1, 3) + b"map"
    named = [(b"w", ROW + ZERO), (b"b", np.array([1.5, -2], np.float32).tobytes())]
    size = len(head) + 4 + sum(2 + len(name) + struct.calcsize("<BIQQ") for name, _ in named)
    head += struct.pack("<i", len(named))
    for name, data in named:
        head += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", 0, 0, size, len(data))
        size += len(data)
    return head + b"".join(data for _, data in named)


def test_weights_are_read(tmp_path: Path) -> None:
    """Pieces, scores, weights of 4 bits with their scales, and weights that are as they are."""
    path = tmp_path / "source"
    path.write_bytes(content())
    source = read_source(path)
    scales, packed = source.quarters("w", 2, 32)

    assert (PIECES, [0, 1, 2, 3, 4], 32) == (tuple(source.pieces), list(source.scores), source.shape.hidden)
    assert [[0.5], [2.0]] == scales.tolist()
    low, high = packed & 15, packed >> 4
    assert [*range(16), *range(16)] == np.stack([low, high], -1)[0].reshape(-1).tolist()
    assert {8} == set(np.stack([low, high])[:, 1].reshape(-1).tolist())
    assert [[0.5 * (value - 8) for value in (*range(16), *range(16))], [0.0] * 32] == source.matrix("w", 2, 32).tolist()
    assert [1.5, -2] == source.floats("b", 2).tolist()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (content(magic=b"GGUF"), "it begins with b'GGUF'"),
        (content(block=64), "blocks of 64"),
        (content()[:60], "ends early"),
        (b"", "no model"),
    ],
)
def test_other_files(tmp_path: Path, data: bytes, said: str) -> None:
    """A file of another kind, or one that ends early, is refused."""
    path = tmp_path / "source"
    path.write_bytes(data)

    with pytest.raises(EmbeddingError, match=said):
        read_source(path)


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    """Weights that are missing, of another size, or cut off, are refused with their name."""
    path = tmp_path / "source"
    path.write_bytes(content()[:-4])
    source = read_source(path)

    for name, count in (("x", 2), ("b", 3), ("b", 2)):
        with pytest.raises(EmbeddingError, match="no weights"):
            source.floats(name, count)
