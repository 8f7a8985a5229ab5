"""
The four clocks: by wall clock, behind keep-alives and before headers, with our HTTP client and with the caller's own.

The lower bounds are exact; the upper ones leave room for a machine that has other things to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import time
import warnings
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest

from deepseek_sdk import Deadlines, report
from deepseek_sdk.errors import FirstTokenTimeout, StallTimeout, TotalTimeout
from deepseek_sdk.testing import Reply
from tests.conftest import Driver
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    answer,
    completion,
    delta,
    keep_alives,
    silence,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import StartEmulator
    from tests.raw_server import Exchange, Script

# Long enough for a request to reach its server on a machine that hesitates.
LIMIT = 0.3
# The promise is 50 ms, and tests.bench.clocks measures it; a test machine may do other things meanwhile.
LATE = 0.7
BEAT = 0.02
THINKING = delta(content=None, reasoning_content="hm ")
CALLING = delta(
    tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]
)


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """Let modules that load at the first call be loaded before the first measurement."""
    with RawServer(stream(*answer("Hi"))) as server:
        for colour in ("sync", "async"):
            driver = Driver(colour)
            consume(driver, driver.client(base_url=server.url), is_stream=False)
            driver.close()


@contextlib.contextmanager
def timed(kind: type[BaseException], limit: float = LIMIT) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of exactly this kind after *limit* seconds."""
    started = time.monotonic()
    with pytest.raises(kind) as caught:
        yield caught
    elapsed = time.monotonic() - started

    assert kind is caught.type
    assert limit <= elapsed < limit + LATE


def then_silence(*pieces: bytes) -> Script:
    """Make a script that falls silent."""
    return stream(*pieces, end="hold")


def then_keep_alives(*pieces: bytes) -> Script:
    """Make a script that goes on with keep-alives only."""

    def script(exchange: Exchange) -> None:
        exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
        exchange.chunks(*pieces)
        while not exchange.stopping.is_set():
            exchange.pause(BEAT)
            exchange.chunks(b": keep-alive\n\n")

    return script


def roles_for_ever(exchange: Exchange) -> None:
    """Go on with role chunks only: a script."""
    exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
    while not exchange.stopping.is_set():
        exchange.chunks(ROLE)
        exchange.pause(BEAT)


def dripping(piece: bytes, every: float = BEAT) -> Script:
    """Make a script of an answer that never ends."""

    def script(exchange: Exchange) -> None:
        exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
        while not exchange.stopping.is_set():
            exchange.chunks(piece)
            exchange.pause(every)

    return script


FIRST_TOKEN: dict[str, Script] = {
    "before headers": silence,
    "after headers": then_silence(),
    "after the role": then_silence(ROLE),
    "behind keep-alives": keep_alives(BEAT),
    "behind blank lines": keep_alives(BEAT, blank_lines=True),
    "behind roles": roles_for_ever,
    "behind half an event": then_silence(b'data: {"choices": [{"delta": {"con'),
}
STALL: dict[str, Script] = {
    "silent": then_silence(ROLE, delta(content="Hi")),
    "behind keep-alives": then_keep_alives(ROLE, delta(content="Hi")),
    "in mid-event": then_silence(ROLE, delta(content="Hi"), delta(content="lost")[:40]),
    "while thinking": then_keep_alives(ROLE, THINKING, THINKING),
    "while calling": then_keep_alives(ROLE, CALLING),
}


@pytest.fixture(params=["our client", "a client of the caller's"])
def http_options(request: pytest.FixtureRequest, driver: Driver) -> dict[str, Any]:
    """Use our HTTP client, or one of the caller's."""
    if request.param == "our client":
        return {}
    return {"http_client": httpx2.AsyncClient() if driver.is_async else httpx2.Client()}


def consume(driver: Driver, client: Any, *, is_stream: bool) -> Any:
    """Make a call and take all of the answer."""
    answered = driver.create(client, stream=is_stream)
    return list(driver.iterate(answered)) if is_stream else answered


@pytest.mark.parametrize("script", FIRST_TOKEN.values(), ids=FIRST_TOKEN)
def test_first_token(driver: Driver, script: Script) -> None:
    """Without content, reasoning or a tool call a call fails at the limit, whatever else arrives."""
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=LIMIT))
        with timed(FirstTokenTimeout) as caught:
            consume(driver, client, is_stream=True)

    assert LIMIT == caught.value.limit
    assert 1 == len(server.requests)


@pytest.mark.parametrize("name", ["before headers", "behind keep-alives", "behind half an event"])
def test_first_token_over_any_client(driver: Driver, http_options: dict[str, Any], name: str) -> None:
    """The clock for the first token is kept over an HTTP client of the caller's own."""
    with RawServer(FIRST_TOKEN[name]) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=LIMIT), **http_options)
        with timed(FirstTokenTimeout):
            consume(driver, client, is_stream=True)


@pytest.mark.parametrize("script", STALL.values(), ids=STALL)
def test_stall(driver: Driver, script: Script) -> None:
    """An answer that falls silent is cut at the limit, keep-alives or not, and what had arrived is kept."""
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=LIMIT))
        with timed(StallTimeout) as caught:
            consume(driver, client, is_stream=True)

    assert bool(caught.value.partial)


@pytest.mark.parametrize("name", ["silent", "behind keep-alives", "in mid-event"])
def test_stall_over_any_client(driver: Driver, http_options: dict[str, Any], name: str) -> None:
    """The clock for a stall is kept over an HTTP client of the caller's own."""
    with RawServer(STALL[name]) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=LIMIT), **http_options)
        with timed(StallTimeout):
            consume(driver, client, is_stream=True)


@pytest.mark.parametrize(
    "script", [FIRST_TOKEN["before headers"], FIRST_TOKEN["behind keep-alives"]], ids=["headers", "beats"]
)
def test_first_token_of_a_plain_call(driver: Driver, script: Script) -> None:
    """A plain call is held to the clock for the first token as well."""
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=LIMIT))
        with timed(FirstTokenTimeout):
            consume(driver, client, is_stream=False)


def test_stall_of_a_plain_call(driver: Driver) -> None:
    """A plain call that stalls fails with the text that had arrived; a child keeps the clocks of its parent."""
    with RawServer(STALL["behind keep-alives"]) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=LIMIT))
        with timed(StallTimeout) as caught:
            consume(driver, client.with_options(timeout=30), is_stream=False)

    assert "Hi" == caught.value.partial.text


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize(
    "script", [silence, keep_alives(BEAT), dripping(delta(content="x "))], ids=["headers", "beats", "drip"]
)
def test_total(driver: Driver, script: Script, is_stream: bool) -> None:  # noqa: FBT001
    """The whole call ends at the limit, also when it is busy until then."""
    with RawServer(script) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(total=LIMIT))
        with timed(TotalTimeout):
            consume(driver, client, is_stream=is_stream)


def test_total_of_a_direct_call(driver: Driver, http_options: dict[str, Any]) -> None:
    """A plain call that is read whole is held to the total behind blank lines."""
    with RawServer(keep_alives(BEAT, blank_lines=True)) as server:
        client = driver.client(base_url=server.url, plain="direct", deadlines=Deadlines(total=LIMIT), **http_options)
        with timed(TotalTimeout):
            consume(driver, client, is_stream=False)


def test_total_includes_retries(driver: Driver) -> None:
    """The total is counted from the start of the call, not of the last attempt."""
    with RawServer(stream(ROLE, before_headers=0.05, end="close")) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(total=LIMIT), max_retries=50)
        started = time.monotonic()
        with pytest.raises(openai.APIConnectionError):
            consume(driver, client, is_stream=False)
        elapsed = time.monotonic() - started

    assert elapsed < LIMIT + LATE


def test_total_on_a_warm_connection(driver: Driver, http_options: dict[str, Any]) -> None:
    """A connection that is used again is held to the clocks of the call that uses it now."""
    with RawServer(stream(*answer("Hi")), silence) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(total=LIMIT), **http_options)
        consume(driver, client, is_stream=True)
        time.sleep(LIMIT)
        with timed(TotalTimeout):
            consume(driver, client, is_stream=True)

    assert 1 == server.connections


def test_clocks_end_with_the_call(driver: Driver, http_options: dict[str, Any]) -> None:
    """A connection that rests in the pool longer than the limits is not cut."""
    deadlines = Deadlines(first_token=LIMIT, stall=LIMIT, total=LIMIT)
    with RawServer(stream(*answer("Hi"))) as server:
        client = driver.client(base_url=server.url, deadlines=deadlines, **http_options)
        for _ in range(2):
            consume(driver, client, is_stream=True)
            time.sleep(LIMIT * 1.2)
        consume(driver, client, is_stream=False)

    assert 1 == server.connections


@contextlib.contextmanager
def full_listener() -> Iterator[str]:
    """Listen, but let the queue of connections be full: the next one waits for an answer to its SYN."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(2):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        time.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_connect(driver: Driver, http_options: dict[str, Any]) -> None:
    """A connection that is not made in time fails at the limit for it."""
    with full_listener() as url:
        client = driver.client(base_url=url, deadlines=Deadlines(connect=LIMIT), max_retries=0, **http_options)
        started = time.monotonic()
        with pytest.raises(openai.APITimeoutError):
            consume(driver, client, is_stream=False)
        elapsed = time.monotonic() - started

    assert LIMIT <= elapsed < LIMIT + LATE


def test_first_token_covers_the_connection(driver: Driver, http_options: dict[str, Any]) -> None:
    """The clock for the first token runs while the connection is being made."""
    with full_listener() as url:
        client = driver.client(base_url=url, deadlines=Deadlines(first_token=LIMIT), max_retries=0, **http_options)
        with timed(FirstTokenTimeout):
            consume(driver, client, is_stream=True)


def test_handshake(driver: Driver, http_options: dict[str, Any]) -> None:
    """A TLS handshake that is never answered ends at the limit."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        client = driver.client(base_url=url, deadlines=Deadlines(total=LIMIT), **http_options)
        with timed(TotalTimeout):
            consume(driver, client, is_stream=True)
        # httpcore2 leaves the socket of a handshake that was cancelled to the garbage collector.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_slow_but_alive(driver: Driver, http_options: dict[str, Any], is_stream: bool) -> None:  # noqa: FBT001
    """A reasoner that goes on within the limit is never cut, however long it takes in all."""
    pieces = [ROLE, *([THINKING] * 9), delta(content="Done."), FINISH, DONE]
    with RawServer(stream(*pieces, pause=0.1)) as server:
        deadlines = Deadlines(first_token=0.8, stall=0.8)
        client = driver.client(base_url=server.url, deadlines=deadlines, **http_options)
        started = time.monotonic()
        answered = consume(driver, client, is_stream=is_stream)
        elapsed = time.monotonic() - started

    assert elapsed > 1
    last = answered[-1].choices[0] if is_stream else answered.choices[0]
    assert "stop" == last.finish_reason


@pytest.mark.parametrize("token", [delta(content="x"), THINKING, CALLING], ids=["content", "reasoning", "tool call"])
def test_any_token_is_a_first_token(driver: Driver, token: bytes) -> None:
    """Content, reasoning and tool calls all end the wait for the first token."""
    with RawServer(then_silence(ROLE, token)) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=2, stall=LIMIT))
        with timed(StallTimeout):
            consume(driver, client, is_stream=True)


def test_off(driver: Driver) -> None:
    """None switches a clock off."""
    with RawServer(stream(ROLE, delta(content="Hi"), FINISH, DONE, pause=0.05)) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=0.03, stall=0.03))
        child = client.with_options(deadlines=Deadlines(first_token=None, stall=None))

        assert "Hi" == driver.create(child).choices[0].message.content


def test_timeout_bounds_silence(driver: Driver, http_options: dict[str, Any]) -> None:
    """`timeout` bounds silence, never the total length of a stream."""
    pieces = [ROLE, *[delta(content="x")] * 8, FINISH, DONE]
    with RawServer(stream(*pieces, pause=0.1)) as server:
        client = driver.client(base_url=server.url, timeout=0.8, **http_options)
        answered = consume(driver, client, is_stream=True)

    assert "stop" == answered[-1].choices[0].finish_reason


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_timeout_before_headers(driver: Driver, http_options: dict[str, Any], is_stream: bool) -> None:  # noqa: FBT001
    """`timeout` of the client or of a call ends a silent wait with a time-out error of `openai`."""
    with RawServer(silence) as server:
        client = driver.client(base_url=server.url, max_retries=0, **http_options)
        started = time.monotonic()
        with pytest.raises(openai.APITimeoutError):
            driver.create(client, stream=is_stream, timeout=LIMIT)
        elapsed = time.monotonic() - started

    assert LIMIT - 0.005 <= elapsed < LIMIT + LATE


def test_direct_keep_alives_then_answer(driver: Driver) -> None:
    """Blank lines before a whole answer are waited through and never reach a JSON parser."""

    def script(exchange: Exchange) -> None:
        exchange.head(content_type="application/json", transfer_encoding="chunked")
        for _ in range(4):
            exchange.chunks(b"\n")
            exchange.pause(BEAT)
        exchange.chunks(json.dumps(completion("Hi")).encode())
        exchange.send(b"0\r\n\r\n")

    with RawServer(script) as server:
        client = driver.client(base_url=server.url, plain="direct")

        assert "Hi" == driver.create(client).choices[0].message.content


def test_fired_clock_ends_the_connection(driver: Driver, http_options: dict[str, Any]) -> None:
    """When a clock runs out the server sees the connection end, so that it need not go on."""
    with RawServer(STALL["silent"]) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=LIMIT), **http_options)
        with timed(StallTimeout):
            consume(driver, client, is_stream=True)

        assert server.wait_for_abort()


def test_not_retried(driver: Driver) -> None:
    """A silent route is left, not asked again: it may be generating, and billing, all the same."""
    with RawServer(silence) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=LIMIT), max_retries=3)
        with timed(FirstTokenTimeout) as caught:
            consume(driver, client, is_stream=False)

    assert 1 == len(server.requests)
    assert 1 == report(caught.value).possibly_billed_attempts


def test_headers_and_context_reach_the_clocks(driver: Driver) -> None:
    """`with_options(deadlines=...)` lays single clocks over those of the client."""
    with RawServer(then_silence(ROLE, delta(content="Hi"))) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(stall=30, total=30))
        child = client.with_options(deadlines=Deadlines(stall=LIMIT))
        with timed(StallTimeout):
            consume(driver, child, is_stream=True)


@pytest.mark.parametrize("colour", ["async"])
def test_cancelled_by_the_caller(driver: Driver) -> None:
    """A cancellation by the caller is not mistaken for a clock."""

    async def cancelled(client: Any) -> bool:
        task = asyncio.create_task(
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        )
        await asyncio.sleep(0.1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    with RawServer(silence) as server:
        client = driver.client(base_url=server.url, deadlines=Deadlines(first_token=5, total=5))

        assert driver.call(cancelled, client)


def test_keep_alives_are_a_life_sign_of_a_whole_answer(driver: Driver, emulator: StartEmulator) -> None:
    """A plain call that is read whole waits as openai does: `timeout` bounds silence on the wire, not generation."""
    server = emulator(replies=Reply(content="late", wait_s=1), keep_alive_s=0.05)

    assert "late" == driver.create(driver.client(base_url=server.url, timeout=0.8)).choices[0].message.content


def test_timeout_ends_a_silent_whole_answer(driver: Driver) -> None:
    """Without a sign of life it ends after *timeout*, with openai's own error."""
    with RawServer(silence) as server, timed(openai.APITimeoutError, 0.2):
        driver.create(driver.client(base_url=server.url, timeout=0.2, max_retries=0))
