"""Which misses are worth a judge, and which hits are asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["DOUBTED", "LEAST_P", "Decided", "is_near_miss", "is_rechecked"]

# Measured on four public sets: 41 to 66 % of the misses down to here are right, and 60 to 71 % of all right pairs are
# among them. A verdict costs about a fifth of an answer, and each yes saves one at least.
LEAST_P = 0.3
# What these guards forbid is looked at all the same: of the likely pairs that "name" forbids half are right, of others
# a third ("polarity") to none ("unit"), and a judge errs, too.
DOUBTED: frozenset[str] = frozenset({"name"})


class Decided(Protocol):
    """What is read of a decision; see `deciding.decision`."""

    @property
    def serve(self) -> bool:
        """Whether it was a hit."""
        ...

    @property
    def cosine(self) -> float | None:
        """Of the best candidate, or None: there was none."""
        ...

    @property
    def p(self) -> float | None:
        """How probably its answer is right, or None: nobody can tell."""
        ...

    @property
    def guard(self) -> str | None:
        """What forbade it, or None."""
        ...


def is_near_miss(
    decision: Decided,
    *,
    least_p: float = LEAST_P,
    least_cosine: float | None = None,
    doubted: Collection[str] = DOUBTED,
) -> bool:
    """
    Tell whether a miss is worth a judge; one that a policy explores always is.

    Args:
        decision: About it.
        least_p: How probable a yes must be.
        least_cosine: What the cosine must be where the policy knows no probability; None: such a miss is none.
        doubted: The guards that forbid too much: what they forbid is worth a judge, too.

    Returns:
        Whether it is.
    """
    if decision.serve or decision.cosine is None or (decision.guard is not None and decision.guard not in doubted):
        return False
    if getattr(decision, "is_explored", False):
        return True
    if decision.p is not None:
        return decision.p >= least_p
    return least_cosine is not None and decision.cosine >= least_cosine


def is_rechecked(share: float, chance: Callable[[], float]) -> bool:
    """
    Decide whether a hit is asked again in the background.

    Args:
        share: Of the hits; 0: none.
        chance: Draws a number, from 0 to below 1.

    Returns:
        Whether it is.
    """
    return share > 0 and chance() < share
