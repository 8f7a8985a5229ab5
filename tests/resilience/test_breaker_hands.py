from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.breaking.breaker import Refusal
from tests.resilience.breaker_world import World


def test_it_can_be_opened_and_closed_by_hand() -> None:
    """Opened by hand it stays open until a hand closes it, or for the time that was said."""
    world = World()
    world.breaker.open()
    world.now += 1e6
    assert ("open", "by hand", inf) == (world.state(), world.breaker.reason, world.breaker.retry_in)
    assert Refusal(inf, is_cooling=False) == world.refused()
    world.breaker.close()
    assert ("closed", None, None) == (world.state(), world.breaker.reason, world.breaker.retry_in)
    world.breaker.open(30)
    world.now += 30

    assert "half_open" == world.state()
    world.play("S")
    assert "closed" == world.state()


def test_a_reset_breaker_is_as_new() -> None:
    """After a reset nothing is remembered: no failures, no growth, no cooldown; and calls in flight do not count."""
    world = World()
    early = [world.go() for _ in range(5)]
    world.trip()
    world.now += 10
    world.play("F")
    world.breaker.cool_down(100)
    world.breaker.reset()
    assert ("closed", 0) == (world.state(), world.breaker.calls)
    for permit in early:
        permit.fail(world.now)
    assert world.breaker.is_idle
    world.trip()

    assert 10 == world.breaker.retry_in


@pytest.mark.parametrize("seconds", [-5, -0.1, nan, -inf, True, "30"])
def test_it_opens_for_no_time_that_cannot_be(seconds: Any) -> None:
    """An opening by hand of no number of seconds is refused by name, and changes nothing."""
    world = World()
    with pytest.raises(ConfigurationError, match=f"^seconds must be a number of seconds, 0 or more, not {seconds!r}$"):
        world.breaker.open(seconds)

    assert "closed" == world.state()


@pytest.mark.parametrize(("seconds", "expected"), [(0, ("half_open", 0)), (0.5, ("open", 0.5)), (inf, ("open", inf))])
def test_how_long_a_hand_opens_it(seconds: float, expected: tuple[str, float]) -> None:
    """No time at all asks for a probe at once; endless time is like none given: until a hand closes it."""
    world = World()
    world.breaker.open(seconds)

    assert expected == (world.state(), world.breaker.retry_in)


def test_a_cooldown_counts_from_when_it_is_told() -> None:
    """The instant may be that of another clock than the breaker's own, as long as calls are admitted by it, too."""
    world = World()
    world.breaker.cool_down(30, now=world.now + 5)

    assert Refusal(35, is_cooling=True) == world.refused()


@pytest.mark.parametrize(("asked", "expected"), [(30, 30), (120, 120), (86_400, 120), (inf, 120)])
def test_a_server_can_ask_to_be_left_alone(asked: float, expected: float) -> None:
    """T22: it is not asked for that time, two minutes at most, and then as if nothing had been: without a probe."""
    world = World()
    world.play("FFFF")
    world.breaker.cool_down(asked)
    assert Refusal(expected, is_cooling=True) == world.refused()
    assert ("open", "asked to be left alone") == (world.state(), world.breaker.reason)
    world.now += expected
    world.go()
    world.go()

    assert ("closed", None) == (world.state(), world.breaker.reason)


@pytest.mark.parametrize("asked", [0, -5, nan, -inf])
def test_no_cooldown(asked: float, caplog: pytest.LogCaptureFixture) -> None:
    """A server that asks for no cooldown, or for none that can be, gets none, and nobody hears of it."""
    world = World()
    world.breaker.cool_down(asked)

    assert ("closed", []) == (world.state(), caplog.messages)


def test_a_shorter_cooldown_does_not_end_a_longer_one() -> None:
    """Of several wishes the latest end counts."""
    world = World()
    world.breaker.cool_down(60)
    world.breaker.cool_down(5)

    assert 60 == world.breaker.retry_in


def test_calls_in_flight_count_during_a_cooldown() -> None:
    """A cooldown is no change of health: what fails in it opens the circuit, and then there is a probe."""
    world = World()
    permits = [world.go() for _ in range(5)]
    world.breaker.cool_down(60)
    for permit in permits:
        permit.fail(world.now)
    assert ("consecutive failures", 60) == (world.breaker.reason, world.breaker.retry_in)
    assert world.refused().is_cooling
    world.now += 60
    world.go()

    assert "half_open" == world.state()


def test_a_cooldown_while_half_open() -> None:
    """A probe that is told to come back later gives its lease back, and the next one waits as long as was asked."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go()
    world.breaker.cool_down(30)
    probe.neutral(world.now)
    assert Refusal(30, is_cooling=True) == world.refused()
    world.now += 30
    world.go()

    assert "half_open" == world.state()


def test_when_it_is_idle() -> None:
    """A breaker may be forgotten when a new one would do the same, and when nobody came back to probe."""
    world = World()
    assert world.breaker.is_idle
    permit = world.go()
    world.now += 100
    assert not world.breaker.is_idle
    permit.fail(world.now)
    assert not world.breaker.is_idle
    world.now += 60
    assert world.breaker.is_idle
    world.trip()
    assert not world.breaker.is_idle
    world.now += 69
    assert not world.breaker.is_idle
    world.now += 1

    assert world.breaker.is_idle
