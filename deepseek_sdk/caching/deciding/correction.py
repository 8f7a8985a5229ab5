"""`Correction`: what was said of one entry's answers, as a shift of its score; see `learning.quarantine` for more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Correction", "Verdict", "sigmoid"]

VARIANCE = 1.0
REMEMBERED = 32
LOWEST, HIGHEST = -8.0, 3.0


class Verdict(NamedTuple):
    """
    What was said about one hit.

    Args:
        logit: Of the score that it was served with, before the correction.
        is_right: Whether the answer was right.
    """

    logit: float
    is_right: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """
    What is known of one entry.

    Args:
        shift: Added to the logit of each candidate from this entry.
        verdicts: The latest, oldest first.
    """

    shift: float = 0.0
    verdicts: tuple[Verdict, ...] = ()

    def after(self, verdict: Verdict) -> Correction:
        """
        Take in one verdict: one Newton step towards the most probable shift, whose prior is normal around zero.

        Args:
            verdict: What was said.

        Returns:
            What is known now.
        """
        verdicts = (*self.verdicts, verdict)[-REMEMBERED:]
        return Correction(stepped(self.shift, verdicts), verdicts)


def stepped(shift: float, verdicts: Iterable[Verdict]) -> float:
    """
    Take one Newton step.

    Args:
        shift: The present shift.
        verdicts: Everything that is remembered.

    Returns:
        The next.
    """
    chances = [(sigmoid(logit + shift), is_right) for logit, is_right in verdicts]
    slope = sum(is_right - p for p, is_right in chances) - shift / VARIANCE
    curve = sum(p * (1 - p) for p, _ in chances) + 1 / VARIANCE
    return max(LOWEST, min(HIGHEST, shift + slope / curve))


def sigmoid(logit: float) -> float:
    """
    Turn a logit into a probability.

    Args:
        logit: Any number, infinite ones too.

    Returns:
        From 0 to 1.
    """
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0  # noqa: PLR2004  exp() overflows beyond
