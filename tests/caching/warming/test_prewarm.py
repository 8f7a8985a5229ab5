"""Questions are asked beforehand, in either colour."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.warming.prewarm import Prewarm, Progress
from deepseek_sdk.caching.warming.schedule import Budget
from deepseek_sdk.errors import BudgetExceededError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

QUESTIONS = [("如何退款？", 0.5), ("怎么开发票？", None), ("How long does it take?", 0.25)]


@pytest.fixture(params=["sync", "async"])
def go(request: pytest.FixtureRequest) -> Callable[..., Progress]:
    """Ask in either colour, with a function that answers in the sync one."""

    def go(prewarm: Prewarm[Any], ask: Callable[[Any], float | None]) -> Progress:
        if request.param == "sync":
            return prewarm.run(ask)

        async def awaited(question: Any) -> float | None:
            await asyncio.sleep(0)
            return ask(question)

        return asyncio.run(prewarm.arun(awaited))

    return go


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_all_are_asked(go: Callable[..., Progress], at_once: int) -> None:
    """Each question is asked once; what a call has cost counts, or what it was expected to."""
    asked: list[str] = []
    prewarm = Prewarm(QUESTIONS, at_once=at_once)
    before = prewarm.progress
    costs = {"如何退款？": 0.75}

    def ask(question: str) -> float | None:
        asked.append(question)
        return costs.get(question)

    done = go(prewarm, ask)

    assert Progress("waiting", 0, 0, 3, 0) == before
    assert Progress("done", 3, 0, 0, 1.0) == done == prewarm.progress
    assert sorted(question for question, _ in QUESTIONS) == sorted(asked)
    assert prewarm.wait(0)
    assert done == go(prewarm, asked.append)


def test_the_best_are_first(go: Callable[..., Progress]) -> None:
    """They are asked in their order, and no more than the budget allows."""
    asked: list[int] = []
    by_calls = go(Prewarm(((n, None) for n in range(9)), budget=Budget(calls=4)), asked.append)
    by_cost = go(Prewarm(((n, 0.1) for n in range(9)), budget=Budget(cny=0.3)), lambda _: 0.15)

    assert [0, 1, 2, 3] == asked
    assert Progress("budget", 4, 0, 5, 0) == by_calls
    assert Progress("budget", 2, 0, 7, 0.3) == by_cost


def test_calls_under_way_count(go: Callable[..., Progress]) -> None:
    """What is expected of calls that are under way is part of what was spent: together they keep the budget."""
    done = go(Prewarm(((n, 0.1) for n in range(9)), budget=Budget(cny=0.35), at_once=4), lambda _: None)

    assert Progress("budget", 3, 0, 6, 0.3) == done


def test_failures(go: Callable[..., Progress], caplog: pytest.LogCaptureFixture) -> None:
    """A call that fails is counted; after three in a row no more are made, and that is said."""

    def ask(number: int) -> None:
        if number in (0, 1, 3, 4, 5):
            raise TimeoutError

    with caplog.at_level(logging.WARNING):
        done = go(Prewarm((n, None) for n in range(9)), ask)

    assert Progress("failing", 1, 5, 3, 0) == done
    assert 1 == caplog.text.count("no more is asked beforehand")


def test_a_failure_for_all(go: Callable[..., Progress]) -> None:
    """Where the next call would fail the same way, it is not made."""

    def ask(_: int) -> None:
        raise ConfigurationError("there is nobody to ask")

    assert Progress("failing", 0, 1, 8, 0) == go(Prewarm((n, None) for n in range(9)), ask)
    assert issubclass(BudgetExceededError, Exception)


def test_cancelled_from_inside(go: Callable[..., Progress]) -> None:
    """After cancel() nothing more is asked; the call under way ends."""
    prewarm = Prewarm([(n, None) for n in range(9)])
    done = go(prewarm, lambda number: prewarm.cancel() if number == 1 else None)
    prewarm.cancel()

    assert Progress("cancelled", 2, 0, 7, 0) == done == prewarm.progress


def test_cancelled_while_it_waits() -> None:
    """What waits for its time ends at once when it is cancelled from another thread; nothing was asked."""
    asked: list[str] = []
    now = 1_000.0
    prewarm = Prewarm(QUESTIONS, begins=now + 1e6, wall=lambda: now)
    thread = prewarm.start(asked.append)
    is_over = prewarm.wait(0)
    prewarm.cancel()
    thread.join(10)

    assert (False, False, True) == (is_over, thread.is_alive(), prewarm.wait(0))
    assert (Progress("cancelled", 0, 0, 3, 0), []) == (prewarm.progress, asked)


async def test_cancelled_while_it_waits_on_a_loop() -> None:
    """On an event loop too; and where the task is cancelled, so is what is under way."""
    asking = asyncio.Event()

    async def ask(_: str) -> None:
        asking.set()
        await asyncio.Event().wait()

    early: Prewarm[str] = Prewarm(QUESTIONS, begins=1e6, wall=lambda: 0.0)
    early.cancel()
    prewarm = Prewarm(QUESTIONS, at_once=2)
    task = asyncio.create_task(prewarm.arun(ask))
    await asking.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert Progress("cancelled", 0, 0, 3, 0) == await early.arun(ask)
    assert Progress("cancelled", 0, 0, 1, 0) == prewarm.progress
    assert task.cancelled()


def test_it_begins_in_time(go: Callable[..., Progress]) -> None:
    """Nothing is asked before the time has come."""
    seen: list[float] = []

    def wall() -> float:
        seen.append(0.998 + 0.001 * len(seen))
        return seen[-1]

    asked_at: list[float] = []
    done = go(Prewarm(QUESTIONS[:1], begins=1.0, wall=wall), lambda _: asked_at.append(seen[-1]))

    assert ("done", 1) == done[:2]
    assert [1.0] == asked_at


def test_threads_know_their_context() -> None:
    """Questions that are asked by several threads are asked in the context of who began."""
    tenant = contextvars.ContextVar("tenant", default="")
    tenant.set("小明")
    found: list[tuple[str, str]] = []
    barrier = threading.Barrier(2, timeout=10)

    def ask(_: int) -> None:
        barrier.wait()
        found.append((tenant.get(), threading.current_thread().name))

    done = Prewarm([(1, None), (2, None)], at_once=2).run(ask)

    assert ("done", 2) == done[:2]
    assert {("小明", threading.current_thread().name), ("小明", "deepseek-sdk-prewarm")} == set(found)


@pytest.mark.parametrize("wrong", [{"at_once": 0}, {"begins": "soon"}, {"budget": Budget(calls=-1)}])
def test_arguments_are_checked(wrong: dict[str, Any]) -> None:
    """An argument that cannot be used is named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Prewarm(QUESTIONS, **wrong)
