"""
`rounded`: weights of a product in whole numbers, and what its input is divided by before it is rounded, too.

Of the numbers that go into a product a few are a hundred times larger than the others, always at the same places; the
one scale that all of them share would leave little of the rest. So each place is brought nearer to the others, and its
weights take over the factor (SmoothQuant, arXiv:2211.10438). How far a place reaches is not measured there but follows
from the weights: what comes out of a normalisation spreads around its bias by its weight, and what a product makes of
that spreads likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from deepseek_sdk.caching.embedding.base import Vectors

__all__ = ["Rounded", "Spread", "rounded"]

# Which share of a place's reach its weights take over; with more, their own rounding gets worse.
_TAKEN_OVER = 0.85
_LEAST_REACH, _LEAST_WEIGHT = 1e-3, 1e-5
# Seven bits and a sign less: processors without VNNI add two products, of 8 bits each, in 16 bits, which 127 overflows.
_MOST = 64


class Spread(NamedTuple):
    """
    Where numbers lie.

    Attributes:
        middle: Of each place.
        deviation: Their standard deviation around it.
    """

    middle: Vectors
    deviation: Vectors

    def through(self, weights: Vectors, bias: Vectors) -> Spread:
        """
        Follow them through a product.

        Args:
            weights: A row for each number that comes out.
            bias: What is added to it.

        Returns:
            Where the numbers lie that come out, if places do not go together.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        return Spread(weights @ self.middle + bias, np.sqrt(weights**2 @ self.deviation**2))

    def reach(self, deviations: float) -> Vectors:
        """
        Say how far from zero they are at most.

        Args:
            deviations: What is beyond so many of them does not count.

        Returns:
            A number for each place.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        reach: Vectors = np.abs(self.middle) + deviations * self.deviation
        return reach


class Rounded(NamedTuple):
    """
    A product in whole numbers.

    Attributes:
        divisor: What each place of the input is divided by.
        weights: A column for each number that comes out, from -64 to 64.
        scales: What a weight of 1 is, by column.
    """

    divisor: Vectors
    weights: Any
    scales: Vectors


def rounded(weights: Vectors, reach: Vectors) -> Rounded:
    """
    Round the weights of a product.

    Args:
        weights: A row for each number that comes out.
        reach: How far each place of the input reaches.

    Returns:
        The product.
    """
    import numpy as np  # noqa: PLC0415  not part of importing the library

    largest = np.maximum(np.abs(weights).max(axis=0), _LEAST_WEIGHT)
    divisor = np.maximum(reach, _LEAST_REACH) ** _TAKEN_OVER / largest ** (1 - _TAKEN_OVER)
    divisor = (divisor / np.median(divisor)).astype(np.float32)
    evened = weights * divisor
    scales = (np.maximum(np.abs(evened).max(axis=1), _LEAST_WEIGHT) / _MOST).astype(np.float32)
    return Rounded(divisor, np.rint(evened / scales[:, None]).astype(np.int8).T, scales)
