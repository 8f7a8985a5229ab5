"""`Ordered`: lengths in order of size, some of which are known to be at least so much, and their quantiles."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from deepseek_sdk.tokens.lengths.quantities import Quantiles

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Ordered", "coded"]

# No answer is longer: what a server says beyond this is a mistake, and must fit into four bytes.
_MOST = 100_000_000
_PERCENT = (50, 90, 95)
_ROUNDING = 1e-6


def coded(length: int, *, is_cut: bool = False) -> int:
    """
    Make one number of a length and whether it was cut.

    Args:
        length: It.
        is_cut: It would have been longer.

    Returns:
        Twice the length, and one more where it was cut: so cut ones stand behind others of their length.
    """
    return 2 * min(max(length, 0), _MOST) + is_cut


class Ordered:
    """
    Lengths and their quantiles.

    Where nothing was cut, the quantile p of n lengths is the one at place ceil((n + 1) p) in order: by conformal
    prediction the next length, if it is drawn as these were, is no longer with a probability of at least p.

    A length that was cut counts as "at least so much", by the estimate of Kaplan and Meier: its weight goes, in equal
    parts, to all longer ones. Where a quantile lies among lengths of which the longest were all cut, the longest is
    given, and the truth is longer.

    Args:
        codes: The lengths, as `coded()` gives them.
    """

    __slots__ = ("_codes", "cut")

    def __init__(self, codes: Iterable[int] = ()) -> None:
        self._codes = array("i", sorted(codes))
        self.cut = sum(code & 1 for code in self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, code: int) -> None:
        """
        Take one more.

        Args:
            code: Its code.
        """
        insort(self._codes, code)
        self.cut += code & 1

    def swap(self, leaving: int, code: int) -> bool:
        """
        Take one more, and forget another.

        Args:
            leaving: The code of the one to forget.
            code: The code of the new one.

        Returns:
            Whether *leaving* was there.
        """
        if leaving == code:
            return True
        codes = self._codes
        place = bisect_left(codes, leaving)
        if place == len(codes) or codes[place] != leaving:
            return False
        del codes[place]
        insort(codes, code)
        self.cut += (code & 1) - (leaving & 1)
        return True

    def quantiles(self) -> Quantiles:
        """
        Find the three quantiles.

        Returns:
            They; the longest length stands for what so few lengths cannot tell.

        Raises:
            IndexError: There are no lengths.
        """
        codes, count = self._codes, len(self._codes)
        places = [min(-(-(count + 1) * percent // 100), count) for percent in _PERCENT]
        found = self._weighed(places) if self.cut else [codes[place - 1] for place in places]
        return Quantiles(*(code >> 1 for code in found))

    def _weighed(self, weights: list[int]) -> list[int]:
        """Find where the weights of the lengths, 1 for each at first, add up to each of *weights*."""
        found: list[int] = []
        each, mass, behind = 1.0, _ROUNDING, len(self._codes)
        for code in self._codes:
            behind -= 1
            if not code & 1:
                mass += each
                while len(found) < len(weights) and mass >= weights[len(found)]:
                    found.append(code)
            elif behind:
                each *= (behind + 1) / behind
        return found + [self._codes[-1]] * (len(weights) - len(found))
