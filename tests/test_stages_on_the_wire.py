"""Toy stages over real sockets: what later stages are built from holds where it counts, in both colours."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk import AsyncClient, Deadlines
from deepseek_sdk._pipeline import compose
from deepseek_sdk.backends.wire import answer as ask_endpoint
from deepseek_sdk.errors import StallTimeout, StreamInterruptedError
from deepseek_sdk.stages.retry import Retry
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    answer,
    delta,
    refusal,
    silence,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._pipeline import Proceed, Stage
    from deepseek_sdk._reply import Reply
    from tests.conftest import Driver
    from tests.raw_server import Exchange

WAYS = ["streamed", "folded", "direct"]


def with_stages(client: Any, *stages: Stage) -> Any:
    """Give a client a chain of its own."""
    client._heritage.family.proceed = compose(stages, ask_endpoint)
    return client


def text_of(driver: Driver, client: Any, way: str) -> str:
    """Make a call and read its answer."""
    if way == "streamed":
        return driver.stream_text(driver.create(client, stream=True))
    plain = {"folded": "stream", "direct": "direct"}[way]
    return str(driver.create(client.with_options(plain=plain)).choices[0].message.content)


class Hedge:
    """Asks twice at once and takes the first answer."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Race two attempts."""

        async def attempt(io: IO, after: float) -> Reply:
            await io.sleep(after)
            return await proceed(call.replace(io=io))

        async def discard(reply: Reply) -> None:
            await reply.close()

        _, reply = await call.io.race(partial(attempt, after=0.0), partial(attempt, after=0.05), discard=discard)
        return reply


@pytest.mark.parametrize("way", ["streamed", "folded"])
def test_the_winner_of_a_race_keeps_its_connection(driver: Driver, way: str) -> None:
    """The attempt that answers first is read to its end; the silent one is ended, and its server sees that."""
    with RawServer(
        silence, stream(ROLE, delta(content="Hi"), delta(content=" you"), FINISH, DONE, pause=0.02)
    ) as server:
        client = with_stages(driver.client(base_url=server.url, max_retries=0), Hedge(), Retry())

        assert "Hi you" == text_of(driver, client, way)
        assert server.wait_for_abort()
        assert 2 == len(server.requests)


class Raising:
    """Fails after the server has accepted the request."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Open an answer and drop it."""
        await proceed(call)
        raise ValueError("a mistake in a stage")


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_stage_that_raises_leaves_no_connection(driver: Driver, is_stream: bool) -> None:  # noqa: FBT001
    """What was opened before is closed."""
    with RawServer(stream(ROLE, end="hold")) as server:
        client = with_stages(driver.client(base_url=server.url, plain="stream"), Raising())
        with pytest.raises(ValueError, match="a mistake"):
            driver.create(client, stream=is_stream)
        if driver.is_async:
            driver.call(asyncio.sleep, 0.05)  # the loop closes what was opened when it next runs

        assert server.wait_for_abort()


class Permit:
    """Takes a permit for each call, and notes how it comes back."""

    def __init__(self) -> None:
        self.taken = 0
        self.endings: list[str] = []

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Let the call pass."""
        self.taken += 1
        reply = await proceed(call)
        reply.on_end(lambda ending, _: self.endings.append(ending))
        return reply


class Twice:
    """Asks twice and answers with the second answer."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Forget the first."""
        await proceed(call)
        return await proceed(call)


class Forgetting:
    """Forgets to return the answer."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Make a mistake that type checkers find."""
        await proceed(call)
        return None  # type: ignore[return-value]


@pytest.mark.parametrize("outer", [Raising(), Forgetting()], ids=["raises", "forgets"])
@pytest.mark.parametrize("is_stream", [True, False])
def test_permits_come_back_where_an_outer_stage_fails(driver: Driver, outer: Stage, is_stream: bool) -> None:  # noqa: FBT001
    """What an inner stage left on an answer learns its end, though no caller ever sees the answer."""
    permit = Permit()
    with RawServer(stream(ROLE, end="hold")) as server:
        client = driver.client(base_url=server.url, plain="stream", stages=[outer, permit])
        with pytest.raises((ValueError, AttributeError)):
            driver.create(client, stream=is_stream)

    assert ["abandoned"] == permit.endings


@pytest.mark.parametrize("way", WAYS)
def test_permits_come_back_from_answers_that_were_dropped(driver: Driver, way: str) -> None:
    """Of two answers the one that is dropped ends with the other, and gives its connection back."""
    permit = Permit()
    with RawServer(stream(*answer("Hi"))) as server:
        client = driver.client(base_url=server.url, stages=[Twice(), permit])

        assert "Hi" == text_of(driver, client, way)
        driver.call(client.close)
        assert server.wait_until_closed()
    assert ["complete", "abandoned"] == permit.endings


class Reading:
    """Reads a first answer to its end without closing it, and answers with a second."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Look at one answer, give another."""
        first = await proceed(call)
        while await first.next():
            pass
        return await proceed(call)


@pytest.mark.parametrize("way", ["streamed", "folded"])
def test_answers_that_a_stage_has_read(driver: Driver, way: str) -> None:
    """An answer that a stage has read and not closed gives its connection back with the end of the call."""
    permit = Permit()
    with RawServer(stream(*answer("Hi"))) as server:
        client = driver.client(base_url=server.url, stages=[Reading(), permit], plain="stream")

        assert ["Hi"] * 3 == [text_of(driver, client, way) for _ in range(3)]
        driver.call(client.close)
        assert server.wait_until_closed()
    assert ["complete"] * 6 == permit.endings


def test_permits_come_back_from_cancelled_calls() -> None:
    """A task that is cancelled while an outer stage waits gives back what inner stages have taken."""
    permit = Permit()

    async def lingering(call: Call, proceed: Proceed) -> Reply:
        reply = await proceed(call)
        await call.io.sleep(30)
        return reply

    async def main(url: str) -> None:
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        async with AsyncClient(base_url=url, api_key="k", stages=[lingering, permit]) as client:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.chat.completions.create(**body)

    with RawServer(stream(ROLE, end="hold")) as server:
        asyncio.run(main(server.url))

    assert ["abandoned"] == permit.endings


class Revalidating:
    """Answers, and asks again in the background, for next time."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.has_ended = threading.Event()

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Let the call pass."""

        async def revalidate(io: IO) -> None:
            try:
                reply = await proceed(call.replace(io=io))
                while events := await reply.next():
                    self.texts += [e.json()["choices"][0]["delta"].get("content", "") for e in events if not e.is_done]
            finally:
                self.has_ended.set()

        call.io.spawn(revalidate)
        return await proceed(call)


@pytest.mark.parametrize("way", WAYS)
def test_background_work_keeps_its_answers(driver: Driver, way: str) -> None:
    """An answer that background work reads does not end with the call that began the work."""
    stage = Revalidating()

    def script(exchange: Exchange) -> None:
        is_first = len(server.requests) == 1
        stream(*answer("a", "b"), pause=0.0 if is_first else 0.05)(exchange)

    with RawServer(script) as server:
        client = driver.client(base_url=server.url, stages=[stage], plain="stream")
        assert "ab" == text_of(driver, client, "streamed" if way == "streamed" else "folded")
        if driver.is_async:
            driver.call(anyio.to_thread.run_sync, stage.has_ended.wait, 5)

        assert stage.has_ended.wait(5)
    assert "ab" == "".join(stage.texts)


class Racing:
    """Races an attempt that is refused at once with one that begins later."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Race, if the call says so."""
        if call.body.get("user") != "racing":
            return await proceed(call)

        async def later(io: IO) -> Reply:
            await io.sleep(0.3)
            return await proceed(call.replace(io=io))

        _, reply = await call.io.race(lambda io: proceed(call.replace(io=io)), later)
        return reply


def test_a_loser_leaves_the_connections_of_others_alone(driver: Driver) -> None:
    """A branch that failed early has given its connection back; when the race ends, another call may be using it."""

    def script(exchange: Exchange) -> None:
        if exchange.request.body["user"] == "innocent":
            stream(ROLE, *[delta(content="x")] * 8, FINISH, DONE, pause=0.06)(exchange)
        elif len(server.requests) == 1:
            refusal(503, "busy")(exchange)
        else:
            stream(*answer("Hi"))(exchange)

    with RawServer(script) as server:
        client = driver.client(base_url=server.url, max_retries=0, stages=[Racing()])

        def innocent() -> str:
            while not server.requests:
                time.sleep(0.01)
            return driver.stream_text(driver.create(client, stream=True, user="innocent"))

        if driver.is_async:
            pytest.skip("an event loop cancels tasks, not sockets")
        texts = driver.together(lambda: driver.create(client, user="racing").choices[0].message.content, innocent)

    assert ["Hi", "x" * 8] == texts


def test_a_hook_that_raises_takes_nothing_away(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """The answer and the other hooks come as if nothing had happened; the mistake is logged."""
    seen: list[str] = []

    class Hooking:
        async def __call__(self, call: Call, proceed: Proceed) -> Reply:
            """Leave two hooks."""
            reply = await proceed(call)
            reply.on_end(lambda ending, _: {}[ending])
            reply.on_end(lambda ending, _: seen.append(ending))
            return reply

    with RawServer(stream(*answer("Hi"))) as server:
        client = with_stages(driver.client(base_url=server.url), Hooking())

        assert "Hi" == text_of(driver, client, "streamed")

    assert ["complete"] == seen
    assert "a hook failed" in caplog.text


@pytest.mark.parametrize("way", ["streamed", "folded"])
@pytest.mark.parametrize("ending", [[DONE], []], ids=["done", "eof"])
def test_every_choice_must_finish(driver: Driver, way: str, ending: list[bytes]) -> None:
    """An answer of several choices is complete when all of them are, not when the first is."""
    first = delta(content="A")
    second = delta(content="B-begin").replace(b'"index":0', b'"index":1').replace(b'"index": 0', b'"index": 1')

    assert second != delta(content="B-begin")
    with RawServer(stream(ROLE, first, second, FINISH, *ending)) as server:
        client = driver.client(base_url=server.url, max_retries=0)
        with pytest.raises(StreamInterruptedError):
            text_of(driver, client, way)


@pytest.mark.parametrize("is_ours", [True, False], ids=["our client", "a client of the caller's"])
def test_the_callers_own_time_is_not_the_servers(driver: Driver, is_ours: bool) -> None:  # noqa: FBT001
    """A consumer that takes longer than the stall limit over a chunk is not told that the server stalled."""
    own: dict[str, Any] = (
        {} if is_ours else {"http_client": httpx2.AsyncClient() if driver.is_async else httpx2.Client()}
    )
    pieces = [ROLE, *(delta(content=str(n)) for n in range(3)), FINISH, DONE]
    with RawServer(stream(*pieces, pause=0.05)) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=0.5), max_retries=0, **own)
        text = ""
        for part in driver.iterate(driver.create(client, stream=True)):
            text += part.choices[0].delta.content or ""
            time.sleep(0.55)

    assert "012" == text


def test_heartbeats_do_not_put_the_stall_clock_off(driver: Driver) -> None:
    """Events that carry nothing of the answer are no progress."""
    beat = b'data: {"object":"chat.completion.chunk","choices":[]}\n\n'
    with RawServer(stream(ROLE, delta(content="Hi"), *([beat] * 200), end="hold", pause=0.03)) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=0.3), max_retries=0)
        began = time.monotonic()
        with pytest.raises(StallTimeout):
            driver.stream_text(driver.create(client, stream=True))

    assert time.monotonic() - began < 5


def test_a_stream_closed_elsewhere_does_not_end_well(driver: Driver) -> None:
    """A reader whose stream is closed by another thread is woken and told that the answer is not complete."""
    if driver.is_async:
        pytest.skip("one event loop has one reader of a stream")
    with RawServer(stream(ROLE, delta(content="Hi"), end="hold")) as server:
        answer_stream = driver.create(driver.client(base_url=server.url, max_retries=0), stream=True)
        timer = threading.Timer(0.15, answer_stream.response.close)
        timer.start()
        with pytest.raises(openai.APIConnectionError):
            driver.stream_text(answer_stream)
        timer.join()
    gc.collect()
