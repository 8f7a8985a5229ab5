from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest

from deepseek_sdk import CallOptions, Deadlines, Route
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._sse import Framer
from deepseek_sdk.backends.base import InProcess
from deepseek_sdk.errors import (
    CircuitOpenError,
    FirstTokenTimeout,
    StallTimeout,
    StreamInterruptedError,
    TotalTimeout,
)
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.routing.target import aim
from deepseek_sdk.stages import Routes
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

REQUEST = httpx2.Request("POST", "http://test.invalid")
CUT = ConnectionResetError("reset")


def failure(code: int) -> openai.APIStatusError:
    """Give openai's error for a status."""
    response = httpx2.Response(code, request=REQUEST)
    kind = {400: openai.BadRequestError, 401: openai.AuthenticationError}.get(code, openai.InternalServerError)
    return kind("no", response=response, body=None)


def target(name: str, backend: Any, *, is_last_resort: bool = False, **route: Any) -> InProcess:
    """Make a target of a scripted backend."""
    return InProcess(
        backend=backend,
        name=name,
        account=None if is_last_resort else Account(f"backend:{name}", name),
        read_timeout=None,
        is_last_resort=is_last_resort,
        route=Route(name, backend=backend, **route),
        context_window=None,
    )


async def ask(call: Call) -> Reply:
    """Answer at the end of the chain."""
    return await call.upstream.answer(call)  # type: ignore[no-any-return]


def travel(call: Call) -> Reply:
    """Send a call through the stage alone."""
    return finish(compose((Routes(),), ask)(call))


def call_to(*targets: InProcess, **changes: Any) -> Call:
    """Make a call that has targets, aimed at the first."""
    return aim(make_call(targets=targets, **changes), 0)


def text(reply: Reply) -> str:
    """Read a streamed answer to its end."""
    found = b""
    while part := finish(reply.next_bytes()):
        found += part
    return "".join(
        event.json()["choices"][0]["delta"].get("content") or ""
        for event in Framer().feed(found)
        if event.data != b"[DONE]"
    )


def test_a_failure_before_the_answer_is_the_next_targets_turn() -> None:
    """The second target is asked for its own model, and only the second answer is seen."""
    first, second = ScriptedBackend(failure(503)), ScriptedBackend(said("Hi"))
    call = call_to(target("a", first), target("b", second))

    assert "Hi" == text(travel(call))
    assert ["a", "b"] == [backend.calls[0].model for backend in (first, second)]


@pytest.mark.parametrize(
    "beginning",
    [[chunk(role="assistant"), CUT], [], [chunk(role="assistant"), chunk(finish="stop")], [60]],
    ids=["cut", "empty body", "empty answer", "silence"],
)
def test_a_failure_before_the_first_content_is_not_seen(beginning: list[Any]) -> None:
    """A stream that fails before its first content goes on at the next target, without a trace of the first."""
    first, second = ScriptedBackend([*beginning]), ScriptedBackend(said("Hi"))
    reply = travel(call_to(target("a", first), target("b", second)))

    assert "Hi" == text(reply)
    assert [False] == first.sources[0].endings


def test_a_failure_after_content_is_the_callers() -> None:
    """Once something was shown no other target is asked."""
    first, second = ScriptedBackend([chunk("He"), CUT]), ScriptedBackend(said("Hi"))
    reply = travel(call_to(target("a", first), target("b", second)))
    with pytest.raises(StreamInterruptedError) as caught:
        text(reply)

    assert ("He", []) == (caught.value.partial.text, second.calls)


def test_a_plain_call_goes_on_however_far_it_got() -> None:
    """Of a plain call nothing is shown before its end, so a cut after content is another target's turn."""
    first, second = ScriptedBackend([chunk("wrong"), CUT]), ScriptedBackend(said("right"))
    reply = travel(call_to(target("a", first), target("b", second), is_stream=False))

    assert b'"content": "right"' in finish(reply.gather())


def test_every_target_has_its_turn_once() -> None:
    """Failures before and within answers lead from one target to the next, and back to none."""
    backends = [ScriptedBackend(failure(500)), ScriptedBackend([CUT]), ScriptedBackend([60]), ScriptedBackend([CUT])]
    reply = travel(call_to(*(target(name, backend) for name, backend in zip("abcd", backends, strict=True))))
    with pytest.raises(StreamInterruptedError):
        text(reply)

    assert [1, 1, 1, 1] == [len(backend.calls) for backend in backends]


def test_a_refusal_stays_where_it_was_made() -> None:
    """What no target could accept is raised at once."""
    second = ScriptedBackend(said("Hi"))
    with pytest.raises(openai.BadRequestError):
        travel(call_to(target("a", ScriptedBackend(failure(400))), target("b", second)))

    assert [] == second.calls


def test_the_error_of_a_target_that_was_asked_tells_more() -> None:
    """Where the last targets were not asked at all, the caller gets the error of the last one that was."""
    closed = CircuitOpenError(request=REQUEST, account=Account("u", "m"), retry_in=1.0, is_cooling=False)
    call = call_to(target("a", ScriptedBackend(failure(503))), target("b", ScriptedBackend(closed)))
    with pytest.raises(openai.InternalServerError) as caught:
        travel(call)

    assert ["Asked: a (overloaded), b (circuit_open)"] == caught.value.__notes__


def test_clocks_are_short_where_another_target_could_take_over() -> None:
    """The last target has the time that a lone endpoint has; an explicit clock holds everywhere."""
    targets = [target(name, ScriptedBackend()) for name in "abc"]
    limits = [aim(make_call(targets=tuple(targets)), place).limits for place in range(3)]
    thinking = aim(make_call(targets=tuple(targets), body={"model": "a", "thinking": {"type": "disabled"}}), 0).limits
    chosen = CallOptions(deadlines=Deadlines(first_token=3, stall=2))
    explicit = [aim(make_call(targets=tuple(targets), options=chosen), place).limits for place in range(3)]

    assert [(30, 15), (30, 15), (inf, inf)] == [(limit.first_token, limit.stall) for limit in limits]
    assert (8, 15) == (thinking.first_token, thinking.stall)
    assert [(3, 2)] * 3 == [(limit.first_token, limit.stall) for limit in explicit]


def test_the_clocks_of_a_route_go_before_the_calls() -> None:
    """A route may have clocks of its own; what it leaves open is the call's."""
    slow = target("a", ScriptedBackend(), deadlines=Deadlines(first_token=60))
    options = CallOptions(deadlines=Deadlines(first_token=3, stall=2))
    limits = aim(make_call(targets=(slow, slow), options=options), 0).limits

    assert (60, 2) == (limits.first_token, limits.stall)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [False, True]),
        ({"plain": "direct"}, [True, True]),
        ({"plain": "stream"}, [False, False]),
        ({"priority": "batch"}, [True, True]),
        ({"deadlines": Deadlines(stall=3)}, [False, False]),
    ],
)
def test_plain_answers_are_folded_where_another_target_could_take_over(
    options: dict[str, Any], expected: list[bool]
) -> None:
    """Clocks need a stream to look at; the last target's answer, and batch work, is asked for whole."""
    targets = (target("a", ScriptedBackend()), target("b", ScriptedBackend()))
    call = make_call(targets=targets, is_stream=False, options=CallOptions(**options))

    assert expected == [aim(call, place).is_direct for place in range(2)]


def test_a_silent_target_is_left_when_its_time_is_up() -> None:
    """The first-token clock ends the wait, and the next target begins with a clock of its own."""
    io = VirtualIO()
    first, second = ScriptedBackend([600]), ScriptedBackend([20, *said("Hi")])
    reply = travel(call_to(target("a", first), target("b", second), io=io))

    assert "Hi" == text(reply)
    assert 50 == io.now()


@pytest.mark.parametrize("limit", [1, 40])
def test_the_time_of_the_call_is_all_there_is_for_all_targets(limit: float) -> None:
    """When the total clock runs out no model is asked any more, but a last resort answers."""
    options = CallOptions(deadlines=Deadlines(total=limit))
    models = [target("a", ScriptedBackend([600])), target("b", ScriptedBackend([600]))]
    with pytest.raises(TotalTimeout):
        text(travel(call_to(*models, options=options, is_stream=True)))

    models = [target("a", ScriptedBackend([600])), target("b", ScriptedBackend([600]))]
    rules = target("rules", ScriptedBackend(said("Later.")), is_last_resort=True)
    call = call_to(*models, rules, options=options, io=VirtualIO())
    assert "Later." == text(travel(call))
    assert (3, limit) == (call.record.degradation, call.io.now())


def test_a_target_that_is_last_and_stalls_is_the_callers_to_see() -> None:
    """What the last target did is raised as it is."""
    options = CallOptions(deadlines=Deadlines(first_token=5, stall=5))
    cases: list[tuple[list[Any], type[Exception]]] = [([600], FirstTokenTimeout), ([chunk("H"), 600], StallTimeout)]
    for script, kind in cases:
        first = ScriptedBackend(failure(500))
        with pytest.raises(kind):
            text(travel(call_to(target("a", first), target("b", ScriptedBackend(script)), options=options)))


def test_can_move_on_says_what_is_left() -> None:
    """Stages below learn whether another target, and whether a model's route, could take over."""
    rules = target("rules", ScriptedBackend(), is_last_resort=True)
    call = make_call(targets=(target("a", ScriptedBackend()), target("b", ScriptedBackend()), rules))
    told = [(aim(call, place).can_move_on, aim(call, place).can_move_on_to_route) for place in range(3)]

    assert [(True, True), (True, False), (False, False)] == told
