"""Calls as users write them: never run, read by mypy in its strict mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import openai
from openai import AsyncStream, Stream
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion
from pydantic import BaseModel

import deepseek_sdk
from deepseek_sdk import AsyncClient, CallReport, Client, Deadlines, Usage, report
from deepseek_sdk.errors import ContextOverflowError, Partial, StreamInterruptedError, classify

if TYPE_CHECKING:
    from openai._legacy_response import LegacyAPIResponse


class Answer(BaseModel):
    """A structured answer."""

    city: str


def construct() -> None:
    """Make clients."""
    client = Client()
    Client(api_key="k", base_url="https://api.deepseek.com", max_retries=0, timeout=5.0)
    Client(deadlines=Deadlines(first_token=8, stall=None), plain="stream", session_id="s", priority="batch")
    Client(api_key=lambda: "k", default_headers={"a": "b"}, default_query={"a": 1}, organization="o", project="p")
    AsyncClient(deadlines=Deadlines(total=1.5))
    assert_type(client.with_options(timeout=3), Client)
    assert_type(client.copy(plain="direct", deadlines=Deadlines(connect=1)), Client)
    assert_type(AsyncClient().with_options(max_retries=1), AsyncClient)
    with Client() as entered:
        assert_type(entered, Client)
    as_openai: openai.OpenAI = client
    as_async: openai.AsyncOpenAI = AsyncClient()
    takes_openai(as_openai)
    takes_async(as_async)


def takes_openai(client: openai.OpenAI) -> None:
    """Be a framework."""
    client.models.list()


def takes_async(client: openai.AsyncOpenAI) -> None:
    """Be a framework with an event loop."""
    client.with_options(timeout=1)


def create(client: Client) -> None:
    """Ask in each of the ways."""
    plain = client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}])
    assert_type(plain, ChatCompletion)
    assert_type(plain.choices[0].message.content, str | None)
    streamed = client.chat.completions.create(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], stream=True
    )
    assert_type(streamed, Stream[ChatCompletionChunk])
    for chunk in streamed:
        assert_type(chunk, ChatCompletionChunk)
    either = client.chat.completions.create(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], stream=bool(plain.id)
    )
    assert_type(either, ChatCompletion | Stream[ChatCompletionChunk])
    parsed = client.chat.completions.parse(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], response_format=Answer
    )
    assert_type(parsed, ParsedChatCompletion[Answer])
    raw = client.chat.completions.with_raw_response.create(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}]
    )
    assert_raw(raw)
    fim = client.completions.create(model="deepseek-v4-pro", prompt="a", suffix="b")
    assert_type(fim, Completion)


def assert_raw(raw: LegacyAPIResponse[ChatCompletion]) -> None:
    """Look at a raw response."""
    assert_type(raw.parse(), ChatCompletion)


def extras(client: Client) -> None:
    """Say what openai's types know no word for."""
    client.chat.completions.create(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Hi"}],
        reasoning_effort="high",
        extra_body={"thinking": {"type": "disabled"}, "user_id": "u"},
        extra_headers={"X-Session-ID": "s"},
    )
    balance: object = client.balance()
    assert balance is not None
    with deepseek_sdk.options(session_id="s", plain="direct"):
        client.models.list()


async def create_async(client: AsyncClient) -> None:
    """Ask with an event loop."""
    plain = await client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}])
    assert_type(plain, ChatCompletion)
    streamed = await client.chat.completions.create(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], stream=True
    )
    assert_type(streamed, AsyncStream[ChatCompletionChunk])
    async for chunk in streamed:
        assert_type(chunk, ChatCompletionChunk)
    async with client.chat.completions.stream(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}]
    ) as helper:
        await helper.until_done()
    await client.close()


def told(answer: ChatCompletion) -> None:
    """Read a report."""
    found = report(answer)
    assert_type(found, CallReport)
    assert_type(found.usage, Usage | None)
    assert_type(found.trace_id, str | None)
    assert_type(found.times.total, float | None)
    assert_type(found.possibly_billed_attempts, int)
    assert_type([attempt.reason for attempt in found.attempts], list[str | None])


def caught(client: Client) -> Any:
    """Handle errors."""
    try:
        return client.models.list()
    except ContextOverflowError as error:
        assert_type(error.limit, int)
        return error.requested
    except StreamInterruptedError as error:
        assert_type(error.partial, Partial)
        return error.partial.text
    except openai.RateLimitError as error:
        return classify(error).retry
