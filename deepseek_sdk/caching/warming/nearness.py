"""How near questions are to what an hour asks, told from their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["nearness"]

# An hour asks about several things; so many, and so many rounds to find them.
_CENTRES, _ROUNDS = 8, 10
_SAME = 1e-6


def nearness(vectors: Vectors, then: Sequence[float], ever: Sequence[float], *, centres: int = _CENTRES) -> list[float]:
    """
    Tell how near questions are to those of an hour.

    The mean of all questions is taken away first: vectors of some models all point nearly the same way.

    Args:
        vectors: A unit vector of each question.
        then: How much each was asked in that hour, 0 for those that were not.
        ever: How much each was asked at all.
        centres: How many things an hour asks about, at most.

    Returns:
        A number for each, from 0, far from everything, to 1; all 1 where nothing was asked in that hour.
    """
    import numpy as np  # noqa: PLC0415  an extra

    weights = np.asarray(then, dtype=np.float64)
    if not len(vectors) or not weights.any():
        return [1.0] * len(vectors)
    all_of_them = np.maximum(np.asarray(ever, dtype=np.float64), 1e-9)
    away = np.asarray(vectors, dtype=np.float64)
    away = _unit(np, away - np.average(away, axis=0, weights=all_of_them))
    asked = weights > 0
    found = _centres(np, away[asked], weights[asked], centres)
    cosines = (away @ found.T).max(axis=1)
    return [float(one) for one in np.clip((1 + cosines) / 2, 0.0, 1.0)]


def _unit(np: Any, rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _centres(np: Any, rows: Any, weights: Any, most: int) -> Any:
    """Find means of rows that lie together: the heaviest row first, then those farthest from what there is."""
    chosen = [int(weights.argmax())]
    while len(chosen) < min(most, len(rows)):
        far = (1 - (rows @ rows[chosen].T).max(axis=1)) * weights
        if far.max() <= _SAME * weights.max():
            break
        chosen.append(int(far.argmax()))
    centres = rows[chosen]
    for _ in range(_ROUNDS):
        mine = (rows @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, mine, rows * weights[:, None])
        # One that nothing is nearest to stays where it is.
        centres = np.where(sums.any(axis=1, keepdims=True), _unit(np, sums), centres)
    return centres
