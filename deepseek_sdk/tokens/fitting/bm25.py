"""BM25: how much a block of text has to do with a question, by the words they share."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["scores", "terms"]

# How soon more of the same word counts less, and how much long blocks are held back: the usual values.
_K1, _B = 1.2, 0.75
# Words of letters and digits, or runs of characters of scripts that put no blanks between words.
_RUN = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def terms(text: str) -> Iterator[str]:
    """
    Take a text apart into what is compared.

    Args:
        text: It.

    Yields:
        Words in lower case, and of Chinese and Japanese each pair of neighbouring characters.
    """
    for found in _RUN.finditer(text.casefold()):
        run = found[0]
        if found[1] is None or len(run) == 1:
            yield run
        else:
            yield from map("".join, pairwise(run))


def scores(question: str, blocks: Sequence[str]) -> list[float]:
    """
    Rate blocks of text by a question.

    Args:
        question: It.
        blocks: They.

    Returns:
        A number for each, 0 where no word is shared.
    """
    wanted = set(terms(question))
    counted = [_count(block, wanted) for block in blocks]
    average = sum(length for _, length in counted) / max(len(blocks), 1) or 1.0
    spread = Counter(term for found, _ in counted for term in found)
    weights = {term: math.log(1 + (len(blocks) - n + 0.5) / (n + 0.5)) for term, n in spread.items()}
    return [_score(found, length / average, weights) for found, length in counted]


def _count(block: str, wanted: set[str]) -> tuple[Counter[str], int]:
    length, found = 0, Counter[str]()
    for term in terms(block):
        length += 1
        if term in wanted:
            found[term] += 1
    return found, length


def _score(found: Counter[str], length: float, weights: dict[str, float]) -> float:
    held_back = _K1 * (1 - _B + _B * length)
    return sum(weights[term] * n * (_K1 + 1) / (n + held_back) for term, n in found.items())
