"""langchain-openai, and langchain-deepseek, on top of the clients."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import openai
import pytest

import deepseek_sdk
from deepseek_sdk.errors import OutputInvalidError, ReasoningMissingError, ToolChoiceInThinkingError
from tests.frameworks.battery import (
    ASKED_AGAIN,
    FORCED,
    MEETING,
    NO_REASONING,
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

langchain_openai = pytest.importorskip("langchain_openai")
langchain_agents = pytest.importorskip("langchain.agents")
langchain_deepseek = pytest.importorskip("langchain_deepseek")


WEATHER = {"messages": [("user", "What is the weather?")]}


def text_of(state: Any) -> str:
    """Give the last message of an agent."""
    return str(state["messages"][-1].content)


class OpenAISeat(Seat):
    """`ChatOpenAI`."""

    connection_error = openai.APIConnectionError
    rate_error = openai.RateLimitError

    def model(self, **options: Any) -> Any:
        """Make the chat model of both clients."""
        return langchain_openai.ChatOpenAI(model="deepseek-flash", **self.clients(), **options)

    def clients(self) -> dict[str, Any]:
        """Name the clients as LangChain does."""
        return {
            "client": self.client.chat.completions,
            "root_client": self.client,
            "async_client": self.aclient.chat.completions,
            "root_async_client": self.aclient,
        }

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Invoke."""
        return str(self.model().invoke(prompt, extra_headers=headers).content)

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Do the same as a coroutine."""
        return str((await self.model().ainvoke(prompt, extra_headers=headers)).content)

    def stream(self, prompt: str) -> str:
        """Join the chunks."""
        return "".join(chunk.content for chunk in self.model().stream(prompt))

    async def astream(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        return "".join([chunk.content async for chunk in self.model().astream(prompt)])

    def agent(self) -> Any:
        """Make an agent that does not think, as LangChain does not send reasoning back."""
        return langchain_agents.create_agent(self.model(extra_body=NO_THINKING), [weather])

    def use_tool(self, prompt: str) -> str:
        """Run the agent."""
        return text_of(self.agent().invoke({"messages": [("user", prompt)]}))

    async def ause_tool(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        return text_of(await self.agent().ainvoke({"messages": [("user", prompt)]}))

    def extractor(self) -> Any:
        """Make a model that gives objects by a forced tool, and so does not think."""
        return self.model(extra_body=NO_THINKING).with_structured_output(Meeting, method="function_calling")

    def extract(self, prompt: str) -> Any:
        """Invoke it."""
        return self.extractor().invoke(prompt)

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        return await self.extractor().ainvoke(prompt)


class DeepSeekSeat(OpenAISeat):
    """`ChatDeepSeek`, which wants a key although the clients have one."""

    def model(self, **options: Any) -> Any:
        """Make the chat model of both clients."""
        return langchain_deepseek.ChatDeepSeek(model="deepseek-flash", api_key="unused", **self.clients(), **options)


class TestLangChainOpenAI(ToolBattery):
    """`ChatOpenAI`."""

    seat_type = OpenAISeat

    def test_json_mode(self, sit: Callable[..., OpenAISeat]) -> None:
        """JSON mode works while the model thinks."""
        seat = sit()
        model = seat.model().with_structured_output(Meeting, method="json_mode")

        assert MEETING == model.invoke("When? Answer in JSON.")
        assert {"type": "json_object"} == seat.server.requests[0].body["response_format"]
        assert [] == seat.repairs

    @pytest.mark.parametrize("body", [None, NO_THINKING])
    def test_json_schema(self, body: dict[str, Any] | None, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """LangChain's own choice, a JSON schema, works: the client asks for it in DeepSeek's words."""
        seat = sit()
        model = seat.model(extra_body=body).with_structured_output(Meeting)

        assert MEETING == driver.call(model.ainvoke if driver.is_async else model.invoke, "When?")
        assert [SCHEMA] == seat.repairs

    # langchain-openai writes out what openai has parsed, with openai's own classes as well.
    @pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
    def test_streamed_json_schema(self, sit: Callable[..., OpenAISeat]) -> None:
        """A stream of objects ends with the whole one."""
        *_, last = sit().model().with_structured_output(Meeting).stream("When?")

        assert MEETING == last

    def test_json_schema_is_asked_for_again(self, sit: Callable[..., OpenAISeat]) -> None:
        """An object that does not fit is asked for once more, within one call of LangChain."""
        seat = sit(replies=[WRONG, RIGHT])

        assert MEETING == seat.model().with_structured_output(Meeting).invoke("When?")
        assert (1, 2) == (len(seat.watch.calls), len(seat.server.requests))
        assert [SCHEMA, ASKED_AGAIN] == seat.repairs

    def test_json_schema_that_stays_wrong(self, sit: Callable[..., OpenAISeat]) -> None:
        """What does not fit the second time either is an error of ours, with *include_raw*, too."""
        model = sit(replies=[WRONG, WRONG]).model().with_structured_output(Meeting, include_raw=True)

        with pytest.raises(OutputInvalidError) as caught:
            model.invoke("When?")

        assert ("invalid", WRONG) == (caught.value.kind, caught.value.raw)

    def test_json_mode_needs_no_word(self, sit: Callable[..., OpenAISeat]) -> None:
        """Without the word JSON in the prompt, the client says it."""
        seat = sit()

        assert MEETING == seat.model().with_structured_output(Meeting, method="json_mode").invoke("When?")
        assert ["json_word"] == seat.repairs

    def test_forced_tools_switch_thinking_off(self, sit: Callable[..., OpenAISeat]) -> None:
        """Function calling forces a tool: the model does not think then."""
        seat = sit()

        assert MEETING == seat.model().with_structured_output(Meeting, method="function_calling").invoke("When?")
        assert ([FORCED], NO_THINKING["thinking"]) == (seat.repairs, seat.server.requests[0].body["thinking"])

    def test_chosen_thinking_forbids_forced_tools(self, sit: Callable[..., OpenAISeat]) -> None:
        """Where thinking is asked for, it is not switched off: the call is refused, here."""
        seat = sit()
        model = seat.model(extra_body=THINKING).with_structured_output(Meeting, method="function_calling")

        with pytest.raises(openai.BadRequestError) as caught:
            model.invoke("When?")

        assert isinstance(caught.value.__cause__, ToolChoiceInThinkingError)
        assert [] == seat.server.requests

    def test_agent_goes_on_without_thinking(self, sit: Callable[..., OpenAISeat]) -> None:
        """LangChain does not send the reasoning back: after the first tool the model does not think any more."""
        seat = sit()
        state = langchain_agents.create_agent(seat.model(), [weather]).invoke(WEATHER)

        assert "There is rain in 杭州." == text_of(state)
        assert [None, NO_THINKING["thinking"]] == [each.body.get("thinking") for each in seat.server.requests]
        assert [NO_REASONING] == seat.repairs

    def test_chosen_thinking_needs_the_reasoning(self, sit: Callable[..., OpenAISeat]) -> None:
        """Where thinking is asked for, the second request of an agent is refused, here."""
        seat = sit()
        agent = langchain_agents.create_agent(seat.model(extra_body=THINKING), [weather])

        with pytest.raises(openai.BadRequestError) as caught:
            agent.invoke(WEATHER)

        assert isinstance(caught.value.__cause__, ReasoningMissingError)
        assert 1 == len(seat.server.requests)

    def test_agent_with_response_format(self, sit: Callable[..., OpenAISeat]) -> None:
        """An agent's own structured output works while the model may think."""
        agent = langchain_agents.create_agent(sit().model(), [], response_format=Meeting)

        assert MEETING == agent.invoke({"messages": [("user", "When?")]})["structured_response"]

    def test_batch(self, sit: Callable[..., OpenAISeat], driver: Any) -> None:
        """A batch runs in threads or tasks; every item gets its answer, in the options around the batch."""
        seat, texts = sit(), ["a", "b", "c", "d"]
        model, prompts = seat.model(), [f"Say {text}" for text in texts]

        with deepseek_sdk.options(session_id="user-42"):
            answers = driver.call(model.abatch if driver.is_async else model.batch, prompts)

        assert texts == [each.content for each in answers]
        assert ["user-42"] * 4 == [each.options.session_id for each in seat.watch.calls]

    def test_streamed_agent(self, sit: Callable[..., OpenAISeat]) -> None:
        """An agent that streams tokens streams them through the clients."""
        seat = sit()
        question = {"messages": [("user", "What is the weather?")]}

        pieces = [chunk.content for chunk, _ in seat.agent().stream(question, stream_mode="messages")]
        assert "There is rain in 杭州." in "".join(pieces)
        assert [True, True] == [each.is_stream for each in seat.watch.calls]

    def test_usage(self, sit: Callable[..., OpenAISeat]) -> None:
        """The tokens of plain and of streamed answers are counted."""
        model = sit().model()
        plain, chunks = model.invoke("Count.").usage_metadata, list(model.stream("Count."))

        streamed = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
        assert [plain] == streamed

    def test_response_headers_tell_the_route(self, sit: Callable[..., OpenAISeat]) -> None:
        """Where `report()` cannot look inside a message, headers say what the call went through."""
        seat = sit(faults=["status_429"])

        headers = seat.model(include_response_headers=True).invoke("Count.").response_metadata["headers"]
        assert ("default", "2") == (headers["x-deepseek-sdk-route"], headers["x-deepseek-sdk-attempts"])

    def test_default_headers_are_the_clients(self, sit: Callable[..., OpenAISeat]) -> None:
        """With clients given, LangChain ignores its own *default_headers*; the clients' hold."""
        seat = sit(default_headers={"X-Session-ID": "user-42"})
        seat.model(default_headers={"X-Mine": "1"}).invoke("Count.")

        assert "user-42" == seat.watch.calls[0].options.session_id
        assert "x-mine" not in seat.server.requests[0].headers

    def test_own_retries_are_ignored(self, sit: Callable[..., OpenAISeat]) -> None:
        """With clients given, LangChain ignores its own *max_retries*; the clients' holds."""
        seat = sit(faults=["status_429"] * 20, max_retries=0)

        with pytest.raises(openai.RateLimitError):
            seat.model(max_retries=9).invoke("Count.")

        assert 1 == len(seat.server.requests)

    def test_with_retry_multiplies(self, sit: Callable[..., OpenAISeat]) -> None:
        """A runnable's own retry stands outside of the client's, and their numbers are multiplied."""
        seat = sit(faults=["status_429"] * 20, max_retries=1)
        model = seat.model().with_retry(stop_after_attempt=2, wait_exponential_jitter=False)

        with pytest.raises(openai.RateLimitError):
            model.invoke("Count.")

        assert 4 == len(seat.server.requests)

    def test_all_four_clients_are_needed(self, sit: Callable[..., OpenAISeat]) -> None:
        """With *root_client* alone, what sends is a bare client of LangChain's own."""
        model = langchain_openai.ChatOpenAI(model="deepseek-flash", api_key="any", root_client=sit().client)

        assert openai.OpenAI is type(model.client._client)

    def test_copies_share_the_client(self, sit: Callable[..., OpenAISeat]) -> None:
        """`model_copy()` and `bind()` keep the very same clients."""
        seat = sit()
        changed = seat.model().model_copy(update={"temperature": 0.5})

        assert changed.root_client is seat.client
        assert TEXT == changed.bind(top_p=0.5).invoke("Count.").content

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])  # noqa: S301  its own bytes
    def test_no_deep_copies(self, sit: Callable[..., OpenAISeat], duplicate: Callable[[Any], Any]) -> None:
        """A model cannot be copied deeply or pickled, with these clients as with bare ones."""
        bare = langchain_openai.ChatOpenAI(model="deepseek-flash", api_key="any")

        with pytest.raises(TypeError, match="pickle"):
            duplicate(bare)
        with pytest.raises(TypeError, match="pickle"):
            duplicate(sit().model())

    def test_error_keeps_its_cause(self, sit: Callable[..., OpenAISeat]) -> None:
        """LangChain raises errors of its own; what had arrived stands on the cause."""
        seat = sit(faults=["cut_by_eof(after_events=6)"])

        with pytest.raises(openai.APIConnectionError) as caught:
            seat.stream("Count.")

        partial = cause_in(caught.value).partial
        assert TEXT.startswith(partial.text)


class TestLangChainDeepSeek(ToolBattery):
    """`ChatDeepSeek`."""

    seat_type = DeepSeekSeat

    def test_reasoning_is_shown(self, sit: Callable[..., OpenAISeat]) -> None:
        """Unlike `ChatOpenAI` it shows the reasoning, plain and streamed."""
        model = sit().model()
        streamed = [chunk.additional_kwargs.get("reasoning_content") or "" for chunk in model.stream("Count.")]

        assert "I think." == model.invoke("Count.").additional_kwargs["reasoning_content"] == "".join(streamed)

    def test_agent_goes_on_without_thinking(self, sit: Callable[..., OpenAISeat]) -> None:
        """It does not send the reasoning back either."""
        seat = sit()

        assert "There is rain in 杭州." == text_of(
            langchain_agents.create_agent(seat.model(), [weather]).invoke(WEATHER)
        )
        assert [NO_REASONING] == seat.repairs

    def test_structured_output_by_tools(self, sit: Callable[..., OpenAISeat]) -> None:
        """Its own choice is a forced tool: the model does not think then."""
        seat = sit()

        assert MEETING == seat.model().with_structured_output(Meeting).invoke("When?")
        assert [FORCED] == seat.repairs

    def test_strict_tools_replace_the_clients(self, sit: Callable[..., OpenAISeat]) -> None:
        """Without *base_url*, strict tools make it build bare clients for /beta; with one, the client sees to it."""
        seat = sit()
        replaced = seat.model().bind_tools([weather], strict=True)
        kept = seat.model(base_url=str(seat.client.base_url)).bind_tools([weather], strict=True)

        assert openai.OpenAI is type(replaced.bound.root_client)
        assert seat.client is kept.bound.root_client
        kept.invoke("What is the weather?", extra_body=NO_THINKING)
        assert "/beta/chat/completions" == seat.server.requests[0].path
