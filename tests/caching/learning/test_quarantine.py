from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.learning.quarantine import is_quarantined
from tests.caching.verdicts import label_of

if TYPE_CHECKING:
    from deepseek_sdk.caching.learning.labels import Label


def several(count: int, prefix: str, **known: Any) -> list[Label]:
    """Give labels of as many questions."""
    return [label_of(f"{prefix} {number}", **known) for number in range(count)]


@pytest.mark.parametrize(
    ("wrong", "right", "expected"),
    [(0, 0, False), (1, 0, False), (2, 0, True), (2, 7, True), (2, 8, False), (3, 8, True), (3, 12, False)],
)
def test_two_wrong_ones(wrong: int, right: int, *, expected: bool) -> None:
    """Two questions that were answered wrongly put an entry into quarantine; four right ones outweigh each."""
    labels = several(wrong, "错") + several(right, "对", is_right=True, source="judge")

    assert expected == is_quarantined(labels)


def test_one_question_counts_once() -> None:
    """Who reports the same question again and again reports one question."""
    assert not is_quarantined([label_of("同一个问题", at_ms=at) for at in range(10)])


@pytest.mark.parametrize(("source", "expected"), [("recheck", True), ("judge", False), ("calibration", False)])
def test_only_hits_count(source: str, *, expected: bool) -> None:
    """A near miss that was judged wrong, or a pair of a calibration, says nothing against an entry."""
    assert expected == is_quarantined(several(5, "q", source=source))
