from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import pytest
import tenacity

from deepseek_sdk.resilience.retrying.decision import Failure, backoff, decide, most_retries
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from tests.resilience.failures import NOW, date, decided, failed, refused


@pytest.mark.parametrize(
    ("policy", "max_retries", "can_move_on", "expected"),
    [
        (RetryPolicy(), 2, False, 2),
        (RetryPolicy(), 0, False, 0),
        (RetryPolicy(max_retries=5), 2, False, 5),
        (RetryPolicy(max_retries=0), 2, False, 0),
        (RetryPolicy(stop=tenacity.stop_never), 2, False, inf),
        (RetryPolicy(stop=tenacity.stop_never, max_retries=3), 2, False, 3),
        (RetryPolicy(), 2, True, 0),
        (RetryPolicy(before_moving_on=1), 2, True, 1),
        (RetryPolicy(before_moving_on=9), 2, True, 2),
        (RetryPolicy(before_moving_on=1), 0, True, 0),
        (RetryPolicy(before_moving_on=1, stop=tenacity.stop_never), 0, True, 1),
        (RetryPolicy(before_moving_on=1), 2, False, 2),
    ],
)
def test_how_often(policy: RetryPolicy, max_retries: int, can_move_on: bool, expected: float) -> None:  # noqa: FBT001
    """The policy's number stands before the call's; *stop* alone needs none; a further route makes it small."""
    assert expected == most_retries(policy, max_retries, can_move_on=can_move_on)


@pytest.mark.parametrize(
    ("retries", "chance", "expected"),
    [
        (0, 1.0, 0.5),
        (1, 1.0, 1.0),
        (2, 1.0, 2.0),
        (3, 1.0, 4.0),
        (4, 1.0, 4.0),
        (10_000, 1.0, 4.0),
        (2, 0.5, 1.0),
        (2, 0.0, 0.0),
    ],
)
def test_how_long_to_wait(retries: int, chance: float, expected: float) -> None:
    """Waits double up to 4 s and are spread by chance from nothing up."""
    assert expected == backoff(RetryPolicy(), retries, chance)


def test_waits_of_ones_own() -> None:
    """The first and the longest wait can be chosen."""
    policy = RetryPolicy(first_wait=0.001, longest_wait=20)

    assert [0.001, 0.002, 1.024, 16.384, 20] == [backoff(policy, retries, 1.0) for retries in (0, 1, 10, 14, 15)]


@pytest.mark.parametrize(
    ("asked", "retries", "chance", "expected"),
    [
        ("3", 0, 0.0, 3.0),
        ("3", 0, 1.0, 3.3),
        ("3", 9, 0.0, 3.0),
        ("3", 9, 1.0, 4.0),
        ("0", 0, 1.0, 0.5),
        ("0.001", 0, 0.5, 0.25),
        ("120", 0, 1.0, 132.0),
        (date(NOW + 30), 0, 1.0, 33.0),
    ],
)
def test_the_servers_wish_is_kept(asked: str, retries: int, chance: float, expected: float) -> None:
    """A server that asks for a wait is given it, up to a tenth more, and never less than without its wish."""
    failure = failed(refused(429, retry_after=asked), retries=retries, most=inf)

    assert pytest.approx(expected) == decided(RetryPolicy(), failure, chance=chance).wait


@pytest.mark.parametrize(
    ("asked", "longest", "expected"),
    [
        ("120.1", 120, (None, "retry-after too long", 120.1)),
        ("6", 5, (None, "retry-after too long", 6)),
        ("5", 5, (5, "", 0)),
        ("1e300", inf, (86_400, "", 0)),
    ],
)
def test_too_long_a_wish(asked: str, longest: float, expected: Any) -> None:
    """Beyond `longest_retry_after` the server is not asked again, and is to be left alone for as long as it said."""
    policy = RetryPolicy(longest_retry_after=longest)

    assert expected == decided(policy, failed(refused(429, retry_after=asked)), chance=0.0)


@pytest.mark.parametrize(
    ("error", "ends_at", "expected"),
    [
        (refused(503), 101.6, (0.5, "", 0)),
        (refused(503), 101.5, (None, "deadline", 0)),
        (refused(503), 90.0, (None, "deadline", 0)),
        (refused(429, retry_after="30"), 106.0, (None, "deadline", 30)),
        (refused(500, retry_after="30"), 106.0, (None, "deadline", 30)),
        (refused(429, retry_after="30"), 134.1, (33.0, "", 0)),
        (refused(429, retry_after="30"), 133.9, (None, "deadline", 30)),
    ],
)
def test_the_deadline_is_kept(error: Exception, ends_at: float, expected: Any) -> None:
    """No wait is begun that would end with, or after, the call's last instant."""
    assert expected == decided(RetryPolicy(), failed(error, ends_at=ends_at))


@pytest.mark.parametrize(
    ("status", "can_move_on", "retries", "expected"),
    [
        (429, True, 0, 30),
        (503, True, 0, 30),
        (500, True, 0, 0),
        (408, True, 0, 0),
        (429, False, 0, 0),
        (503, False, 0, 0),
    ],
)
def test_who_is_left_alone(status: int, can_move_on: bool, retries: int, expected: float) -> None:  # noqa: FBT001
    """A busy server that says when to come back is left alone that long where another route can answer meanwhile."""
    failure = failed(refused(status, retry_after="30"), most=0, retries=retries, can_move_on=can_move_on)

    assert (None, "max_retries", expected) == decided(RetryPolicy(), failure)


def test_an_inner_client_asks_once() -> None:
    """Where somebody further out asks again there is no retry here, however many there may be."""
    assert (None, "nested", 0) == decided(RetryPolicy(), failed(refused(503), most=inf, is_inner=True))


def test_the_order_of_reasons() -> None:
    """What can be said without asking anybody is said first, and the budget is touched last."""
    asked: list[str] = []

    def answer(name: str, value: Any, *_: Any) -> Any:
        asked.append(name)
        return value

    policy = RetryPolicy(
        retry=partial(answer, "retry", True), wait=partial(answer, "wait", 1.0), stop=partial(answer, "stop", False)
    )
    spend = partial(answer, "budget", True)
    decide(policy, failed(refused(503)), chance=1.0, epoch=NOW, spend=spend)

    assert ["retry", "wait", "stop", "budget"] == asked


@pytest.mark.parametrize(
    "failure",
    [
        failed(refused(503), retries=2),
        failed(refused(400)),
        failed(refused(503), ends_at=101.0),
        failed(refused(503, retry_after="500")),
    ],
)
def test_what_is_not_asked_again_costs_nothing(failure: Failure) -> None:
    """The budget is asked only for what would be done."""

    def spend() -> bool:
        raise AssertionError

    assert decide(RetryPolicy(), failure, chance=1.0, epoch=NOW, spend=spend).reason not in ("", "retry budget")


def test_an_empty_budget() -> None:
    """Without anything left in the budget nothing is asked again."""
    assert (None, "retry budget", 0) == decided(RetryPolicy(), failed(refused(503)), is_affordable=False)
