"""llama-index on top of the clients; its pin forbids this openai, so that pip has to be told to ignore it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.errors import StreamInterruptedError, ToolChoiceInThinkingError
from tests.frameworks.battery import (
    FORCED,
    MEETING,
    NO_REASONING,
    NO_THINKING,
    TEXT,
    THINKING,
    Meeting,
    Seat,
    ToolBattery,
    weather,
)

if TYPE_CHECKING:
    from collections.abc import Callable

openai_like = pytest.importorskip("llama_index.llms.openai_like")
openai_own = pytest.importorskip("llama_index.llms.openai")
core_llms = pytest.importorskip("llama_index.core.llms")
core_tools = pytest.importorskip("llama_index.core.tools")
workflow = pytest.importorskip("llama_index.core.agent.workflow")

# llama-index-workflows asks pydantic for attributes that are going away.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")


class LlamaSeat(Seat):
    """`OpenAILike`."""

    connection_error = StreamInterruptedError
    rate_error = openai.RateLimitError

    def model(self, **options: Any) -> Any:
        """Make the model of both clients, without retries of its own."""
        known = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 1_000_000}
        return openai_like.OpenAILike(
            model="deepseek-flash",
            openai_client=self.client,
            async_openai_client=self.aclient,
            **{"max_retries": 0, **known, **options},
        )

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Chat."""
        return str(self.model().chat([core_llms.ChatMessage(prompt)], extra_headers=headers).message.content)

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Do the same as a coroutine."""
        response = await self.model().achat([core_llms.ChatMessage(prompt)], extra_headers=headers)
        return str(response.message.content)

    def stream(self, prompt: str) -> str:
        """Join the pieces."""
        return "".join(piece.delta or "" for piece in self.model().stream_chat([core_llms.ChatMessage(prompt)]))

    async def astream(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        stream = await self.model().astream_chat([core_llms.ChatMessage(prompt)])
        return "".join([piece.delta or "" async for piece in stream])

    async def ause_tool(self, prompt: str) -> str:
        """Run an agent that does not think, as the reasoning is not sent back."""
        model = self.model(additional_kwargs={"extra_body": NO_THINKING})
        agent = workflow.FunctionAgent(llm=model, tools=[core_tools.FunctionTool.from_defaults(weather)])
        return str(await agent.run(prompt))

    def extract(self, prompt: str) -> Any:
        """Complete with a schema, by a forced tool."""
        return self.extractor().complete(prompt).raw

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        return (await self.extractor().acomplete(prompt)).raw

    def extractor(self) -> Any:
        """Make a model that gives objects, and so does not think."""
        return self.model(additional_kwargs={"extra_body": NO_THINKING}).as_structured_llm(Meeting)


class TestLlamaIndex(ToolBattery):
    """`OpenAILike`."""

    seat_type = LlamaSeat

    def test_own_retries_multiply(self, sit: Callable[..., LlamaSeat]) -> None:
        """A *max_retries* of llama-index stands outside of the client's, and their numbers are multiplied."""
        seat = sit(faults=["status_429"] * 20, max_retries=1)

        with pytest.raises(openai.RateLimitError):
            seat.model(max_retries=2).chat([core_llms.ChatMessage("Count.")])

        assert 4 == len(seat.server.requests)

    def test_completion(self, sit: Callable[..., LlamaSeat]) -> None:
        """`complete()` goes to the chat endpoint."""
        seat = sit()

        assert TEXT == seat.model().complete("Count.").text
        assert "/chat/completions" == seat.server.requests[0].path

    def test_forced_tools_switch_thinking_off(self, sit: Callable[..., LlamaSeat]) -> None:
        """A structured model forces a tool: the model does not think then."""
        seat = sit()

        assert MEETING == seat.model().as_structured_llm(Meeting).complete("When?").raw
        assert [FORCED] == seat.repairs

    def test_chosen_thinking_forbids_forced_tools(self, sit: Callable[..., LlamaSeat]) -> None:
        """Where thinking is asked for, it is not switched off: the call is refused, here."""
        model = sit().model(additional_kwargs={"extra_body": THINKING})

        with pytest.raises(ToolChoiceInThinkingError):
            model.as_structured_llm(Meeting).complete("When?")

    def test_agent_goes_on_without_thinking(self, sit: Callable[..., LlamaSeat], driver: Any) -> None:
        """LlamaIndex does not send the reasoning back: after the first tool the model does not think any more."""
        seat = sit()
        tools = [core_tools.FunctionTool.from_defaults(weather)]

        async def run() -> str:
            return str(await workflow.FunctionAgent(llm=seat.model(), tools=tools).run("What is the weather?"))

        assert "There is rain in 杭州." == driver.call(run)
        assert [NO_REASONING] == seat.repairs

    def test_openai_class_knows_no_other_models(self, sit: Callable[..., LlamaSeat]) -> None:
        """The class for OpenAI itself refuses the name of the model."""
        model = openai_own.OpenAI(model="deepseek-flash", openai_client=sit().client, api_key="any")

        with pytest.raises(ValueError, match="Unknown model"):
            model.chat([core_llms.ChatMessage("Count.")])

    def test_client_must_be_reused(self, sit: Callable[..., LlamaSeat]) -> None:
        """With *reuse_client* False, what sends is a bare client."""
        model = sit().model(reuse_client=False, api_key="any")

        assert openai.OpenAI is type(model._get_client())
