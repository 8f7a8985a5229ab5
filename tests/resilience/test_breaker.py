from __future__ import annotations

from typing import Any

import pytest

from tests.resilience.breaker_world import World


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ("FFFF", None),
        ("FFFFF", "consecutive failures"),
        ("FFFFS" * 3 + "FFFF", None),
        ("FFFFNF", "consecutive failures"),
        ("FNFNFNFNFN"[:9], "consecutive failures"),
        ("N" * 100, None),
        ("SF" * 9 + "S", None),
        ("SF" * 10, "error ratio"),
        ("SSF" * 20, None),
        ("S" * 15 + "FFFF", None),
        ("N" * 15 + "FFFF", None),
        # Neutral calls neither thin out the failures nor help to reach the minimum.
        ("SFNNN" * 9, None),
        ("SFNNN" * 9 + "SF", "error ratio"),
        ("S" * 40, None),
        # Whoever leaves an answer that has begun was served: the row ends, and the call counts among the others.
        ("FFFFL" * 3 + "FFFF", None),
        ("LLLLF" * 30, None),
        ("LF" * 9, None),
        ("LF" * 10, "error ratio"),
    ],
)
def test_what_opens_a_circuit(outcomes: str, reason: str | None) -> None:
    """Five failures in a row or half of twenty calls open it; a call that says nothing counts neither way."""
    world = World()
    world.play(outcomes)

    assert reason == world.breaker.reason
    assert ("closed" if reason is None else "open") == world.state()


@pytest.mark.parametrize(
    ("policy", "outcomes", "is_open"),
    [
        ({"consecutive_failures": None}, "F" * 19, False),
        ({"consecutive_failures": None}, "F" * 20, True),
        ({"consecutive_failures": None, "error_ratio": None}, "F" * 50, False),
        ({"consecutive_failures": 1}, "F", True),
        ({"consecutive_failures": None, "minimum_calls": 4}, "SSFF", True),
        ({"consecutive_failures": None, "minimum_calls": 4, "error_ratio": 0.6}, "SSFF", False),
        ({"consecutive_failures": None, "minimum_calls": 4, "error_ratio": 1}, "FFFF", True),
    ],
)
def test_rules_can_be_changed(policy: dict[str, Any], outcomes: str, *, is_open: bool) -> None:
    """Each number of the policy is obeyed, and None switches its rule off."""
    world = World(**policy)
    world.play(outcomes)

    assert is_open == (world.state() == "open")


def test_failures_and_429s_in_turn() -> None:
    """T26: a 429 is no success: it does not interrupt a row of failures."""
    world = World()
    world.play("FN" * 4)
    assert "closed" == world.state()
    world.play("F")

    assert "open" == world.state()


def test_failures_of_long_ago_are_no_row() -> None:
    """Failures make a row only within the window: an account that is rarely asked is not held to old ones."""
    world = World()
    for _ in range(9):
        world.play("F")
        world.now += 61

    assert "closed" == world.state()


def test_a_first_token_ends_no_row() -> None:
    """T27: a call that has begun well is no success yet; its failure, long after, counts."""
    world = World()
    for _ in range(5):
        permit = world.go()
        permit.first_token(world.now)
        permit.fail(world.now)

    assert "consecutive failures" == world.breaker.reason


@pytest.mark.parametrize(("has_token", "calls", "state"), [(True, 6, "closed"), (False, 5, "open")])
def test_a_call_that_is_left(calls: int, state: str, *, has_token: bool) -> None:
    """A caller who leaves an answer that had begun was served, which ends a row; before that, nothing is known."""
    world = World()
    world.play("FFFF")
    permit = world.go()
    permit.abandon(world.now, has_token=has_token)
    permit.fail(world.now)
    world.play("F")

    assert (state, calls, 5, 0) == (world.state(), world.breaker.calls, world.breaker.failures, world.breaker.in_flight)


def test_calls_count_when_they_are_let_through() -> None:
    """T27: during an outage with calls longer than the window, the first failures open the circuit."""
    world = World(consecutive_failures=None)
    permits = [world.go() for _ in range(40)]
    world.now += 70
    for permit in permits[:19]:
        permit.fail(world.now)
    assert "closed" == world.state()
    permits[19].fail(world.now)

    assert "error ratio" == world.breaker.reason


def test_a_ratio_is_never_above_one() -> None:
    """Calls of before the window that fail in it count as calls of it, so failures never outnumber calls."""
    world = World(consecutive_failures=None, error_ratio=None)
    permits = [world.go(slow_after=8) for _ in range(9)]
    world.now += 70
    for permit in permits:
        permit.fail(world.now)

    assert (9, 9, 9) == (world.breaker.calls, world.breaker.failures, world.breaker.slow)


def test_a_permit_is_settled_once() -> None:
    """Of what a permit is told only the first counts."""
    world = World(consecutive_failures=2)
    permit = world.go()
    permit.fail(world.now)
    permit.fail(world.now)
    permit.succeed(world.now)

    assert ("closed", 1) == (world.state(), world.breaker.failures)


def test_a_permit_is_settled_once_by_many() -> None:
    """Of what several threads tell while the breaker is busy, too, only the first counts."""
    world = World(consecutive_failures=2)
    permit = world.go()
    with world.breaker._guarded.serial.lock:
        permit.fail(world.now)
        permit.fail(world.now)
        assert not permit.is_settled

    assert ("closed", 1, 0) == (world.state(), world.breaker.failures, world.breaker.in_flight)


def test_stale_results_are_not_heard() -> None:
    """T25: successes and failures of calls from before a change of state change nothing."""
    world = World()
    slow = [world.go() for _ in range(10)]
    world.trip()
    slow.pop().succeed(world.now)
    assert "open" == world.state()
    world.now += 10
    slow.pop().succeed(world.now)
    assert "half_open" == world.state()
    world.play("S")
    for permit in slow:
        permit.fail(world.now)

    assert ("closed", 0) == (world.state(), world.breaker.failures)
