"""`Score`: coefficients that turn what is known of a pair into the logit of its being one question."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.features import FEATURES, SPLINE, features, kind_of, spline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["LIFT", "LIFTED_FROM", "RESTATED", "Kind", "Score", "bent", "margin_terms", "shipped", "surety_at"]

# Both vectors' products and differences are of the order of 1 / 384.
SCALE = 20.0
# Of the pairs in the data whose questions differ in nothing but how they ask, and ask for one kind of thing, 98.5 %
# are right (LCQMC: 194 of 196): the vectors of short questions say less.
RESTATED = FEATURES.index("restated")
LIFT = 4.2
LIFTED_FROM = 0.9
# What is above the highest threshold is above the surety that it stands for.
EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """
    The coefficients for one kind of pairs.

    Args:
        intercept: The logit where all else is zero.
        cosine: For each of `SPLINE`.
        lexical: For each of `FEATURES`.
        bent: For the same, times how near the two are; see `bent()`.
        margin: For each of `margin_terms()`.
        product: For each dimension of the product of the vectors; empty where they are not looked at.
        difference: For each dimension of their absolute difference; likewise.
        edges: Where the bands of lengths begin, but for the first, in words with content of the question.
        bars: For each band, thresholds by the bound on the share of wrong hits, smallest bound first.
    """

    intercept: float
    cosine: Sequence[float]
    lexical: Sequence[float]
    bent: Sequence[float]
    margin: Sequence[float] = (0.0, 0.0, 0.0)
    product: Any = ()
    difference: Any = ()
    edges: Sequence[int] = ()
    bars: Sequence[Sequence[tuple[float, float]]] = ()

    def logit(self, cosine: float, found: Sequence[float], margin: float | None, vectors: tuple[Any, Any]) -> float:
        """
        Score a pair.

        Args:
            cosine: Of its vectors.
            found: Its `features()`.
            margin: Its cosine above that of the best candidate of another entry; None where there is none.
            vectors: Both vectors; what they say is left out where one is None.

        Returns:
            The logit.
        """
        near = bent(cosine)
        logit = self.intercept + _dot(self.cosine, spline(cosine)) + _dot(self.margin, margin_terms(margin, near))
        logit += _dot(self.lexical, found) + near * _dot(self.bent, found) + self._metric(*vectors)
        return max(logit, LIFT) if found[RESTATED] and cosine > LIFTED_FROM else logit

    def surety(self, logit: float, words: int) -> float:
        """
        Say what bound a logit is good enough for.

        Args:
            logit: Of a pair.
            words: How many words with content the question has.

        Returns:
            -ln of the least bound on the share of wrong hits under which the pair would be served.
        """
        return surety_at(logit, self.bars[sum(words >= edge for edge in self.edges)])

    def _metric(self, one: Any, other: Any) -> float:
        if one is None or other is None or not len(self.product):
            return 0.0
        import numpy as np  # noqa: PLC0415  heavy

        left, right = np.asarray(one, np.float32), np.asarray(other, np.float32)
        return SCALE * float((left * right) @ self.product + np.abs(left - right) @ self.difference)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """
    What was fitted for one embedder.

    Args:
        name: Of the embedder.
        kinds: The coefficients by kind of pairs: "zh", "en".
        fingerprints: Of the embedder's forms that it was fitted for; empty: for any, and it looks at no vectors.
        about: What it was fitted on.
    """

    name: str
    kinds: Mapping[str, Kind]
    fingerprints: frozenset[str] = frozenset()
    about: Mapping[str, Any]

    def logit(
        self,
        a: Text,
        b: Text,
        cosine: float,
        margin: float | None = None,
        vectors: tuple[Any, Any] = (None, None),
        found: Sequence[float] | None = None,
    ) -> float:
        """
        Score a pair.

        Args:
            a: What is asked.
            b: The candidate.
            cosine: Of their vectors.
            margin: The cosine above that of the best candidate of another entry; None where there is none.
            vectors: Both vectors.
            found: Their `features()`, where somebody has them already.

        Returns:
            The logit of the answer's being right.
        """
        known = features(a, b) if found is None else found
        return self.kinds[kind_of(a, b)].logit(cosine, known, margin, vectors)

    def surety(self, a: Text, b: Text, logit: float) -> float:
        """
        Say what bound a logit is good enough for.

        Args:
            a: What is asked.
            b: The candidate.
            logit: Of the two.

        Returns:
            -ln of the least bound on the share of wrong hits under which the candidate would be served.
        """
        return self.kinds[kind_of(a, b)].surety(logit, len(a.content))

    @classmethod
    def read(cls, text: str) -> Score:
        """
        Read what was written as JSON.

        Args:
            text: The JSON.

        Returns:
            The score.
        """
        told = json.loads(text)
        if told["features"] != list(FEATURES) or told["spline"] != list(SPLINE):
            raise ValueError("The coefficients are for other features")
        kinds = {name: _kind(said) for name, said in told["kinds"].items()}
        return cls(name=told["name"], kinds=kinds, fingerprints=frozenset(told["fingerprints"]), about=told["about"])


@functools.cache
def shipped(name: str) -> Score:
    """
    Read coefficients that come with the package.

    Args:
        name: "e5-small" for the default embedder, "any" for those that nobody has calibrated.

    Returns:
        The score.
    """
    file = resources.files("deepseek_sdk.caching.deciding") / "data" / f"{name}.json"
    return Score.read(file.read_text(encoding="utf-8"))


def surety_at(logit: float, bars: Sequence[tuple[float, float]]) -> float:
    """
    Turn a logit into what it promises, by thresholds that were set for some bounds.

    Args:
        logit: Of a pair.
        bars: The thresholds by bound, the smallest bound and the highest threshold first.

    Returns:
        -ln of the least bound under which the pair would be served, between the told bounds by interpolation. It is
        never more than the smallest bound that is told: too few pairs stand behind any other.
    """
    if not bars:
        return -math.inf
    at = sum(logit <= bar for _, bar in bars)
    if at == 0:
        return EDGE - math.log(bars[0][0])
    if at == len(bars):
        return (logit - bars[-1][1]) / 2 - math.log(bars[-1][0])
    (bound, bar), (looser, lower) = bars[at - 1], bars[at]
    share = (logit - lower) / (bar - lower)
    return -math.log(looser) - share * (math.log(bound) - math.log(looser))


def bent(cosine: float) -> float:
    """
    Say how near is near: the share that lexical figures get in addition.

    Args:
        cosine: From -1 to 1.

    Returns:
        From -2, far, to 1, as near as can be told apart.
    """
    return max(-2.0, min(1.0, (cosine - 0.95) / 0.04))


def margin_terms(margin: float | None, near: float) -> tuple[float, float, float]:
    """
    Spread a margin over pieces; an unknown one counts as an average one.

    Args:
        margin: A difference of cosines, 0 or more; None where it is not known.
        near: See `bent()`.

    Returns:
        How large it is, how small it is, and the first times *near*.
    """
    if margin is None:
        return 0.0, 0.0, 0.0
    large = (min(margin, 0.08) - 0.04) / 0.04
    return large, min(margin, 0.02) / 0.01 - 1.5, large * near


def _kind(said: Mapping[str, Any]) -> Kind:
    vectors = {name: _row(said[name]) for name in ("product", "difference") if said.get(name)}
    return Kind(**{**said, **vectors})


def _row(numbers: Sequence[float]) -> Any:
    import numpy as np  # noqa: PLC0415  heavy

    return np.asarray(numbers, np.float32)


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
