"""What counts as a row of failures, and when a row is enough."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaking.breaker import Breaker
from deepseek_sdk.resilience.breaking.policy import BreakerPolicy

if TYPE_CHECKING:
    from deepseek_sdk.resilience.breaking.permit import Permit


def breaker(**policy: float) -> Breaker:
    """Make a breaker whose clock stands still."""
    return Breaker(Account("http://a.invalid", "m"), BreakerPolicy(**policy), now=lambda: 0.0)  # type: ignore[arg-type]


def attempt(on: Breaker, call: object, *, is_alone: bool = False) -> Permit | None:
    """Let an attempt of a call through."""
    permit = on.admit(0.0)
    if isinstance(permit, tuple):
        return None
    permit.call, permit.is_alone = call, is_alone
    return permit


def fail(on: Breaker, call: object, *, is_alone: bool = False) -> bool:
    """Let an attempt fail; False where it was not let through."""
    permit = attempt(on, call, is_alone=is_alone)
    if permit is not None:
        permit.fail(0.0)
    return permit is not None


def test_the_attempts_of_one_call_are_one_failure() -> None:
    """However often a call is repeated, a row of failures counts it once; calls that take turns count once each."""
    guarded, calls = breaker(minimum_calls=1000), [object() for _ in range(5)]
    for _ in range(6):
        for call in calls[:4]:
            assert fail(guarded, call)

    assert "closed" == guarded.state
    assert fail(guarded, calls[4])
    assert ("open", "consecutive failures") == (guarded.state, guarded.reason)


def test_an_attempt_without_a_call_is_a_call() -> None:
    """Where nobody says what belongs together, each attempt counts."""
    guarded = breaker()
    told = [fail(guarded, None) for _ in range(6)]

    assert [True] * 5 + [False] == told


@pytest.mark.parametrize(("good", "state"), [(0, "open"), (5, "open"), (6, "closed"), (100, "closed")])
def test_where_nothing_else_can_answer_a_row_is_not_enough(good: int, state: str) -> None:
    """A server that is alone is shut out only where at least half of the last minute's calls failed as well."""
    alone, chain = breaker(minimum_calls=1000), breaker(minimum_calls=1000)
    for guarded, is_alone in ((alone, True), (chain, False)):
        for _ in range(good):
            if (permit := attempt(guarded, object(), is_alone=is_alone)) is not None:
                permit.succeed(0.0)
        for _ in range(5):
            fail(guarded, object(), is_alone=is_alone)

    assert (state, "open") == (alone.state, chain.state)


def test_a_flaky_server_that_is_alone_is_not_shut_out() -> None:
    """Where three of ten attempts fail at random, nearly all calls of a lone client are let through."""
    draw, refused = random.Random(7), 0  # noqa: S311  repeatable
    guarded = breaker()
    for _ in range(2000):
        permit = attempt(guarded, object(), is_alone=True)
        if permit is None:
            refused += 1
        elif draw.random() < 0.3:
            permit.fail(0.0)
        else:
            permit.succeed(0.0)

    assert 0 == refused
