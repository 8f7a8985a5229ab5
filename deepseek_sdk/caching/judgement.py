"""`Judgement`: decides about kept questions by a policy, and by what people and judges have said of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.deciding.decision import Asked, Decision
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.learning.labels import digest_of
from deepseek_sdk.caching.matching.text import analysed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.deciding.decision import Policy
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.learning.learner import Learner
    from deepseek_sdk.caching.learning.memory import Learnt
    from deepseek_sdk.caching.partitions import Candidate
    from deepseek_sdk.caching.similar import Wording

__all__ = ["Judged", "Judgement"]


class Judged(NamedTuple):
    """
    What was decided, and what is told of it.

    Attributes:
        decision: By the policy, about the candidates that nobody has said anything against; a judge may be asked of it.
        told: The same; where nothing is served though the nearest candidate may not be, that.
    """

    decision: Decision
    told: Decision


class Judgement:
    """
    Decides which kept question, if any, asks the same; any thread may use it.

    Args:
        policy: Decides about what is left.
        learnt: What was said of answers and pairs.
        learner: Tells by how many steps the threshold is raised.
        fingerprint: Tells that of the embedder, or None: it is not known yet.
    """

    def __init__(self, policy: Policy, learnt: Learnt, learner: Learner, fingerprint: Callable[[], str | None]) -> None:
        self.policy = policy
        self._learnt = learnt
        self._said = _Said(learnt, learner)
        self._fingerprint = fingerprint

    def decide(self, wording: Wording, near: Sequence[Candidate], tier: DiskTier | None = None) -> Judged:
        """
        Decide; this takes a millisecond or so.

        Args:
            wording: What is asked, with its vector.
            near: The nearest kept questions, the nearest first.
            tier: The disk, on the thread that reads it, or None.

        Returns:
            What was decided, and what is told of it.
        """
        if tier is not None:
            # What other processes have learnt may come a moment later.
            with contextlib.suppress(StoreError):
                self._learnt.catch_up(tier)
        if not near:
            return Judged(nothing := Decision.miss("no_candidate"), nothing)
        looked_at = [(one, self._objection(wording, one)) for one in _distinct(near)]
        nearest, objection = looked_at[0]
        refused = None if objection is None else Decision.miss(objection, candidate=nearest)
        free = [one for one, against in looked_at if against is None]
        if refused is not None and not free:
            return Judged(refused, refused)
        asked = Asked(analysed(wording.text), wording.row, self._fingerprint())
        decision = self.policy.decide(asked, free, self._said)
        # What was said against the nearest tells more than how far the next one is.
        return Judged(decision, decision if decision.serve or refused is None else refused)

    def _objection(self, wording: Wording, candidate: Candidate) -> str | None:
        """Say what was said against a candidate, in one word, or None: nothing."""
        learnt = self._learnt
        if learnt.is_quarantined(candidate.key):
            return "quarantined"
        if learnt.observations(candidate.key) and learnt.is_refused(candidate.key, digest_of(wording.text)):
            return "vetoed"
        return "vetoed" if learnt.is_vetoed(wording.tenant, wording.text, candidate.text) else None


class _Said:
    """What people and judges have said, for a policy."""

    def __init__(self, learnt: Learnt, learner: Learner) -> None:
        self.correction = learnt.correction
        self.observations = learnt.observations
        self._learner = learner

    @property
    def level(self) -> int:
        return self._learner.level


def _distinct(near: Sequence[Candidate]) -> list[Candidate]:
    """Let a question lead to one answer: to the one that a judge has approved, where it was answered by itself, too."""
    by_text: dict[str, Candidate] = {}
    for one in near:
        if one.text not in by_text or (one.is_alias and not by_text[one.text].is_alias):
            by_text[one.text] = one
    return sorted(by_text.values(), key=lambda one: -one.cosine)
