from __future__ import annotations

import os
import sys
import threading
from math import ceil, inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.retrying.budget import Budget, Budgets, RetryBudget

FLASH = Account("https://api.deepseek.com", "deepseek-flash", "")
PRO = FLASH._replace(model="deepseek-v4-pro")


@pytest.mark.parametrize("name", ["ratio", "per_minute"])
@pytest.mark.parametrize("value", [-0.1, inf, nan, None, "1", True])
def test_a_budget_refuses_what_makes_no_sense(name: str, value: Any) -> None:
    """A field that cannot be used is named when the budget is made."""
    with pytest.raises(ConfigurationError, match=f"^{name} must be a number"):
        RetryBudget(**{name: value})


@pytest.mark.parametrize(
    ("budget", "calls", "most"),
    [
        (RetryBudget(), 0, 3),
        (RetryBudget(), 10, 4),
        (RetryBudget(), 1000, 103),
        (RetryBudget(ratio=0), 1000, 3),
        (RetryBudget(per_minute=0), 1000, 100),
        (RetryBudget(ratio=0, per_minute=0), 1000, 0),
        (RetryBudget(ratio=1, per_minute=0), 7, 7),
    ],
)
def test_how_many_retries(budget: RetryBudget, calls: int, most: int) -> None:
    """A share of the calls of the last minute, and some besides."""
    kept = Budget(budget)
    kept.earn(calls, 5.0)

    assert [True] * most + [False] * 2 == [kept.spend(5.0) for _ in range(most + 2)]


def test_a_minute_later() -> None:
    """What is older than a minute neither pays for retries nor counts as one."""
    kept = Budget(RetryBudget())
    kept.earn(1000, 0.0)

    assert 103 == sum(kept.spend(10.0) for _ in range(200))
    assert 0 == sum(kept.spend(50.0) for _ in range(200))
    assert 3 == sum(kept.spend(75.0) for _ in range(200))


def test_when_it_is_idle() -> None:
    """A budget in which nothing has happened for a minute is as good as a new one."""
    now = [0.0]
    kept = Budget(RetryBudget(), lambda: now[0])
    idle = [kept.is_idle]
    kept.earn(1, 0.0)
    idle.append(kept.is_idle)
    now[0] = 61.0
    idle.append(kept.is_idle)

    assert [True, False, True] == idle


def test_accounts_have_a_budget_each() -> None:
    """The traffic of one account pays for its own retries alone."""
    kept = Budgets(RetryBudget())
    for _ in range(100):
        kept.earn(FLASH, 1.0)

    assert 13 == sum(kept.spend(FLASH, 1.0) for _ in range(50))
    assert 3 == sum(kept.spend(PRO, 1.0) for _ in range(50))


def test_calls_are_counted_when_they_came() -> None:
    """Calls that waited to be counted through a pause are not taken for new ones."""
    kept = Budgets(RetryBudget())
    for _ in range(1000):
        kept.earn(FLASH, 1.0)
    kept.earn(FLASH, 3600.0)

    assert 4 == sum(kept.spend(FLASH, 3600.0) for _ in range(200))


def test_what_waits_to_be_counted_does_not_grow() -> None:
    """A service without a failure counts its calls all the same."""
    kept = Budgets(RetryBudget())
    for number in range(100_000):
        kept.earn(FLASH, number / 1000)

    assert len(kept._new) <= 1001


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=200), st.floats(0, 1), st.integers(0, 5))
def test_the_promise_holds(steps: list[tuple[float, bool]], ratio: float, per_minute: int) -> None:
    """Within a minute there are never more retries than the policy allows for the calls so far."""
    kept, now, calls, retries = Budgets(RetryBudget(ratio=ratio, per_minute=per_minute)), 0.0, 0, 0
    for pause, is_call in steps:
        now += pause
        if now >= 54:
            break
        if is_call:
            kept.earn(FLASH, now)
            calls += 1
        else:
            retries += kept.spend(FLASH, now)

    assert retries <= ceil(ratio * calls + per_minute)


def test_many_threads() -> None:
    """Threads that earn and spend at once lose no call and get no retry too many."""
    kept, start = Budgets(RetryBudget()), threading.Barrier(8)
    won: list[int] = []

    def work() -> None:
        start.wait()
        for _ in range(500):
            kept.earn(FLASH, 1.0)
        start.wait()
        won.append(sum(kept.spend(FLASH, 1.0) for _ in range(500)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 403 == sum(won)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_fork_while_it_is_counted() -> None:
    """A child has a budget of its own: it does not wait for a lock that a thread of its parent held."""
    kept = Budgets(RetryBudget())
    kept.earn(FLASH, 1.0)
    kept.spend(FLASH, 1.0)
    with kept._budgets[FLASH]._lock:
        child = os.fork()
        if child == 0:
            os._exit(sum(kept.spend(FLASH, 1.0) for _ in range(9)))
    _, status = os.waitpid(child, 0)

    assert 3 == os.waitstatus_to_exitcode(status)
