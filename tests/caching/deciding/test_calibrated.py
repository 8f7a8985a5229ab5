"""The shipped policy serves what asks the same, and tells why it does not serve the rest."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from deepseek_sdk.caching.deciding.calibrated import Calibrated, margin_of
from deepseek_sdk.caching.deciding.calibration import Example
from deepseek_sdk.caching.deciding.correction import Correction, Verdict
from deepseek_sdk.caching.deciding.decision import Asked
from deepseek_sdk.caching.deciding.score import shipped, surety_at
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.caching.matching.text import analysed
from deepseek_sdk.errors import ConfigurationError

(DEFAULT,) = shipped("e5-small").fingerprints
VECTOR = np.full(384, 1 / math.sqrt(384), np.float32)


@dataclass
class Kept:
    """A candidate."""

    text: str
    cosine: float
    key: str = "k"
    vector: Any = None


@dataclass
class Told:
    """What was said of entries."""

    level: int = 0
    known: Correction = field(default_factory=Correction)

    def correction(self, _: str, /) -> Correction:
        """Give the same for all."""
        return self.known

    def observations(self, _: str, /) -> tuple[()]:
        """Give none."""
        return ()


def asked(text: str, fingerprint: str | None = DEFAULT) -> Asked:
    """Ask something."""
    return Asked(analysed(text), VECTOR, fingerprint)


SAME = [
    ("退款流程是什么", "如何退款", 0.975),
    ("如何重置密码?", "怎么重置密码", 0.999),
    ("How can I reset my password?", "How do I reset my password?", 0.998),
]
OTHER = [
    ("怎么关闭自动续费", "怎么开启自动续费", 0.976, "antonym"),
    ("How do I turn off auto-renewal?", "How do I turn on auto-renewal?", 0.98, "antonym"),
    ("从上海到北京的火车", "从北京到上海的火车", 0.99, "direction"),
]


@pytest.mark.parametrize(("text", "kept", "cosine"), SAME)
def test_the_same_question_is_served(text: str, kept: str, cosine: float) -> None:
    """A question that is put in other words gets the kept answer, and the decision says how sure it is."""
    decision = Calibrated().decide(asked(text), [Kept(kept, cosine, vector=VECTOR)])

    assert ("served", True) == (decision.reason, decision.serve)
    assert -math.log(0.01) == decision.threshold
    assert (decision.score or 0) > decision.threshold
    assert 0.9 < (decision.p or 0) <= 1


@pytest.mark.parametrize(("text", "kept", "cosine", "guard"), OTHER)
def test_a_guard_forbids(text: str, kept: str, cosine: float, guard: str) -> None:
    """However near two questions are, what a guard sees is not served, unless that guard is off."""
    decision = Calibrated().decide(asked(text), [Kept(kept, cosine, vector=VECTOR)])
    assert ("guard", guard, False) == (decision.reason, decision.guard, decision.serve)

    without = Calibrated(guards=Guards(off={guard})).decide(asked(text), [Kept(kept, cosine, vector=VECTOR)])
    assert guard != without.guard


def test_what_is_unlike_is_below() -> None:
    """Near vectors alone do not suffice."""
    decision = Calibrated().decide(asked("怎么申请发票"), [Kept("怎么申请退货", 0.94, vector=VECTOR)])

    assert ("below", False) == (decision.reason, decision.serve)
    assert (decision.score or 0) < (decision.threshold or 0)


def test_texts_that_share_nothing_and_yet_are_near_are_refused() -> None:
    """That is what an attack on the embedder looks like."""
    decision = Calibrated().decide(asked("怎么申请发票"), [Kept("红烧肉如何炖烂", 0.99, vector=VECTOR)])

    assert ("guard", "collision") == (decision.reason, decision.guard)


def test_nothing_to_decide_about_is_a_miss() -> None:
    """Without candidates there is no score."""
    decision = Calibrated().decide(asked("怎么申请发票"), [])

    assert ("no_candidate", None) == (decision.reason, decision.score)


def test_the_surest_of_the_nearest_is_served() -> None:
    """Where a guard forbids the nearest, the next may be served; the margin is told."""
    near = [Kept("怎么关闭自动续费", 0.99, "a", -VECTOR), Kept("自动续费怎么开启", 0.985, "b", VECTOR)]
    decision = Calibrated(0.05).decide(asked("自动续费如何开启"), near)

    assert decision.candidate is not None
    assert ("served", "b") == (decision.reason, decision.candidate.key)
    assert decision.margin == pytest.approx(-0.005)


def test_what_asks_the_same_is_no_rival() -> None:
    """An entry that is as good as the candidate leaves the margin to the next one; one without a vector is a rival."""
    best, twin, rival = Kept("a", 0.98, "a", VECTOR), Kept("b", 0.975, "b", VECTOR), Kept("c", 0.95, "c", -VECTOR)

    assert margin_of(best, [best, twin, rival]) == pytest.approx(0.03)
    assert margin_of(best, [best, twin]) is None
    assert margin_of(best, [best, Kept("b", 0.975, "b", None), rival]) == pytest.approx(0.005)
    assert margin_of(twin, [best, twin, rival]) == pytest.approx(0.025)


def test_feedback_moves_one_entry() -> None:
    """A wrong answer lowers the entry's score, and another one lowers it more."""
    once = Correction().after(Verdict(4.0, is_right=False))
    twice = once.after(Verdict(4.0, is_right=False))
    near = [Kept("How do I cancel my subscription?", 0.995, vector=VECTOR)]
    policy, text = Calibrated(0.05), asked("How can I cancel the subscription?")
    plain, after = policy.decide(text, near), policy.decide(text, near, Told(known=once))
    later = policy.decide(text, near, Told(known=twice))

    assert after.score == pytest.approx((plain.score or 0) + once.shift)
    assert once.shift == after.correction < -0.8
    assert later.score == pytest.approx((plain.score or 0) + twice.shift)
    assert twice.shift < once.shift


def test_an_alarm_halves_the_bound() -> None:
    """Each step of the threshold is worth half of the wrong hits."""
    policy = Calibrated(0.02)
    near = [Kept("怎么申请退货", 0.94, vector=VECTOR)]

    assert policy.threshold_at(1) == pytest.approx(-math.log(0.01))
    assert policy.threshold_at(2) == policy.decide(asked("怎么申请发票"), near, Told(level=2)).threshold


def test_another_embedder_starts_conservative() -> None:
    """Until it is calibrated, only what the texts say counts, however near it says they are."""
    near = [Kept("How do I get over a breakup quickly?", 0.999, vector=VECTOR)]
    text = "How can I get over a breakup?"
    decision = Calibrated().decide(asked(text, "another"), near)
    nearer = Calibrated().decide(asked(text, "another"), [Kept(near[0].text, 0.95, vector=VECTOR)])

    assert decision.score == nearer.score


def examples(count: int) -> list[Example]:
    """Make pairs for an embedder whose cosines lie between 0.2 and 0.9."""
    chance = random.Random(2)  # noqa: S311  not a secret
    things = ["发票", "退货", "合同", "护照", "工资卡", "社保卡", "居住证", "驾驶证"]
    found = []
    for _ in range(count):
        one, is_right = chance.choice(things), chance.random() < 0.5
        other = one if is_right else chance.choice([thing for thing in things if thing != one])
        cosine = chance.gauss(0.75 if is_right else 0.45, 0.06)
        pair = analysed(f"怎么申请{one}"), analysed(f"{other}在哪里可以申请")
        found.append(Example(*pair, cosine, (None, None), is_right))
    return found


def test_an_embedder_of_ones_own_is_calibrated() -> None:
    """Its cosines get a weight where the pairs suffice, and the bound holds on pairs that were not looked at."""
    policy, pairs = Calibrated(0.02), examples(900)
    made = policy.calibrate("own", pairs[:500], 0.02)
    policy.adopt(made)
    decided = [
        (policy.decide(Asked(one.asked, None, "own"), [Kept(one.kept.raw, one.cosine)]), one.is_right)
        for one in pairs[500:]
    ]
    served = [is_right for decision, is_right in decided if decision.serve]

    assert 3 == len(made.weights)
    assert len(served) > 0.3 * len(decided)
    assert served.count(False) / len(decided) < 0.03
    assert made.risk <= 0.02
    assert 500 == made.n


def test_few_pairs_set_the_threshold_alone() -> None:
    """Below 400 pairs, an unknown embedder's cosines get no weight; below what the bound needs, there is an error."""
    policy, pairs = Calibrated(0.02), examples(200)
    made = policy.calibrate("own", pairs, 0.02)

    assert () == made.weights
    assert 0.02 in [bound for bound, _ in made.bars]
    with pytest.raises(ConfigurationError, match="pairs must be 99 or more"):
        policy.calibrate("own", pairs[:98], 0.01)


def test_the_known_embedder_keeps_its_score() -> None:
    """For the default, pairs of one's own set the threshold and nothing else."""
    policy, pairs = Calibrated(0.05), examples(300)
    made = policy.calibrate(DEFAULT, pairs, 0.05)
    policy.adopt(made)

    assert () == made.weights
    assert policy.decide(asked("如何重置密码"), [Kept("怎么重置密码", 0.999, vector=VECTOR)]).score is not None


def test_surety_falls_with_the_logit() -> None:
    """It is interpolated between thresholds; at one, its bound is not reached; above all, no more is promised."""
    bars = [(0.01, 2.0), (0.1, 0.0)]
    logits = [5.0, 2.0, 1.0, 0.0, -3.0]
    sureties = [surety_at(logit, bars) for logit in logits]

    assert sureties == sorted(sureties, reverse=True)
    assert sureties[0] > -math.log(0.01) >= sureties[1]
    assert surety_at(1.0, bars) == pytest.approx((-math.log(0.01) - math.log(0.1)) / 2)
    assert -math.inf == surety_at(1.0, [])


def test_the_shipped_thresholds_are_in_order() -> None:
    """A smaller bound never has a lower threshold, and every kind has one for a bound of a hundredth."""
    for name in ("e5-small", "any"):
        for kind in shipped(name).kinds.values():
            for band in kind.bars:
                assert [bar for _, bar in band] == sorted((bar for _, bar in band), reverse=True)
                assert 0.01 in [bound for bound, _ in band]


@pytest.mark.parametrize("bound", [0, 1, "0.01", None])
def test_a_bound_is_a_share(bound: Any) -> None:
    """Everything else is refused, by its name."""
    with pytest.raises(ConfigurationError, match="max_false_hit must be a share"):
        Calibrated(bound)


@pytest.mark.slow
def test_a_decision_takes_little_time() -> None:
    """The median of a hundred decisions about eight candidates is far below what an embedding takes."""
    policy, near = Calibrated(), [Kept(f"怎么申请发票{number}", 0.97, str(number), VECTOR) for number in range(8)]
    took = []
    for _ in range(100):
        began = time.perf_counter()
        policy.decide(asked("怎么申请电子发票"), near)
        took.append(time.perf_counter() - began)

    assert sorted(took)[50] < 0.02


@pytest.mark.parametrize(
    ("text", "kept", "guard"),
    [
        ("Who is Einstein?", "Who is Albert Einstein?", "name"),
        ("北京怎么申请居住证", "上海怎么申请居住证", "entity"),
        ("怎么关闭自动续费", "怎么开启自动续费", "antonym"),
    ],
)
def test_what_a_guard_forbids_is_scored(text: str, kept: str, guard: str) -> None:
    """How likely it would be without the guard is told, and it is not served, whatever was said in favour of it."""
    for shift in (0.0, 99.0):
        decision = Calibrated().decide(asked(text), [Kept(kept, 0.97, vector=VECTOR)], Shifted(shift))
        without = Calibrated(guards=Guards(off={guard})).decide(
            asked(text), [Kept(kept, 0.97, vector=VECTOR)], Shifted(shift)
        )
        assert ("guard", guard, False) == (decision.reason, decision.guard, decision.serve)
        assert (decision.score, decision.p, decision.threshold) == (without.score, without.p, without.threshold)


class Shifted:
    """What was said of answers: so much in favour of each."""

    level = 0

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def correction(self, _: str, /) -> Correction:
        """Give it."""
        return Correction(self.shift)

    def observations(self, _: str, /) -> tuple[()]:
        """Give none."""
        return ()
