"""
What every framework must do on top of this library's clients, in both colours.

A module has a `Seat`, which makes the framework's own calls, and a subclass of `Battery`, which tests them:

    class TestLangChain(Battery):
        seat_type = LangChainSeat
"""

from __future__ import annotations

import asyncio
import re
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import openai
import pydantic
import pytest

import deepseek_sdk
from deepseek_sdk import AsyncClient, Client, report
from deepseek_sdk.errors import StreamInterruptedError
from deepseek_sdk.resilience import RetryPolicy
from deepseek_sdk.stages import Policies, default_stages
from deepseek_sdk.testing import Reply, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deepseek_sdk.stages import Call, Proceed, Stage
    from deepseek_sdk.stages import Reply as Answer
    from deepseek_sdk.testing import Emulator, RecordedRequest
    from tests.conftest import Driver, StartEmulator

NO_THINKING: dict[str, Any] = {"thinking": {"type": "disabled"}}
THINKING: dict[str, Any] = {"thinking": {"type": "enabled"}}
TEXT = "one two three four five six"
# What the first words of repairs are: see `dialect` and `structured`.
SCHEMA, FORCED, ASKED_AGAIN, NO_REASONING = "response_format", "forced_tool", "structured output", "missing_reasoning"


class Meeting(pydantic.BaseModel):
    """What is extracted from a text."""

    topic: str
    hour: int


MEETING = Meeting(topic="release", hour=15)
RIGHT, WRONG = MEETING.model_dump_json(), '{"topic": "release", "hour": "noon"}'


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"rain in {city}"


def answer(request: RecordedRequest) -> Reply:
    """Call the tool that is offered, then tell what it gave; without one, give an object or a text."""
    messages = request.body["messages"]
    tools = request.body.get("tools") or []
    wants_json = request.body.get("response_format", {}).get("type") == "json_object"
    if messages[-1]["role"] == "tool":
        return Reply(content=RIGHT if wants_json else f"There is {messages[-1]['content']}.")
    if tools and tools[0]["function"]["name"] == "weather":
        return Reply(reasoning="I look it up.", tool_calls=[ToolCall("weather", {"city": "杭州"})])
    if tools:
        return Reply(reasoning="", tool_calls=[filled(tools[0]["function"], request.last_user_text)])
    if wants_json:
        return Reply(content=RIGHT)
    return Reply(reasoning="I think.", content=said(request.last_user_text))


def filled(tool: dict[str, Any], prompt: str) -> ToolCall:
    """Call a tool that stands for an object: a text, or a meeting."""
    is_text = "text" in tool["parameters"]["properties"]
    return ToolCall(tool["name"], {"text": said(prompt)} if is_text else MEETING.model_dump())


def said(prompt: str) -> str:
    """Say what is asked for."""
    return prompt.removeprefix("Say ") if prompt.startswith("Say ") else TEXT


class Watch:
    """A stage that keeps every call that passes it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Note a call and pass it on."""
        self.calls.append(call)
        return await proceed(call)


class Seat:
    """A framework's calls; the names with an a in front are coroutine functions."""

    connection_error: ClassVar[type[Exception] | tuple[type[Exception], ...]]
    rate_error: ClassVar[type[Exception]]

    def __init__(self, client: Client, aclient: AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self.client, self.aclient, self.loop = client, aclient, loop
        self.server: Emulator
        self.watch: Watch

    @property
    def repairs(self) -> list[str]:
        """What was mended, by its first word, over all calls."""
        return [line.partition(":")[0] for each in self.watch.calls for line in each.record.repairs]

    @property
    def sent(self) -> list[bytes]:
        """The bodies as they arrived, without the ids of calls, which the server makes up."""
        return [re.sub(rb"call_\w+", b"call", request.raw) for request in self.server.requests]

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Ask and give the whole answer."""
        raise NotImplementedError

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Do the same as a coroutine."""
        raise NotImplementedError

    def stream(self, prompt: str) -> str:
        """Ask and join what is streamed."""
        return self.loop.run_until_complete(self.astream(prompt))

    async def astream(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        raise NotImplementedError

    def use_tool(self, prompt: str) -> str:
        """Ask with the tool `weather` and give the last answer."""
        return self.loop.run_until_complete(self.ause_tool(prompt))

    async def ause_tool(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        raise NotImplementedError

    def extract(self, prompt: str) -> Any:
        """Ask for a `Meeting`."""
        raise NotImplementedError

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        raise NotImplementedError


class Battery:
    """The tests."""

    seat_type: ClassVar[type[Seat]]

    @pytest.fixture
    def sit(self, driver: Driver, emulator: StartEmulator) -> Iterator[Callable[..., Seat]]:
        """Start an emulator, make both clients of it, and hand them to the framework."""
        with sitting(self.seat_type, driver, emulator) as sit:
            yield sit

    @pytest.fixture
    def bare(self, driver: Driver, emulator: StartEmulator) -> Iterator[Callable[..., Seat]]:
        """Do the same with bare openai clients."""
        with sitting(self.seat_type, driver, emulator, kinds=(openai.OpenAI, openai.AsyncOpenAI)) as sit:
            yield sit

    @pytest.fixture
    def call(self, driver: Driver) -> Callable[..., Any]:
        """Call one of a seat's functions in the colour of the test."""
        return lambda seat, name, *args, **options: driver.call(colour_of(driver, seat, name), *args, **options)

    def test_whole_answer(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """A call gives the answer, and passes the pipeline once."""
        seat = sit()

        assert TEXT == call(seat, "ask", "Count.")
        assert [200] == [request.status for request in seat.server.requests]
        assert ["deepseek-flash"] == [each.model for each in seat.watch.calls]
        assert [] == seat.repairs

    def test_streamed_answer(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """A streamed call gives the same text, and passes the pipeline as a stream."""
        seat = sit()

        assert TEXT == call(seat, "stream", "Count.")
        assert [True] == [each.is_stream for each in seat.watch.calls]

    def test_structured_output(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """The framework makes an object of the answer."""
        seat = sit()

        assert MEETING.model_dump() == call(seat, "extract", "The release is discussed at 3 pm.").model_dump()
        assert 1 == len(seat.watch.calls) == len(seat.server.requests)

    @pytest.mark.parametrize("name", ["ask", "stream", "extract"])
    def test_body_is_the_frameworks(
        self, name: str, sit: Callable[..., Seat], bare: Callable[..., Seat], call: Callable[..., Any]
    ) -> None:
        """What a framework writes is sent byte for byte, so that a cached prefix stays one."""
        theirs, ours = bare(), sit()
        for seat in (theirs, ours):
            call(seat, name, "The release is discussed at 3 pm.")

        assert theirs.sent == ours.sent
        assert [] == ours.repairs

    def test_cut_stream_is_an_error(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """A stream that is cut is an error and no short answer; it is not sent again, and the report tells."""
        seat = sit(faults=["cut_by_eof(after_events=6)"])

        with pytest.raises(seat.connection_error) as caught:
            call(seat, "stream", "Count.")

        cause = cause_in(caught.value)
        assert 1 == len(report(cause).attempts) == len(seat.server.requests)

    def test_cut_answer_is_asked_for_again(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """A whole answer that is cut is asked for again, once."""
        seat = sit(faults=["cut_by_eof(after_events=6)"])

        assert TEXT == call(seat, "ask", "Count.")
        assert 2 == len(seat.server.requests)

    def test_busy_server_is_asked_again(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """A call that is refused with 429 is sent again by the client, within one call of the framework."""
        seat = sit(faults=["status_429"])

        assert TEXT == call(seat, "ask", "Count.")
        assert 2 == len(seat.server.requests)
        assert 1 == len(seat.watch.calls)

    @pytest.mark.parametrize("name", ["ask", "stream"])
    def test_one_retry_layer(self, name: str, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """The client's retries are all there are: one call makes `max_retries` further requests, however it ends."""
        seat = sit(faults=["status_429"] * 20, max_retries=2)

        with pytest.raises(seat.rate_error):
            call(seat, name, "Count.")

        assert 3 == len(seat.server.requests)

    @pytest.mark.parametrize("name", ["ask", "stream", "extract"])
    def test_options_reach_the_call(self, name: str, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """What `options()` says around a framework's call holds for every request it makes."""
        seat = sit()

        with deepseek_sdk.options(session_id="user-42"):
            call(seat, name, "Count.")

        assert {"user-42"} == {each.options.session_id for each in seat.watch.calls}

    def test_headers_reach_the_call(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """Headers set the framework's way mean what they mean in a call; ours are not sent on."""
        seat = sit()
        call(seat, "ask", "Count.", headers={"X-Session-ID": "user-42", "X-Mine": "1"})

        headers = seat.server.requests[0].headers
        assert "user-42" == seat.watch.calls[0].options.session_id
        assert ("1", None) == (headers.get("x-mine"), headers.get("x-session-id"))

    def test_many_at_once(self, sit: Callable[..., Seat], driver: Driver) -> None:
        """Calls at the same time, in threads or tasks, get each their own answer."""
        seat = sit()
        texts = [f"number {number}" for number in range(8)]

        ask = colour_of(driver, seat, "ask") if driver.is_async else with_a_loop(seat.ask)
        answers = driver.together(*[partial(ask, f"Say {text}") for text in texts])

        assert texts == answers


class ToolBattery(Battery):
    """The tests of frameworks that call tools."""

    def test_tool_loop(self, sit: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """The framework calls the tool and sends back what it gave, both in the options around it."""
        seat = sit()

        with deepseek_sdk.options(session_id="user-42"):
            text = call(seat, "use_tool", "What is the weather in Hangzhou?")

        assert "rain in 杭州" in text
        assert 2 == len(seat.server.requests)
        assert ["user-42", "user-42"] == [each.options.session_id for each in seat.watch.calls]

    def test_bodies_of_a_tool_loop_are_the_frameworks(
        self, sit: Callable[..., Seat], bare: Callable[..., Seat], call: Callable[..., Any]
    ) -> None:
        """Tools, calls and results are sent byte for byte, too."""
        theirs, ours = bare(), sit()
        for seat in (theirs, ours):
            call(seat, "use_tool", "What is the weather in Hangzhou?")

        assert theirs.sent == ours.sent
        assert [] == ours.repairs

    def test_bare_client_hides_the_cut(self, bare: Callable[..., Seat], call: Callable[..., Any]) -> None:
        """On bare openai clients the same cut passes for the end: the framework gives a short answer and no error."""
        assert "one two" == call(bare(faults=["cut_by_eof(after_events=6)"]), "stream", "Count.")


@contextmanager
def sitting(
    seat_type: type[Seat], driver: Driver, emulator: StartEmulator, kinds: tuple[Any, Any] = (Client, AsyncClient)
) -> Iterator[Callable[..., Seat]]:
    """Give what starts an emulator and a framework on it; the clients are closed at the end."""
    # What `run_sync()` of some frameworks runs on: the loop on which the client is closed.
    loop = driver._runner.get_loop()
    seats: list[Seat] = []

    def sit(*, faults: Any = None, replies: Any = answer, **client_options: Any) -> Seat:
        server, watch = emulator(replies=replies, faults=faults), Watch()
        staged = {"stages": [watch, *usual_stages()]} if kinds[0] is Client else {}
        options = {"base_url": server.url, "api_key": "any", **staged, **client_options}
        seat = seat_type(kinds[0](**options), kinds[1](**options), loop)
        seat.server, seat.watch = server, watch
        seats.append(seat)
        return seat

    try:
        yield sit
    finally:
        for seat in seats:
            seat.client.close()
            driver.call(seat.aclient.close)


def usual_stages() -> Sequence[Stage]:
    """Make the stages that every client has, without waits between attempts."""
    return default_stages(Policies.of(retry=RetryPolicy(wait=lambda _: 0.0)))


def colour_of(driver: Driver, seat: Seat, name: str) -> Callable[..., Any]:
    """Give the function of a seat in the colour of the test."""
    function: Callable[..., Any] = getattr(seat, f"a{name}" if driver.is_async else name)
    return function


def with_a_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give *function* an event loop of its own, which `run_sync()` of some frameworks would make and leave open."""

    def call(*args: Any) -> Any:
        with asyncio.Runner() as runner:
            runner.get_loop()
            return function(*args)

    return call


def cause_in(error: BaseException | None) -> StreamInterruptedError:
    """Find what a framework wrapped."""
    while error is not None and not isinstance(error, StreamInterruptedError):
        error = error.__cause__
    assert error is not None
    return error
