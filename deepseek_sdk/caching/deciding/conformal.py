"""Conformal risk control: the threshold that keeps wrong hits below a bound, however scores are distributed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deepseek_sdk.caching.deciding.checks import check_risk

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["needed", "risk_at", "served_at", "threshold"]

# 0.01 is no binary fraction: without it, 99 pairs would be too few for 1 %.
ROUNDING = 1e-9


def threshold(scores: Sequence[float], wrong: Sequence[bool], max_false_hit: float) -> float:
    """
    Set the lowest threshold whose expected share of wrong hits, among all lookups, stays within the bound.

    A hit is served where its score is **above** the threshold. With n pairs of which k are wrong and above it, the
    bound holds where (k + 1) / (n + 1) <= *max_false_hit*: for the next lookup, if it comes from where the pairs came.

    Args:
        scores: Of pairs of a question and its best candidate.
        wrong: Whether the candidate's answer would have been wrong; one for each score.
        max_false_hit: The bound, above 0 and below 1.

    Returns:
        The threshold; inf where there are too few pairs to promise anything, -inf where everything may be served.

    Raises:
        ConfigurationError: The bound is no share.
    """
    check_risk("max_false_hit", max_false_hit)
    allowed = math.floor(max_false_hit * (len(scores) + 1) + ROUNDING) - 1
    if allowed < 0:
        return math.inf
    above = sorted((score for score, is_wrong in zip(scores, wrong, strict=True) if is_wrong), reverse=True)
    return above[allowed] if allowed < len(above) else -math.inf


def needed(max_false_hit: float) -> int:
    """
    Count the pairs without which nothing is promised.

    Args:
        max_false_hit: The bound, above 0 and below 1.

    Returns:
        How many.

    Raises:
        ConfigurationError: The bound is no share.
    """
    check_risk("max_false_hit", max_false_hit)
    return math.ceil(1 / max_false_hit - 1 - ROUNDING)


def risk_at(bar: float, scores: Sequence[float], wrong: Sequence[bool]) -> float:
    """
    Measure the wrong hits at a threshold.

    Args:
        bar: The threshold.
        scores: Of the pairs.
        wrong: Whether each is wrong.

    Returns:
        Their share of all pairs.
    """
    served = (is_wrong for score, is_wrong in zip(scores, wrong, strict=True) if score > bar)
    return sum(served) / max(1, len(scores))


def served_at(bar: float, scores: Sequence[float]) -> float:
    """
    Measure the hits at a threshold.

    Args:
        bar: The threshold.
        scores: Of the pairs.

    Returns:
        Their share of all pairs.
    """
    return sum(score > bar for score in scores) / max(1, len(scores))
