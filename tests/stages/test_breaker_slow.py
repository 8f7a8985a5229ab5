from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.stages.breaker import CircuitBreaker
from deepseek_sdk.testing.scripted import ScriptedBackend, said
from tests.stages.breaker_world import (
    NOT_THINKING,
    THINKING,
    World,
    read,
)

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


@pytest.mark.parametrize(
    ("changes", "policy", "expected"),
    [
        ({"body": THINKING}, {}, 30),
        ({"body": NOT_THINKING}, {}, 8),
        ({"body": NOT_THINKING}, {"slow_first_token": 3}, 3),
        ({"body": THINKING}, {"slow_first_token": 3}, 3),
        ({"body": NOT_THINKING}, {"slow_first_token": None}, inf),
        ({"can_move_on": False}, {}, inf),
        ({"is_direct": True}, {}, inf),
        ({"can_move_on": False}, {"slow_first_token": 3}, inf),
    ],
)
def test_when_a_call_is_slow(changes: dict[str, Any], policy: dict[str, Any], expected: float) -> None:
    """A first token has its time where another target can take over and tokens are seen, else all the time there is."""
    in_time, late = (expected - 0.1, expected + 0.1) if expected < inf else (100, 1000)
    world = World(ScriptedBackend([in_time, *said("Hi")], [late, *said("Hi")]), **policy)
    read(world.ask(**changes))
    assert 0 == world.breaker.slow
    read(world.ask(**changes))

    assert int(expected < inf) == world.breaker.slow


def test_a_slow_primary_is_left() -> None:
    """T27: twenty streams without a first token open the circuit while all of them still wait."""
    world = World(ScriptedBackend(*[[100, *said("Hi")]] * 20))
    calls = [world.call(body=NOT_THINKING) for _ in range(20)]

    async def wait(io: Any, call: Call) -> None:
        reply = await world.proceed(call.replace(io=io))
        while await reply.next():
            pass

    for call in calls:
        world.io.spawn(lambda io, call=call: wait(io, call))
    finish(world.io.sleep(7.9))
    assert ("closed", 20) == (world.state(), world.breaker.calls)
    finish(world.io.sleep(0.2))

    assert "circuit_open" == world.attempt()
    assert "slow ratio" == world.breaker.reason


@pytest.mark.parametrize("changes", [{"can_move_on": False}, {"is_direct": True, "is_stream": False}])
def test_a_slow_endpoint_is_better_than_none(changes: dict[str, Any]) -> None:
    """Where nothing can take over, or no tokens are seen, slowness opens nothing."""
    world = World(ScriptedBackend(*[[20, *said("Hi")]] * 21))
    for _ in range(21):
        finish(world.ask(body=NOT_THINKING, **changes).gather())

    assert ("closed", 0) == (world.state(), world.breaker.slow)


@pytest.mark.parametrize(("silence", "slow"), [(0, 0), (7.9, 0), (8.1, 1)])
def test_a_caller_who_takes_his_time_does_not_make_a_server_slow(silence: float, slow: int) -> None:
    """A stream that is opened and read later is not slow: the server is waited for only while somebody reads."""
    world = World(ScriptedBackend([silence, *said("Hi")]))
    reply = world.ask(body=NOT_THINKING)
    finish(world.io.sleep(20))
    assert 0 == world.breaker.slow
    finish(reply.next())
    finish(world.io.sleep(20))
    read(reply)

    assert (1, slow) == (world.breaker.calls, world.breaker.slow)


def test_calls_in_a_queue_of_ours_are_not_slow() -> None:
    """Seconds spent between the stage and the wire, as in the limiter, are not the server's."""
    world = World(ScriptedBackend())

    async def queued(call: Call) -> Reply:
        await call.io.sleep(100)
        return await ScriptedBackend([7, *said("Hi")])(call)

    chain: Any = compose([CircuitBreaker(world.breakers)], queued)
    read(finish(chain(world.call(body=NOT_THINKING))))

    assert (1, 0) == (world.breaker.calls, world.breaker.slow)


@pytest.mark.parametrize("others", [0, 1, 3])
@pytest.mark.parametrize("is_begun_anew", [False, True])
def test_the_seconds_of_a_call_are_those_of_its_own_attempt(others: int, *, is_begun_anew: bool) -> None:
    """Neither attempts before, nor those of other routes for the same call, nor one that was taken back, count."""

    async def sent_after_a_while(call: Call) -> Reply:
        await call.io.sleep(20)
        for _ in range(others):
            call.record.begin(route="hedge", model="m", now=call.io.now() - 15)
        first = call.record.begin(route="scripted", model="m", now=call.io.now())
        if is_begun_anew:
            await call.io.sleep(6)
            call.record.attempts.remove(first)
            call.record.begin(route="scripted", model="m", now=call.io.now())
        await call.io.sleep(100)
        return await ScriptedBackend(said("Hi"))(call)

    world = World(sent_after_a_while)
    call = world.call(body=NOT_THINKING)
    for _ in range(others):
        call.record.begin(route="scripted", model="m", now=world.io.now())
    finish(world.io.sleep(15))
    world.io.spawn(lambda io: world.proceed(call.replace(io=io)))
    found = []
    for seconds in (19, 8, 6, 2):
        finish(world.io.sleep(seconds))
        found.append((world.breaker.calls, world.breaker.slow))

    assert [(1, 0), (1, 0), (1, 0 if is_begun_anew else 1), (1, 1)] == found
