from __future__ import annotations

import concurrent.futures
import gc
from math import inf
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk.errors import (
    FirstTokenTimeout,
    QueueTimeoutError,
    StallTimeout,
    TotalTimeout,
)
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, said
from tests.stages.breaker_world import (
    CUT,
    REQUEST,
    World,
    read,
    refused,
)

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (refused(500), True),
        (refused(503), True),
        (refused(408), True),
        (openai.APIConnectionError(request=REQUEST), True),
        (openai.APITimeoutError(REQUEST), True),
        (FirstTokenTimeout(request=REQUEST, limit=8), True),
        (QueueTimeoutError(request=REQUEST, limit=None), True),
        (StallTimeout(request=REQUEST, limit=15), True),
        (TotalTimeout(request=REQUEST, limit=60), False),
        (refused(429), False),
        (refused(400), False),
        (refused(401), False),
        (refused(402), False),
        (refused(404), False),
        (ValueError("ours"), False),
        ([CUT], True),
        ([chunk("shown"), CUT], True),
        ([chunk("shown"), chunk(finish="insufficient_system_resource")], True),
        ([{"error": {"message": "busy", "type": "server_error"}}], True),
        ([{"error": {"message": "bad", "type": "invalid_request_error"}}], False),
    ],
    ids=lambda value: getattr(value, "status_code", None) or type(value).__name__,
)
def test_which_failures_count(failure: Any, *, counts: bool) -> None:
    """What the table of errors calls a trip counts, before an answer or within it; nothing else counts at all."""
    world = World(ScriptedBackend(failure))
    with pytest.raises((openai.APIError, ValueError)):
        read(world.ask())

    assert (int(counts), int(counts)) == (world.breaker.calls, world.breaker.failures)
    assert 0 == world.breaker.in_flight


@pytest.mark.parametrize("error", [KeyboardInterrupt(), concurrent.futures.CancelledError(), GeneratorExit()])
def test_a_cancelled_call_counts_nothing(error: BaseException) -> None:
    """Whoever cancels a call says nothing about its server."""

    async def cancelled(_: Call) -> Reply:
        raise error

    world = World(cancelled)
    with pytest.raises(type(error)):
        world.ask()

    assert (0, 0) == (world.breaker.calls, world.breaker.in_flight)


def leave(reply: Reply, how: str) -> None:
    """Let go of an answer before its end."""
    if how == "close":
        finish(reply.close())
    else:
        reply.abandon()


@pytest.mark.parametrize("how", ["close", "abandon"])
@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([chunk(role="assistant")], 0),
        ([chunk("H")], 1),
        ([chunk(reasoning_content="H")], 1),
        ([chunk(role="assistant"), chunk("H"), chunk("i")], 1),
    ],
)
@pytest.mark.parametrize("can_move_on", [True, False])
def test_a_stream_that_is_left(events: list[Any], calls: int, how: str, *, can_move_on: bool) -> None:
    """A stream that its caller closes early, or drops, counts as one that went well, if its first token had come."""
    world = World(ScriptedBackend([*events, 1000, *said("i")]))
    reply = world.ask(can_move_on=can_move_on)
    for _ in events:
        finish(reply.next()) if calls else None
    leave(reply, how)

    assert (calls, 0, 0) == (world.breaker.calls, world.breaker.failures, world.breaker.in_flight)


@pytest.mark.parametrize("how", ["close", "abandon"])
def test_calls_that_are_left_early_do_not_make_a_server_look_dead(how: str) -> None:
    """Callers that have seen enough were served: one failure in five calls opens nothing, however long it goes on."""
    world = World(ScriptedBackend(*([[chunk("H"), *said("i")]] * 4 + [refused(503)]) * 20))
    for _ in range(20):
        for _ in range(4):
            reply = world.ask(can_move_on=False)
            finish(reply.next())
            leave(reply, how)
        assert "overloaded" == world.attempt(can_move_on=False)

    assert ("closed", 100, 20) == (world.state(), world.breaker.calls, world.breaker.failures)


@pytest.mark.parametrize(
    ("script", "error", "expected"),
    [
        ([10, *said("Hi")], TotalTimeout, (4, "open")),
        ([chunk("H"), 10, *said("i")], TotalTimeout, (5, "closed")),
        ([{"error": {"message": "bad", "type": "invalid_request_error"}}], openai.APIError, (4, "open")),
        ([chunk("H"), {"error": {"message": "bad", "type": "invalid_request_error"}}], openai.APIError, (5, "closed")),
    ],
)
def test_an_error_of_the_callers_after_the_first_token(
    script: list[Any], error: type[Exception], expected: tuple[int, str]
) -> None:
    """An answer that had begun, and that no fault of the server ended, ends a row of failures, too."""
    world = World(ScriptedBackend(*[refused(503)] * 4, script, refused(503)))
    for _ in range(4):
        world.attempt()
    with pytest.raises(error):
        read(world.ask(limits=Limits(first_token=inf, stall=inf, total=5)))
    calls = world.breaker.calls
    world.attempt()

    assert expected == (calls, world.state())


def test_a_stream_that_is_left_after_another_took_over() -> None:
    """What a call has seen of one account is no success of another that it was moved from."""
    world = World(ScriptedBackend([chunk(role="assistant"), CUT]))
    call = world.call()
    other = [chunk("H"), 1000, *said("i")]

    async def rescue(reply: Reply, _: Exception) -> Reply:
        return await ScriptedBackend(other)(reply.call)

    reply = finish(world.proceed(call))
    reply.rescue_with(rescue)
    finish(reply.next())
    finish(reply.close())

    assert (1, 1) == (world.breaker.calls, world.breaker.failures)


def test_a_dropped_probe_is_found_by_the_garbage_collector() -> None:
    """A probe that nobody reads any more gives its lease back when it is collected."""
    world = World(ScriptedBackend(*[refused(503)] * 5, [chunk("H")], said("Hi")))
    for _ in range(5):
        world.attempt()
    finish(world.io.sleep(10))

    class Holder:
        def __init__(self, reply: Reply) -> None:
            self.me, self.reply = self, reply

        def __del__(self) -> None:
            self.reply.abandon()

    Holder(world.ask())
    gc.collect()

    assert "complete" == world.attempt()


def test_results_of_before_the_trip_close_nothing() -> None:
    """T25: a stream that began before the circuit opened, and ends well after, leaves it open."""
    world = World(ScriptedBackend(said("Hi"), *[refused(503)] * 5))
    early = world.ask()
    for _ in range(5):
        world.attempt()
    read(early)

    assert "open" == world.state()
