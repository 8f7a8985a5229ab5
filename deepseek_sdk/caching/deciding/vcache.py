"""
`VCache`: the per-entry policy of the vCache paper, from its mathematics, to be compared with.

Each entry learns a curve of its own, and asks the model until that curve is known well enough: sound for entries that
are asked for again and again, and slow for all others.
"""

from __future__ import annotations

import functools
import math
import random
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.checks import check_chance, check_risk
from deepseek_sdk.caching.deciding.correction import sigmoid
from deepseek_sdk.caching.deciding.decision import NOTHING_SAID, Decision
from deepseek_sdk.caching.deciding.sigmoid_fit import Curve, Observation, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.deciding.decision import Asked, Candidate, Said

__all__ = ["VCache", "explore_chance"]

# Every entry is wrong for what has nothing to do with it, and right for its own question.
SEEDS = (Observation(0.0, is_right=False), Observation(1.0, is_right=True))
LEAST = 6  # with the seeds
GRID = 50
# Curves are remembered for so many entries.
MOST = 10_000
EDGE = 1e-6


class VCache:
    """
    Serve a candidate with the probability that keeps its entry's errors below a bound.

    It learns from verdicts alone: a cache that has it needs a judge to serve anything but equal questions.

    Args:
        delta: The bound on the probability of a wrong answer.
        chance: Draws numbers from 0 to 1.

    Raises:
        ConfigurationError: The bound is no share, or *chance* is no function.
    """

    def __init__(self, delta: float = 0.01, *, chance: Callable[[], float] = random.random) -> None:
        check_risk("delta", delta)
        check_chance("chance", chance)
        self._delta = delta
        self._chance = chance
        self._fits: dict[str, tuple[tuple[Observation, ...], Curve]] = {}

    def __repr__(self) -> str:
        """Show what one would type."""
        return f"VCache({self._delta})"

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID) -> Decision:  # noqa: ARG002  cosines say it all
        """
        Decide about the nearest candidate.

        Args:
            asked: The question; only its nearness counts here.
            candidates: The nearest first.
            said: What was observed of entries before.

        Returns:
            Whether to serve it; otherwise the model is to be asked, and the label of the pair to be kept.
        """
        if not candidates:
            return Decision.miss("no_candidate")
        best = candidates[0]
        curve = self._curve(best.key, said.observations(best.key))
        if curve is None:
            return Decision.miss("below", candidate=best, is_explored=True)
        serve, tau = self._drawn(best.cosine, curve)
        p = sigmoid(curve.slope * (best.cosine - curve.middle))
        known: dict[str, Any] = {"candidate": best, "score": 1 - tau, "p": p, "threshold": 0.0}
        return Decision(serve=serve, reason="served" if serve else "below", is_explored=not serve, **known)

    def threshold_at(self, level: int, fingerprint: str | None = None) -> float:  # noqa: ARG002  each entry has its own
        """
        Tell what a score has to be above: nothing; chance decides.

        Args:
            level: How many steps it is raised by: none count here.
            fingerprint: Of the embedder.

        Returns:
            Zero.
        """
        return 0.0

    def _drawn(self, cosine: float, curve: Curve) -> tuple[bool, float]:
        tau = explore_chance(cosine, curve, self._delta)
        return self._chance() > tau, tau

    def _curve(self, key: str, observed: Sequence[Any]) -> Curve | None:
        if len(observed) + len(SEEDS) < LEAST:
            return None
        seen = (*SEEDS, *(Observation(round(one.cosine, 3), one.is_right) for one in observed))
        known = self._fits.get(key)
        if known is not None and known[0] == seen:
            return known[1]
        curve = fitted(seen)
        if len(self._fits) >= MOST:
            self._fits.pop(next(iter(self._fits)), None)
        self._fits[key] = (seen, curve)
        return curve


def explore_chance(cosine: float, curve: Curve, delta: float) -> float:
    """
    Tell how often the model must be asked, so that the answers are right often enough.

    Args:
        cosine: Of the question and the entry.
        curve: Of the entry.
        delta: The bound on the probability of a wrong answer.

    Returns:
        The least probability of asking over all levels of confidence in the middle; below 0 where it never must.
    """
    spread = math.sqrt(curve.variance)
    return min(_chance_at(cosine, curve, delta, doubt, quantile * spread) for doubt, quantile in _grid())


def _chance_at(cosine: float, curve: Curve, delta: float, doubt: float, shift: float) -> float:
    middle = max(0.0, min(1.0, curve.middle + shift))
    right = (1 - doubt) * sigmoid(curve.slope * (cosine - middle))
    return 1 - delta / (1 - right) if right < 1 else -math.inf


@functools.cache
def _grid() -> tuple[tuple[float, float], ...]:
    doubts = [EDGE + (1 - 2 * EDGE) * step / (GRID - 1) for step in range(GRID)]
    return tuple((doubt, NormalDist().inv_cdf(1 - doubt)) for doubt in doubts)
