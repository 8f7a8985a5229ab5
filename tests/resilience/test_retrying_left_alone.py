"""Decisions about a route that is left alone: a call may wait for it, and that is no retry."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import tenacity

from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from tests.resilience.failures import decided, failed, opened

if TYPE_CHECKING:
    from deepseek_sdk.errors import CircuitOpenError


@pytest.mark.parametrize(
    ("error", "changes", "expected"),
    [
        (opened(9), {}, (9.9, "", 0)),
        (opened(9, is_cooling=False, may_wait=True), {}, (9.9, "", 0)),
        (opened(9, is_cooling=False), {}, (None, "not retryable", 0)),
        (opened(None), {}, (None, "not retryable", 0)),
        (opened(None, may_wait=True), {}, (None, "not retryable", 0)),
        (opened(9), {"can_move_on": True}, (None, "not retryable", 0)),
        (opened(9), {"is_inner": True}, (None, "nested", 0)),
        (opened(9), {"most": 0}, (9.9, "", 0)),
        (opened(9), {"retries": 2, "most": 2}, (9.9, "", 0)),
        (opened(9), {"ends_at": 110.9}, (None, "deadline", 0)),
        (opened(9), {"ends_at": 111.0}, (9.9, "", 0)),
        (opened(120), {}, (132, "", 0)),
        (opened(121), {}, (None, "retry-after too long", 0)),
        (opened(9), {"rounds": 7, "waited": 111.0}, (9.9, "", 0)),
        (opened(9), {"rounds": 7, "waited": 111.1}, (None, "retry-after too long", 0)),
        (opened(9), {"rounds": 99}, (9.9, "", 0)),
        (opened(9), {"rounds": 100}, (None, "left alone", 0)),
    ],
)
def test_whether_it_is_waited_for(error: CircuitOpenError, changes: Any, expected: Any) -> None:
    """It is where no other route can answer, within all limits of the call but its retries and the budget."""
    decision = decided(RetryPolicy(), failed(error, **changes), is_affordable=False)

    assert expected == (decision.wait if decision.wait is None else pytest.approx(decision.wait), *decision[1:])


@pytest.mark.parametrize(
    ("rounds", "expected"), [(0, 0.05), (1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (99, 1.0)]
)
def test_the_rounds_of_one_call(rounds: int, expected: float) -> None:
    """A circuit that says "now" each time is asked again after a moment that grows, and is not asked in a busy loop."""
    assert expected == decided(RetryPolicy(), failed(opened(0), rounds=rounds), chance=0.0).wait


def test_an_endless_wish() -> None:
    """A call that may wait for ever wakes up once a day."""
    assert 86_400 == decided(RetryPolicy(longest_retry_after=inf), failed(opened(1e300))).wait


@pytest.mark.parametrize("policy", [RetryPolicy(max_retries=0), RetryPolicy(wait=lambda _: 60.0)])
def test_what_has_no_say(policy: RetryPolicy) -> None:
    """The number of retries and the wait between them are about what was sent."""
    assert pytest.approx(9.9) == decided(policy, failed(opened(9))).wait


@pytest.mark.parametrize(
    ("rule", "retries", "now", "is_over"),
    [
        (tenacity.stop_after_attempt(1), 0, 101.0, False),
        (tenacity.stop_after_attempt(1), 1, 101.0, True),
        (tenacity.stop_after_delay(10), 0, 109.9, False),
        (tenacity.stop_after_delay(10), 0, 110.0, True),
        (tenacity.stop_before_delay(20), 0, 110.0, False),
        (tenacity.stop_before_delay(20), 0, 110.2, True),
    ],
)
def test_a_stop_is_asked(rule: Any, retries: int, now: float, is_over: bool) -> None:  # noqa: FBT001
    """A stop learns the time that has passed, and the attempts that were made: a wait for a route is none."""
    failure = failed(opened(9), retries=retries, now=now)
    decision = decided(RetryPolicy(stop=rule), failure)

    assert ("stop" if is_over else "") == decision.reason


@pytest.mark.parametrize("rule", [tenacity.retry_always, tenacity.retry_never])
def test_no_rule_opens_or_closes_a_circuit(rule: Any) -> None:
    """A rule about failures changes nothing about a route that was not asked."""
    policy = RetryPolicy(retry=rule)

    assert "not retryable" == decided(policy, failed(opened(9, is_cooling=False))).reason
    assert pytest.approx(9.9) == decided(policy, failed(opened(9))).wait
