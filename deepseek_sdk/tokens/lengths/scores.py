"""How good the estimates were: each is made before its answer is known, then held against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.tokens.lengths.quantities import Shares

if TYPE_CHECKING:
    from deepseek_sdk.tokens.lengths.quantities import Quantiles

__all__ = ["LengthReport", "LengthScores", "Tally"]

_LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthScores:
    """
    How good the estimates of one quantity were, over all answers that were foretold from earlier ones.

    Attributes:
        answers: How many.
        coverage: The share of answers that were no longer than the quantile; best are 0.5, 0.9 and 0.95.
        pinball: The mean pinball loss, in tokens: what proper quantiles make as small as it can be.
        reserved: The sum of the quantiles over the sum of the tokens: 2 means that twice as much was reserved.
        mae: The mean absolute error of the median, in tokens.
        baseline_mae: That of one constant for all models and templates of a mode: the running median of its answers.
    """

    answers: int
    coverage: Shares
    pinball: Shares
    reserved: Shares
    mae: float
    baseline_mae: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthReport:
    """
    How good the estimates were.

    Lengths are those that were generated, and billed; an answer that was cut counts as long as it is.

    Attributes:
        reasoning: Of the reasoning.
        content: Of the rest.
        total: Of both together.
        cut: How many of these answers had met a limit.
        not_foretold: How many more answers came while there was nothing but an assumption to go by.
        keys: How many keys are known.
    """

    reasoning: LengthScores
    content: LengthScores
    total: LengthScores
    cut: int
    not_foretold: int
    keys: int


class _Sums:
    """Of one quantile: what it was, and how far answers were below or above it."""

    __slots__ = ("_share", "above", "below", "covered", "reserved")

    def __init__(self, share: float) -> None:
        self._share = share
        self.covered = self.reserved = self.above = self.below = 0

    @property
    def loss(self) -> float:
        return self._share * self.below + (1 - self._share) * self.above


class Tally:
    """Running sums of the scores of one quantity."""

    __slots__ = ("_answers", "_baseline", "_off", "_quantiles", "_tokens")

    def __init__(self) -> None:
        self._answers = self._tokens = self._off = self._baseline = 0
        self._quantiles = tuple(_Sums(share) for share in _LEVELS)

    def add(self, foretold: Quantiles, actual: int, baseline: int) -> None:
        """
        Hold an estimate against what came.

        Args:
            foretold: The estimate.
            actual: What came.
            baseline: What a constant would have said.
        """
        self._answers += 1
        self._tokens += actual
        self._off += abs(actual - foretold[0])
        self._baseline += abs(actual - baseline)
        for sums, quantile in zip(self._quantiles, foretold, strict=True):
            sums.reserved += quantile
            if actual <= quantile:
                sums.covered += 1
                sums.above += quantile - actual
            else:
                sums.below += actual - quantile

    def scores(self) -> LengthScores:
        """
        Sum up.

        Returns:
            The scores; 0 where there was nothing to score.
        """
        answers, tokens = max(self._answers, 1), max(self._tokens, 1)
        return LengthScores(
            answers=self._answers,
            coverage=Shares(*(sums.covered / answers for sums in self._quantiles)),
            pinball=Shares(*(sums.loss / answers for sums in self._quantiles)),
            reserved=Shares(*(sums.reserved / tokens for sums in self._quantiles)),
            mae=self._off / answers,
            baseline_mae=self._baseline / answers,
        )
