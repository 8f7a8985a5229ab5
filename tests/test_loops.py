"""Event loops: one client serves several, one after another and at the same time, and nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from deepseek_sdk import AsyncClient, report
from deepseek_sdk.testing import Emulator, EstimatedVocabulary
from tests.raw_server import RawServer, answer, stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HI = stream(*answer("Hi"))
BODY: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]}


async def ask(client: AsyncClient) -> str:
    """Ask once."""
    answered = await client.chat.completions.create(**BODY)
    return str(answered.choices[0].message.content)


def homes(client: AsyncClient) -> int:
    """Count the event loops that a client holds connections for."""
    transport: Any = client._client._transport
    return len(transport._homes.get().all())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_after_another(backend: str) -> None:
    """Each loop that ends closes its connections, and the client forgets it."""
    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        for _ in range(3):
            assert "Hi" == anyio.run(ask, client, backend=backend)
            assert 0 == homes(client)
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

        return [await done for start in range(0, 40, 8) for done in map(one, range(start, start + 8))]

    with Emulator(vocabulary=EstimatedVocabulary()) as server, ThreadPoolExecutor(5) as pool:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)
        results = [
            result for part in pool.map(lambda name: asyncio.run(work(client, name)), range(5)) for result in part
        ]

        assert 200 == len(server.requests)
    assert [(text, f"You said: {text}", 1) for text, _, _ in results] == results
    assert 0 == homes(client)


def in_thread(work: Callable[[], Awaitable[None]]) -> threading.Thread:
    """Run a coroutine on an event loop of its own, in a thread of its own."""

    async def main() -> None:
        await work()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    return thread


def test_closing_reaches_other_loops() -> None:
    """`aclose()` closes the connections of a loop that runs in another thread, and waits for it."""
    used, finished = threading.Event(), threading.Event()

    with RawServer(HI) as server:
        client = AsyncClient(base_url=server.url, api_key="k", max_retries=0)

        async def elsewhere() -> None:
            await ask(client)
            used.set()
            await anyio.to_thread.run_sync(finished.wait)

        thread = in_thread(elsewhere)
        used.wait()
        try:
            asyncio.run(client.aclose())
            assert server.wait_until_closed()
            assert 0 == homes(client)
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
        await asyncio.sleep(0.05)

    # The first client of a process loads modules from disk, which would block the loop.
    asyncio.run(AsyncClient(api_key="k").close())
    with RawServer(HI) as server:
        asyncio.run(main(server.url))

        assert server.wait_until_closed()


@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "the caller's"])
def test_cancelled_at_any_point(is_ours: bool) -> None:  # noqa: FBT001
    """Cancelling a task, also while it gives its connection back, never costs the pool a place."""

    async def main(client: AsyncClient) -> int:
        await ask(client)
        for turn in range(120):
            task = asyncio.create_task(ask(client))
            await asyncio.sleep(0.0004 * (turn % 20))
            for _ in range(turn // 20):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        left = len(pool_of(client)._requests)
        await client.close()
        return left

    with RawServer(HI) as server:
        http_client = None if is_ours else httpx2.AsyncClient()
        client = AsyncClient(base_url=server.url, api_key="k", http_client=http_client, max_retries=0)

        assert 0 == asyncio.run(main(client))


def pool_of(client: AsyncClient) -> Any:
    """Find the pool of the event loop that runs."""
    transport: Any = client._client._transport
    homes = getattr(transport, "_homes", None)
    return transport._pool if homes is None else homes.get().all()[0][1]._transport._pool
