"""
The threshold, set anew from what was said of late.

Labels are no fair sample of what is asked: one hit in a hundred is asked again, and near misses are judged as long as
the judge's budget lasts. So each label stands for as many lookups as there were for one label of its kind, and the
bound is kept for that weighted sample: conformal risk control with weights, where the lookup to come counts as the
heaviest one and is taken for wrong. What a person reports is no sample at all, and counts for the alarm alone.
"""

from __future__ import annotations

import logging
import math
import threading
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.deciding.checks import check_risk
from deepseek_sdk.caching.deciding.conformal import ROUNDING
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deepseek_sdk.caching.learning.labels import Label
    from deepseek_sdk.caching.learning.memory import Learnt

__all__ = ["Recalibration", "Recalibrator", "Seen", "Weighted", "recalibrated", "weighted_threshold"]

_log = logging.getLogger("deepseek_sdk")

# How many labels the window holds, and how many new ones it takes to look again.
_WINDOW, _NEW = 2_000, 100


class Seen(NamedTuple):
    """
    How many lookups there were of each kind.

    Attributes:
        hits: Served.
        near: Near misses.
        far: The others that had a candidate.
    """

    hits: int = 0
    near: int = 0
    far: int = 0


class Weighted(NamedTuple):
    """
    A label, and how many lookups it stands for.

    Attributes:
        score: Of the candidate.
        is_wrong: Its answer would be wrong.
        weight: How many.
    """

    score: float
    is_wrong: bool
    weight: float


class Recalibration(NamedTuple):
    """
    A new threshold.

    Attributes:
        before: The threshold before.
        after: The one now.
        labels: From how many labels.
        risk: The share of wrong hits among all lookups that they show for it.
        at_ms: When, in milliseconds since 1970.
    """

    before: float
    after: float
    labels: int
    risk: float
    at_ms: int


def weighted_threshold(sample: Sequence[Weighted], unlabelled: float, max_false_hit: float) -> float | None:
    """
    Set the lowest threshold whose share of wrong hits stays within the bound.

    Args:
        sample: The labels.
        unlabelled: How many more lookups there were, none of which any threshold in question would serve.
        max_false_hit: The bound, above 0 and below 1.

    Returns:
        The threshold, which a score must be above; -inf where all may be served; None where the labels are too few.

    Raises:
        ConfigurationError: The bound is no share.
    """
    check_risk("max_false_hit", max_false_hit)
    heaviest = max((one.weight for one in sample), default=math.inf)
    total = sum(one.weight for one in sample) + unlabelled
    room = max_false_hit * (total + heaviest) - heaviest + ROUNDING
    if math.isnan(room) or room < 0:
        return None
    for one in sorted((one for one in sample if one.is_wrong), reverse=True):
        room -= one.weight
        if room < 0:
            return one.score
    return -math.inf


def recalibrated(
    labels: Sequence[Label], seen: Seen, current: float, max_false_hit: float
) -> tuple[float, float] | None:
    """
    Set the threshold anew.

    Args:
        labels: Of late.
        seen: What they are a sample of.
        current: The threshold that they were served and judged by.
        max_false_hit: The bound, above 0 and below 1.

    Returns:
        The threshold and the risk that the labels show for it; None where they are too few. It is never below the
        lowest score that was judged: nothing is known of what lies there.

    Raises:
        ConfigurationError: The bound is no share.
    """
    served = [label for label in labels if label.source == "recheck"]
    judged = [label for label in labels if label.source == "judge"] if seen.near else []
    if not served or not seen.hits:
        return None
    # A hit that was asked again counts one; misses in proportion, as many as there were for each hit.
    near, far = (len(served) * count / seen.hits for count in (seen.near, seen.far))
    sample = [Weighted(label.score, not label.is_right, 1.0) for label in served]
    sample += [Weighted(label.score, not label.is_right, near / len(judged)) for label in judged]
    unlabelled = far if judged else far + near
    found = weighted_threshold(sample, unlabelled, max_false_hit)
    if found is None:
        return None
    bar = max(found, min([current, *(label.score for label in judged)]))
    wrong = sum(one.weight for one in sample if one.is_wrong and one.score > bar)
    return bar, wrong / (len(served) + near + far)


class Recalibrator:
    """
    Counts lookups, and sets the threshold anew where enough was said; any thread may use it.

    Args:
        learnt: What was said.
        max_false_hit: The bound on the share of wrong hits.
        now_ms: Tells the time, in milliseconds since 1970.
        told: Called with each new threshold: it is for the callee to have it hold.
        least_new: How many new labels it takes to look again.

    Raises:
        ConfigurationError: The bound is no share, or *least_new* no number of labels.
    """

    def __init__(
        self,
        learnt: Learnt,
        *,
        max_false_hit: float,
        now_ms: Callable[[], int],
        told: Callable[[Recalibration], object],
        least_new: int = _NEW,
    ) -> None:
        check_risk("max_false_hit", max_false_hit)
        check_count("least_new", least_new, least=1)
        self._learnt = learnt
        self._max_false_hit = max_false_hit
        self._now_ms = now_ms
        self._told = told
        self._least_new = least_new
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)
        self._seen = Seen()
        self._cursor = (0, 0)

    @property
    def seen(self) -> Seen:
        """The lookups since the threshold was last set here."""
        return self._seen

    def saw(self, *, is_hit: bool = False, is_near: bool = False) -> None:
        """
        Count a lookup that had a candidate.

        Args:
            is_hit: It was served.
            is_near: It was a near miss, judged or not.
        """
        is_far = not is_hit and not is_near
        with self._locks.get():
            hits, near, far = self._seen
            self._seen = Seen(hits + is_hit, near + (is_near and not is_hit), far + is_far)

    def run(self, current: float) -> Recalibration | None:
        """
        Set the threshold anew, if there is reason to; for the background.

        Args:
            current: The present one, without the steps of an alarm.

        Returns:
            What came of it, after it was told; None: the present one stays.
        """
        labels, cursor, is_all = self._learnt.since(self._cursor)
        with self._locks.get():
            seen = self._seen
            # So few hits would tell nothing of how many misses there are for each.
            if seen.hits < self._least_new or not (is_all or len(_sampled(labels)) >= self._least_new):
                return None
            self._cursor = cursor
        window = _sampled(self._learnt.recent(_WINDOW))
        found = recalibrated(window, seen, current, self._max_false_hit)
        if found is None or found[0] == current:
            return None
        with self._locks.get():
            self._seen = Seen()
        result = Recalibration(current, found[0], len(window), found[1], self._now_ms())
        message = "The threshold for answers to similar questions is %.3f now, was %.3f: %d labels show %.2f %% wrong"
        _log.info(message, result.after, result.before, result.labels, 100 * result.risk)
        self._told(result)
        return result


def _sampled(labels: Iterable[Label]) -> list[Label]:
    """Leave out what no one has drawn by chance: reports of people, and pairs of a calibration."""
    return [label for label in labels if label.source in {"judge", "recheck"}]
