"""The stage alone, in virtual time: what it asks, when, and what it leaves behind. See also tests/test_parse.py."""

from __future__ import annotations

import contextlib
import gc
import json
import weakref
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._call import CallOptions
from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import EmptyAnswerError, OutputInvalidError, TotalTimeout
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.stages import Retry
from deepseek_sdk.stages import repair as module
from deepseek_sdk.stages.repair import StructuredOutput
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said, whole
from deepseek_sdk.testing.virtual import VirtualIO
from tests.raw_server import completion
from tests.resilience.failures import refused
from tests.stages.retrying import target

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
BOUND = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}
LOOSE = {"response_format": {"type": "json_object"}}
GOOD = said('{"a": 1}')
EMPTY = [chunk(role="assistant"), chunk(finish="stop")]


def call_for(wanted: dict[str, Any], **changes: Any) -> Call:
    """Make a plain call that wants JSON."""
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}], **wanted}
    return make_call(**{"body": body, "is_stream": False, **changes})


def chain(backend: Any, **retry: Any) -> Any:
    """Put the stage before the one that retries, and a backend."""
    return compose([StructuredOutput(), Retry(RetryPolicy(**retry), chance=lambda: 1.0)], backend)


def content(reply: Reply) -> Any:
    """Read the content of a plain answer."""
    return json.loads(finish(reply.gather()))["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        ({}, {}),
        (LOOSE, {"is_stream": True}),
        (LOOSE, {"path": "/completions"}),
        (LOOSE, {"options": CallOptions(lint="off")}),
        ({**LOOSE, "n": 2}, {}),
        ({"response_format": {"type": "text"}}, {}),
    ],
)
def test_what_passes(wanted: dict[str, Any], changes: dict[str, Any]) -> None:
    """What wants no JSON, a stream, several answers or no repairs passes as it is."""
    backend, call = ScriptedBackend(said("no")), call_for(wanted, **changes)
    finish(compose([StructuredOutput()], backend)(call))

    assert call is backend.calls[0]


def test_the_second_try_needs_no_wait_and_no_retry() -> None:
    """Asking again is no retry: it waits for nothing, and a call whose retries are used up has it all the same."""
    io, backend = VirtualIO(), ScriptedBackend(said("no"), GOOD)
    reply = finish(chain(backend)(call_for(BOUND, io=io, max_retries=0)))

    assert ('{"a": 1}', []) == (content(reply), io.slept)


def test_either_try_may_be_retried() -> None:
    """What fails on the way is retried as ever, within each try."""
    io, backend = VirtualIO(), ScriptedBackend(refused(503), said("no"), refused(503), GOOD)
    reply = finish(chain(backend)(call_for(BOUND, io=io, max_retries=1)))

    assert ('{"a": 1}', [0.5, 0.5]) == (content(reply), io.slept)


def test_whole_bodies_are_judged_like_streams() -> None:
    """How the answer is read from the server makes no difference."""
    backend = ScriptedBackend([whole(completion("{"))], [whole(completion('{"a": 1,}'))])
    call = call_for(BOUND, is_direct=True)

    assert '{"a": 1}' == content(finish(chain(backend)(call)))
    assert [
        "structured output: asked again: the answer was invalid",
        "structured output: mended: trailing comma",
    ] == call.record.repairs


def test_empty_twice_is_retried_then() -> None:
    """What is empty in other words, too, is for the retries; at the end it is an error of its kind."""
    io, backend = VirtualIO(), ScriptedBackend(*[EMPTY] * 4)
    with pytest.raises(OutputInvalidError) as caught:
        content(finish(chain(backend)(call_for(BOUND, io=io, max_retries=2))))

    assert ("empty", 4, [0.5, 1]) == (caught.value.kind, len(backend.calls), io.slept)
    assert isinstance(caught.value.__cause__, EmptyAnswerError)


def test_an_empty_answer_may_be_one() -> None:
    """Where the caller takes empty answers, one is."""
    for wanted in (BOUND, LOOSE):
        backend = ScriptedBackend(EMPTY)
        call = call_for(wanted, options=CallOptions(on_empty="accept"))

        assert "" == content(finish(chain(backend)(call)))


def test_the_total_deadline_is_for_both_tries() -> None:
    """The second try has what the first has left; when time is up, that is the error."""
    io, backend = VirtualIO(), ScriptedBackend([6, *said("no")], [6, *GOOD])
    call = call_for(BOUND, io=io, limits=Limits(first_token=inf, stall=inf, total=10))
    with pytest.raises(TotalTimeout):
        content(finish(chain(backend)(call)))

    assert 10 == io.now()


def test_time_is_up_in_json_mode() -> None:
    """In JSON mode the answer that has come is better than none."""
    io, backend = VirtualIO(), ScriptedBackend([6, *said("no")], [6, *GOOD])
    call = call_for(LOOSE, io=io, limits=Limits(first_token=inf, stall=inf, total=10))

    assert "no" == content(finish(chain(backend)(call)))
    assert "stop" == call.record.finish_reason
    assert "structured output: left as it came: invalid" == call.record.repairs[-1]


class Leaving(BaseException):
    """The caller goes."""


@pytest.mark.parametrize("wanted", [BOUND, LOOSE])
def test_a_call_that_is_cancelled_between_the_tries(wanted: dict[str, Any]) -> None:
    """A cancellation is passed on: nothing more is asked, and nothing comes in its place."""
    backend = ScriptedBackend(said("no"))

    async def leave(call: Call) -> Reply:
        if backend.calls:
            raise Leaving
        return await backend(call)

    with pytest.raises(Leaving):
        content(finish(compose([StructuredOutput()], leave)(call_for(wanted))))


def test_a_last_resort_is_not_asked_again() -> None:
    """What a rule engine says it would say again: it is left, or an error, at once."""

    class Rules(ScriptedBackend):
        async def __call__(self, call: Call) -> Reply:
            call.record.degradation = 3
            return await super().__call__(call)

    backend = Rules(said("Busy."), said("Busy."))

    assert "Busy." == content(finish(chain(backend)(call_for(LOOSE))))
    with pytest.raises(OutputInvalidError):
        content(finish(chain(backend)(call_for(BOUND))))
    assert 2 == len(backend.calls)


def test_a_second_try_that_is_cut() -> None:
    """A second try that breaks off in the middle leaves the first answer, or the error about it."""
    cut: list[Any] = [chunk('{"a"'), ConnectionResetError("reset")]

    assert "no" == content(finish(chain(ScriptedBackend(said("no"), cut))(call_for(LOOSE))))
    with pytest.raises(OutputInvalidError) as caught:
        content(finish(chain(ScriptedBackend(said("no"), cut))(call_for(BOUND))))
    assert "no" == caught.value.raw
    assert ["It was asked for once more, and that failed: interrupted"] == caught.value.__notes__


def test_a_first_try_that_fails() -> None:
    """What fails before there is an answer is the error that it is."""
    for steps in (refused(400), [ConnectionResetError("reset")]):
        with pytest.raises((openai.BadRequestError, openai.APIConnectionError)):
            content(finish(chain(ScriptedBackend(steps))(call_for(BOUND))))


def test_a_limit_that_cannot_grow() -> None:
    """An answer that was cut at the most that a server gives comes as it is."""
    backend = ScriptedBackend([chunk('{"a"'), chunk(finish="length")])
    call = call_for({**BOUND, "max_tokens": 393_216})

    assert '{"a"' == content(finish(chain(backend)(call)))
    assert ["structured output: left as it came: truncated"] == call.record.repairs


def test_a_call_beside_a_schema() -> None:
    """Where tools are offered beside a schema, a call of one is an answer."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    backend = ScriptedBackend([whole(completion("", "tool_calls", tool_calls=[call]))])

    assert "" == content(finish(chain(backend)(call_for({**BOUND, "tools": tools}, is_direct=True))))


def test_reports_hold_nothing_of_the_answer() -> None:
    """The lines of the report tell what was done, not what was said: they go into logs."""
    backend = ScriptedBackend(said("SECRET"), said('```\n{"a": "SECRET"}\n```'))
    call = call_for(BOUND)
    with pytest.raises(OutputInvalidError):
        content(finish(chain(backend)(call)))

    assert "SECRET" not in str(call.record.repairs)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_it_runs_in_both_colours(colour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same stage serves the sync client and an event loop, on which it imports nothing."""
    monkeypatch.setattr(module, "is_imported", lambda: False)
    backend = ScriptedBackend(said('{"a": "no"}'), GOOD)

    async def toy(io: Any) -> bytes:
        reply = await chain(backend)(call_for(BOUND, io=io))
        return await reply.gather()  # type: ignore[no-any-return]

    if colour == "sync":
        answer = finish(toy(SyncIO(Background(), Watchdog())))
    else:
        answer = anyio.run(toy, AsyncIO(Background()))

    assert '{"a": 1}' == json.loads(answer)["choices"][0]["message"]["content"]


class Once:
    """A server that answers once, and then in another way, with errors that nobody else keeps."""

    def __init__(self, then: Any) -> None:
        self._scripts = [said("no"), then]

    async def __call__(self, call: Call) -> Reply:
        """Answer, or refuse."""
        script = self._scripts.pop(0)
        if script is not None:
            return await ScriptedBackend(script)(call)
        raise refused(503)


@pytest.mark.parametrize("then", [GOOD, said("no"), None], ids=["good", "invalid", "refused"])
def test_nothing_is_left_behind(then: Any) -> None:
    """A call, its tries and its errors lead to each other nowhere: all is gone when the caller lets go."""
    gc.collect()
    gc.disable()
    try:
        upstream = target()
        gone = weakref.ref(upstream)
        reply = finish(compose([StructuredOutput(), Retry(None)], Once(then))(call_for(BOUND, upstream=upstream)))
        with contextlib.suppress(OutputInvalidError):
            content(reply)
        del reply, upstream

        assert gone() is None
    finally:
        gc.enable()
