"""`Static`: one threshold for the cosine, as most caches have it; to be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.checks import check_cosine, check_guards
from deepseek_sdk.caching.deciding.decision import NOTHING_SAID, Decision
from deepseek_sdk.caching.matching.text import analysed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.deciding.decision import Asked, Candidate, Said
    from deepseek_sdk.caching.matching.guards import Guards

__all__ = ["Static"]

# How much surer a threshold of cosines has to be for each step of an alarm.
_STEP = 0.005


class Static:
    """
    Serve what is nearer than a threshold.

        Static(0.97)                    the cosine alone
        Static(0.97, guards=Guards())   and nothing that a guard sees may differ

    Args:
        cosine: The threshold, from -1 to 1: the cosine has to be above it. What is near depends on the embedder.
        guards: What may never differ, or None: nothing is looked at.

    Raises:
        ConfigurationError: The threshold is no cosine, or *guards* are none.
    """

    def __init__(self, cosine: float, *, guards: Guards | None = None) -> None:
        check_cosine("cosine", cosine)
        check_guards("guards", guards)
        self._cosine = cosine
        self._guards = guards

    def __repr__(self) -> str:
        """Show what one would type."""
        return f"Static({self._cosine})"

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID) -> Decision:
        """
        Decide about the nearest candidates.

        Args:
            asked: The question.
            candidates: The nearest first.
            said: What was said of answers before; only the steps of an alarm count here.

        Returns:
            Whether to serve the nearest that no guard forbids.
        """
        if not candidates:
            return Decision.miss("no_candidate")
        threshold = self.threshold_at(said.level, asked.fingerprint)
        near = (one for one in candidates if one.cosine > threshold)
        decided = (self._decided(asked, one, threshold) for one in near)
        first = next(decided, None)
        if first is None:
            return Decision.miss("below", **_known(candidates[0], threshold))
        # What stands against the nearest tells more than how far the next one is.
        return first if first.serve else next((one for one in decided if one.serve), first)

    def threshold_at(self, level: int, fingerprint: str | None = None) -> float:  # noqa: ARG002  the same for all
        """
        Tell the threshold.

        Args:
            level: How many steps it is raised by.
            fingerprint: Of the embedder.

        Returns:
            A cosine.
        """
        return min(self._cosine + _STEP * level, 1.0)

    def _decided(self, asked: Asked, near: Candidate, threshold: float) -> Decision:
        known = _known(near, threshold)
        guard = None if self._guards is None else self._guards.against(asked.text, analysed(near.text))
        return Decision.miss("guard", guard=guard, **known) if guard else Decision(serve=True, reason="served", **known)


def _known(candidate: Candidate, threshold: float) -> dict[str, Any]:
    return {"candidate": candidate, "score": candidate.cosine, "threshold": threshold}
