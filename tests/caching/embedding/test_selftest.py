"""The self-test tells embedders that can be used from those that cannot, whatever part of the scale they use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk.caching.embedding.selftest import examined, judged
from tests.caching.embedding.made_embedders import Words

if TYPE_CHECKING:
    from collections.abc import Sequence


def similarities(zh: tuple[float, float], en: tuple[float, float], mixed: float = 0.0) -> Any:
    """Give what `judged()` takes: for each language similarities of the same and of other questions."""
    return {"zh": [zh[0]] * 3, "en": [en[0]] * 3}, {"zh": [zh[1], 0.0], "en": [en[1], 0.0], "mixed": [mixed]}


@pytest.mark.parametrize(
    ("zh", "en", "mixed"),
    [
        ((0.965, 0.88), (0.95, 0.85), 0.84),
        ((0.86, 0.35), (0.82, 0.3), 0.2),
        ((0.88, 0.55), (0.85, 0.6), 0.5),
        ((0.7, 0.1), (0.75, 0.12), 0.0),
        ((0.985, 0.95), (0.98, 0.94), 0.93),
    ],
    ids=["e5", "use", "bge", "gte", "narrow"],
)
def test_known_ranges_pass(zh: tuple[float, float], en: tuple[float, float], mixed: float) -> None:
    """Embedders pass that tell questions apart, be their similarities between 0 and 1 or between 0.9 and 1."""
    test = judged(*similarities(zh, en, mixed))

    assert (True, None) == (test.passed, test.reason)


@pytest.mark.parametrize(
    ("zh", "en", "mixed", "language"),
    [
        ((1.0, 1.0), (0.9, 0.2), 0.0, "questions in Chinese"),
        ((0.9, 0.95), (0.9, 0.2), 0.0, "questions in Chinese"),
        ((0.9, 0.3), (0.9, 0.91), 0.0, "questions in English"),
        ((0.9, 0.3), (0.9, 0.3), 0.95, "Chinese and English"),
        ((0.999, 0.9985), (0.9, 0.3), 0.0, "questions in Chinese"),
        ((0.72, 0.68), (0.9, 0.3), 0.0, "questions in Chinese"),
    ],
)
def test_embedders_that_mix_questions_up(
    zh: tuple[float, float], en: tuple[float, float], mixed: float, language: str
) -> None:
    """An embedder fails where other questions are as similar as the same ones, in any of the languages."""
    test = judged(*similarities(zh, en, mixed))

    assert test.passed is False
    assert language in str(test.reason)


def test_words_are_enough() -> None:
    """An embedder that knows nothing but words passes, in one batch, and its figures are told."""
    embedder = Words()
    test = examined(embedder)

    assert (True, None, 1) == (test.passed, test.reason, len(embedder.batches))
    assert test.unrelated is not None
    assert test.related is not None
    assert -0.2 < test.unrelated < test.related < 1


class Bad:
    """An embedder that gives the same for all texts."""

    fingerprint = "bad"
    dimensions = 4

    def __init__(self, row: Sequence[float]) -> None:
        self.row = row

    def embed(self, texts: Sequence[str]) -> Any:
        """Give it."""
        return np.array([self.row] * len(texts), np.float32)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((1, 2, 3, 4), "does not tell questions"),
        ((0, 0, 0, 0), "zero"),
        ((1, 2, math.nan, 4), "not finite"),
        ((1, 2, 3), "shape"),
    ],
)
def test_useless_vectors(row: Sequence[float], said: str) -> None:
    """Vectors that are all the same, zero, not numbers, or of another length fail with a reason."""
    test = examined(Bad(row))

    assert test.passed is False
    assert said in str(test.reason)


def test_unknown_letters() -> None:
    """An embedder without Chinese letters, to which all such texts look alike, fails for Chinese."""

    class English(Words):
        def embed(self, texts: Sequence[str]) -> Any:
            return super().embed(["unknown" if text[0] > "一" else text for text in texts])

    assert "questions in Chinese" in str(examined(English()).reason)
