"""Connections: used again, given back as soon as nobody reads, found through proxies; attempts: no more than said."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import random
import time
import warnings
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk import AsyncClient, Client, Deadlines, report
from deepseek_sdk.errors import TotalTimeout
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Fault
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    LoopbackProxy,
    RawServer,
    answer,
    completion,
    delta,
    refusal,
    silence,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.stages import Call, Proceed, Reply
    from tests.conftest import Driver
    from tests.raw_server import Exchange, Script


@pytest.fixture(autouse=True)
def _short_waits() -> None:
    """Draw short waits between attempts: they are random, and this seed begins with three small numbers."""
    random.seed(8916)


HI = stream(*answer("Hi"))
ENDLESS = stream(ROLE, delta(content="Hi"), end="hold")


def held_after_done(exchange: Exchange) -> None:
    """Say [DONE] and keep the body open: a script."""
    exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
    exchange.chunks(*answer("Hi"))
    if exchange.hold(10):
        raise ConnectionAbortedError


def late_end(exchange: Exchange) -> None:
    """End the body a moment after [DONE]: a script."""
    exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
    exchange.chunks(*answer("Hi"))
    exchange.pause(0.01)
    exchange.send(b"0\r\n\r\n")


@pytest.mark.parametrize("script", [HI, late_end], ids=["at once", "a moment later"])
def test_streams_share_a_connection(driver: Driver, script: Script) -> None:
    """Five streams after one another use one connection, also when the body ends a moment after [DONE]."""
    with RawServer(script) as server:
        client = driver.client(base_url=server.url)
        for _ in range(5):
            assert "Hi" == driver.stream_text(driver.create(client, stream=True))

    assert 1 == server.connections


@pytest.mark.parametrize("plain", ["stream", "direct"])
def test_plain_calls_share_a_connection(driver: Driver, plain: str) -> None:
    """Five plain calls after one another use one connection, however they are read."""
    script = HI if plain == "stream" else whole(completion("Hi"))
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, plain=plain)
        for _ in range(5):
            assert "Hi" == driver.create(client).choices[0].message.content

    assert 1 == server.connections


def test_refusals_share_a_connection(driver: Driver) -> None:
    """A refusal is read to its end, so that the next call finds the connection free."""
    with RawServer(refusal(400, "no"), HI) as server:
        client = driver.client(base_url=server.url)
        with pytest.raises(openai.BadRequestError):
            driver.create(client)
        driver.create(client)

    assert 1 == server.connections


def test_emulator_streams_share_a_connection(driver: Driver) -> None:
    """The same holds against the emulator."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url)
        for _ in range(5):
            driver.stream_text(driver.create(client, stream=True))

        assert 1 == server.connections


def test_held_after_done(driver: Driver) -> None:
    """A server that holds the body open after [DONE] is waited for only briefly."""
    with RawServer(held_after_done) as server:
        client = driver.client(base_url=server.url)
        started = time.monotonic()
        texts = [driver.stream_text(driver.create(client, stream=True)) for _ in range(2)]
        elapsed = time.monotonic() - started

    assert ["Hi", "Hi"] == texts
    assert elapsed < 5


def test_raw_streaming_response_shares_a_connection(driver: Driver) -> None:
    """Streaming responses that are read to the end give their connection back."""
    with RawServer(HI) as server:
        client = driver.client(base_url=server.url)
        for _ in range(3):
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
            with driver.entered(client.chat.completions.with_streaming_response.create(**body)) as response:
                list(driver.iterate(response.iter_lines()))

    assert 1 == server.connections


def begin(driver: Driver, server: RawServer) -> Any:
    """Open a stream that never ends and read its first content."""
    opened = driver.create(driver.client(base_url=server.url), stream=True)
    items = driver.iterate(opened)
    while not next(items).choices[0].delta.content:
        pass
    items.close()  # type: ignore[attr-defined]
    return opened


def settle(driver: Driver) -> None:
    """Collect garbage, and let the event loop do what that has started."""
    gc.collect()
    if driver.is_async:
        driver.call(asyncio.sleep, 0.05)


def test_close(driver: Driver) -> None:
    """Closing a stream in the middle ends its connection."""
    with RawServer(ENDLESS) as server:
        driver.call(begin(driver, server).close)

        assert server.wait_for_abort()


def test_with_block(driver: Driver) -> None:
    """Leaving the `with` block of a stream ends its connection."""
    with RawServer(ENDLESS) as server:
        with driver.entered(begin(driver, server)):
            pass

        assert server.wait_for_abort()


def test_exception_in_with_block(driver: Driver) -> None:
    """An exception in the `with` block of a stream ends its connection and is let through."""
    with RawServer(ENDLESS) as server:
        with pytest.raises(KeyError), driver.entered(begin(driver, server)):
            raise KeyError

        assert server.wait_for_abort()


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Let nothing but reference counts free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_forgotten_iterated_stream(driver: Driver) -> None:
    """A stream that is forgotten after a break ends its connection at once, without a garbage collection."""
    with RawServer(ENDLESS) as server:
        begin(driver, server)
        driver.call(asyncio.sleep, 0.05) if driver.is_async else None

        assert server.wait_for_abort()


@pytest.mark.usefixtures("without_collector")
def test_forgotten_untouched_stream(driver: Driver) -> None:
    """A stream that was never iterated ends its connection at once, too."""
    with RawServer(ENDLESS) as server:
        driver.create(driver.client(base_url=server.url), stream=True)
        driver.call(asyncio.sleep, 0.05) if driver.is_async else None

        assert server.wait_for_abort()


def test_forgotten_where_the_pool_is_locked() -> None:
    """Streams that are collected while their pool is at work are shut down, and leave the pool alone till later."""
    with RawServer(ENDLESS, ENDLESS, HI) as server:
        client: Any = Client(base_url=server.url, api_key="k", max_retries=0)
        pool = client._client._transport._pools.get()._pool
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        opened = [client.chat.completions.create(**body) for _ in range(2)]
        with pool._optional_thread_lock:
            opened.clear()
            gc.collect()

        assert server.wait_for_abort()
        assert 2 == len(pool._requests)
        list(client.chat.completions.create(**body))
        assert 0 == len(pool._requests)
        client.close()


def test_interrupted_before_anybody_has_it() -> None:
    """A response that an interrupt has lost on its way gives its place in the pool back with the next call."""

    async def interrupted(call: Call, proceed: Proceed) -> Reply:
        upstream = await call.io.send(call.upstream, call.upstream.request(call), math.inf)
        del upstream
        return await proceed(call)

    with RawServer(ENDLESS, HI, HI) as server:
        client: Any = Client(base_url=server.url, api_key="k", max_retries=0, stages=[interrupted])
        pool = client._client._transport._pools.get()._pool
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        client.chat.completions.create(**body)

        assert server.wait_for_abort()
        assert 0 == len(pool._requests)
        client.close()


def test_forgotten_raw_response(driver: Driver) -> None:
    """A raw response to a streamed call that is never parsed ends its connection when it is collected."""
    with RawServer(ENDLESS) as server:
        client = driver.client(base_url=server.url)
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        driver.call(client.chat.completions.with_raw_response.create, **body)
        settle(driver)

        assert server.wait_for_abort()


def test_helper_left_early(driver: Driver) -> None:
    """Leaving `.stream()` in the middle ends its connection."""
    with RawServer(ENDLESS) as server:
        client = driver.client(base_url=server.url)
        manager = client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Hi"}])
        with driver.entered(manager) as helper:
            next(driver.iterate(helper))

        assert server.wait_for_abort()


def test_pool_is_not_used_up(driver: Driver) -> None:
    """Streams that are left early leave room in a pool of one connection."""
    limits = httpx2.Limits(max_connections=1)
    timeout = httpx2.Timeout(5, pool=0.2)
    http_client = (httpx2.AsyncClient if driver.is_async else httpx2.Client)(limits=limits, timeout=timeout)
    with RawServer(ENDLESS) as server:
        client = driver.client(base_url=server.url, http_client=http_client, max_retries=0, timeout=timeout)
        for _ in range(4):
            opened = driver.create(client, stream=True)
            next(driver.iterate(opened))
            driver.call(opened.close)

        assert 4 == len(server.requests)


def test_left_early_over_any_client(driver: Driver) -> None:
    """Over an HTTP client of the caller's own a stream that is closed early ends its connection as well."""
    http_client = httpx2.AsyncClient() if driver.is_async else httpx2.Client()
    with RawServer(ENDLESS) as server:
        opened = driver.create(driver.client(base_url=server.url, http_client=http_client), stream=True)
        next(driver.iterate(opened))
        driver.call(opened.close)

        assert server.wait_for_abort()


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("script", [HI, whole(completion("Hi"))], ids=["events", "whole"])
def test_hooks_that_read(driver: Driver, script: Script, is_stream: bool) -> None:  # noqa: FBT001
    """An HTTP client whose hooks read every response, to log it, works as it does under bare openai."""
    seen: list[bytes] = []

    def read(response: httpx2.Response) -> None:
        seen.append(response.read())

    async def aread(response: httpx2.Response) -> None:
        seen.append(await response.aread())

    http_client: Any = (
        httpx2.AsyncClient(event_hooks={"response": [aread]})
        if driver.is_async
        else httpx2.Client(event_hooks={"response": [read]})
    )
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, http_client=http_client, max_retries=0)
        for _ in range(2):
            answered = driver.create(client, stream=is_stream)
            text = driver.stream_text(answered) if is_stream else answered.choices[0].message.content
            assert "Hi" == text

    assert 2 == len(seen)
    assert 1 == server.connections


def test_emulator_sees_the_abort(driver: Driver) -> None:
    """The emulator, too, sees that nobody reads any more."""
    with Emulator(replies="word " * 500, tokens_per_s=100, vocabulary=EstimatedVocabulary()) as server:
        opened = driver.create(driver.client(base_url=server.url), stream=True)
        next(driver.iterate(opened))
        driver.call(opened.close)

        assert server.wait_until_idle(1)
        assert "aborted by client" == server.requests[0].outcome


@pytest.mark.parametrize("script", [silence, ENDLESS], ids=["before headers", "in the middle"])
@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_cancelled_task(script: Script, is_stream: bool) -> None:  # noqa: FBT001
    """Cancelling the task that waits for an answer ends the connection, and the pool is free for the next call."""

    async def consume(client: AsyncClient) -> None:
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        answered: Any = await client.chat.completions.create(**body, stream=is_stream)
        if is_stream:
            async for _ in answered:
                pass

    async def main(server: RawServer) -> None:
        limits = httpx2.Limits(max_connections=1)
        http_client = httpx2.AsyncClient(limits=limits)
        async with AsyncClient(base_url=server.url, api_key="k", plain="stream", http_client=http_client) as client:
            task = asyncio.create_task(consume(client))
            await asyncio.sleep(0.1)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert task.cancelled()
            assert await anyio.to_thread.run_sync(server.wait_for_abort)
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])

    with RawServer(script, HI) as server:
        asyncio.run(main(server))

        assert 2 == len(server.requests)


def test_async_client_in_several_loops() -> None:
    """One async client serves several event loops after one another."""

    async def main(client: AsyncClient) -> str:
        answered = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
        return str(answered.choices[0].message.content)

    # Sockets of a loop that is gone cannot be closed any more; the library lets go of them, and Python says so.
    with RawServer(HI) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        texts = [asyncio.run(main(client)) for _ in range(3)]
        transport: Any = client._client._transport
        kept = len(transport._pools.get().all())
        del client, transport
        gc.collect()

    assert 0 == kept
    assert ["Hi"] * 3 == texts


def test_threads_share_a_client(driver: Driver) -> None:
    """Many calls at once over one client do not mix their answers."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url, plain="stream")
        prompts = [f"number {n}" for n in range(8)]

        def call(prompt: str) -> Callable[[], Any]:
            body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": prompt}]}
            return lambda: client.chat.completions.create(**body)

        answers = driver.together(*map(call, prompts))

    assert [f"You said: {prompt}" for prompt in prompts] == [
        answered.choices[0].message.content for answered in answers
    ]


# Proxies.


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_proxy_from_the_environment(driver: Driver, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A proxy that the environment names is used, for plain and for streamed calls."""
    with RawServer(HI) as server, LoopbackProxy(server.url) as proxy:
        monkeypatch.setenv(name, proxy.url)
        client = driver.client(base_url="http://api.deepseek.test")
        texts = [
            driver.create(client).choices[0].message.content,
            driver.stream_text(driver.create(client, stream=True)),
        ]

    assert ["Hi", "Hi"] == texts
    assert ["http://api.deepseek.test/chat/completions"] * 2 == proxy.seen


def test_no_proxy(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that NO_PROXY names is asked directly."""
    with RawServer(HI) as server, LoopbackProxy(server.url) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        driver.create(driver.client(base_url=server.url))

    assert [] == proxy.seen
    assert 1 == len(server.requests)


def test_clocks_through_a_proxy(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clocks hold through a proxy."""
    with RawServer(silence) as server, LoopbackProxy(server.url) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        client = driver.client(base_url="http://api.deepseek.test", deadlines=Deadlines(total=0.1))
        started = time.monotonic()
        with pytest.raises(TotalTimeout):
            driver.create(client)
        elapsed = time.monotonic() - started

    assert 0.1 <= elapsed < 4


# Attempts.


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize(("max_retries", "attempts"), [(0, 1), (1, 2), (2, 3)])
def test_attempts(driver: Driver, max_retries: int, attempts: int, is_stream: bool) -> None:  # noqa: FBT001
    """`max_retries` counts the attempts after the first; there is no other loop around them."""
    with RawServer(refusal(503, "busy", retry_after_ms="1")) as server:
        client = driver.client(base_url=server.url, max_retries=max_retries)
        with pytest.raises(openai.InternalServerError) as caught:
            driver.create(client, stream=is_stream)

    assert attempts == len(server.requests)
    assert attempts == len(report(caught.value).attempts)


def test_default_attempts(driver: Driver) -> None:
    """Without being told a client makes three attempts, as openai's does."""
    with RawServer(refusal(503, "busy", retry_after_ms="1")) as server, pytest.raises(openai.InternalServerError):
        driver.create(driver.client(base_url=server.url))

    assert 3 == len(server.requests)


def test_attempts_of_a_child(driver: Driver) -> None:
    """`with_options(max_retries=...)` holds for the child alone."""
    with RawServer(refusal(503, "busy", retry_after_ms="1")) as server:
        client = driver.client(base_url=server.url, max_retries=0)
        child = client.with_options(max_retries=1)
        for asked in (child, client):
            with pytest.raises(openai.InternalServerError):
                driver.create(asked)

    assert 3 == len(server.requests)


def test_refusals_are_not_repeated(driver: Driver) -> None:
    """A refusal that would be the same again is not asked for again."""
    for status in (400, 401, 402, 403, 404, 422):
        with RawServer(refusal(status, "no")) as server:
            with pytest.raises(openai.APIStatusError) as caught:
                driver.create(driver.client(base_url=server.url, max_retries=2))

            assert status == caught.value.status_code
            assert 1 == len(server.requests)


BROKEN: dict[str, Script] = {
    "cut after the role": stream(ROLE, end="close"),
    "clean end after the role": stream(ROLE),
    "reset after the role": stream(ROLE, end="reset"),
    "error after the role": stream(ROLE, b'data: {"error": {"message": "busy", "type": "server_error"}}\n\n'),
    "reset before headers": lambda exchange: exchange.reset(),
    "closed before headers": lambda exchange: exchange.close(),
    "empty body": stream(),
    "only keep-alives": stream(b": keep-alive\n\n"),
}


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_failed_preamble(driver: Driver, script: Script, is_stream: bool) -> None:  # noqa: FBT001
    """What fails before the first token is asked again, and the caller sees one answer with one role."""
    with RawServer(script, HI) as server:
        client = driver.client(base_url=server.url, plain="stream", max_retries=1)
        answered = driver.create(client, stream=is_stream)
        if is_stream:
            chunks = list(driver.iterate(answered))
            roles = [item.choices[0].delta.role for item in chunks if item.choices[0].delta.role]
            text = "".join(item.choices[0].delta.content or "" for item in chunks)
        else:
            roles, text = ["assistant"], answered.choices[0].message.content

    assert (["assistant"], "Hi") == (roles, text)
    assert 2 == len(server.requests)
    assert ["failed", "complete"] == [attempt.outcome for attempt in report(answered).attempts]


def test_shown_content_is_not_repeated(driver: Driver) -> None:
    """Once the caller has seen content a cut is an error, not another attempt."""
    with RawServer(stream(ROLE, delta(content="Ha"), end="close"), HI) as server:
        opened = driver.create(driver.client(base_url=server.url, max_retries=2), stream=True)
        items = driver.iterate(opened)
        seen = [next(items).choices[0].delta.content for _ in range(2)]
        with pytest.raises(openai.APIConnectionError):
            next(items)

    assert ["", "Ha"] == seen
    assert 1 == len(server.requests)


def test_cut_plain_call_is_repeated(driver: Driver) -> None:
    """A plain call has shown nothing, so a cut in its middle is made up for by another attempt."""
    with RawServer(stream(ROLE, delta(content="Ha"), end="close"), HI) as server:
        answered = driver.create(driver.client(base_url=server.url, plain="stream", max_retries=1))

    assert "Hi" == answered.choices[0].message.content
    assert 1 == report(answered).possibly_billed_attempts


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
def test_waits_as_asked(driver: Driver, header: str) -> None:
    """A server that says when to come back is obeyed."""
    value = {"retry-after": "0.15", "retry-after-ms": "150"}[header]
    with RawServer(refusal(429, "slow down", **{header.replace("-", "_"): value}), HI) as server:
        started = time.monotonic()
        driver.create(driver.client(base_url=server.url, max_retries=1))
        elapsed = time.monotonic() - started

    assert 0.15 <= elapsed < 4


def test_too_long_a_wait(driver: Driver) -> None:
    """A wait of more than two minutes is not begun, as openai does not."""
    with RawServer(refusal(429, "slow down", retry_after="600")) as server, pytest.raises(openai.RateLimitError):
        driver.create(driver.client(base_url=server.url))

    assert 1 == len(server.requests)


def test_fault_then_answer(driver: Driver) -> None:
    """Faults of the emulator before the first token are made up for."""
    faults: list[Fault | str | None] = [Fault.status(503, retry_after_s=0.001), "reset_before_headers"]
    with Emulator(faults=faults, vocabulary=EstimatedVocabulary()) as server:
        answered = driver.create(driver.client(base_url=server.url, plain="stream"))

    assert "You said: Hello" == answered.choices[0].message.content
    assert ["overloaded", "connection", None] == [attempt.reason for attempt in report(answered).attempts]


def test_only_the_finish_reason_missing_its_end(driver: Driver) -> None:
    """An answer that ends right after its finish reason is complete, without [DONE]."""
    with RawServer(stream(ROLE, delta(content="Hi"), FINISH), stream(DONE)) as server:
        opened = driver.create(driver.client(base_url=server.url), stream=True)

        assert "Hi" == driver.stream_text(opened)
        assert 1 == len(server.requests)
