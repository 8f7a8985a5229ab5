"""Single-flight: equal calls at the same time are one upstream call, in both colours and shapes, whoever leaves."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import AsyncClient, Client, Deadlines, report
from deepseek_sdk.errors import StreamInterruptedError, TotalTimeout
from tests.caching.cached_calls import in_memory, outcome, status, until
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    answer,
    delta,
    refusal,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.caching import ExactCache
    from tests.conftest import Driver
    from tests.raw_server import Exchange, Script

BODY: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
HELD = stream(ROLE, delta(content="Hé"), end="hold")
HI = stream(*answer("Hé", "llo"))


class Gate:
    """Scripts that say something, and the rest when a test lets them."""

    def __init__(self) -> None:
        self.is_open = threading.Event()

    def then(self, rest: Script) -> Script:
        """Make a script that waits before its headers."""

        def script(exchange: Exchange) -> None:
            self.wait(exchange)
            rest(exchange)

        return script

    def within(self, *first: bytes, rest: tuple[bytes, ...]) -> Script:
        """Make a script that waits in the middle of its stream."""

        def script(exchange: Exchange) -> None:
            exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
            exchange.chunks(*first)
            self.wait(exchange)
            exchange.chunks(*rest)
            exchange.send(b"0\r\n\r\n")

        return script

    def wait(self, exchange: Exchange) -> None:
        """Wait until the test opens it."""
        while not (self.is_open.is_set() or exchange.stopping.is_set()):
            self.is_open.wait(0.01)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Make a gate that is open at the end."""
    gate = Gate()
    yield gate
    gate.is_open.set()


def options_for(server: RawServer, cache: ExactCache, **options: Any) -> dict[str, Any]:
    """Give the arguments of a client."""
    return {"base_url": server.url, "api_key": "test-key", "max_retries": 0, "cache": cache, "breaker": None, **options}


def text(found: Any) -> str:
    """Give what a call of the sync colour said; None for a stream without a text."""
    if hasattr(found, "choices"):
        return str(found.choices[0].message.content)
    return "".join(chunk.choices[0].delta.content or "" for chunk in found if chunk.choices)


async def async_text(found: Any) -> str:
    """Give what a call of the async colour said."""
    if hasattr(found, "choices"):
        return str(found.choices[0].message.content)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in found if chunk.choices])


class Elsewhere:
    """A caller with a thread, a client, and where it is async an event loop, of its own."""

    def __init__(self, colour: str, *, is_stream: bool, **options: Any) -> None:
        self._options = options
        self._is_stream = is_stream
        self.told: Future[tuple[str, Any]] = Future()
        work = self._sync if colour == "sync" else lambda: asyncio.run(self._async())
        self.thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self.thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self.told.set_result(work())
        except BaseException as error:  # noqa: BLE001  the test raises it
            self.told.set_exception(error)

    def _sync(self) -> tuple[str, Any]:
        with Client(**self._options) as client:
            found = client.chat.completions.create(**BODY, stream=self._is_stream)
            return text(found), report(found)

    async def _async(self) -> tuple[str, Any]:
        async with AsyncClient(**self._options) as client:
            found = await client.chat.completions.create(**BODY, stream=self._is_stream)
            return await async_text(found), report(found)

    def text(self) -> str:
        """Wait for what it is told."""
        return self.told.result(timeout=20)[0]

    def report(self) -> Any:
        """Wait for what it went through."""
        return self.told.result(timeout=20)[1]


def seats(cache: ExactCache) -> int:
    """Count who waits for an answer that is asked for."""
    return sum(len(flight._seats) for flight in list(cache.flights._under_way.get().values()))


@pytest.mark.slow
@pytest.mark.parametrize("leader", ["plain", "streamed"])
def test_stampede(leader: str, gate: Gate) -> None:
    """A thousand equal calls at once, of both colours and shapes, are one upstream call, and all are answered."""
    cache = in_memory()
    with RawServer(gate.within(ROLE, delta(content="Hé"), rest=(delta(content="llo"), FINISH, DONE))) as server:
        options = options_for(server, cache)

        async def tasks() -> list[str]:
            async def ask(number: int) -> str:
                return await async_text(await client.chat.completions.create(**BODY, stream=number % 2 == 0))

            async with AsyncClient(**options) as client:
                return await asyncio.gather(*map(ask, range(500)))

        def ask(number: int) -> str:
            return text(client.chat.completions.create(**BODY, stream=number % 2 == 0))

        with Client(**options) as client, ThreadPoolExecutor(501) as pool:
            first = pool.submit(ask, 0 if leader == "streamed" else 1)
            assert until(lambda: seats(cache) == 1)
            asked = pool.submit(asyncio.run, tasks())
            threads = [pool.submit(ask, number) for number in range(499)]
            assert until(lambda: seats(cache) == 1000, 30)
            gate.is_open.set()
            texts = [first.result(), *asked.result(), *(thread.result() for thread in threads)]

        assert ["Héllo"] * 1000 == texts
        assert 1 == len(server.requests)
        assert server.wait_until_closed()
    told = cache.tally.stats()
    assert (1000, 1, 0) == (told.coalesced + told.misses, told.stored, told.hits)
    # Where the leader has left before the costs are known, it is another who pays.
    assert told.misses in (1, 2)


@pytest.mark.parametrize("colour_elsewhere", ["sync", "async"])
def test_chunks_from_the_start(driver: Driver, gate: Gate, colour_elsewhere: str) -> None:
    """Who joins in the middle of a stream has what came so far at once, and the rest as it comes."""
    cache = in_memory()
    script = gate.within(ROLE, delta(content="Hé"), delta(content="l"), rest=(delta(content="lo"), FINISH, DONE))
    with RawServer(script) as server:
        options = options_for(server, cache)
        leader = driver.iterate(driver.create(driver.client(**options), stream=True))
        seen = [next(leader).model_dump() for _ in range(3)]
        other = Elsewhere(colour_elsewhere, is_stream=False, **options)
        follower = driver.create(driver.client(**options), stream=True)
        items = driver.iterate(follower)
        seen_again = [next(items).model_dump() for _ in range(3)]
        assert until(lambda: seats(cache) == 3)
        assert not gate.is_open.is_set()
        gate.is_open.set()
        rest, rest_again = list(leader), list(items)

        assert seen == seen_again
        assert [chunk.model_dump() for chunk in rest] == [chunk.model_dump() for chunk in rest_again]
        assert "Héllo" == other.text()
        assert 1 == len(server.requests)
    assert ("coalesced", "flight") == (status(follower), outcome(follower).level)


@pytest.mark.parametrize("wanting", ["leader", "follower"])
def test_usage_for_who_asks(driver: Driver, gate: Gate, wanting: str) -> None:
    """Of a stream that several get, each tells usage as its caller asked for it."""
    cache = in_memory()
    with_usage: dict[str, Any] = {"stream_options": {"include_usage": True}}
    with RawServer(gate.within(ROLE, delta(content="Hé"), rest=(FINISH, DONE))) as server:
        options = options_for(server, cache)
        found = []
        for who in ("leader", "follower"):
            wanted = with_usage if who == wanting else {}
            items = driver.iterate(driver.create(driver.client(**options), stream=True, **wanted))
            found.append((who, next(items), items))
        gate.is_open.set()
        told = {who: [first, *rest] for who, first, rest in found}

        assert 1 == len(server.requests)
    other = "leader" if wanting == "follower" else "follower"
    assert all(chunk.choices for chunk in told[other])
    assert 5 == next(chunk.usage for chunk in told[wanting] if chunk.usage).total_tokens


def forget(driver: Driver, client: Any, opened: list[Any]) -> None:
    """Drop a stream that nobody closed."""
    del client
    opened.clear()
    gc.collect()
    for _ in range(5 * driver.is_async):
        # An event loop closes what was forgotten, once it runs.
        driver.call(asyncio.sleep, 0)


def close_stream(driver: Driver, client: Any, opened: list[Any]) -> None:
    """Close it."""
    del client
    driver.call(opened[0].close)


def close_client(driver: Driver, client: Any, opened: list[Any]) -> None:
    """Close the client that it is of."""
    del opened
    driver.call(client.close)


LEAVING = {"closes its stream": close_stream, "is forgotten": forget, "closes its client": close_client}


@pytest.mark.parametrize("colour_elsewhere", ["sync", "async"])
@pytest.mark.parametrize("shape", ["plain", "streamed"])
@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_leader_that_leaves(driver: Driver, gate: Gate, way: str, shape: str, colour_elsewhere: str) -> None:
    """Whatever becomes of the call that began, those who wait for the same are answered."""
    cache = in_memory()
    script = gate.within(ROLE, delta(content="Hé"), rest=(delta(content="llo"), FINISH, DONE))
    with RawServer(script) as server:
        options = options_for(server, cache)
        client = driver.client(**options)
        opened = [driver.create(client, stream=True)]
        items = driver.iterate(opened[0])
        next(items)
        others = [Elsewhere(colour_elsewhere, is_stream=shape == "streamed", **options) for _ in range(3)]
        assert until(lambda: seats(cache) == 4)
        del items
        LEAVING[way](driver, client, opened)
        assert until(lambda: seats(cache) in (0, 3))
        gate.is_open.set()
        # The event loop of the test stands still between calls, and with it what a leader began there.
        is_ended = way == "closes its client"
        if driver.is_async and not is_ended:
            driver.call(asyncio.wait_for, asyncio.to_thread(others[0].thread.join, 10), 15)

        if is_ended and shape == "streamed":
            # They may have seen some of it.
            for other in others:
                try:
                    assert "Héllo" == other.text()
                except StreamInterruptedError as error:
                    assert "Hé" == error.partial.text  # noqa: PT017  either will do
        else:
            assert ["Héllo"] * 3 == [other.text() for other in others]
        assert len(server.requests) <= 2 if is_ended else len(server.requests) == 1


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_an_event_loop_that_ends(colour: str, gate: Gate) -> None:
    """Where the event loop of the call that began ends, another of those who wait asks."""
    cache = in_memory()
    with RawServer(gate.then(HI), HI) as server:
        options = options_for(server, cache)
        others: list[Elsewhere] = []
        client = AsyncClient(**options)

        async def lead() -> None:
            asked = asyncio.ensure_future(client.chat.completions.create(**BODY))
            await asyncio.to_thread(until, lambda: seats(cache) == 1)
            others.extend(Elsewhere(colour, is_stream=number == 1, **options) for number in range(3))
            await asyncio.to_thread(until, lambda: seats(cache) == 4)
            del asked

        asyncio.run(lead())

        assert ["Héllo"] * 3 == [other.text() for other in others]
        assert 2 == len(server.requests)


def test_a_leader_that_is_cancelled(gate: Gate) -> None:
    """A task that is cancelled leaves the upstream call to those who wait with it."""
    cache = in_memory()

    async def run(server: RawServer) -> tuple[list[str], Any]:
        async with AsyncClient(**options_for(server, cache)) as client:
            asked = [asyncio.ensure_future(client.chat.completions.create(**BODY)) for _ in range(3)]
            await asyncio.to_thread(until, lambda: seats(cache) == 3)
            asked[0].cancel()
            await asyncio.wait(asked[:1])
            gate.is_open.set()
            return [await async_text(await one) for one in asked[1:]], asked[0]

    with RawServer(gate.then(HI)) as server:
        texts, cancelled = asyncio.run(run(server))

        assert ["Héllo"] * 2 == texts
        assert cancelled.cancelled()
        assert 1 == len(server.requests)


@pytest.mark.parametrize("way", ["closes its stream", "is forgotten"])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_all_leave(driver: Driver, way: str) -> None:
    """When the last of them leaves, the server is told to stop, and nothing is held any more."""
    cache = in_memory()
    threads = threading.active_count()
    with RawServer(HELD) as server:
        client = driver.client(**options_for(server, cache))
        threads_before = threading.active_count()
        opened = [driver.create(client, stream=True) for _ in range(3)]
        for place in range(3):
            next(driver.iterate(opened[place]))
        while opened:
            last = [opened.pop()]
            assert 0 == len(server.aborts)
            LEAVING[way](driver, client, last)
        if driver.is_async:
            driver.call(asyncio.wait_for, asyncio.to_thread(server.wait_for_abort), 10)

        assert server.wait_for_abort()
        assert server.wait_until_closed()
        assert 0 == sum(limiter.in_flight for limiter in client.limiters)
        assert until(lambda: not cache.flights._under_way.get())
        assert until(lambda: threading.active_count() <= threads_before + driver.is_async)
    assert threads <= threads_before


FAILURES: dict[str, tuple[Script, type[Exception]]] = {
    "500": (refusal(500, "no"), openai.InternalServerError),
    "503": (refusal(503, "no"), openai.InternalServerError),
    "429": (refusal(429, "no"), openai.RateLimitError),
    "cut": (stream(ROLE, delta(content="Hé"), end="close"), StreamInterruptedError),
    "reset": (stream(end="reset"), openai.APIConnectionError),
}


@pytest.mark.parametrize("colour_elsewhere", ["sync", "async"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_leader_that_fails(driver: Driver, gate: Gate, name: str, colour_elsewhere: str) -> None:
    """Where the call that began fails, one of those who wait asks in its place, for all the others."""
    cache = in_memory()
    script, kind = FAILURES[name]
    with RawServer(gate.then(script), HI) as server:
        options = options_for(server, cache)
        others: list[Elsewhere] = []

        def wait_for_all() -> None:
            assert until(lambda: seats(cache) == 1)
            others.extend(Elsewhere(colour_elsewhere, is_stream=number == 1, **options) for number in range(3))
            assert until(lambda: seats(cache) == 4)
            gate.is_open.set()

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(wait_for_all)
            with pytest.raises(kind) as caught:
                driver.create(driver.client(**options))
            waiting.result()

        assert ["Héllo"] * 3 == [other.text() for other in others]
        assert 2 == len(server.requests)
    assert ("miss", 1) == (status(caught.value), len(report(caught.value).attempts))
    assert 1 == sum(len(other.report().attempts) for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before the headers", "in the middle"])
def test_a_leader_without_time(driver: Driver, gate: Gate, where: str) -> None:
    """The limit that a call sets itself ends that call alone: the others go on waiting, or one of them asks."""
    cache = in_memory()
    first = (
        gate.then(HI) if where == "before the headers" else gate.within(ROLE, delta(content="Hé"), rest=(FINISH, DONE))
    )
    with RawServer(first, HI) as server:
        options = options_for(server, cache)
        others: list[Elsewhere] = []

        def join() -> None:
            assert until(lambda: seats(cache) == 1)
            others.extend(Elsewhere(colour, is_stream=False, **options) for colour in ("sync", "async"))

        with ThreadPoolExecutor(1) as pool:
            joined = pool.submit(join)
            with pytest.raises(TotalTimeout) as caught:
                driver.create(driver.client(**options, deadlines=Deadlines(total=1)))
            joined.result()
        if where == "in the middle":
            assert 1 == len(server.requests)
            gate.is_open.set()
            if driver.is_async:
                driver.call(asyncio.wait_for, asyncio.to_thread(others[0].thread.join, 10), 15)

        expected = "Héllo" if where == "before the headers" else "Hé"
        assert [expected] * 2 == [other.text() for other in others]
        assert (2 if where == "before the headers" else 1) == len(server.requests)
    assert "miss" == status(caught.value)
    assert 1.0 == caught.value.limit


def test_a_follower_without_time(driver: Driver, gate: Gate) -> None:
    """A call that waits for another is ended by its own limit, at its time, and the other goes on."""
    cache = in_memory()
    with RawServer(gate.then(HI)) as server:
        options = options_for(server, cache)
        leader = Elsewhere("sync", is_stream=False, **options)
        assert until(lambda: seats(cache) == 1)
        started = time.monotonic()
        with pytest.raises(TotalTimeout) as caught:
            driver.create(driver.client(**options, deadlines=Deadlines(total=0.1)))
        elapsed = time.monotonic() - started
        gate.is_open.set()

        assert 0.1 <= elapsed < 2
        assert "Héllo" == leader.text()
        assert 1 == len(server.requests)
    told = report(caught.value)
    assert ((), 0.1) == (told.attempts, caught.value.limit)
    assert told.cache is not None


@pytest.mark.slow
def test_outage(driver: Driver) -> None:
    """Where nobody answers, a crowd asks a few times in all, and everyone has an error of his own."""
    cache = in_memory()

    def refuse(exchange: Exchange) -> None:
        # The others are back before this one has failed, too.
        exchange.pause(0.2)
        refusal(503, "down")(exchange)

    with RawServer(refuse) as server:
        client = driver.client(**options_for(server, cache))
        found = driver.together(*[partial(client.chat.completions.create, **BODY)] * 50)
        asked = len(server.requests)

    assert all(isinstance(error, openai.InternalServerError) for error in found)
    # One asks, and when it fails another, three times for those who wait.
    assert 1 <= asked <= 8
    assert 50 == len({id(error) for error in found})
    assert 50 == len({id(error.__traceback__) for error in found})
    assert max(depth(error) for error in found) < 40
    assert asked == sum(len(report(error).attempts) for error in found)


def depth(error: BaseException) -> int:
    """Count the frames of a traceback."""
    trace, frames = error.__traceback__, 0
    while trace is not None:
        trace, frames = trace.tb_next, frames + 1
    return frames


@pytest.mark.parametrize("shape", ["plain", "streamed"])
@pytest.mark.parametrize("code", [400, 422])
def test_a_refusal(driver: Driver, gate: Gate, code: int, shape: str) -> None:
    """A request that the server finds wrong is asked once for all who wait, and for all who ask again soon."""
    cache = in_memory()
    with RawServer(gate.then(refusal(code, "Wrong."))) as server:
        options = options_for(server, cache)
        others = [Elsewhere(colour, is_stream=shape == "streamed", **options) for colour in ("sync", "async") * 3]
        assert until(lambda: seats(cache) == 6)
        gate.is_open.set()
        errors = [other.told.exception(timeout=10) for other in others]
        with pytest.raises(openai.APIStatusError) as caught:
            driver.create(driver.client(**options), stream=shape == "streamed")

        assert 1 == len(server.requests)
    assert [code] * 7 == [error.status_code for error in (*errors, caught.value)]  # type: ignore[union-attr]
    assert ("negative", ()) == (status(caught.value), report(caught.value).attempts)
    assert 7 == len({id(error.__traceback__) for error in (*errors, caught.value)})  # type: ignore[union-attr]
    assert all("Wrong." in str(error) for error in (*errors, caught.value))


@pytest.mark.parametrize("code", [401, 402, 403, 404])
def test_what_is_refused_to_all(driver: Driver, gate: Gate, code: int) -> None:
    """What the account may not do is asked once for all who wait, and again for who comes later."""
    cache = in_memory()
    with RawServer(gate.then(refusal(code, "No."))) as server:
        options = options_for(server, cache)
        others = [Elsewhere(colour, is_stream=False, **options) for colour in ("sync", "async") * 2]
        assert until(lambda: seats(cache) == 4)
        gate.is_open.set()
        errors = [other.told.exception(timeout=10) for other in others]
        assert 1 == len(server.requests)
        with pytest.raises(openai.APIStatusError) as caught:
            driver.create(driver.client(**options))

        assert 2 == len(server.requests)
    assert [code] * 5 == [error.status_code for error in (*errors, caught.value)]  # type: ignore[union-attr]
