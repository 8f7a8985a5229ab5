"""`Label`: what was said of a question and the kept answer that it was given, or nearly was; and what names a pair."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SERVED", "SOURCES", "Label", "Source", "digest_of", "is_finite", "latest", "normalised", "pair_digest"]

Source: TypeAlias = Literal["calibration", "feedback", "judge", "recheck"]

SOURCES: frozenset[str] = frozenset({"calibration", "feedback", "judge", "recheck"})
# Who speaks of hits that were served; a judge speaks of near misses.
SERVED: frozenset[str] = frozenset({"feedback", "recheck"})

# With what a question may end, or not: it stays the same one.
_ENDS = " .,;:?!~\u2026\u3002\u3001"


class Label(NamedTuple):
    """
    One verdict on one pair.

    Attributes:
        at_ms: When it was spoken, in milliseconds since 1970.
        key: Of the kept entry.
        text_digest: The SHA-256 of the question that was asked, in hex digits.
        cosine: Of the two questions.
        score: The logit of the policy, before any correction of the entry.
        is_right: The kept answer is right for the question.
        source: "feedback": somebody reported a hit; "recheck": a hit was asked again; "judge": a near miss was judged;
            "calibration": the pair came labelled.
    """

    at_ms: int
    key: str
    text_digest: str
    cosine: float
    score: float
    is_right: bool
    source: Source

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """What tells it from others: nobody says two things of one pair in the same millisecond."""
        return self.key, self.text_digest, self.source, self.at_ms


def is_finite(label: Label) -> bool:
    """
    Tell whether its numbers can be reckoned with.

    Args:
        label: It.

    Returns:
        Whether they can.
    """
    return math.isfinite(label.cosine) and math.isfinite(label.score)


def latest(labels: Iterable[Label]) -> list[Label]:
    """
    Let each question speak once: people before judges, and the last word before earlier ones.

    Args:
        labels: Of one entry or of several, oldest first.

    Returns:
        One for each question and entry, in the order in which the questions first came.
    """
    said: dict[tuple[str, str], Label] = {}
    for label in labels:
        pair = label.key, label.text_digest
        before = said.get(pair)
        if before is None or before.source != "feedback" or label.source == "feedback":
            said[pair] = label
    return list(said.values())


def digest_of(text: str) -> str:
    """
    Name a text without keeping it.

    Args:
        text: It.

    Returns:
        Its SHA-256, 64 hex digits.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def normalised(text: str) -> str:
    """
    Write a text the way in which it is compared; this stays as it is, since digests of it are kept.

    Args:
        text: It.

    Returns:
        It in small letters and narrow forms, with single blanks, without what stands at its end.
    """
    return " ".join(unicodedata.normalize("NFKC", text.casefold()).split()).rstrip(_ENDS)


def pair_digest(tenant: str, one: str, other: str) -> str:
    """
    Name two texts of one tenant, whichever comes first.

    Args:
        tenant: Whose.
        one: A text.
        other: Another.

    Returns:
        A SHA-256, 64 hex digits.
    """
    # Escaped: lengths need not be told, and a text may hold half of a surrogate pair.
    return digest_of(json.dumps([tenant, *sorted((normalised(one), normalised(other)))]))
