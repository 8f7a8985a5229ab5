"""pydantic-ai on top of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.errors import ContextOverflowError, ResponseFormatError, ToolChoiceInThinkingError
from tests.frameworks.battery import MEETING, TEXT, Meeting, Seat, ToolBattery, cause_in, weather

if TYPE_CHECKING:
    from collections.abc import Callable

pydantic_ai = pytest.importorskip("pydantic_ai")
openai_models = pytest.importorskip("pydantic_ai.models.openai")
deepseek_provider = pytest.importorskip("pydantic_ai.providers.deepseek")
openai_provider = pytest.importorskip("pydantic_ai.providers.openai")


class DeepSeekSeat(Seat):
    """`OpenAIChatModel` with `DeepSeekProvider`; it is async inside, so both colours use the async client."""

    connection_error = pydantic_ai.exceptions.ModelAPIError
    rate_error = pydantic_ai.exceptions.ModelHTTPError
    provider = deepseek_provider.DeepSeekProvider

    def agent(self, *tools: Any, **options: Any) -> Any:
        """Make an agent."""
        model = openai_models.OpenAIChatModel("deepseek-flash", provider=self.provider(openai_client=self.aclient))
        return pydantic_ai.Agent(model, tools=tools, **options)

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Run without a loop."""
        return str(self.agent().run_sync(prompt, model_settings=settings(headers)).output)

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Run."""
        return str((await self.agent().run(prompt, model_settings=settings(headers))).output)

    def stream(self, prompt: str) -> str:
        """Run without a loop, and join the pieces."""
        with self.agent().run_stream_sync(prompt) as run:
            return "".join(run.stream_text(delta=True))

    async def astream(self, prompt: str) -> str:
        """Run, and join the pieces."""
        async with self.agent().run_stream(prompt) as run:
            return "".join([piece async for piece in run.stream_text(delta=True)])

    def use_tool(self, prompt: str) -> str:
        """Run with the tool."""
        return str(self.agent(weather).run_sync(prompt).output)

    async def ause_tool(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        return str((await self.agent(weather).run(prompt)).output)

    def extract(self, prompt: str) -> Any:
        """Run with an output type."""
        return self.agent(output_type=Meeting).run_sync(prompt).output

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        return (await self.agent(output_type=Meeting).run(prompt)).output


class OpenAISeat(DeepSeekSeat):
    """`OpenAIChatModel` with `OpenAIProvider`, which does not know that thinking forbids a forced tool."""

    provider = openai_provider.OpenAIProvider

    def agent(self, *tools: Any, **options: Any) -> Any:
        """Make an agent that extracts by JSON mode."""
        if "output_type" in options:
            options["output_type"] = pydantic_ai.PromptedOutput(options["output_type"])
        return super().agent(*tools, **options)


def settings(headers: dict[str, str] | None) -> dict[str, Any]:
    """Give headers as a model's settings."""
    return {} if headers is None else {"extra_headers": headers}


class TestDeepSeekProvider(ToolBattery):
    """`DeepSeekProvider`."""

    seat_type = DeepSeekSeat

    def test_streamed_tool_loop(self, sit: Callable[..., DeepSeekSeat], driver: Any) -> None:
        """A streamed run calls the tool and streams what follows, and the reasoning goes back."""
        seat = sit()

        async def run() -> str:
            async with seat.agent(weather).run_stream("What is the weather?") as stream:
                return "".join([piece async for piece in stream.stream_text(delta=True)])

        assert "There is rain in 杭州." == driver.call(run)
        assert [True, True] == [each.is_stream for each in seat.watch.calls]
        assert "I look it up." == seat.server.requests[1].body["messages"][1]["reasoning_content"]

    def test_streamed_output(self, sit: Callable[..., DeepSeekSeat], driver: Any) -> None:
        """An object comes in growing parts."""
        agent = sit().agent(output_type=Meeting)

        async def run() -> list[Any]:
            async with agent.run_stream("When?") as stream:
                return [part async for part in stream.stream_output(debounce_by=None)]

        assert MEETING == driver.call(run)[-1]

    def test_thinking_is_a_part(self, sit: Callable[..., DeepSeekSeat], driver: Any) -> None:
        """The reasoning is a part of the message."""
        result = driver.call(sit().agent().run, "Count.")

        assert ["I think.", TEXT] == [part.content for part in result.all_messages()[-1].parts]

    def test_overflow(self, sit: Callable[..., DeepSeekSeat], driver: Any, emulator: Any) -> None:
        """pydantic-ai knows a context that overflows by itself; the cause has the numbers."""
        seat = sit(base_url=emulator(context_tokens=100).url)

        with pytest.raises(pydantic_ai.exceptions.ModelHTTPError) as caught:
            driver.call(seat.agent().run, "word " * 500)

        assert isinstance(caught.value.__cause__, ContextOverflowError)
        assert 100 == caught.value.__cause__.limit

    def test_key_makes_a_bare_client(self) -> None:
        """With a key, the provider builds a bare client."""
        assert openai.AsyncOpenAI is type(deepseek_provider.DeepSeekProvider(api_key="any").client)

    def test_cause_has_the_partial_text(self, sit: Callable[..., DeepSeekSeat], driver: Any) -> None:
        """What had arrived of a cut stream stands on the cause."""
        seat = sit(faults=["cut_by_eof(after_events=6)"])

        with pytest.raises(pydantic_ai.exceptions.ModelAPIError) as caught:
            driver.call(seat.astream, "Count.")

        assert TEXT.startswith(cause_in(caught.value).partial.text)


class TestOpenAIProvider(ToolBattery):
    """`OpenAIProvider`."""

    seat_type = OpenAISeat

    def test_native_output_is_refused(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """`NativeOutput` asks for a JSON schema, which the server refuses."""
        agent = DeepSeekSeat.agent(sit(), output_type=pydantic_ai.NativeOutput(Meeting))

        with pytest.raises(pydantic_ai.exceptions.ModelHTTPError) as caught:
            driver.call(agent.run, "When?")

        assert isinstance(caught.value.__cause__, ResponseFormatError)

    def test_thinking_forbids_tool_output(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """An output type by itself forces a tool, which the server refuses while the model thinks."""
        agent = DeepSeekSeat.agent(sit(), output_type=Meeting)

        with pytest.raises(pydantic_ai.exceptions.ModelHTTPError) as caught:
            driver.call(agent.run, "When?")

        assert isinstance(caught.value.__cause__, ToolChoiceInThinkingError)
