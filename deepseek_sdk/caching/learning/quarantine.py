"""When an entry answers no paraphrases any more, and when it does again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.learning.labels import SERVED, latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk.caching.learning.labels import Label

__all__ = ["is_quarantined"]

# So many different questions must have got its answer wrongly, and so many right ones outweigh each of them.
AFTER, OUTWEIGHED_BY = 2, 4


def is_quarantined(labels: Iterable[Label]) -> bool:
    """
    Tell whether an entry answers only the question that it was kept for.

    Two questions that were given its answer wrongly put it there; that a near miss was judged wrong does not, for
    nobody was given anything. Four right verdicts on other questions outweigh a wrong one: after two wrong ones it
    takes eight, from people, the judge, or hits that were asked again, until it answers paraphrases once more.

    Args:
        labels: What was said of it, oldest first.

    Returns:
        Whether it is in quarantine.
    """
    said = [label for label in latest(labels) if label.source != "calibration"]
    wrong = sum(not label.is_right and label.source in SERVED for label in said)
    right = sum(label.is_right for label in said)
    return wrong >= AFTER and right < OUTWEIGHED_BY * wrong
