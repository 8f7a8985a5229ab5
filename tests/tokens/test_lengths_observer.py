from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from deepseek_sdk._attempt import Attempt
from deepseek_sdk._usage import Usage
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.tokens.lengths import LengthObserver, LengthTracker

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:1")
USAGE = Usage(hit=0, miss=10, output=50, reasoning=20)


@dataclass(kw_only=True)
class Call:
    """What the observer reads of a record."""

    attempts: list[Attempt] = field(default_factory=list)
    mode: str = "high"
    template: str | None = None


def attempt(account: Account | None = ACCOUNT, usage: Usage | None = USAGE, **more: object) -> Attempt:
    """Make an attempt that was answered by a build of the model."""
    given = {"outcome": "complete", "finish_reason": "stop", "ended": 3.0, "first_token": 1.5, **more}
    return Attempt(route="r", model="deepseek-flash-1017", started=1.0, account=account, usage=usage, **given)  # type: ignore[arg-type]


def test_complete_answers_are_learnt() -> None:
    """An answer counts for the model that was asked for, in its mode, with the times of its own attempt."""
    tracker = LengthTracker()
    observe = LengthObserver(tracker)
    for _ in range(30):
        observe(Call(attempts=[attempt(outcome="failed"), attempt()], template="摘要"))
    told = tracker.expect(model="deepseek-flash", mode="high", template="摘要")
    times = tracker.expect_seconds(model="deepseek-flash", mode="high")

    assert (30, 20, 30, "template") == (told.samples, told.reasoning.p50, told.content.p50, told.source)
    assert times is not None
    assert (0.5, 0.03) == (times.first_token, times.per_token)


@pytest.mark.parametrize(
    "left_out",
    [
        attempt(outcome="failed"),
        attempt(outcome="abandoned"),
        attempt(outcome="running", ended=None),
        attempt(is_estimated=True),
        attempt(usage=None),
        attempt(account=None),
    ],
    ids=["failed", "abandoned", "running", "estimated", "untold", "no model"],
)
def test_what_is_no_whole_answer_is_not_learnt(left_out: Attempt) -> None:
    """Only what a model's server told of a complete answer counts."""
    tracker = LengthTracker()
    LengthObserver(tracker)(Call(attempts=[left_out]))

    assert 0 == len(tracker)


def test_an_answer_that_met_its_limit_is_learnt_as_such() -> None:
    """The finish reason is that of the attempt."""
    tracker = LengthTracker()
    observe = LengthObserver(tracker)
    for _ in range(30):
        observe(Call(attempts=[attempt(finish_reason="length", first_token=None, ended=None)]))

    assert 30 == tracker.expect(model="deepseek-flash", mode="high").cut
    assert tracker.expect_seconds(model="deepseek-flash", mode="high") is None
