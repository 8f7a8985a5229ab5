"""What a question asks for is told apart from what it is about."""

from __future__ import annotations

import pytest

from deepseek_sdk.caching.deciding.features import FEATURES, features, kind_of
from deepseek_sdk.caching.deciding.question_frames import frame_of, restated
from deepseek_sdk.caching.matching.text import analysed


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("如何退款", "way"), ("退款流程是什么", "way"), ("退款是什么意思", "meaning"), ("为什么不能退款", "why"),
        ("退款要多久", "how long"), ("退款多少钱", "price"), ("how do i get a refund", "way"),
        ("why was it refused", "why"),
        ("what is the refund process", "way"), ("can i get a refund", "yes"), ("退款", ""),
    ],
)  # fmt: skip
def test_a_question_has_a_frame(text: str, frame: str) -> None:
    """The first frame that is found counts."""
    assert frame == frame_of(text)


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        ("如何退款", "退款流程是什么", True), ("怎么用微信", "怎么做微信", False),
        ("长发如何变短发", "如何让短发变长发", False),
        ("How do I use it?", "What is the way to use it?", True), ("如何", "怎么", False),
        ("How to build a.com in WordPress?", "How to build b.com in WordPress?", False),
    ],
)  # fmt: skip
def test_a_question_is_restated_with_the_same_words(one: str, other: str, is_so: bool) -> None:  # noqa: FBT001  a table
    """Only what makes a question of them may differ."""
    assert is_so == restated(analysed(one).tokens, analysed(other).tokens)


@pytest.mark.parametrize(("one", "other"), [("如何退款", "退款要多久"), ("", "?"), ("Buy 3 apples", "买 5 个苹果")])
def test_features_are_the_same_both_ways(one: str, other: str) -> None:
    """Which of the two was kept makes no difference, and every figure is between 0 and about 1."""
    a, b = analysed(one), analysed(other)

    assert features(a, b) == features(b, a)
    assert len(FEATURES) == len(features(a, b))
    assert all(0 <= figure <= 2 for figure in features(a, b))
    assert kind_of(a, b) == kind_of(b, a)
