"""What is asked before every peak, and what is learnt from it."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.warming.daily import Daily
from deepseek_sdk.caching.warming.prewarm import Prewarm
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable


class Days:
    """Peaks that are over at once, one after another; the fourth time it is cancelled."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.learnt: list[int] = []
        self.planned = 0
        self.fails = fails
        self.daily: Daily[str] = Daily(self.prepare, self.learn, wall=self.wall)
        self.now = 0.0

    def wall(self) -> float:
        """Tell the time: whoever looks finds that an hour has gone by."""
        self.now += 3_600
        return self.now

    def prepare(self) -> tuple[Prewarm[str], float] | None:
        """Make the next work; every second time there is none."""
        self.planned += 1
        if self.planned == 4:
            self.daily.cancel()
        if self.fails:
            raise OSError(self.planned)
        return (
            None if self.planned % 2 == 0 else (Prewarm([(f"问题{self.planned}", None)], wall=self.wall), self.now + 60)
        )

    def learn(self, prewarm: Prewarm[str]) -> None:
        """Note what became of it."""
        self.learnt.append(prewarm.progress.asked)
        if self.planned == 3:
            raise OSError

    def ask(self, question: str) -> None:
        """Note what was asked."""
        self.asked.append(question)


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Callable[[Days], None]:
    """Go on until it is cancelled, in either colour."""

    def run(days: Days) -> None:
        if request.param == "sync":
            days.daily.run(days.ask)
            return

        async def ask(question: str) -> None:
            days.ask(question)

        asyncio.run(days.daily.arun(ask))

    return run


def test_days(run: Callable[[Days], None], caplog: pytest.LogCaptureFixture) -> None:
    """Before each peak its questions are asked, and after it that is learnt from, until it is cancelled."""
    days = Days()
    before = days.daily.progress
    with caplog.at_level(logging.ERROR):
        run(days)

    assert (None, ["问题1", "问题3"], [1, 1], 4) == (before, days.asked, days.learnt, days.planned)
    assert days.daily.progress is not None
    assert ("done", 1) == days.daily.progress[:2]
    assert 1 == caplog.text.count("whether it paid")


def test_plans_that_fail(run: Callable[[Days], None], caplog: pytest.LogCaptureFixture) -> None:
    """A plan that cannot be made is said, and made again later."""
    days = Days(fails=True)
    with caplog.at_level(logging.ERROR):
        run(days)

    assert (4, []) == (days.planned, days.asked)
    assert 4 == caplog.text.count("it could not be planned")


def test_cancelled_while_it_is_planned(run: Callable[[Days], None]) -> None:
    """What is cancelled while it is planned is not asked."""
    days = Days()
    days.planned = 2
    prepare = days.prepare

    def cancelling() -> tuple[Prewarm[str], float] | None:
        days.daily.cancel()
        return prepare()

    days.daily = Daily(cancelling, days.learn, wall=days.wall)
    run(days)

    assert ([], [], 3) == (days.asked, days.learnt, days.planned)


def test_cancelled_from_another_thread() -> None:
    """Who waits for a peak stops waiting, and asks nothing."""
    planned = threading.Event()

    def prepare() -> tuple[Prewarm[str], float]:
        planned.set()
        return Prewarm([("问题", None)], begins=1e6, wall=lambda: 0.0), 2e6

    asked: list[str] = []
    daily: Daily[str] = Daily(prepare, print, wall=lambda: 0.0)
    thread = threading.Thread(target=daily.run, args=(asked.append,), daemon=True)
    thread.start()
    assert planned.wait(10)
    daily.cancel()
    thread.join(10)

    assert (False, []) == (thread.is_alive(), asked)


def test_again_is_checked() -> None:
    """How long to wait must be a number."""
    with pytest.raises(ConfigurationError, match="again_s"):
        Daily(lambda: None, print, again_s=0)
