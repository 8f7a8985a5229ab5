from __future__ import annotations

import logging
import math
import random
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.deciding.conformal import threshold
from deepseek_sdk.caching.learning.memory import Learnt
from deepseek_sdk.caching.learning.recalibrating import (
    Recalibration,
    Recalibrator,
    Seen,
    Weighted,
    recalibrated,
    weighted_threshold,
)
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import NOW_MS
from tests.caching.verdicts import WallClock, label_of

if TYPE_CHECKING:
    from deepseek_sdk.caching.learning.labels import Label


def labels_of(count: int, source: str, *, wrong: int = 0, score: float = 3.0) -> list[Label]:
    """Give labels, the first of which are wrong; each has a score a little above the one before."""
    return [
        label_of(f"{source} {n}", n, source=source, is_right=n >= wrong, score=score + n / 10_000) for n in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bound", [0.01, 0.05, 0.2])
def test_equal_weights_are_no_weights(seed: int, bound: float) -> None:
    """Where every label weighs the same, the threshold is that of conformal risk control."""
    rng = random.Random(seed)  # noqa: S311  a test
    scores = [rng.gauss(0, 1) for _ in range(rng.choice([5, 60, 300]))]
    wrong = [rng.random() < 0.3 / (1 + math.exp(score)) for score in scores]
    expected = threshold(scores, wrong, bound)
    found = weighted_threshold([Weighted(*pair, 7.0) for pair in zip(scores, wrong, strict=True)], 0, bound)

    assert (None if expected == math.inf else expected) == found


def test_the_heaviest_counts_once_more() -> None:
    """The lookup to come is taken for the heaviest of all, and for a wrong one."""
    sample = [Weighted(1.0, True, 1.0), *[Weighted(0.0, False, 1.0)] * 198]

    assert -math.inf == weighted_threshold(sample, 0, 0.01)
    assert 1.0 == weighted_threshold([Weighted(1.0, True, 1.01), *sample[1:]], 0, 0.01)
    assert weighted_threshold([], 1_000, 0.01) is None
    with pytest.raises(ConfigurationError, match="max_false_hit"):
        weighted_threshold(sample, 0, 1.0)


def chance_of_wrong(score: float) -> float:
    """Tell how often an answer with a score is wrong."""
    return 0.3 / (1 + math.exp(2 * score))


def traffic(rng: random.Random) -> tuple[list[Label], Seen]:
    """Draw lookups, of which three hits in ten are asked again, and every second near miss is judged."""
    seen, labels = dict.fromkeys(("recheck", "judge", ""), 0), list[Any]()
    for _ in range(2_000):
        score = rng.gauss(0, 1)
        kind = "recheck" if score > 1 else "judge" if score > -0.5 else ""
        seen[kind] += 1
        if kind and rng.random() < (0.3 if kind == "recheck" else 0.5):
            labels.append(label_of(score=score, is_right=rng.random() > chance_of_wrong(score), source=kind))
    return labels, Seen(*seen.values())


def test_the_bound_holds_for_what_is_asked() -> None:
    """The bound holds also where hits and near misses have labels in other proportions than they have lookups."""
    rng, risks = random.Random(7), []  # noqa: S311  a test
    scores = [NormalDist().inv_cdf((n + 0.5) / 1_000) for n in range(1_000)]
    for _ in range(40):
        found = recalibrated(*traffic(rng), 1.0, 0.02)
        assert found is not None
        risks.append(sum(chance_of_wrong(score) for score in scores if score > found[0]) / 1_000)

    assert 0.017 < sum(risks) / len(risks) < 0.0205


def test_too_few_labels() -> None:
    """Where nothing can be promised, nothing is said."""
    few = labels_of(50, "recheck")

    assert recalibrated(few, Seen(hits=5_000), 2.0, 0.01) is None
    assert recalibrated(labels_of(50, "judge"), Seen(near=50), 2.0, 0.01) is None
    assert recalibrated(labels_of(500, "recheck"), Seen(), 2.0, 0.01) is None
    assert recalibrated([], Seen(hits=1), 2.0, 0.01) is None


def test_no_lower_than_was_looked() -> None:
    """Where all hits are right, the threshold falls to the lowest score that was judged, and stays where none was."""
    served = labels_of(300, "recheck")
    judged = labels_of(60, "judge", score=1.0)

    assert (2.0, 0.0) == recalibrated(served, Seen(hits=30_000, near=3_000), 2.0, 0.01)
    assert (1.0, 0.0) == recalibrated([*served, *judged], Seen(hits=30_000, near=3_000), 2.0, 0.01)


def test_wrong_hits_raise_the_threshold() -> None:
    """It comes to lie above as many of them as the bound does not allow."""
    found = recalibrated(labels_of(400, "recheck", wrong=20), Seen(hits=40_000, far=10_000), 2.0, 0.01)

    assert found is not None
    bar, risk = found
    assert 3.0015 == pytest.approx(bar)
    assert 4 / 500 == pytest.approx(risk)


def test_wrong_near_misses_bound_the_fall() -> None:
    """Each stands for as many near misses as there were for one verdict."""
    labels = [*labels_of(300, "recheck"), *labels_of(30, "judge", wrong=10, score=1.0)]
    found = recalibrated(labels, Seen(hits=30_000, near=6_000), 2.0, 0.02)

    assert found is not None
    assert 1.0007 == pytest.approx(found[0])


def test_reports_are_no_sample() -> None:
    """What people report, and pairs of a calibration, count neither for nor against a threshold."""
    served = labels_of(300, "recheck")
    others = [*labels_of(200, "feedback", wrong=200), *labels_of(200, "calibration", wrong=200)]
    seen = Seen(hits=30_000)

    assert recalibrated(served, seen, 2.0, 0.01) == recalibrated([*others, *served], seen, 2.0, 0.01)


class Lesson:
    """A recalibrator, with what it learns from and tells."""

    def __init__(self, **known: Any) -> None:
        self.learnt = Learnt(disk=None, now_ms=WallClock())
        self.told: list[Recalibration] = []
        facts = {"max_false_hit": 0.01, "now_ms": WallClock(), "told": self.told.append, **known}
        self.recalibrator = Recalibrator(self.learnt, **facts)

    def saw(self, hits: int, near: int = 0) -> None:
        """Count lookups."""
        for number in range(hits + near):
            self.recalibrator.saw(is_hit=number < hits, is_near=number >= hits)


def test_the_threshold_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A new threshold is told and logged, once; then counting begins anew."""
    found = Lesson()
    found.learnt.add(*labels_of(200, "recheck", wrong=10))
    found.saw(1_000, 100)
    found.recalibrator.saw()
    assert Seen(1_000, 100, 1) == found.recalibrator.seen
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        result = found.recalibrator.run(2.0)

    assert [result] == found.told
    assert result is not None
    assert (2.0, 200, NOW_MS) == (result.before, result.labels, result.at_ms)
    assert 3.0008 == pytest.approx(result.after)
    assert "is 3.001 now, was 2.000: 200 labels" in caplog.text
    assert (Seen(), None) == (found.recalibrator.seen, found.recalibrator.run(2.0))


def test_there_must_be_news() -> None:
    """Nothing is done before enough new labels have come, and enough lookups were seen."""
    found = Lesson(least_new=150)
    found.learnt.add(*labels_of(149, "recheck", wrong=10))
    found.learnt.add(*labels_of(300, "feedback"))
    found.saw(149)
    assert found.recalibrator.run(2.0) is None
    found.learnt.add(label_of("新", source="recheck", is_right=True))
    assert found.recalibrator.run(2.0) is None
    found.saw(1)
    assert found.recalibrator.run(2.0) is not None
    found.saw(150)
    assert found.recalibrator.run(2.0) is None
    found.learnt.add(*(label._replace(at_ms=1, is_right=False) for label in labels_of(150, "recheck", score=5.0)))

    assert found.recalibrator.run(2.0) is not None


def test_the_same_threshold_is_no_news() -> None:
    """Where the present one is right, nothing is told."""
    found = Lesson()
    found.learnt.add(*labels_of(200, "recheck"))
    found.saw(1_000)

    assert (None, []) == (found.recalibrator.run(2.0), found.told)


@pytest.mark.parametrize("wrong", [{"max_false_hit": 0}, {"least_new": 0}])
def test_settings_of_a_recalibrator(wrong: dict[str, Any]) -> None:
    """What cannot be used is refused, and named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Lesson(**wrong)
