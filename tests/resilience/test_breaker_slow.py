from __future__ import annotations

import pytest

from tests.resilience.breaker_world import World


def test_a_call_is_slow_when_it_becomes_slow() -> None:
    """T27: calls without a first token count when it is overdue, however long they go on waiting."""
    world = World()
    permits = [world.go(slow_after=8) for _ in range(20)]
    world.now += 7.9
    assert ("closed", 0) == (world.state(), world.breaker.slow)
    for permit in permits[:9]:
        permit.first_token(world.now)
    world.now += 0.2
    assert ("closed", 11) == (world.state(), world.breaker.slow)
    late = [world.go(slow_after=2) for _ in range(10)]
    world.now += 2.1

    assert "slow ratio" == world.breaker.reason
    assert world.refused().retry_in == pytest.approx(10)
    assert not any(permit.is_settled for permit in permits + late)


def test_slowness_is_seen_by_the_next_call() -> None:
    """The call that comes after enough others have become slow is the first to be refused."""
    world = World()
    for _ in range(20):
        world.go(slow_after=8)
    world.now += 8

    assert not world.refused().is_cooling
    assert "slow ratio" == world.breaker.reason


@pytest.mark.parametrize("looks", [0, 1])
def test_a_late_first_token_is_slow(looks: int) -> None:
    """A call whose token comes late is slow, once, whether or not somebody looked while it was overdue."""
    world = World(slow_ratio=None)
    permit = world.go(slow_after=8)
    world.now += 9
    assert looks == sum(world.breaker.slow for _ in range(looks))
    permit.first_token(world.now)
    permit.succeed(world.now)

    assert (1, 0, 1) == (world.breaker.calls, world.breaker.failures, world.breaker.slow)


def test_a_slow_call_that_is_given_up_was_slow() -> None:
    """A caller who gives up because nothing comes does not hide that nothing came."""
    world = World()
    world.play("S")
    permit = world.go(slow_after=8)
    world.now += 9
    permit.neutral(world.now)

    assert (2, 1) == (world.breaker.calls, world.breaker.slow)


def test_waiting_in_our_own_queue_is_not_slow() -> None:
    """Seconds count from when a call was sent, which may be long after it was let through."""
    world = World()
    sent: list[float] = []
    world.go(slow_after=8, begun=lambda: sent[-1] if sent else None)
    world.now += 100
    assert 0 == world.breaker.slow
    sent.append(world.now)
    world.now += 7
    assert 0 == world.breaker.slow
    world.now += 1

    assert 1 == world.breaker.slow


class Busy:
    """A clock of a call whose caller is elsewhere from time to time."""

    def __init__(self, *, away: float = 0.0, paused_at: float | None = None) -> None:
        self.away = away
        self.paused_at = paused_at


def test_a_caller_who_does_not_read_is_not_the_servers_slowness() -> None:
    """While the caller has not asked for the next event, the server is not waited for."""
    world = World()
    permit = world.go(slow_after=8)
    permit.wait = busy = Busy(paused_at=world.now + 1)
    world.now += 100
    assert 0 == world.breaker.slow
    busy.away, busy.paused_at = 99, None
    world.now += 6
    assert 0 == world.breaker.slow
    world.now += 1

    assert 1 == world.breaker.slow


def test_a_token_is_not_late_because_of_the_caller() -> None:
    """A first token that lay ready while the caller was busy came in time."""
    world = World()
    permit = world.go(slow_after=8)
    permit.wait = Busy(away=95)
    world.now += 100
    permit.first_token(world.now)

    assert 0 == world.breaker.slow


def test_permits_do_not_pile_up() -> None:
    """Of calls that have ended nothing is kept until their first token would have been overdue."""
    world = World()
    for _ in range(10_000):
        permit = world.go(slow_after=30, begun=lambda: None)
        permit.wait = Busy()
        permit.first_token(world.now)
        permit.succeed(world.now)
        assert [None, None] == [getattr(permit, name) for name in ("begun", "wait")]

    assert len(world.breaker._guarded.circuit.awaited) < 100


def test_calls_in_flight_are_kept_until_they_are_overdue() -> None:
    """Tidying up after calls that have ended loses none of those that wait, in whatever order they are due."""
    world, found = World(slow_ratio=None), []
    # Each of 1 to 50 s eight times, in no order.
    for due_in in [number * 37 % 50 + 1 for number in range(400)]:
        world.go(slow_after=due_in)
        for _ in range(3):
            world.go(slow_after=due_in % 17 + 1).succeed(world.now)
    for _ in range(50):
        world.now += 1
        found.append(world.breaker.slow)

    assert [8 * passed for passed in range(1, 51)] == found


def test_of_a_former_state_nothing_is_awaited() -> None:
    """What was slow before a change of state counts no more, and is not kept either."""
    world = World(slow_ratio=None)
    for _ in range(100):
        world.go(slow_after=8)
    world.breaker.reset()
    world.now += 9

    assert (0, 0) == (world.breaker.slow, len(world.breaker._guarded.circuit.awaited))
