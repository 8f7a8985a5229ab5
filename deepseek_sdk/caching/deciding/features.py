"""What a score looks at, beside the two vectors: figures from two texts, each about 0 to 1."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from deepseek_sdk.caching.deciding.question_frames import frame_of, restated, without_frame
from deepseek_sdk.caching.matching.differences import difference

if TYPE_CHECKING:
    from deepseek_sdk.caching.matching.text import Text

__all__ = ["FEATURES", "KNOTS", "SPLINE", "features", "kind_of", "spline"]

FEATURES = (
    "token_jaccard", "content_jaccard", "bigram_jaccard", "missing_most", "missing_least", "length_ratio",
    "same_content", "replaced", "inserted", "single_substitution", "single_insertion", "substitution_distance",
    "substitution_length", "other_order", "numbers", "numbers_swapped", "dates", "names", "names_swapped", "negation",
    "asks", "question", "content_length",
    "frame_same", "frame_other", "same_question", "same_other_question", "restated",
)  # fmt: skip
# Where the slope of the cosine's share of the score may change; before the first it is straight.
KNOTS = (0.90, 0.93, 0.95, 0.97, 0.985)
SPLINE = ("cosine", *(f"cosine above {knot}" for knot in KNOTS))
_MOST_PLACES, _LONGEST_SPAN, _MOST_FIGURES = 5, 12, 2


def features(a: Text, b: Text) -> tuple[float, ...]:
    """
    Compare two texts.

    Args:
        a: One.
        b: The other.

    Returns:
        A number for each of `FEATURES`; the same for the pair turned round.
    """
    one, other = frame_of(a.normal), frame_of(b.normal)
    if "way" in (one, other):
        a, b = (replace(text, content=without_frame(text.content)) for text in (a, b))
    found = difference(a, b)
    is_same, is_other = bool(one) and one == other, one != other
    return (
        found.token_jaccard,
        found.content_jaccard,
        found.bigram_jaccard,
        found.missing_most,
        found.missing_least,
        found.length_ratio,
        float(found.same_content),
        min(found.replaced, _MOST_PLACES) / _MOST_PLACES,
        min(found.inserted, _MOST_PLACES) / _MOST_PLACES,
        float(found.single_substitution),
        float(found.single_insertion),
        found.substitution_distance,
        min(found.substitution_length, _LONGEST_SPAN) / _LONGEST_SPAN,
        float(found.other_order),
        min(found.numbers, _MOST_FIGURES) / _MOST_FIGURES,
        float(found.numbers_swapped),
        min(found.dates, _MOST_FIGURES) / _MOST_FIGURES,
        min(found.names, _MOST_FIGURES) / _MOST_FIGURES,
        float(found.names_swapped),
        float(found.negation),
        float(found.asks),
        float(found.question),
        math.log1p(max(len(a.content), len(b.content))) / 4,
        float(is_same),
        float(is_other and bool(one) and bool(other)),
        float(is_same and found.same_content),
        float(is_other and found.same_content),
        float(is_same and restated(a.tokens, b.tokens)),
    )


def spline(cosine: float) -> tuple[float, ...]:
    """
    Spread a cosine over pieces, so that a sum of them can bend.

    Args:
        cosine: From -1 to 1.

    Returns:
        A number for each of `SPLINE`.
    """
    return (20 * (cosine - KNOTS[1]), *(20 * max(0.0, cosine - knot) for knot in KNOTS))


def kind_of(a: Text, b: Text) -> str:
    """
    Name the coefficients that a pair is scored with.

    Args:
        a: One text.
        b: The other.

    Returns:
        "zh" where either is Chinese at least in part, else "en".
    """
    return "zh" if {"zh", "mixed"} & {a.script, b.script} else "en"
