"""openai-agents on top of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.errors import ContextOverflowError, OutputInvalidError, StreamInterruptedError
from deepseek_sdk.testing import Reply, ToolCall
from tests.frameworks.battery import (
    FORCED,
    MEETING,
    NO_REASONING,
    NO_THINKING,
    RIGHT,
    SCHEMA,
    TEXT,
    WRONG,
    Meeting,
    Seat,
    ToolBattery,
    weather,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

agents = pytest.importorskip("agents")

# `run_sync()` ends the loop's generators, and the next one runs on the same loop, where httpx2 makes new ones.
pytestmark = pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")


def take_meeting(topic: str, hour: int) -> str:
    """Note a meeting."""
    return Meeting(topic=topic, hour=hour).model_dump_json()


class AgentsSeat(Seat):
    """`OpenAIChatCompletionsModel`; it is async inside, so both colours use the async client."""

    connection_error = StreamInterruptedError
    rate_error = openai.RateLimitError

    def agent(self, *tools: Any, **options: Any) -> Any:
        """Make an agent."""
        model = agents.OpenAIChatCompletionsModel("deepseek-flash", openai_client=self.aclient)
        return agents.Agent(name="Assistant", model=model, tools=[agents.function_tool(f) for f in tools], **options)

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Run without a loop."""
        return str(agents.Runner.run_sync(self.agent(), prompt, run_config=settings(headers)).final_output)

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Run."""
        return str((await agents.Runner.run(self.agent(), prompt, run_config=settings(headers))).final_output)

    async def astream(self, prompt: str) -> str:
        """Run, and join the pieces."""
        return await pieces(agents.Runner.run_streamed(self.agent(), prompt))

    async def ause_tool(self, prompt: str) -> str:
        """Run with the tool."""
        return str((await agents.Runner.run(self.agent(weather), prompt)).final_output)

    def extract(self, prompt: str) -> Any:
        """Run until a tool has given an object, which the agent makes a text of."""
        return Meeting.model_validate_json(agents.Runner.run_sync(self.taker(), prompt).final_output)

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        return Meeting.model_validate_json((await agents.Runner.run(self.taker(), prompt)).final_output)

    def taker(self) -> Any:
        """Make an agent that ends with what its tool gives."""
        return self.agent(take_meeting, tool_use_behavior="stop_on_first_tool")


def settings(headers: dict[str, str] | None) -> Any:
    """Give headers as a run's settings."""
    return agents.RunConfig(model_settings=agents.ModelSettings(extra_headers=headers))


async def pieces(run: Any) -> str:
    """Join the text of a streamed run."""
    raw = [event.data async for event in run.stream_events() if event.type == "raw_response_event"]
    return "".join(data.delta for data in raw if data.type == "response.output_text.delta")


class TestOpenAIAgents(ToolBattery):
    """`OpenAIChatCompletionsModel`."""

    seat_type = AgentsSeat

    @pytest.fixture(autouse=True)
    def _no_tracing(self) -> Iterator[None]:
        """Send no traces to OpenAI."""
        agents.set_tracing_disabled(True)
        yield
        agents.set_tracing_disabled(False)

    def test_reasoning_goes_back(self, sit: Callable[..., AgentsSeat], call: Callable[..., Any]) -> None:
        """The second request brings the reasoning back, as the server wants; strict tools go to /beta."""
        seat = sit()
        call(seat, "use_tool", "What is the weather?")

        first, second = seat.server.requests
        assert "I look it up." == second.body["messages"][1]["reasoning_content"]
        assert "/beta/chat/completions" == first.path == second.path

    def test_streamed_tool_loop(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """A streamed run calls the tool and streams what follows."""
        seat = sit()

        async def run() -> str:
            return await pieces(agents.Runner.run_streamed(seat.agent(weather), "What is the weather?"))

        assert "There is rain in 杭州." == driver.call(run)
        assert [True, True] == [each.is_stream for each in seat.watch.calls]

    def test_handoff(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """An agent hands over to another, on the same client."""
        seat = sit()
        seat.server.replies = answer_by_handoff
        second = agents.Agent(name="Poet", model=seat.agent().model)

        result = driver.call(agents.Runner.run, seat.agent(handoffs=[second]), "A poem, please.")
        assert ("A poem.", "Poet") == (result.final_output, result.last_agent.name)

    def test_default_client(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """`set_default_openai_client()` and a model's name do just as well."""
        seat = sit()
        agents.set_default_openai_client(seat.aclient, use_for_tracing=False)
        agents.set_default_openai_api("chat_completions")
        agent = agents.Agent(name="Assistant", model="deepseek-flash")

        assert TEXT == driver.call(agents.Runner.run, agent, "Count.").final_output
        assert 1 == len(seat.watch.calls)

    def test_responses_are_not_supervised(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """With the SDK's own choice of endpoint, calls do not pass the pipeline."""
        seat = sit()
        agents.set_default_openai_client(seat.aclient, use_for_tracing=False)
        agents.set_default_openai_api("responses")

        with pytest.raises(openai.NotFoundError):  # the emulator has no such endpoint
            driver.call(agents.Runner.run, agents.Agent(name="Assistant", model="deepseek-flash"), "Count.")

        assert "/responses" == seat.server.requests[0].path
        assert [] == seat.watch.calls

    def test_own_retries_use_a_child(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """The runner's retries use a child of the client that has none: 2 and 1 come to 4 requests, all supervised."""
        seat = sit(faults=["status_429"] * 20, max_retries=1)
        policy = agents.retry_policies.http_status([429])
        retry = agents.ModelRetrySettings(max_retries=2, backoff={"initial_delay": 0.0}, policy=policy)
        agent = seat.agent(model_settings=agents.ModelSettings(retry=retry))

        with pytest.raises(openai.RateLimitError):
            driver.call(agents.Runner.run, agent, "Count.")

        assert (4, [2, 1, 1]) == (
            len(seat.server.requests),
            [len(each.record.attempts) for each in seat.watch.calls],
        )

    @pytest.mark.parametrize("body", [{}, NO_THINKING])
    def test_output_type(self, body: dict[str, Any], sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """An output type asks for a JSON schema, and works: the client asks in DeepSeek's words."""
        seat = sit()
        agent = seat.agent(output_type=Meeting, model_settings=agents.ModelSettings(extra_body=body))

        assert MEETING == driver.call(agents.Runner.run, agent, "When?").final_output
        assert [SCHEMA] == seat.repairs

    def test_streamed_output_type(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """It works streamed, too."""
        agent = sit().agent(output_type=Meeting)

        async def run() -> Any:
            result = agents.Runner.run_streamed(agent, "When?")
            await pieces(result)
            return result.final_output

        assert MEETING == driver.call(run)

    def test_output_type_with_tools(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """Tools beside it are sent as not strict, and the model may think."""
        seat = sit()

        assert MEETING == driver.call(agents.Runner.run, seat.agent(weather, output_type=Meeting), "When?").final_output
        assert [SCHEMA, "strict_with_format"] * 2 == seat.repairs
        assert "I look it up." == seat.server.requests[1].body["messages"][2]["reasoning_content"]

    @pytest.mark.parametrize(("replies", "expected"), [([WRONG, RIGHT], MEETING), ([WRONG, WRONG], OutputInvalidError)])
    def test_output_that_does_not_fit(
        self, replies: list[str], expected: Any, sit: Callable[..., AgentsSeat], driver: Any
    ) -> None:
        """What does not fit is asked for once more, within one call; what stays wrong is an error of ours."""
        seat = sit(replies=replies)

        try:
            found = driver.call(agents.Runner.run, seat.agent(output_type=Meeting), "When?").final_output
        except OutputInvalidError as error:
            found = type(error)
        assert expected == found
        assert (1, 2) == (len(seat.watch.calls), len(seat.server.requests))

    def test_forced_tool_switches_thinking_off(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """A tool that must be called switches thinking off, for the rest of the run as well."""
        seat = sit()
        agent = seat.agent(weather, model_settings=agents.ModelSettings(tool_choice="required"))

        assert "There is rain in 杭州." == driver.call(agents.Runner.run, agent, "What is the weather?").final_output
        assert [FORCED, NO_REASONING] == seat.repairs

    def test_overflow(self, sit: Callable[..., AgentsSeat], driver: Any, emulator: Any) -> None:
        """Errors come through as they are."""
        seat = sit(base_url=emulator(context_tokens=100).url)

        with pytest.raises(ContextOverflowError):
            driver.call(agents.Runner.run, seat.agent(), "word " * 500)

    def test_usage(self, sit: Callable[..., AgentsSeat], driver: Any) -> None:
        """The tokens of a run are counted."""
        usage = driver.call(agents.Runner.run, sit().agent(), "Count.").context_wrapper.usage

        assert 1 == usage.requests
        assert 0 < usage.input_tokens < usage.total_tokens


def answer_by_handoff(request: Any) -> Any:
    """Hand over, then answer."""
    if request.body["messages"][-1]["role"] == "tool":
        return "A poem."
    return Reply(reasoning="Not mine.", tool_calls=[ToolCall(request.body["tools"][0]["function"]["name"])])
