"""pydantic-ai on top of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.errors import ContextOverflowError, OutputInvalidError, ToolChoiceInThinkingError
from tests.frameworks.battery import (
    FORCED,
    MEETING,
    NO_THINKING,
    RIGHT,
    SCHEMA,
    TEXT,
    THINKING,
    WRONG,
    Meeting,
    Seat,
    ToolBattery,
    cause_in,
    weather,
)

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
    """`OpenAIChatModel` with `OpenAIProvider`, which forces a tool for output types, also while the model thinks."""

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

    def test_native_output_is_refused_by_pydantic_ai(self, sit: Callable[..., DeepSeekSeat], driver: Any) -> None:
        """`NativeOutput` is refused before anything is sent: the provider says that DeepSeek has no JSON schemas."""
        seat = sit()
        agent = seat.agent(output_type=pydantic_ai.NativeOutput(Meeting))

        with pytest.raises(pydantic_ai.exceptions.UserError, match="not supported"):
            driver.call(agent.run, "When?")

        assert [] == seat.watch.calls

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

    @pytest.mark.parametrize("body", [{}, NO_THINKING])
    def test_native_output(self, body: dict[str, Any], sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """`NativeOutput` asks for a JSON schema, and works: the client asks in DeepSeek's words."""
        seat = sit()
        agent = DeepSeekSeat.agent(seat, output_type=pydantic_ai.NativeOutput(Meeting))

        assert MEETING == driver.call(agent.run, "When?", model_settings={"extra_body": body}).output
        assert [SCHEMA] == seat.repairs

    def test_streamed_native_output(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """It works streamed, too."""
        agent = DeepSeekSeat.agent(sit(), output_type=pydantic_ai.NativeOutput(Meeting))

        async def run() -> Any:
            async with agent.run_stream("When?") as stream:
                return await stream.get_output()

        assert MEETING == driver.call(run)

    def test_native_output_with_tools(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """Tools beside it are sent as not strict, and the model may think."""
        seat = sit()
        agent = DeepSeekSeat.agent(seat, weather, output_type=pydantic_ai.NativeOutput(Meeting))

        assert MEETING == driver.call(agent.run, "When?").output
        assert [SCHEMA, "strict_with_format"] * 2 == seat.repairs
        assert "I look it up." == seat.server.requests[1].body["messages"][2]["reasoning_content"]

    def test_native_output_that_stays_wrong(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """The client asks once more; what does not fit then is an error, and pydantic-ai does not ask again."""
        seat = sit(replies=[WRONG, WRONG, RIGHT])
        agent = DeepSeekSeat.agent(seat, output_type=pydantic_ai.NativeOutput(Meeting), retries=3)

        with pytest.raises(pydantic_ai.exceptions.ModelAPIError) as caught:
            driver.call(agent.run, "When?")

        assert isinstance(caught.value.__cause__, OutputInvalidError)
        assert (1, 2) == (len(seat.watch.calls), len(seat.server.requests))

    def test_loose_native_output_is_asked_for_again(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """With *strict* False pydantic-ai gets what does not fit, and asks again by itself."""
        seat = sit(replies=[WRONG, WRONG, RIGHT])
        agent = DeepSeekSeat.agent(seat, output_type=pydantic_ai.NativeOutput(Meeting, strict=False))

        assert MEETING == driver.call(agent.run, "When?").output
        assert (2, 3) == (len(seat.watch.calls), len(seat.server.requests))

    def test_tool_output_switches_thinking_off(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """An output type by itself forces a tool: the model does not think then."""
        seat = sit()

        assert MEETING == driver.call(DeepSeekSeat.agent(seat, output_type=Meeting).run, "When?").output
        assert [FORCED] == seat.repairs

    def test_chosen_thinking_forbids_tool_output(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """Where thinking is asked for, it is not switched off: the call is refused, here."""
        agent = DeepSeekSeat.agent(sit(), output_type=Meeting)

        with pytest.raises(pydantic_ai.exceptions.ModelHTTPError) as caught:
            driver.call(agent.run, "When?", model_settings={"extra_body": THINKING})

        assert isinstance(caught.value.__cause__, ToolChoiceInThinkingError)

    def test_tools_of_which_some_are_strict(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """pydantic-ai calls those strict that can be; DeepSeek wants all or none, so none is."""
        seat = sit()

        assert "There is rain in 杭州." == driver.call(seat.agent(weather, forecast).run, "What is the weather?").output
        assert ["strict_tools"] * 2 == seat.repairs
        assert seat.server.requests[0].body["tools"] == seat.server.requests[1].body["tools"]


def forecast(city: str, days: int = 3) -> str:
    """Tell how the weather will be; the default keeps it from being strict."""
    return f"rain in {city} for {days} days"
