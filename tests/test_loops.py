"""Event loops: one client serves several, one after another and at the same time, and nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from deepseek_sdk import AsyncClient, report
from deepseek_sdk.testing import Emulator, EstimatedVocabulary
from tests.raw_server import RawServer, answer, stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from tests.raw_server import Exchange, Script

HI = stream(*answer("Hi"))


def slow_end(exchange: Exchange) -> None:
    """End the body a while after [DONE]: a script."""
    exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
    exchange.chunks(*answer("Hi"))
    exchange.pause(0.03)
    exchange.send(b"0\r\n\r\n")


BODY: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]}


async def ask(client: AsyncClient) -> str:
    """Ask once."""
    answered = await client.chat.completions.create(**BODY)
    return str(answered.choices[0].message.content)


def pools(client: AsyncClient) -> int:
    """Count the event loops that a client holds connections for."""
    transport: Any = client._client._transport
    return len(transport._pools.get().all())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_after_another(backend: str) -> None:
    """Each loop that ends closes its connections, and the client forgets it."""
    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        for _ in range(3):
            assert "Hi" == anyio.run(ask, client, backend=backend)
            assert 0 == pools(client)
            assert server.wait_until_closed()

    assert 3 == server.connections


def test_loops_of_several_libraries() -> None:
    """The same client serves asyncio and trio in turn."""
    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)

        assert ["Hi"] * 4 == [anyio.run(ask, client, backend=name) for name in ("asyncio", "trio") * 2]


def test_an_ended_loop_is_collected() -> None:
    """A client that was closed in a loop does not keep that loop alive."""
    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        loop = asyncio.new_event_loop()
        assert "Hi" == loop.run_until_complete(ask(client))
        loop.run_until_complete(client.close())
        loop.close()
        known = weakref.ref(loop)
        del loop
        gc.collect()

        assert known() is None


@pytest.mark.slow
def test_many_at_the_same_time() -> None:
    """Five threads with a loop each make two hundred calls over one client; each has its own record, once."""

    async def work(client: AsyncClient, name: int) -> list[tuple[str, str, int]]:
        async def one(turn: int) -> tuple[str, str, int]:
            text = f"{name}/{turn}"
            answered = await client.chat.completions.create(
                model="deepseek-flash", messages=[{"role": "user", "content": text}]
            )
            return text, str(answered.choices[0].message.content), len(report(answered).attempts)

        groups = [await asyncio.gather(*map(one, range(start, start + 8))) for start in range(0, 40, 8)]
        return [result for group in groups for result in group]

    with Emulator(vocabulary=EstimatedVocabulary()) as server, ThreadPoolExecutor(5) as pool:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        results = [
            result for part in pool.map(lambda name: asyncio.run(work(client, name)), range(5)) for result in part
        ]

        assert 200 == len(server.requests)
    assert [(text, f"You said: {text}", 1) for text, _, _ in results] == results
    assert 0 == pools(client)


def in_thread(work: Callable[[], Awaitable[None]]) -> threading.Thread:
    """Run a coroutine on an event loop of its own, in a thread of its own."""

    async def main() -> None:
        await work()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    return thread


def test_closing_reaches_other_loops() -> None:
    """`aclose()` lets a loop that runs in another thread close its connections, and waits for it."""
    used, finished = threading.Event(), threading.Event()
    closed_by: list[int] = []

    class Noting(httpx2.AsyncHTTPTransport):
        async def aclose(self) -> None:
            closed_by.append(threading.get_ident())
            await super().aclose()

    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        client._client._transport._make = Noting  # type: ignore[attr-defined]

        async def elsewhere() -> None:
            await ask(client)
            used.set()
            await anyio.to_thread.run_sync(finished.wait)

        thread = in_thread(elsewhere)
        used.wait()
        try:
            asyncio.run(client.aclose())
            assert server.wait_until_closed()
            assert 0 == pools(client)
            assert [thread.ident] == closed_by
        finally:
            finished.set()
            thread.join()


def test_closing_after_a_loop_that_stands_still() -> None:
    """`aclose()` does not wait for a loop that does not run; that loop closes its connections when it goes on."""
    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(ask(client))
        asyncio.run(client.aclose())
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()

        assert server.wait_until_closed()


def test_a_forgotten_client() -> None:
    """A client that is forgotten inside a loop has its connections closed."""

    async def main(url: str) -> None:
        await ask(AsyncClient(base_url=url, api_key="k"))
        gc.collect()
        assert await anyio.to_thread.run_sync(server.wait_until_closed)

    # The first client of a process loads modules from disk, which would block the loop.
    asyncio.run(AsyncClient(api_key="k").close())
    with RawServer(HI) as server:
        asyncio.run(main(server.url))


@types.coroutine
def cancelled_at(coroutine: Coroutine[Any, Any, Any], suspension: int) -> Generator[Any, Any, bool]:
    """Await a coroutine, and cancel the task at one of its suspensions; say whether it came to that."""
    step: Callable[[], Any] = partial(coroutine.send, None)
    for count in itertools.count(1):
        try:
            waited_for = step()
        except StopIteration:
            return count > suspension
        if count == suspension:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        try:
            step = partial(coroutine.send, (yield waited_for))
        except BaseException as error:  # noqa: BLE001  the coroutine gets it
            step = partial(coroutine.throw, error)
    raise AssertionError


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "the caller's"])
@pytest.mark.parametrize("plain", ["direct", "stream"])
@pytest.mark.parametrize("headers", [{}, {"connection": "close"}], ids=["kept", "new connections"])
@pytest.mark.parametrize("script", [HI, slow_end], ids=["at once", "slow end"])
def test_cancelled_at_any_point(script: Script, headers: dict[str, str], plain: Any, is_ours: bool) -> None:  # noqa: FBT001
    """Wherever a call is cancelled, also while it gives its connection back, the pool has its place again."""

    async def main(client: AsyncClient) -> list[int]:
        left = []
        for suspension in itertools.count(1):
            await ask(client)
            task = asyncio.create_task(awaited(cancelled_at(ask(client), suspension)))
            with contextlib.suppress(asyncio.CancelledError):
                if not await task:
                    break
            left.append(len(pool_of(client)._requests))
        await client.close()
        return left

    async def awaited(awaitable: Any) -> bool:
        return bool(await awaitable)

    with RawServer(script) as server:
        http_client = None if is_ours else httpx2.AsyncClient()
        client = AsyncClient(
            base_url=server.url,
            api_key="k",
            http_client=http_client,
            max_retries=0,
            plain=plain,
            default_headers=headers,
        )
        left = asyncio.run(main(client))

    assert len(left) > 2
    assert set(left) == {0}


def pool_of(client: AsyncClient) -> Any:
    """Find the pool of the event loop that runs."""
    transport: Any = client._client._transport
    pools = getattr(transport, "_pools", None)
    return transport._pool if pools is None else pools.get().all()[0][1].transport._pool
