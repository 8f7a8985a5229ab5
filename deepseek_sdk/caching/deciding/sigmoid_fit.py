"""The curve of one entry: the probability that its answer is right, over the cosine of the question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.deciding.correction import sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Curve", "Observation", "fitted"]

STEEPEST, FLATTEST = 1e6, 1e-6
STEPS = 200
SMALL = 1e-8

# The variance of the middle where right and wrong are apart, by the number of observations: the likelihood has no
# maximum then, and the delta method no answer. Between and beyond them the nearest smaller number counts.
APART = {
    6: 0.035445, 7: 0.028285, 8: 0.026436, 9: 0.021349, 10: 0.019371, 11: 0.012615, 12: 0.011433, 13: 0.010228,
    14: 0.009963, 15: 0.009253, 16: 0.011, 45: 0.019, 48: 0.0151,
}  # fmt: skip


class Observation(NamedTuple):
    """
    One question whose nearest neighbour was the entry.

    Args:
        cosine: Its similarity.
        is_right: Whether the entry's answer would have been right for it.
    """

    cosine: float
    is_right: bool


class Curve(NamedTuple):
    """
    A logistic curve, and how well its middle is known.

    Args:
        middle: The cosine at which right is as probable as wrong, 0 to 1.
        slope: How steep it is.
        variance: Of the middle.
    """

    middle: float
    slope: float
    variance: float


def fitted(seen: Sequence[Observation]) -> Curve:
    """
    Fit the curve by maximum likelihood.

    Args:
        seen: Observations of both kinds.

    Returns:
        The curve.
    """
    right = min(one.cosine for one in seen if one.is_right)
    wrong = max(one.cosine for one in seen if not one.is_right)
    if right > wrong:
        return _apart(right, wrong, len(seen))
    intercept, slope = _most_likely(seen)
    slope = max(slope, FLATTEST)
    return Curve(_within(-intercept / slope), slope, _variance(intercept, slope, seen))


def _apart(right: float, wrong: float, count: int) -> Curve:
    # The likelihood grows with the slope for ever; it is as good as done where the residuals have become small.
    slope = min(STEEPEST, -2 * math.log(SMALL) / (right - wrong))
    known = max((number for number in APART if number <= count), default=min(APART))
    return Curve((right + wrong) / 2, slope, APART[known])


def _most_likely(seen: Sequence[Observation]) -> tuple[float, float]:
    intercept, slope, best = 0.0, 0.0, _loss(0.0, 0.0, seen)
    for _ in range(STEPS):
        step = _newton(intercept, slope, seen)
        share = 1.0
        while (loss := _loss(intercept + share * step[0], slope + share * step[1], seen)) > best and share > SMALL:
            share /= 2
        if best - loss < SMALL:
            break
        intercept, slope, best = intercept + share * step[0], slope + share * step[1], loss
    return intercept, slope


def _loss(intercept: float, slope: float, seen: Sequence[Observation]) -> float:
    signed = ((intercept + slope * cosine) * (1 if is_right else -1) for cosine, is_right in seen)
    return sum(math.log1p(math.exp(-abs(z))) + max(0.0, -z) for z in signed)


def _newton(intercept: float, slope: float, seen: Sequence[Observation]) -> tuple[float, float]:
    chances = [(sigmoid(intercept + slope * cosine), cosine, is_right) for cosine, is_right in seen]
    first = sum(is_right - p for p, _, is_right in chances)
    second = sum((is_right - p) * cosine for p, cosine, is_right in chances)
    one, cross, square = _information(intercept, slope, seen)
    scale = max(one * square - cross * cross, 1e-12)
    return (square * first - cross * second) / scale, (one * second - cross * first) / scale


def _information(intercept: float, slope: float, seen: Sequence[Observation]) -> tuple[float, float, float]:
    weights = [(p * (1 - p), cosine) for cosine, _ in seen for p in (sigmoid(intercept + slope * cosine),)]
    return (
        sum(weight for weight, _ in weights),
        sum(weight * cosine for weight, cosine in weights),
        sum(weight * cosine * cosine for weight, cosine in weights),
    )


def _variance(intercept: float, slope: float, seen: Sequence[Observation]) -> float:
    one, cross, square = _information(intercept, slope, seen)
    scale = max(one * square - cross * cross, 1e-12)
    by_intercept, by_slope = -1 / slope, intercept / slope**2
    spread = by_intercept**2 * square - 2 * by_intercept * by_slope * cross + by_slope**2 * one
    return max(0.0, spread / scale)


def _within(middle: float) -> float:
    return max(0.0, min(1.0, middle))
