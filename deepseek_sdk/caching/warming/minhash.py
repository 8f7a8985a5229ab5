"""Which sets are alike, without comparing each with each: MinHash finds pairs that may be, and counting decides."""

from __future__ import annotations

import importlib
import random
import zlib
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["Signer", "grouped", "hashed", "jaccard", "own_signer", "signer"]

Signer: TypeAlias = "Callable[[AbstractSet[int]], Sequence[int]]"

# Bands of rows: of two sets that share half of their members, two thirds meet in a band; of two that share 0.7, 99 %.
_BANDS, _ROWS = 16, 4
_SIGNS = _BANDS * _ROWS
_MASK = 2**32 - 1
_SEED = 7


def hashed(words: Iterable[str]) -> frozenset[int]:
    """
    Make numbers of words.

    Args:
        words: Any texts.

    Returns:
        A number of 32 bits for each, the same in every process.
    """
    return frozenset(zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words)


def jaccard(one: AbstractSet[int], other: AbstractSet[int]) -> float:
    """
    Tell how much two sets have in common.

    Args:
        one: A set.
        other: Another one.

    Returns:
        The share of their members that both have, from 0 to 1; 1 for two empty ones.
    """
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def own_signer() -> Signer:
    """
    Make what signs sets in Python alone; a set of 20 takes about a third of a millisecond.

    Returns:
        Gives a set of numbers as many signs as every other; alike sets share many of them, place by place.
    """
    chance = random.Random(_SEED)  # noqa: S311  no secret
    # Odd: then no two members become one.
    factors = [chance.randrange(_MASK) | 1 for _ in range(_SIGNS)]

    def sign(members: AbstractSet[int]) -> Sequence[int]:
        return [min([member * factor & _MASK for member in members], default=_MASK) for factor in factors]

    return sign


def signer() -> Signer:
    """
    Make what signs sets: rensa, where it is installed, is some times faster than what is made here.

    Returns:
        As `own_signer()`.
    """
    try:
        # Not a dependency: whoever has it gains some time.
        rensa = importlib.import_module("rensa")
    except ImportError:
        return own_signer()

    def sign(members: AbstractSet[int]) -> Sequence[int]:
        sketch = rensa.RMinHash(num_perm=_SIGNS, seed=_SEED)
        sketch.update([f"{member:x}" for member in members])
        signs: Sequence[int] = sketch.digest()
        return signs

    return sign


def grouped(sets: Sequence[AbstractSet[int]], threshold: float, sign: Signer) -> list[int]:
    """
    Put alike sets together: each joins the first one before it that is alike, and is no member of another.

    Args:
        sets: The sets, the most important first.
        threshold: How much two must have in common, from 0 to 1.
        sign: What signs them; it decides only which pairs are looked at.

    Returns:
        For each set the place of the one that it joins, which may be its own.
    """
    leaders: list[int] = []
    met: dict[Hashable, list[int]] = {}
    for place, members in enumerate(sets):
        bands = list(_bands(sign(members)))
        seen = sorted({leader for band in bands for leader in met.get(band, ())})
        leader = next((other for other in seen if jaccard(sets[other], members) >= threshold), place)
        leaders.append(leader)
        if leader == place:
            for band in bands:
                met.setdefault(band, []).append(place)
    return leaders


def _bands(signs: Sequence[int]) -> Iterator[Hashable]:
    for start in range(0, _SIGNS, _ROWS):
        yield start, *signs[start : start + _ROWS]
