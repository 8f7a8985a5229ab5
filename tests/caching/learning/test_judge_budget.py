from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from deepseek_sdk.caching.learning.budget import JudgeBudget
from deepseek_sdk.errors import ConfigurationError


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Tell the time, in seconds."""
        return self.now


def calls(budget: JudgeBudget, count: int) -> None:
    """Count so many calls."""
    for _ in range(count):
        budget.note_call()


def test_so_many_in_an_hour() -> None:
    """Within any hour there are no more than the bound; what is older counts no more."""
    clock = Clock()
    budget = JudgeBudget(per_hour=3, now=clock)
    first = [budget.take() for _ in range(4)]
    clock.now += 3_599
    second = budget.take()
    clock.now += 1
    third = [budget.take() for _ in range(4)]

    assert ([True, True, True, False], False, [True, True, True, False]) == (first, second, third)
    assert 3 == budget.taken


def test_no_more_than_a_part_of_the_calls() -> None:
    """Ten are free; more than that takes so many calls within the hour."""
    clock = Clock()
    budget = JudgeBudget(per_hour=1_000, max_share=0.1, now=clock)

    def taken() -> int:
        return sum(budget.take() for _ in range(50))

    assert 10 == taken()
    calls(budget, 120)
    assert 2 == taken()
    clock.now += 1_800
    calls(budget, 80)
    assert 8 == taken()
    clock.now += 1_860
    assert 2 == taken()


def test_what_was_not_used_is_given_back() -> None:
    """A judge that was not asked after all counts for nothing."""
    budget = JudgeBudget(per_hour=1, now=Clock())
    budget.give_back()

    assert (True, False) == (budget.take(), budget.take())
    budget.give_back()
    assert budget.take()


def test_no_judge() -> None:
    """None at all is a bound, too."""
    assert not JudgeBudget(per_hour=0, now=Clock()).take()


def test_threads_share_a_judge() -> None:
    """Threads that ask at the same time get no more than there is."""
    budget = JudgeBudget(per_hour=60, max_share=1, now=Clock())
    calls(budget, 60)
    with ThreadPoolExecutor(4) as pool:
        taken = sum(pool.map(lambda _: budget.take(), range(200)))

    assert 60 == taken


@pytest.mark.parametrize("wrong", [{"per_hour": -1}, {"per_hour": None}, {"max_share": 1.5}, {"max_share": True}])
def test_bounds_of_a_judge_are_checked(wrong: dict[str, Any]) -> None:
    """What is no bound is refused, and named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        JudgeBudget(**wrong)
