"""`Observation`: it watches calls, tells who wants to know, and changes nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._clock import Clock
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._reply import Reply
from deepseek_sdk.stages import Retry
from deepseek_sdk.stages.telemetry import Observation
from deepseek_sdk.testing.scripted import DONE, ScriptedBackend, ScriptedSource, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.resilience.failures import ACCOUNT, refused
from tests.telemetry.heard import Heard

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._record import Record


@pytest.fixture
def heard() -> Heard:
    """Listen to everything."""
    return Heard()


class Server:
    """Answers as an endpoint does: its attempts have an account."""

    def __init__(self, *scripts: Any) -> None:
        self._scripts = list(scripts)

    async def __call__(self, call: Call) -> Reply:
        """Play the next script."""
        script, now = self._scripts.pop(0), call.io.now()
        attempt = call.record.begin(route="flash", model=call.model, now=now, account=ACCOUNT)
        if isinstance(script, Exception):
            call.record.settle(attempt, None, now, script)
            raise script
        clock = Clock(call.limits, call_started=call.record.started, now=now)
        return Reply(call, ScriptedSource(call.io, script), clock, attempt)


def read(reply: Reply) -> None:
    """Read all of an answer."""
    while finish(reply.next()):
        pass


def test_three_first_times(heard: Heard) -> None:
    """The chunk that only names the role is no token, and a thought is no answer."""
    steps = [chunk(role="assistant", content=""), 0.2, chunk(reasoning_content="Hm"), 0.4, chunk("Hi"), *said()[1:]]
    chain = compose([Observation(heard.telemetry())], Server(steps))
    call = make_call()
    call.record.is_stream = True
    read(finish(chain(call)))

    told = heard.chat()
    first_chunk = told["gen_ai.response.time_to_first_chunk"]
    token, answer = told["deepseek_sdk.time_to_first_token"], told["deepseek_sdk.time_to_first_answer"]
    assert pytest.approx((0.0, 0.2, 0.6)) == (first_chunk, token, answer)
    ((series, seconds),) = heard.points("deepseek_sdk.time_to_first_token")
    assert pytest.approx(0.2) == seconds
    assert series["reasoning"] is True
    assert 0.0 == heard.points("gen_ai.client.inference.time_to_first_chunk")[0][1]


def test_waits_between_attempts(heard: Heard) -> None:
    """The wait before a retry is told, and lies inside of the one inference."""
    chain = compose([Observation(heard.telemetry()), Retry(chance=lambda: 1.0)], Server(refused(503), said("Hi")))
    io = VirtualIO()
    read(finish(chain(make_call(io=io, max_retries=2))))

    ((_, waited),) = heard.points("deepseek_sdk.retry.delay")
    assert pytest.approx(sum(io.slept)) == waited
    (chat,) = heard.spans("chat ")
    assert pytest.approx(waited, abs=1e-5) == (chat.end_time - chat.start_time) / 1e9


@pytest.mark.parametrize("is_heard", [True, False], ids=["heard", "not heard"])
def test_observers(heard: Heard, *, is_heard: bool) -> None:
    """Observers get the record when the call is over, in their order, whether somebody listens or not."""
    seen: list[tuple[str, Record, Any]] = []
    observers = [
        lambda record: seen.append(("first", record, record.ending)),
        lambda record: seen.append(("2", record, 0)),
    ]
    chain = compose([Observation(heard.telemetry() if is_heard else None, observers)], Server(said("Hi")))
    call = make_call()
    reply = finish(chain(call))
    before = list(seen)
    read(reply)

    assert ([], [("first", call.record, "complete"), ("2", call.record, 0)]) == (before, seen)


@pytest.mark.parametrize(
    ("error", "ending"), [(refused(400), "failed"), (KeyboardInterrupt(), "abandoned")], ids=["failed", "interrupted"]
)
def test_observers_of_failures(error: BaseException, ending: str) -> None:
    """They get it as well where there is no answer, once."""

    async def fail(call: Call) -> Reply:
        del call
        raise error

    seen: list[Any] = []
    chain = compose([Observation(None, [lambda record: seen.append((record.ending, record.times.total))])], fail)
    with pytest.raises(type(error)):
        finish(chain(make_call()))

    assert [(ending, 0.0)] == seen


def test_an_observer_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """What an observer raises is logged, the others get their turn, and the caller the answer."""
    seen: list[Any] = []

    def broken(_: Record) -> None:
        raise OSError("disk full")

    chain = compose([Observation(None, [broken, seen.append])], ScriptedBackend(said("Hi")))
    read(finish(chain(make_call())))

    assert 1 == len(seen)
    assert ["an observer of calls failed"] == [record.message for record in caplog.records]


def test_nobody_at_all() -> None:
    """With nobody to tell, the answer is what the rest of the chain gives, untouched."""
    backend = ScriptedBackend(said("Hi"))
    call = make_call()
    reply = finish(compose([Observation()], backend)(call))

    assert call is reply.call
    assert call.record.watcher is None


def test_telemetry_that_fails(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    """What telemetry gets wrong is logged without what it was about, its spans end, and the caller gets the answer."""
    caplog.set_level(logging.WARNING, "deepseek_sdk")

    def wrong(_: Record) -> Any:
        raise ValueError("MARKER")

    call = make_call()
    call.record.price = wrong
    read(finish(compose([Observation(heard.telemetry())], Server(said("Hi")))(call)))

    assert ["telemetry of a call failed: ValueError"] == [record.message for record in caplog.records]
    assert "MARKER" not in caplog.text
    assert {"chat deepseek-flash", "deepseek_sdk.request"} <= {span.name for span in heard.spans()}


def test_another_question_is_another_inference(heard: Heard) -> None:
    """What is asked after a complete answer, as by a stage that mends answers, is an inference of its own."""

    class Twice:
        async def __call__(self, call: Call, proceed: Any) -> Reply:
            await (await proceed(call)).gather()
            return await proceed(call)  # type: ignore[no-any-return]

    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    chain = compose([Observation(heard.telemetry()), Twice()], Server(said("a", usage=usage), said("b", usage=usage)))
    finish(finish(chain(make_call(is_stream=False))).gather())

    assert [10, 10] == [(span.attributes or {})["gen_ai.usage.input_tokens"] for span in heard.spans("chat ")]
    (request,) = heard.spans("deepseek_sdk.request")
    assert 20 == (request.attributes or {})["deepseek_sdk.total.input_tokens"]


def test_an_attempt_that_is_taken_back(heard: Heard) -> None:
    """An attempt that did not count, since the server wants to be asked in another way, is not told."""

    class Learning(Server):
        async def __call__(self, call: Call) -> Reply:
            """Begin once for nothing."""
            call.record.forget(call.record.begin(route="flash", model="m", now=call.io.now(), account=ACCOUNT))
            return await super().__call__(call)

    read(
        finish(
            compose([Observation(heard.telemetry())], Learning([chunk("Hi"), chunk(finish="stop"), DONE]))(make_call())
        )
    )

    assert 1 == len(heard.spans("chat ")) == len(heard.spans("deepseek_sdk.attempt"))
