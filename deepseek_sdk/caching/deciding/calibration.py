"""`Calibration`: thresholds for one embedder, set from pairs of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.deciding.conformal import needed, risk_at, served_at, threshold
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["BOUNDS", "HIGHEST", "Calibration", "Example", "bars_of", "check_examples", "summed_up"]

# Thresholds are told for these, where the pairs suffice, and for the bound that was asked for.
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# Below and above the scores of all pairs that are looked at.
LOWEST = -50.0
HIGHEST = 50.0


class Example(NamedTuple):
    """
    A labelled pair.

    Args:
        asked: What is asked.
        kept: What an answer is kept for.
        cosine: Of their vectors.
        vectors: Both; (None, None) where nobody has them.
        is_right: The answer that is kept is right for what is asked.
    """

    asked: Text
    kept: Text
    cosine: float
    vectors: tuple[Any, Any]
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """
    What calibrating came to.

    Args:
        fingerprint: Of the embedder.
        n: How many pairs there were.
        max_false_hit: The bound that was asked for.
        threshold: What a score had to be above for it, on the scale before calibrating.
        served: The share of the pairs that would be served.
        risk: The share of the pairs that would be served and wrong.
        weights: Of 1, the score of the texts, and the cosine, where the embedder was unknown; else empty.
        bars: Thresholds by bound, the smallest bound first.
    """

    fingerprint: str
    n: int
    max_false_hit: float
    threshold: float
    served: float
    risk: float
    weights: tuple[float, ...] = ()
    bars: tuple[tuple[float, float], ...]


def check_examples(examples: Sequence[Example], max_false_hit: float) -> None:
    """
    Check that pairs suffice.

    Args:
        examples: The pairs.
        max_false_hit: The bound.

    Raises:
        ConfigurationError: They do not, or the bound is no share.
    """
    least = needed(max_false_hit)
    if len(examples) < least:
        raise ConfigurationError(
            f"pairs must be {least} or more for max_false_hit={max_false_hit:g}, not {len(examples)}"
        )


def bars_of(scores: Sequence[float], wrong: Sequence[bool], max_false_hit: float) -> tuple[tuple[float, float], ...]:
    """
    Set the threshold for each bound that the pairs suffice for.

    Args:
        scores: Of the pairs.
        wrong: Whether each is wrong.
        max_false_hit: A bound that must be among them.

    Returns:
        The bounds with their thresholds, the smallest first.
    """
    bounds = sorted({*BOUNDS, max_false_hit})
    told = [bound for bound in bounds if needed(bound) <= len(scores)]
    return tuple((bound, max(LOWEST, threshold(scores, wrong, bound))) for bound in told)


def summed_up(
    fingerprint: str,
    scores: Sequence[float],
    wrong: Sequence[bool],
    max_false_hit: float,
    *,
    count: int,
    weights: tuple[float, ...] = (),
) -> Calibration:
    """
    Calibrate a score.

    Args:
        fingerprint: Of the embedder.
        scores: Of the pairs that set the thresholds.
        wrong: Whether each is wrong.
        max_false_hit: The bound.
        count: How many pairs there were in all.
        weights: What the scores were made with.

    Returns:
        The calibration.
    """
    bar = max(LOWEST, threshold(scores, wrong, max_false_hit))
    return Calibration(
        fingerprint=fingerprint,
        n=count,
        max_false_hit=max_false_hit,
        threshold=bar,
        served=served_at(bar, scores),
        risk=risk_at(bar, scores, wrong),
        weights=weights,
        bars=bars_of(scores, wrong, max_false_hit),
    )
