from __future__ import annotations

import pytest

from deepseek_sdk.resilience.breaking.breaker import Permit, Refusal
from tests.resilience.breaker_world import World


@pytest.mark.parametrize(
    ("chance", "expected"),
    [(0.5, [10, 20, 40, 80, 120, 120]), (0.0, [9, 18, 36, 72, 108, 108]), (1.0, [11, 22, 44, 88, 132, 132])],
)
def test_how_long_it_stays_open(chance: float, expected: list[float]) -> None:
    """Each probe that fails doubles the time up to two minutes, spread by chance over 10 % either way."""
    world, found = World(lambda: chance), []
    world.trip()
    for _ in expected:
        found.append(world.breaker.retry_in)
        world.now += found[-1] or 0
        assert "half_open" == world.state()
        world.play("F")

    assert pytest.approx(expected) == found


@pytest.mark.parametrize(("healthy_for", "expected"), [(0, 20), (59, 20), (60, 10), (600, 10)])
def test_growth_is_forgotten(healthy_for: float, expected: float) -> None:
    """After a whole window without trouble an opening is a first one again."""
    world = World()
    world.trip()
    world.now += 10
    world.play("S")
    world.now += healthy_for
    world.trip()

    assert expected == world.breaker.retry_in


def test_growth_is_forgotten_before_a_hand_opens() -> None:
    """An outage of long ago makes the probe after an opening by hand no more expensive."""
    world = World()
    world.trip()
    world.now += 10
    world.play("S")
    world.now += 600
    world.breaker.open(5)
    world.now += 5
    world.play("F")

    assert 10 == world.breaker.retry_in


def test_growth_of_hundreds_of_openings() -> None:
    """An outage of days is no arithmetic error."""
    world = World(growth=1e100)
    world.trip()
    for _ in range(500):
        world.now += world.breaker.retry_in or 0
        world.play("F")

    assert 120 == world.breaker.retry_in


def test_one_probe_at_a_time() -> None:
    """T25: when the time is over one call goes, and all others are told to ask again soon."""
    world = World()
    world.trip()
    assert Refusal(10, is_cooling=False) == world.refused()
    world.now += 10
    world.go(lease=23)

    assert Refusal(0.25, is_cooling=False) == world.refused()
    assert ("half_open", 0.25) == (world.state(), world.breaker.retry_in)


@pytest.mark.parametrize(
    ("lease", "out_for", "expected"),
    [(45, 0.1, 0.25), (45, 1, 1), (45, 4, 4), (45, 12, 10), (45, 44.5, 0.5), (0.125, 0, 0.125)],
)
def test_when_to_ask_again_while_a_probe_is_out(lease: float, out_for: float, expected: float) -> None:
    """After as long as it has been out already; never later than its lease ends, or than a whole opening."""
    world = World()
    world.trip()
    world.now += 10
    world.go(lease=lease)
    world.now += out_for

    assert Refusal(expected, is_cooling=False) == world.refused()


@pytest.mark.parametrize("seconds", [0.01, 0.3, 1, 3, 8, 20, 44])
def test_who_does_as_told_waits_little_and_asks_seldom(seconds: float) -> None:
    """Calls that ask again when they are told to go soon after the probe has brought its first token."""
    world = World(open_for=30)
    world.trip()
    world.now += 30
    began, probe, asked = world.now, world.go(lease=45), 0
    while isinstance(answer := world.breaker.admit(world.now), Refusal):
        asked += 1
        if world.now + answer.retry_in >= began + seconds:
            probe.first_token(began + seconds)
        world.now += answer.retry_in

    assert isinstance(answer, Permit)
    assert world.now - began <= 2 * seconds + 0.25
    assert asked <= 9


@pytest.mark.parametrize(("seconds", "is_cooling"), [(0.125, False), (30, True)])
def test_a_cooldown_while_a_probe_is_out(seconds: float, *, is_cooling: bool) -> None:
    """Of both waits the longer one counts."""
    world = World()
    world.trip()
    world.now += 10
    world.go()
    world.breaker.cool_down(seconds)

    assert Refusal(max(seconds, 0.25), is_cooling=is_cooling) == world.refused()


def test_the_first_token_of_a_probe_closes() -> None:
    """A probe that begins to answer closes the circuit at once, and goes on as an ordinary call."""
    world = World(consecutive_failures=2)
    world.play("FF")
    world.now += 10
    probe = world.go()
    probe.first_token(world.now)
    assert ("closed", 1, 0) == (world.state(), world.breaker.calls, world.breaker.failures)
    probe.fail(world.now)
    world.play("F")

    assert "consecutive failures" == world.breaker.reason


def test_a_probe_that_is_refused_after_its_token() -> None:
    """A probe that has closed the circuit is taken back like any other call, from where it was counted."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go()
    world.now += 20
    probe.first_token(world.now)
    probe.neutral(world.now)
    found = []
    for _ in range(12):
        found.append(world.breaker.calls)
        world.now += 6

    assert [0] * 12 == found


def test_a_probe_that_its_caller_leaves_after_its_token() -> None:
    """It has closed the circuit, and counts as a call that went well."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go()
    probe.first_token(world.now)
    probe.abandon(world.now, has_token=True)

    assert ("closed", 1, 0, 0) == (world.state(), world.breaker.calls, world.breaker.failures, world.breaker.in_flight)


def test_a_slow_probe_does_not_close() -> None:
    """A first token that comes late shows no recovery; the circuit opens for longer."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go(slow_after=8, lease=23)
    world.now += 9
    probe.first_token(world.now)
    probe.succeed(world.now)

    assert ("open", "probe failed", 20) == (world.state(), world.breaker.reason, world.breaker.retry_in)


@pytest.mark.parametrize("end", ["neutral", "never"])
def test_it_is_never_stuck_half_open(end: str) -> None:
    """T24: a probe that says nothing gives its lease back, and one that never returns loses it."""
    world = World()
    world.trip()
    world.now += 10
    first = world.go(lease=23)
    if end == "neutral":
        first.neutral(world.now)
    else:
        world.now += 23
    assert "half_open" == world.state()
    world.go().succeed(world.now)

    assert "closed" == world.state()


@pytest.mark.parametrize("outcome", ["succeed", "fail", "first_token"])
def test_a_probe_that_lost_its_lease_is_not_heard(outcome: str) -> None:
    """T24, T25: how the former probe ends does not matter once another has taken its place."""
    world = World()
    world.trip()
    world.now += 10
    first = world.go(lease=23)
    world.now += 23
    world.go(lease=23)
    getattr(first, outcome)(world.now)

    assert "half_open" == world.state()
    assert Refusal(0.25, is_cooling=False) == world.refused()


def test_a_late_probe_is_heard_while_nobody_else_came() -> None:
    """A lease that has run out ends the probe only when there is another."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go(lease=23)
    world.now += 40
    probe.first_token(world.now)

    assert "closed" == world.state()
