"""`Calibrated`: a score whose threshold keeps wrong hits below a bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.deciding.calibration import BOUNDS, HIGHEST, check_examples, summed_up
from deepseek_sdk.caching.deciding.checks import check_guards, check_risk
from deepseek_sdk.caching.deciding.correction import sigmoid
from deepseek_sdk.caching.deciding.decision import NOTHING_SAID, Decision
from deepseek_sdk.caching.deciding.features import FEATURES, features
from deepseek_sdk.caching.deciding.score import EDGE, shipped, surety_at
from deepseek_sdk.caching.matching.canonical import canonical
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.caching.matching.text import analysed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.deciding.calibration import Calibration, Example
    from deepseek_sdk.caching.deciding.decision import Asked, Candidate, Said
    from deepseek_sdk.caching.deciding.score import Score
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["Calibrated", "margin_of", "score_of"]

DEFAULT, ANY = "e5-small", "any"
# Each step of an alarm halves the bound.
STEP = math.log(2)
# More than the nearest few was measured to serve nothing more.
LOOKED_AT = 3
# Texts that have next to nothing in common and yet near vectors are what an attack on the embedder looks like.
COLLISION = "collision"
COLLISION_COSINE, COLLISION_OVERLAP = 0.9, 0.2
OVERLAPS = tuple(FEATURES.index(name) for name in ("token_jaccard", "content_jaccard", "bigram_jaccard"))
# Questions with one form differ in how they are put alone: of 105 such pairs of LCQMC, OPPO and QQP two are labelled
# as different, and ask the same when one reads them. They are served under every bound that there is a threshold for,
# unless somebody has said something against it.
SAME = 5.0, EDGE - math.log(BOUNDS[0])
# What is so near to a candidate asks the same as a rule, and does not compete with it. In the replay that the margin's
# coefficients are fitted on no two questions are kept that are so near.
ALIKE = 0.97
# From so many pairs on, an unknown embedder's cosines are given a weight; half of the pairs set the threshold.
FITTED_FROM, FITTED_OF_EACH = 400, 50


class Calibrated:
    """
    Serve a candidate where the share of wrong hits among all lookups stays below a bound.

        Calibrated(0.01)      at most one lookup in a hundred is answered wrongly
        Calibrated(0.001)     seldomer, and surer

    The threshold comes from conformal risk control on labelled pairs: those that the default was fitted on, or those
    that `calibrate()` was given. The bound holds for traffic like those pairs. With another embedder, and until it is
    calibrated, only what the two texts say counts, not how near their vectors are.

    Args:
        max_false_hit: The bound on the share of wrong hits, above 0 and below 1.
        guards: What may never differ; None for all.

    Raises:
        ConfigurationError: The bound is no share, or *guards* are none.
    """

    def __init__(self, max_false_hit: float = 0.01, *, guards: Guards | None = None) -> None:
        check_risk("max_false_hit", max_false_hit)
        check_guards("guards", guards)
        self._max_false_hit = max_false_hit
        self._threshold = -math.log(max_false_hit)
        self._guards = Guards() if guards is None else guards
        self._own: dict[str, Calibration] = {}

    def __repr__(self) -> str:
        """Show what one would type."""
        return f"Calibrated({self._max_false_hit})"

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID) -> Decision:
        """
        Decide about the nearest candidates.

        Args:
            asked: The question.
            candidates: The nearest first.
            said: What was said of answers before.

        Returns:
            Whether to serve the one that is surest, and which.
        """
        looked_at = [self._looked_at(asked, one, candidates, said) for one in candidates[:LOOKED_AT]]
        free = [one for one in looked_at if one.guard is None]
        if not looked_at:
            return Decision.miss("no_candidate")
        first = looked_at[0]
        if free:
            decided = self._decided(max(free, key=lambda one: one.score), said.level, asked.fingerprint)
            # What stands against the nearest tells more than how far the next one is.
            if decided.serve or first.guard is None:
                return decided
        # Guards err, too: how sure it would be without tells whether a judge is to be asked.
        forbidden = (
            first if first.guard == COLLISION else self._scored(asked, first, analysed(first.candidate.text), said)
        )
        return self._decided(forbidden, said.level, asked.fingerprint)

    def threshold_at(self, level: int, fingerprint: str | None = None) -> float:  # noqa: ARG002  the same for all
        """
        Tell what a score has to be above.

        Args:
            level: How many steps it is raised by; each halves the bound.
            fingerprint: Of the embedder.

        Returns:
            -ln of the bound, unless `use_threshold()` said otherwise: scores say the same of candidates.
        """
        return self._threshold + STEP * level

    def use_threshold(self, threshold: float) -> None:
        """
        Go by another threshold, such as what was said of answers of late shows.

        Args:
            threshold: What a score has to be above, without the steps of an alarm.
        """
        self._threshold = threshold

    def calibrate(self, fingerprint: str, examples: Sequence[Example], max_false_hit: float = 0.01) -> Calibration:
        """
        Set the thresholds for an embedder from labelled pairs; `adopt()` has them used.

        Args:
            fingerprint: Of the embedder.
            examples: The pairs: of all kinds that come, those that differ and are near above all.
            max_false_hit: The bound that there must be a threshold for.

        Returns:
            What came of it.

        Raises:
            ConfigurationError: There are too few pairs for the bound.
        """
        check_examples(examples, max_false_hit)
        weights = () if self._knows(fingerprint) else _weights(self._score(fingerprint), examples[::2])
        held_out = examples[1::2] if weights else examples
        check_examples(held_out, max_false_hit)
        scores = [self._example_score(fingerprint, example, weights) for example in held_out]
        wrong = [not example.is_right for example in held_out]
        return summed_up(fingerprint, scores, wrong, max_false_hit, count=len(examples), weights=weights)

    def adopt(self, calibration: Calibration) -> None:
        """
        Use thresholds that were set.

        Args:
            calibration: They, for one embedder.
        """
        self._own = {**self._own, calibration.fingerprint: calibration}

    def _decided(self, best: _Looked, level: int, fingerprint: str | None) -> Decision:
        threshold = self.threshold_at(level, fingerprint)
        is_served = best.guard is None and best.score > threshold
        known: dict[str, Any] = {"candidate": best.candidate, "margin": best.margin, "guard": best.guard}
        if best.score > -math.inf:
            p = sigmoid(best.logit + best.correction)
            known |= {"score": best.score, "p": p, "threshold": threshold, "correction": best.correction}
        reason = "served" if is_served else "below"
        return Decision(serve=is_served, reason=reason if best.guard is None else "guard", **known)

    def _looked_at(self, asked: Asked, one: Candidate, candidates: Sequence[Candidate], said: Said) -> _Looked:
        text, margin = analysed(one.text), margin_of(one, candidates)
        guard = self._guards.against(asked.text, text)
        if guard is not None:
            return _Looked(one, margin, guard)
        found = features(asked.text, text)
        if _is_collision(found, one.cosine):
            return _Looked(one, margin, COLLISION)
        return self._scored(asked, _Looked(one, margin, None), text, said, found)

    def _scored(
        self, asked: Asked, looked: _Looked, text: Text, said: Said, found: Sequence[float] | None = None
    ) -> _Looked:
        one = looked.candidate
        found = features(asked.text, text) if found is None else found
        is_same, known = canonical(asked.text) == canonical(text), said.correction(one.key)
        logit, surety = SAME if is_same else self._surety(asked, text, one, looked.margin, found)
        return looked._replace(logit=logit, score=surety + known.shift, correction=known.shift)

    def _surety(
        self, asked: Asked, text: Text, one: Candidate, margin: float | None, found: Sequence[float]
    ) -> tuple[float, float]:
        score, own = self._score(asked.fingerprint), self._own.get(asked.fingerprint or "")
        logit = score.logit(asked.text, text, one.cosine, margin, (asked.vector, one.vector), found)
        surety = score.surety(asked.text, text, logit)
        if own is None:
            return logit, surety
        mixed = score_of(surety, one.cosine, own.weights)
        return (mixed if own.weights else logit), surety_at(mixed, own.bars)

    def _example_score(self, fingerprint: str, example: Example, weights: tuple[float, ...]) -> float:
        if self._guards.against(example.asked, example.kept) is not None:
            return -math.inf
        if canonical(example.asked) == canonical(example.kept):
            return HIGHEST
        score = self._score(fingerprint)
        logit = score.logit(example.asked, example.kept, example.cosine, None, example.vectors)
        return score_of(score.surety(example.asked, example.kept, logit), example.cosine, weights)

    def _knows(self, fingerprint: str | None) -> bool:
        return fingerprint in shipped(DEFAULT).fingerprints

    def _score(self, fingerprint: str | None) -> Score:
        return shipped(DEFAULT if self._knows(fingerprint) else ANY)


class _Looked(NamedTuple):
    candidate: Candidate
    margin: float | None
    guard: str | None
    logit: float = -math.inf
    score: float = -math.inf
    correction: float = 0.0


def margin_of(one: Candidate, candidates: Sequence[Candidate]) -> float | None:
    """
    Tell how much nearer a candidate is than those that ask something else.

    Args:
        one: The candidate.
        candidates: All.

    Returns:
        The difference of the cosines, below 0 where another is nearer; None where there is no other entry, or only such
        as ask the same in other words.
    """
    rivals = [other.cosine for other in candidates if other.key != one.key and not _is_alike(one, other)]
    return one.cosine - max(rivals) if rivals else None


def _is_alike(one: Candidate, other: Candidate) -> bool:
    if one.vector is None or other.vector is None:
        return False
    import numpy as np  # noqa: PLC0415  heavy

    return float(np.asarray(one.vector, np.float32) @ np.asarray(other.vector, np.float32)) >= ALIKE


def score_of(surety: float, cosine: float, weights: Sequence[float]) -> float:
    """
    Mix what the texts say with how near the vectors are.

    Args:
        surety: By the texts.
        cosine: Of the vectors.
        weights: Of 1, the surety and the cosine; empty: the surety is all.

    Returns:
        The score.
    """
    return weights[0] + weights[1] * surety + weights[2] * cosine if weights else surety


def _is_collision(found: Sequence[float], cosine: float) -> bool:
    return cosine > COLLISION_COSINE and max(found[at] for at in OVERLAPS) < COLLISION_OVERLAP


def _weights(score: Score, examples: Sequence[Example]) -> tuple[float, ...]:
    """Fit a logistic regression by Newton's steps, where there are pairs enough."""
    right = [example.is_right for example in examples]
    if len(right) < FITTED_FROM // 2 or min(sum(right), len(right) - sum(right)) < FITTED_OF_EACH:
        return ()
    import numpy as np  # noqa: PLC0415  heavy

    logits = [score.logit(one.asked, one.kept, one.cosine, None, one.vectors) for one in examples]
    sureties = [score.surety(one.asked, one.kept, logit) for one, logit in zip(examples, logits, strict=True)]
    cosines = np.array([one.cosine for one in examples])
    middle, spread = float(cosines.mean()), float(cosines.std()) or 1.0
    rows, found = np.stack([np.ones(len(right)), sureties, (cosines - middle) / spread], 1), np.zeros(3)
    for _ in range(12):
        chances = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        curve = (rows * (chances * (1 - chances))[:, None]).T @ rows + np.diag([0.01, 0.1, 0.1])
        found = found + np.linalg.solve(curve, rows.T @ (right - chances) - found * [0.01, 0.1, 0.1])
    # Nearer must not mean worse, nor more alike.
    surety, near = max(0.0, float(found[1])), max(0.0, float(found[2])) / spread
    return (float(found[0]) - near * middle, surety, near)
