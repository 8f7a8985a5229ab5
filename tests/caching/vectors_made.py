"""What tests of vectors share: made-up vectors that lie as those of questions do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deepseek_sdk.caching.index.base import Hit

    Array = NDArray[np.float32]

# As the embedder's: unrelated questions have a cosine of 0.8, those of one subject of 0.9.
_COMMON, _SUBJECT, _OWN = 0.80, 0.11, 0.09
_PER_SUBJECT = 40


def questions(count: int, dimensions: int = 64, seed: int = 0) -> Array:
    """Make vectors of questions: all point the same way more or less, and those of one subject still more."""
    rng = np.random.default_rng(seed)
    # The common part is the same whatever the seed: it belongs to the embedder.
    common = unit(np.random.default_rng(99).standard_normal(dimensions))
    subjects = unit(rng.standard_normal((count // _PER_SUBJECT + 1, dimensions)))
    own = unit(rng.standard_normal((count, dimensions)))
    chosen = subjects[rng.integers(len(subjects), size=count)]
    return unit(_COMMON**0.5 * common + _SUBJECT**0.5 * chosen + _OWN**0.5 * own)


def reworded(vectors: Array, seed: int = 1, least: float = 0.90) -> Array:
    """Make vectors of other wordings: their cosines with the first ones lie between *least* and 1."""
    rng = np.random.default_rng(seed)
    cosines = rng.uniform(least, 1.0, (len(vectors), 1))
    aside = rng.standard_normal(vectors.shape)
    aside -= (aside * vectors).sum(axis=1, keepdims=True) * vectors
    return unit(cosines * vectors + np.sqrt(1 - cosines**2) * unit(aside))


def unit(vectors: NDArray[np.float64] | Array) -> Array:
    """Scale vectors to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def brute(vectors: Array, query: Array, k: int) -> list[tuple[int, float]]:
    """Find the nearest by comparing with all, as they are kept."""
    cosines = vectors.astype(np.float16).astype(np.float32) @ query
    order = np.lexsort((np.arange(len(cosines)), -cosines))[:k]
    return [(int(row), float(cosines[row])) for row in order]


def rows(hits: list[Hit]) -> list[int]:
    """Give the numbers of what was found."""
    return [hit.row for hit in hits]


def agreement(told: Array, exact: Array) -> float:
    """Tell what share of decisions is the same, the worst of thresholds where decisions are made."""
    return min(float(np.mean((told >= at) == (exact >= at))) for at in (0.93, 0.95, 0.97, 0.98))
