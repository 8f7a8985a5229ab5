from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from openai.types.chat import ChatCompletionChunk

from deepseek_sdk._clock import Limits
from deepseek_sdk._wire import ConnectionLost, DeadlineReached
from deepseek_sdk.testing.scripted import DONE, ScriptedBackend, ScriptedSource, chunk, make_call, said, whole
from deepseek_sdk.testing.virtual import VirtualIO, finish

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply


def pulled(source: ScriptedSource, *, until: float = inf) -> list[Any] | None:
    """Give the next events of a source, decoded."""
    batch = finish(source.pull(until))
    return None if batch is None else ["done" if event.is_done else event.json() for event in batch]


def test_a_source_plays_its_steps() -> None:
    """Events come one by one, lists of them at once, silence takes its time, and the end is None."""
    io = VirtualIO()
    source = ScriptedSource(io, [chunk("a"), 2, 3.5, [chunk("b"), DONE]])
    found = [pulled(source) for _ in range(4)]

    assert [[chunk("a")], [chunk("b"), "done"], None, None] == found
    assert (5.5, [2, 3.5]) == (io.now(), io.slept)


def test_a_silence_that_is_too_long_goes_on() -> None:
    """A pull that gives up leaves the rest of the silence to the next."""
    io = VirtualIO()
    source = ScriptedSource(io, [10, chunk("a")])
    for until in (4, 4, 7):
        with pytest.raises(DeadlineReached):
            pulled(source, until=until)

    assert 7 == io.now()
    assert [chunk("a")] == pulled(source, until=11)
    assert 10 == io.now()


def test_a_step_may_be_a_failure() -> None:
    """An OSError is a lost connection with it as its cause; any other exception is raised as it is."""
    cut = ConnectionResetError("reset")
    source = ScriptedSource(VirtualIO(), [cut, KeyError("bug"), BrokenPipeError()])
    with pytest.raises(ConnectionLost, match="reset") as caught:
        pulled(source)
    with pytest.raises(KeyError):
        pulled(source)
    with pytest.raises(ConnectionLost, match="BrokenPipeError"):
        pulled(source)

    assert cut is caught.value.__cause__


def test_a_source_notes_how_it_was_let_go() -> None:
    """Each close and an abort can be looked at."""
    source = ScriptedSource(VirtualIO(), [])
    finish(source.close(is_done=True))
    finish(source.close(is_done=False))
    source.abort()

    assert ([True, False], True) == (source.endings, source.is_aborted)


def test_a_backend_answers_with_one_script_after_the_other() -> None:
    """Scripts that are exceptions are attempts that fail; calls, sources and attempts can be looked at."""
    backend, call = ScriptedBackend(KeyError("x"), said("a"), route="spare"), make_call()
    with pytest.raises(KeyError):
        finish(backend(call))
    reply = finish(backend(call))

    assert ([call, call], [reply.source]) == (backend.calls, backend.sources)
    assert [("spare", "failed"), ("spare", "running")] == [(a.route, a.outcome) for a in call.record.attempts]
    with pytest.raises(AssertionError, match="asked 3 times and has 2 scripts"):
        finish(backend(call))


def test_clocks_run_over_a_script() -> None:
    """The limits of the call hold, from the start of its attempt."""
    io = VirtualIO(start=5)
    call = make_call(io=io, limits=Limits(first_token=3, stall=inf))
    reply = finish(ScriptedBackend([60])(call))

    assert (8, 5) == (reply.clock.at, call.record.started)


def test_chunks_are_openais() -> None:
    """What the builder makes is a chunk that openai reads without complaint, with nothing that was not asked for."""
    made = [chunk("a"), chunk(role="assistant"), chunk(finish="stop", usage={"prompt_tokens": 1}), chunk("b", index=2)]
    for item in made:
        ChatCompletionChunk.model_validate({**item, "usage": None}, strict=True)

    assert [{"content": "a"}, {"role": "assistant"}, {}, {"content": "b"}] == [c["choices"][0]["delta"] for c in made]
    assert [False, False, True, False] == ["usage" in item for item in made]


def test_a_whole_answer_is_one_step() -> None:
    """A body is told apart from an event of a stream."""
    event = whole({"choices": []})

    assert (True, {"choices": []}) == (event.is_whole, event.json())


def test_calls_are_made_to_measure() -> None:
    """A call has what a test needs not say, and what it says."""
    io = VirtualIO()
    call = make_call(io=io, max_retries=3, body={"model": "m"})

    assert (io, 3, "m", True, inf) == (call.io, call.max_retries, call.model, call.is_stream, call.limits.first_token)


def test_a_stage_of_ones_own_is_tested_in_no_time() -> None:
    """A stage that waits an hour and adds to the answer is driven to its end."""

    async def patient(call: Call, proceed: Proceed) -> Reply:
        await call.io.sleep(3600)
        reply = await proceed(call.replace(body={**call.body, "user_id": "u"}))
        reply.on_end(lambda ending, _: endings.append(ending))
        return reply

    endings: list[str] = []
    backend, call = ScriptedBackend(said("Hi")), make_call(is_stream=False)
    reply = finish(patient(call, backend))

    assert b'"content": "Hi"' in finish(reply.gather())
    assert ("u", ["complete"], 3600) == (backend.calls[0].body["user_id"], endings, call.io.now())
