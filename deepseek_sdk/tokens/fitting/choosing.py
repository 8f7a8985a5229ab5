"""Which blocks of a text are kept: decisions on sizes and scores, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["by_score", "ends", "fused", "shares"]

# Reciprocal rank fusion's usual constant.
_RANK = 60


def shares(sizes: Sequence[int], excess: int, *, floor: int) -> list[int]:
    """
    Take from the longest first, so that all that are cut end at the same length.

    Args:
        sizes: Lengths of texts, in tokens.
        excess: How much has to go.
        floor: Nothing is cut below that.

    Returns:
        How much is kept of each. Where that is not enough, all are at *floor*, or shorter by nature.
    """
    left = max(0, sum(sizes) - excess)
    level, rest = float(left), len(sizes)
    for size in sorted(sizes):
        level = left / rest
        if size >= level:
            break
        left, rest = left - size, rest - 1
    return [min(size, max(int(level), floor)) for size in sizes]


def ends(sizes: Sequence[float], head: float, tail: float) -> list[bool]:
    """
    Choose blocks from both ends.

    Args:
        sizes: Lengths of blocks, in tokens.
        head: How much there is room for at the front.
        tail: Likewise at the back.

    Returns:
        Whether each is kept.
    """
    first = _fitting(sizes, head)
    last = _fitting(sizes[::-1], tail)
    return [place < first or place >= len(sizes) - last for place in range(len(sizes))]


def _fitting(sizes: Sequence[float], room: float) -> int:
    for place, size in enumerate(sizes):
        room -= size
        if room < 0:
            return place
    return len(sizes)


def by_score(sizes: Sequence[float], scores: Sequence[float], room: float, *, pinned: float, gap: int) -> list[bool]:
    """
    Choose both ends, and between them the blocks that score best; what is left over lengthens the front.

    Args:
        sizes: Lengths of blocks, in tokens.
        scores: What each is worth; 0 is nothing.
        room: How much there is room for, in tokens.
        pinned: Which part of that is for each end.
        gap: What a gap costs, in tokens.

    Returns:
        Whether each is kept.
    """
    chosen = ends(sizes, room * pinned, room * pinned)
    room -= sum(size for size, is_chosen in zip(sizes, chosen, strict=True) if is_chosen)
    for place in sorted(range(len(sizes)), key=lambda place: -scores[place]):
        cost = sizes[place] + gap * _more_gaps(chosen, place)
        if scores[place] > 0 and not chosen[place] and cost <= room:
            chosen[place] = True
            room -= cost
    for place in range(len(sizes)):
        if not chosen[place] and sizes[place] > room:
            break
        room -= 0 if chosen[place] else sizes[place]
        chosen[place] = True
    return chosen


def _more_gaps(chosen: Sequence[bool], place: int) -> int:
    """Count how many more gaps there are with another block: one less where it closes one."""
    before = place == 0 or chosen[place - 1]
    after = place == len(chosen) - 1 or chosen[place + 1]
    return 1 - before - after


def fused(*ratings: Sequence[float]) -> list[float]:
    """
    Put several ratings of the same blocks together, by rank: their numbers cannot be compared.

    Args:
        *ratings: They; what is not above 0 has no rank.

    Returns:
        One number for each block, 0 where no rating has it.
    """
    if len(ratings) == 1:
        return list(ratings[0])
    total = [0.0] * len(ratings[0])
    for rating in ratings:
        order = sorted((place for place in range(len(rating)) if rating[place] > 0), key=lambda place: -rating[place])
        for rank, place in enumerate(order):
            total[place] += 1 / (_RANK + rank)
    return total
