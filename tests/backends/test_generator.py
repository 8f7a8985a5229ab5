"""Backends that compute their chunks: through the real clients, in both colours."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk import AsyncClient, Client, Deadlines, report
from deepseek_sdk._finish import finish
from deepseek_sdk.backends import reply_from
from deepseek_sdk.errors import FirstTokenTimeout, StallTimeout, StreamInterruptedError, TotalTimeout
from deepseek_sdk.testing import VirtualIO, chunk, make_call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from deepseek_sdk.backends import Call, Reply
    from deepseek_sdk.stages import Proceed
    from tests.conftest import Driver

Chunks = "AsyncGenerator[dict[str, Any], None]"


def part(content: str | None = None, finish: str | None = None) -> dict[str, Any]:
    """Give the least that a chunk may say."""
    return {"choices": [{"index": 0, "delta": {"content": content} if content else {}, "finish_reason": finish}]}


class Computed:
    """A backend whose chunks a function computes; it notes how each generator ended."""

    def __init__(self, generate: Callable[[Call], Any]) -> None:
        self.calls: list[Call] = []
        self.endings: list[str] = []
        self._generate = generate

    async def __call__(self, call: Call) -> Reply:
        """Answer a call."""
        self.calls.append(call)
        return reply_from(call, self._noted, route="computed")

    async def _noted(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        try:
            async for item in self._generate(call):
                yield item
        except GeneratorExit:
            self.endings.append("closed")
            raise
        except BaseException as error:
            self.endings.append(type(error).__name__)
            raise
        else:
            self.endings.append("finished")


def bare(generate: Callable[[Call], Any]) -> Any:
    """Make a backend of a generator, with nothing around it."""

    async def backend(call: Call) -> Reply:
        return reply_from(call, generate, route="bare")

    return backend


async def two_words(call: Call) -> AsyncGenerator[dict[str, Any], None]:
    """Say two words, waiting before each."""
    for word in ("你好", " world"):
        await call.io.sleep(0.001)
        yield part(word)
    yield part(finish="stop")


def test_answers(driver: Driver) -> None:
    """A backend answers plain and streamed calls, without a key or an endpoint."""
    backend = Computed(two_words)
    client = driver.client(api_key=None, backend=backend)
    plain, opened = driver.create(client), driver.create(client, stream=True)

    assert "你好 world" == plain.choices[0].message.content
    assert "你好 world" == driver.stream_text(opened)
    assert ("deepseek-flash", "chat.completion") == (plain.model, plain.object)
    assert ["computed"] * 2 == [report(answered).route for answered in (plain, opened)]
    assert ["finished"] * 2 == backend.endings


def test_helper_and_raw_response(driver: Driver) -> None:
    """`.stream()` and raw responses work as well."""
    client = driver.client(api_key=None, backend=Computed(two_words))
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    with driver.entered(client.chat.completions.stream(**body)) as helper:
        events = [event.type for event in driver.iterate(helper)]
    raw = driver.call(client.chat.completions.with_raw_response.create, **body)

    assert "content.done" in events
    assert "你好 world" == raw.parse().choices[0].message.content
    assert "computed" == raw.headers["x-deepseek-sdk-route"]


def test_completions(driver: Driver) -> None:
    """A call of `/completions` gets text completions."""

    async def text(call: Call) -> AsyncGenerator[dict[str, Any], None]:
        assert "/completions" == call.path
        yield {"choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}

    client = driver.client(api_key=None, backend=Computed(text))
    answered = driver.call(client.completions.create, model="m", prompt="Say hi")

    assert ("Hi", "text_completion") == (answered.choices[0].text, answered.object)


async def slow_start(call: Call) -> AsyncGenerator[dict[str, Any], None]:
    """Wait for long before the first word."""
    await call.io.sleep(30)
    yield part("late", finish="stop")


async def slow_end(call: Call) -> AsyncGenerator[dict[str, Any], None]:
    """Wait for long after the first word, on a future that nobody completes."""
    yield part("Hi")
    await call.io.wait(Future())
    yield part(finish="stop")


async def slow_work(call: Call) -> AsyncGenerator[dict[str, Any], None]:
    """Compute for long, in steps that cannot be cut short."""
    for _ in range(40):
        await call.io.offload(threading.Event().wait, 0.03)
        yield part("a")
    yield part(finish="stop")


async def slow_race(call: Call) -> AsyncGenerator[dict[str, Any], None]:
    """Race two things that both take long."""
    await call.io.race(lambda io: io.sleep(30), lambda io: io.sleep(40))
    yield part("late", finish="stop")


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize(
    ("generate", "deadlines", "error"),
    [
        (slow_work, Deadlines(total=0.1), TotalTimeout),
        (slow_race, Deadlines(total=0.05), TotalTimeout),
        (slow_start, Deadlines(first_token=0.05), FirstTokenTimeout),
        (slow_end, Deadlines(stall=0.05), StallTimeout),
        (slow_end, Deadlines(total=0.1), TotalTimeout),
    ],
    ids=["work", "race", "first token", "stall", "total"],
)
def test_clocks(driver: Driver, generate: Any, deadlines: Deadlines, error: type, is_stream: bool) -> None:  # noqa: FBT001
    """The clocks of a call end the waits of its backend."""
    backend = Computed(generate)
    client = driver.client(api_key=None, backend=backend, deadlines=deadlines)
    started = time.monotonic()
    with pytest.raises(error):
        driver.stream_text(driver.create(client, stream=True)) if is_stream else driver.create(client)

    assert time.monotonic() - started < 10
    assert 1 == len(backend.endings)


def test_a_wait_that_is_over_in_time() -> None:
    """A wait with a timeout of its own raises that, while the clocks have time left."""
    io = VirtualIO()

    async def impatient(call: Call) -> AsyncGenerator[dict[str, Any], None]:
        with pytest.raises(TimeoutError):
            await call.io.wait(Future(), 3)
        await call.io.offload(lambda: None)
        yield chunk("Hi", finish="stop")

    reply = reply_from(make_call(io=io), impatient, route="computed")

    assert "Hi" == finish(reply.next())[0].json()["choices"][0]["delta"]["content"]
    assert 3 == io.now()


def test_a_caller_that_leaves(driver: Driver) -> None:
    """Closing a stream closes the generator."""
    backend = Computed(slow_end)
    opened = driver.create(driver.client(api_key=None, backend=backend), stream=True)
    next(driver.iterate(opened))
    driver.call(opened.close)

    assert ["closed"] == backend.endings


def test_a_caller_that_forgets() -> None:
    """Forgetting a stream closes the generator."""
    backend = Computed(slow_end)
    messages: Any = [{"role": "user", "content": "Hi"}]
    opened = Client(backend=backend).chat.completions.create(model="m", messages=messages, stream=True)
    next(iter(opened))
    del opened
    gc.collect()

    assert ["closed"] == backend.endings


def test_an_answer_without_an_end(driver: Driver) -> None:
    """A generator that stops without a finish reason has been cut, like any other answer."""

    async def cut(_: Call) -> AsyncGenerator[dict[str, Any], None]:
        yield part("Hi")

    opened = driver.create(driver.client(api_key=None, backend=Computed(cut)), stream=True)
    with pytest.raises(StreamInterruptedError) as caught:
        driver.stream_text(opened)

    assert "Hi" == caught.value.partial.text


@pytest.mark.parametrize(
    ("error", "seen"), [(OSError("no device"), StreamInterruptedError), (KeyError("bug"), KeyError)]
)
def test_failures(driver: Driver, error: Exception, seen: type) -> None:
    """An OSError is a broken connection; what else a backend raises reaches the caller as it is."""

    async def broken(_: Call) -> AsyncGenerator[dict[str, Any], None]:
        yield part("Hi")
        raise error

    opened = driver.create(driver.client(api_key=None, backend=Computed(broken)), stream=True)
    with pytest.raises(seen):
        driver.stream_text(opened)


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize(
    ("garbage", "message"),
    [
        (5, "the backend 'bare' yielded 5: a chunk is a mapping"),
        (None, "the backend 'bare' yielded None: a chunk is a mapping"),
        ("text", "the backend 'bare' yielded 'text': a chunk is a mapping"),
        ({"choices": [object()]}, "the backend 'bare' yielded a chunk that is no JSON"),
    ],
)
def test_garbage(driver: Driver, garbage: Any, message: str, is_stream: bool) -> None:  # noqa: FBT001
    """What is no chunk is refused, and the backend named."""

    async def strange(_: Call) -> AsyncGenerator[Any, None]:
        yield part("Hi")
        yield garbage
        yield part(finish="stop")

    client = driver.client(api_key=None, backend=bare(strange))
    with pytest.raises(TypeError, match=re.escape(message)):
        driver.stream_text(driver.create(client, stream=True)) if is_stream else driver.create(client)


def test_a_refusal_is_retried(driver: Driver) -> None:
    """What a backend raises before its answer passes the same stages as what a server says."""

    class Refusing(Computed):
        async def __call__(self, call: Call) -> Reply:
            if not self.calls:
                self.calls.append(call)
                raise openai.APIConnectionError(request=httpx2.Request("POST", "http://backend.invalid"))
            return await super().__call__(call)

    backend = Refusing(two_words)
    answered = driver.create(driver.client(api_key=None, backend=backend))

    assert "你好 world" == answered.choices[0].message.content
    assert 2 == len(backend.calls)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_clean_up_that_fails(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    """What goes wrong while a generator is closed is logged; the caller gets its own error, and the loop lives on."""

    async def untidy(call: Call) -> AsyncGenerator[dict[str, Any], None]:
        try:
            yield part("Hi")
            await call.io.sleep(30)
        finally:
            raise ValueError("the clean-up failed")

    async def fail(call: Call, proceed: Proceed) -> Reply:
        reply = await proceed(call)
        await reply.next()
        raise KeyError("the real error")

    async def main() -> None:
        client = AsyncClient(backend=bare(untidy), stages=[fail])
        with pytest.raises(KeyError, match="the real error"):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True)
        await anyio.sleep(0.02)

    anyio.run(main, backend=backend)

    assert "a backend failed to end its answer" in caplog.text


def test_a_clean_up_that_fails_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """The same holds in the sync colour, also where the caller leaves a block by an error of its own."""

    async def untidy(_: Call) -> AsyncGenerator[dict[str, Any], None]:
        try:
            yield part("Hi")
        except GeneratorExit:
            yield part("not yet")

    body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    client = Client(backend=bare(untidy))

    def leave() -> None:
        with client.chat.completions.create(**body) as opened:
            next(iter(opened))
            raise KeyError

    with pytest.raises(KeyError):
        leave()

    assert "a backend failed to end its answer" in caplog.text


async def test_a_clock_that_was_ignored() -> None:
    """A generator that goes on after its clock has run out does not swallow a later cancellation by the caller."""

    async def stubborn(call: Call) -> AsyncGenerator[dict[str, Any], None]:
        yield part("one")
        try:
            await call.io.sleep(30)
        except asyncio.CancelledError:
            yield part("two")
        await asyncio.Event().wait()

    client = AsyncClient(backend=Computed(stubborn), deadlines=Deadlines(stall=0.05))
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    opened = aiter(await client.chat.completions.create(**body, stream=True))
    assert "one" == (await anext(opened)).choices[0].delta.content
    with contextlib.suppress(openai.APITimeoutError):
        await anext(opened)
    task = asyncio.current_task()

    assert task is not None
    assert 0 == task.cancelling()
