"""Calls as users write them: never run, read by mypy in its strict mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import openai
from openai import AsyncStream, Stream
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion
from pydantic import BaseModel

import deepseek_sdk
from deepseek_sdk import AsyncClient, CacheStats, CallReport, Client, Deadlines, SemanticCache, Usage, report
from deepseek_sdk.caching import Eligibility, Guards, ModelJudge, OnnxEmbedder, RemoteEmbedder
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.calibration import Calibration
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.deciding.vcache import VCache
from deepseek_sdk.caching.embedding import DefaultEmbedder, Embedder
from deepseek_sdk.caching.learning.learner import Consequence
from deepseek_sdk.caching.prewarming import Prewarming
from deepseek_sdk.caching.warming.prewarm import Progress
from deepseek_sdk.caching.warming.templates import Template
from deepseek_sdk.caching.warming.warm import Warmed
from deepseek_sdk.errors import ContextOverflowError, Partial, StreamInterruptedError, classify

if TYPE_CHECKING:
    from openai._legacy_response import LegacyAPIResponse

    from deepseek_sdk.caching.learning.judge import Pair


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


async def judge(pair: Pair) -> bool | None:
    """Be a judge."""
    return None if pair.fresh is None else pair.answer == pair.fresh


def semantic() -> None:
    """Make semantic caches, and what they are made of."""
    SemanticCache("answers", ttl_s=60, max_false_hit=0.005, context="window:4", judge=judge, recheck_share=0.1)
    SemanticCache(embedder="org/name", judge=ModelJudge(per_hour=10), verify=lambda one, other: one == other)
    SemanticCache(guards=Guards(off={"name"}, antonyms=[("a", "b")]), eligibility=Eligibility(volatile=["now"]))
    for policy in (Calibrated(0.01), Static(0.97, guards=Guards()), VCache(0.01)):
        SemanticCache(max_bytes=0, policy=policy)
    embedders: list[Embedder] = [DefaultEmbedder(), OnnxEmbedder("org/name", pooling="cls"), RemoteEmbedder("bge-m3")]
    for embedder in embedders:
        SemanticCache(embedder=embedder)
    Client(cache=SemanticCache())


def learnt(client: Client, answer: ChatCompletion) -> None:
    """Say what was wrong, and look at what was decided."""
    outcome = report(answer).cache
    if outcome is not None and outcome.decision is not None:
        assert_type(outcome.decision.reason, str)
        assert_type(outcome.decision.similarity, float | None)
    if client.cache is not None:
        assert_type(client.cache.feedback(answer, good=False), Consequence)
        assert_type(client.cache.veto("a", "b"), bool)
        assert_type(client.cache.calibrate([("a", "b", True)], max_false_hit=0.5), Calibration)
        assert_type(client.cache.wait_until_ready(5), bool)
        assert_type(client.cache.stats(), CacheStats)


def warmed(client: Client) -> None:
    """Keep answers before anybody asks."""
    if client.cache is not None:
        assert_type(client.cache.warm({"a": "b"}, system="c", tags={"d": "e"}, temperature=0), Warmed)
        assert_type(client.cache.templates(top=3), list[Template])
        prewarming = client.cache.prewarm(budget_cny=1.0)
        assert_type(prewarming, Prewarming)
        assert_type(prewarming.progress, Progress)


async def warmed_async(client: AsyncClient) -> None:
    """Do the same on an event loop."""
    if client.cache is not None:
        assert_type(await client.cache.warm("faq.csv"), Warmed)
        prewarming = await client.cache.prewarm(now=True)
        assert_type(await prewarming.await_end(60), bool)
        assert_type(await client.cache.wait_until_ready(), bool)


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
