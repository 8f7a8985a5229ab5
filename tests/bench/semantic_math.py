"""The arithmetic of the measurements: shares, intervals, a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Gain", "fitted", "gain", "served_within"]

RESAMPLED = 500
STEPS = 8


class Gain(NamedTuple):
    """What a score serves above another's, with the 95 % interval of the difference; all in shares of the lookups."""

    base: float
    ours: float
    low: float
    high: float


def served_within(scores: Any, wrong: Any, share: float) -> float:
    """Give the largest share that can be served while wrong hits stay within *share* of all lookups."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ends = np.append(ranked[1:] != ranked[:-1], True)
    good = np.flatnonzero((np.cumsum(wrong[order]) <= share * len(scores)) & ends)
    return float(good[-1] + 1) / len(scores) if len(good) else 0.0


def gain(base: Any, ours: Any, wrong: Any, share: float) -> Gain:
    """Compare two scores on the same pairs, and on the same resamples of them."""
    chance, count = np.random.default_rng(1), len(wrong)
    gains = []
    for _ in range(RESAMPLED):
        drawn = chance.integers(0, count, count)
        gains.append(served_within(ours[drawn], wrong[drawn], share) - served_within(base[drawn], wrong[drawn], share))
    low, high = np.percentile(gains, [2.5, 97.5])
    return Gain(served_within(base, wrong, share), served_within(ours, wrong, share), float(low), float(high))


def fitted(columns: Any, right: Any, weights: Any, penalties: Sequence[float]) -> Any:
    """Fit a logistic regression by Newton's steps; each coefficient has an L2 penalty of its own."""
    rows, penalty = np.ascontiguousarray(columns, np.float32), np.asarray(penalties, float)
    found = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-np.clip((rows @ found.astype(np.float32)).astype(float), -30, 30)))
        slope = rows.T @ (weights * (right - chances)).astype(np.float32) - penalty * found
        scaled = rows * np.sqrt(np.maximum(weights * chances * (1 - chances), 1e-6)).astype(np.float32)[:, None]
        found = found + np.linalg.solve((scaled.T @ scaled).astype(float) + np.diag(penalty), slope)
    return found
