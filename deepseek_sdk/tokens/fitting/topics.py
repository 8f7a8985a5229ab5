"""
Where the topic of a text changes: TextTiling over vectors.

What counts as a change is relative to the text itself: between neighbouring sentences a similarity under 0.85 is the
rule, so a fixed threshold would cut everywhere.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from deepseek_sdk.tokens.fitting.bm25 import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.tokens.fitting.budget import Embed

__all__ = ["cosine", "depths", "similarities", "topic_starts"]

Vector: TypeAlias = "Mapping[Any, float]"

# How many blocks on either side of a border are compared.
_WINDOW = 3


def topic_starts(blocks: Sequence[str], embed: Embed | None = None) -> list[int]:
    """
    Find the blocks with which a topic begins.

    Args:
        blocks: The blocks of a text, in order.
        embed: Gives their vectors; None: the words they hold.

    Returns:
        Their numbers, 0 first.
    """
    if not blocks:
        return []
    deep = depths(similarities(_vectors(blocks, embed)))
    if not deep:
        return [0]
    # Hearst's threshold; above 0, so that a text that is the same all through has no borders.
    mean = sum(deep) / len(deep)
    deviation = math.sqrt(sum((depth - mean) ** 2 for depth in deep) / len(deep))
    threshold = max(mean - deviation / 2, 1e-9)
    return [0, *(place + 1 for place, depth in enumerate(deep) if depth > threshold and _is_peak(deep, place))]


def _is_peak(deep: Sequence[float], place: int) -> bool:
    before = deep[place - 1] if place else -1.0
    after = deep[place + 1] if place + 1 < len(deep) else -1.0
    return before < deep[place] >= after


def _vectors(blocks: Sequence[str], embed: Embed | None) -> list[Vector]:
    if embed is None:
        return [Counter[Any](terms(block)) for block in blocks]
    return [dict(enumerate(map(float, vector))) for vector in embed(list(blocks))]


def similarities(vectors: Sequence[Vector], window: int = _WINDOW) -> list[float]:
    """
    Compare what stands before and after each border.

    Args:
        vectors: A vector for each block.
        window: How many blocks on either side.

    Returns:
        The cosine for each border, so one fewer than there are blocks.
    """
    borders = range(1, len(vectors))
    return [cosine(_sum(vectors[max(0, at - window) : at]), _sum(vectors[at : at + window])) for at in borders]


def _sum(vectors: Sequence[Vector]) -> Vector:
    total: dict[Any, float] = {}
    for vector in vectors:
        for key, value in vector.items():
            total[key] = total.get(key, 0.0) + value
    return total


def cosine(one: Vector, other: Vector) -> float:
    """
    Compare two vectors.

    Args:
        one: Numbers by dimension.
        other: Likewise.

    Returns:
        The cosine of their angle; 0 where one of them is nothing.
    """
    product = sum(value * other.get(key, 0.0) for key, value in one.items())
    norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values()))
    return product / norm if norm else 0.0


def depths(curve: Sequence[float]) -> list[float]:
    """
    Tell how deep each place of a curve lies below the nearest peaks on either side.

    Args:
        curve: Similarities.

    Returns:
        The depth of each place, the sum of both sides.
    """
    left = _climbs(curve)
    right = _climbs(curve[::-1])[::-1]
    return [one + other for one, other in zip(left, right, strict=True)]


def _climbs(curve: Sequence[float]) -> list[float]:
    """Tell for each place how far it goes up from there, towards the left, without a step down."""
    climbs: list[float] = []
    for place, height in enumerate(curve):
        rises = place > 0 and curve[place - 1] >= height
        climbs.append(climbs[-1] + curve[place - 1] - height if rises else 0.0)
    return climbs
