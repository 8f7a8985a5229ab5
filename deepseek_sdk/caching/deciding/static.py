"""`Static`: one threshold for the cosine, as most caches have it; to be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.checks import check_cosine
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
        ConfigurationError: It is no cosine.
    """

    def __init__(self, cosine: float, *, guards: Guards | None = None) -> None:
        check_cosine("cosine", cosine)
        self._cosine = cosine
        self._guards = guards

    def __repr__(self) -> str:
        """Show what one would type."""
        return f"Static({self._cosine})"

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID) -> Decision:
        """
        Decide about the nearest candidate.

        Args:
            asked: The question.
            candidates: The nearest first.
            said: What was said of answers before; only the steps of an alarm count here.

        Returns:
            Whether to serve it.
        """
        if not candidates:
            return Decision.miss("no_candidate")
        best, threshold = candidates[0], self.threshold_at(said.level, asked.fingerprint)
        known: dict[str, Any] = {"candidate": best, "score": best.cosine, "threshold": threshold}
        if not best.cosine > threshold:
            return Decision.miss("below", **known)
        guard = None if self._guards is None else self._guards.against(asked.text, analysed(best.text))
        return Decision.miss("guard", guard=guard, **known) if guard else Decision(serve=True, reason="served", **known)

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
