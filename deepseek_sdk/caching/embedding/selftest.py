"""`examined`: whether an embedder tells questions apart that have nothing in common, in Chinese and in English."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.embedding.base import EmbeddingError, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.caching.embedding.base import Embedder, Vectors

__all__ = ["SelfTest", "examined"]

# Two questions that ask the same.
_RELATED: Mapping[str, Sequence[tuple[str, str]]] = {
    "zh": (
        ("如何申请退款", "怎么申请退款"),
        ("忘记密码了怎么办", "密码忘了该怎么处理"),
        ("快递几天能送到", "包裹多久可以送达"),
        ("怎样才能提高英语口语水平", "如何提升英语口语能力"),
        ("感冒了可以喝咖啡吗", "得了感冒能不能喝咖啡"),
    ),
    "en": (
        ("How do I get a refund?", "How can I get my money back?"),
        ("I forgot my password, what should I do?", "What can I do if I have forgotten my password?"),
        ("How long does shipping take?", "How many days does delivery take?"),
        ("What is the best way to learn to cook?", "How can I best learn how to cook?"),
        ("Why is the sky blue?", "What makes the sky look blue?"),
    ),
}
# Two that have nothing in common.
_UNRELATED: Mapping[str, Sequence[tuple[str, str]]] = {
    "zh": (
        ("如何申请退款", "月亮为什么会发光"),
        ("忘记密码了怎么办", "红烧肉要炖多长时间"),
        ("快递几天能送到", "怎么安慰失恋的朋友"),
        ("怎样才能提高英语口语水平", "车胎漏气了还能开吗"),
        ("感冒了可以喝咖啡吗", "二次函数的顶点坐标是什么"),
    ),
    "en": (
        ("How do I get a refund?", "Why do cats purr?"),
        ("I forgot my password, what should I do?", "Which planet has the most moons?"),
        ("How long does shipping take?", "What is a good name for a band?"),
        ("What is the best way to learn to cook?", "When was the printing press invented?"),
        ("Why is the sky blue?", "How do I merge two lists in Python?"),
    ),
    "mixed": (
        ("如何申请退款", "Why do cats purr?"),
        ("月亮为什么会发光", "How long does shipping take?"),
        ("怎么安慰失恋的朋友", "When was the printing press invented?"),
    ),
}
_LANGUAGES: Mapping[str, str] = {"zh": "Chinese", "en": "English", "mixed": "Chinese and English"}
# By how much questions that ask the same have to be more similar than any that have nothing in common, as a share of
# what is left up to a cosine of 1: embedders differ in how much of the scale they use.
_LEAST_SHARE = 0.2
# A lower precision than that of the vectors on disk cannot be told from none.
_LEAST_GAP = 0.01


class SelfTest(NamedTuple):
    """
    What an embedder makes of a few questions.

    Attributes:
        passed: Whether it may be used.
        reason: Why not, or None.
        related: The median similarity of questions that ask the same, as a cosine.
        unrelated: The greatest similarity of questions that have nothing in common.
        gap: The smallest distance of the two within a language; negative where they overlap.
    """

    passed: bool
    reason: str | None = None
    related: float | None = None
    unrelated: float | None = None
    gap: float | None = None


def examined(embedder: Embedder) -> SelfTest:
    """
    Have an embedder make vectors of a few questions, and look whether they can be told apart.

    Args:
        embedder: A loaded one.

    Returns:
        What came of it; what the embedder raises is raised.
    """
    try:
        vectors = _vectors(embedder)
    except EmbeddingError as error:
        return SelfTest(passed=False, reason=str(error))
    related = {name: [float(vectors[a] @ vectors[b]) for a, b in pairs] for name, pairs in _RELATED.items()}
    unrelated = {name: [float(vectors[a] @ vectors[b]) for a, b in pairs] for name, pairs in _UNRELATED.items()}
    return judged(related, unrelated)


def _vectors(embedder: Embedder) -> dict[str, Vectors]:
    pairs = [pair for table in (_RELATED, _UNRELATED) for some in table.values() for pair in some]
    texts = sorted({text for pair in pairs for text in pair})
    rows = checked(embedder.embed(texts), len(texts), embedder.dimensions)
    return dict(zip(texts, rows, strict=True))


def judged(related: Mapping[str, Sequence[float]], unrelated: Mapping[str, Sequence[float]]) -> SelfTest:
    """
    Judge similarities.

    Args:
        related: Of questions that ask the same, by language.
        unrelated: Of questions that have nothing in common, by language; those of two languages are "mixed".

    Returns:
        Whether they can be told apart in every language.
    """
    middle = {name: statistics.median(cosines) for name, cosines in related.items()}
    middle["mixed"] = min(middle.values())
    gaps = {name: middle[name] - max(cosines) for name, cosines in unrelated.items()}
    worst = min(unrelated, key=lambda name: gaps[name])
    found = SelfTest(
        passed=True,
        related=statistics.median(cosine for cosines in related.values() for cosine in cosines),
        unrelated=max(cosine for cosines in unrelated.values() for cosine in cosines),
        gap=gaps[worst],
    )
    bad = [name for name, gap in gaps.items() if gap < max(_LEAST_GAP, _LEAST_SHARE * (1 - max(unrelated[name])))]
    if not bad:
        return found
    name = min(bad, key=lambda name: gaps[name])
    return found._replace(passed=False, reason=_reason(name, middle[name], max(unrelated[name])))


def _reason(name: str, related: float, unrelated: float) -> str:
    return (
        f"it does not tell questions in {_LANGUAGES[name]} apart: those that have nothing in common are as similar as "
        f"{unrelated:.3f}, and those that ask the same {related:.3f} (cosines)"
    )
