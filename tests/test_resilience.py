"""Outages, limits and impatient callers over real sockets, in both colours, with all that a client has by default."""

from __future__ import annotations

import asyncio
import email.utils
import gc
import inspect
import math
import os
import random
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai.types.chat import ChatCompletion

from deepseek_sdk import (
    AsyncClient,
    BreakerPolicy,
    Client,
    Deadlines,
    LimiterPolicy,
    RetryPolicy,
    Route,
    report,
)
from deepseek_sdk.backends import Call, Reply, reply_from
from deepseek_sdk.errors import CircuitOpenError, LimiterTimeoutError, ServerEventError, TotalTimeout
from deepseek_sdk.resilience import Account, Breakers, Limiters
from deepseek_sdk.stages import Policies, default_stages
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    USAGE,
    RawServer,
    answer,
    chunk,
    completion,
    delta,
    event,
    refusal,
    silence,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)
from tests.test_churn import (
    one_async,
    one_sync,
    server,  # noqa: F401  a fixture
)
from tests.test_fork import run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from deepseek_sdk.stages import Proceed
    from tests.conftest import Driver, StartEmulator
    from tests.raw_server import Exchange

BODY: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
DOWN = refusal(503, "busy")
HI = stream(*answer("Hi"))
QUICK = RetryPolicy(first_wait=0.01, longest_wait=0.02)


def elsewhere(there: RawServer, model: str = "deepseek-v4-pro", **given: Any) -> Route:
    """Make a route to another endpoint."""
    return Route(model, base_url=there.url, api_key="other-key-000000", **given)


def calls(client: Any, count: int, **options: Any) -> list[Callable[[], Any]]:
    """Give calls to make at once."""
    return [partial(client.chat.completions.create, **BODY, **options)] * count


def only(kept: Any) -> Any:
    """Give the one breaker, or limiter, that there is."""
    (found,) = kept
    return found


def until(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Look until something holds, or it is too late."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not holds() and time.monotonic() < end:
        pause.wait(0.005)
    return holds()


def routes_of(errors_or_answers: list[Any]) -> list[str | None]:
    """Say who answered each call, or was asked last."""
    return [report(found).route for found in errors_or_answers]


# Streams.


@pytest.mark.parametrize(
    ("preamble", "is_hidden"),
    [([ROLE] * 60, True), ([ROLE] * 70, False), ([delta(role="assistant", x="y" * 100_000)] * 3, False)],
    ids=["60 events", "70 events", "300 kB"],
)
def test_how_much_is_held_back(driver: Driver, preamble: list[bytes], *, is_hidden: bool) -> None:
    """Events without content are held back so that another can take over unseen, but not without end."""
    failing = stream(*preamble, b'data: {"error": {"message": "busy"}}\n\n')
    with RawServer(failing) as first, RawServer(HI) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)])
        if is_hidden:
            assert "Hi" == driver.stream_text(driver.create(client, stream=True))
            return
        with pytest.raises(ServerEventError):
            driver.stream_text(driver.create(client, stream=True))

    assert [] == second.requests


def test_the_stream_of_a_retry_is_alive(driver: Driver) -> None:
    """Nothing of two streams that failed reaches into the third one: it is read to its end, slow as it is."""
    words = [f"{n} " for n in range(30)]
    cut, slow = stream(ROLE, end="close"), stream(*answer(*words), pause=0.03)
    with RawServer(cut, stream(ROLE, end="reset"), slow) as there:
        client = driver.client(base_url=there.url, max_retries=2, retry=QUICK, deadlines=Deadlines(stall=0.7))
        found = driver.create(client, stream=True)
        text = driver.stream_text(found)

    told = report(found)
    assert "".join(words) == text
    assert ["failed", "failed", "complete"] == [attempt.outcome for attempt in told.attempts]
    assert (0, "stop") == (told.possibly_billed_attempts, told.finish_reason)


@pytest.mark.slow
def test_a_reasoner_that_falls_silent(driver: Driver) -> None:
    """A plain call whose model stops thinking in the middle is answered by the next route, keep-alives or not."""

    def thinks(exchange: Exchange) -> None:
        exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
        exchange.chunks(ROLE, *[delta(reasoning_content="hm ")] * 5)
        while not exchange.stopping.is_set():
            exchange.pause(0.05)
            exchange.chunks(b": keep-alive\n\n")

    with RawServer(thinks) as first, RawServer(HI) as second:
        deadlines = Deadlines(first_token=3, stall=0.3)
        found = driver.create(driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=deadlines))

        assert first.wait_for_abort()
    assert "Hi" == found.choices[0].message.content
    assert None is getattr(found.choices[0].message, "reasoning_content", None)
    assert [("stall", True), (None, False)] == [(a.reason, a.is_possibly_billed) for a in report(found).attempts]


def test_other_surfaces(driver: Driver, emulator: StartEmulator) -> None:
    """Completions of a prompt, and requests that are written by hand, go along the routes like any other call."""
    first, second = emulator(faults="status_503"), emulator(replies="Hi")
    route = Route("deepseek-v4-pro", name="second", base_url=second.url, api_key="k")
    client = driver.client(base_url=first.url, routes=[route], max_retries=0)
    by_hand = driver.call(client.post, "/chat/completions", cast_to=ChatCompletion, body=BODY)
    child = client.with_options(timeout=20)
    prompt = driver.call(child.completions.create, model="deepseek-flash", prompt="def f(", max_tokens=5)

    assert "Hi" == by_hand.choices[0].message.content
    assert [["default", "second"]] * 2 == [
        [attempt.route for attempt in report(found).attempts] for found in (by_hand, prompt)
    ]


# Retries.


class Asking:
    """A backend that answers what another client answers."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, call: Call) -> Reply:
        """Ask."""
        return reply_from(call, self._generate, route="inner")

    async def _generate(self, _call: Call) -> AsyncGenerator[dict[str, Any], None]:
        found = self._inner.chat.completions.create(**BODY)
        found = await found if inspect.isawaitable(found) else found
        yield {"choices": [{"index": 0, "delta": {"content": found.choices[0].message.content}}]}


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_attempts_do_not_multiply(driver: Driver, layers: int) -> None:
    """`max_retries=2` is three attempts, also where clients answer for clients that answer for clients."""
    with RawServer(DOWN) as there:
        client = driver.client(base_url=there.url, max_retries=2, retry=QUICK)
        for _ in range(layers - 1):
            client = driver.client(backend=Asking(client), max_retries=2, retry=QUICK)
        with pytest.raises(openai.InternalServerError):
            driver.create(client)

    assert 3 == len(there.requests)


def wishes() -> dict[str, dict[str, str]]:
    """Give the ways to ask for half a minute."""
    return {
        "seconds": {"retry_after": "30"},
        "milliseconds": {"retry_after_ms": "30000"},
        "date": {"retry_after": email.utils.formatdate(time.time() + 30, usegmt=True)},
    }


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", wishes())
def test_a_server_that_asks_for_more_time_than_there_is(driver: Driver, form: str, status: int) -> None:
    """The fallback answers at once, and the calls of the next half minute do not touch the server that asked."""
    with RawServer(refusal(status, "busy", **wishes()[form])) as first, RawServer(HI) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=Deadlines(total=5))
        started = time.monotonic()
        found = [driver.create(client), driver.create(client, stream=True)]
        took = time.monotonic() - started
        text = driver.stream_text(found[1])

    assert took < 4
    assert ("Hi", ["deepseek-v4-pro"] * 2) == (text, routes_of(found))
    assert (1, 2) == (len(first.requests), len(second.requests))
    assert (("default", "circuit_open"),) == report(found[1]).skipped


def test_nobody_else_could_answer_meanwhile(driver: Driver) -> None:
    """Alone, it is not waited for beyond the deadline; the next calls say at once when it may be asked."""
    with RawServer(refusal(429, "busy", retry_after="30")) as there:
        client = driver.client(base_url=there.url, deadlines=Deadlines(total=5))
        started = time.monotonic()
        with pytest.raises(openai.RateLimitError):
            driver.create(client)
        with pytest.raises(CircuitOpenError) as caught:
            driver.create(client)
        took = time.monotonic() - started

    assert (1, True) == (len(there.requests), took < 4)
    assert caught.value.is_cooling
    assert 25 < (caught.value.retry_in or 0) < 34


@pytest.mark.slow
def test_what_may_be_billed_is_not_bought_twice(driver: Driver) -> None:
    """A server that took a plain call and says nothing is not asked again, and counts as possibly billed."""
    with RawServer(silence) as there:
        client = driver.client(base_url=there.url, timeout=0.3, max_retries=2, retry=QUICK)
        with pytest.raises(openai.APITimeoutError) as caught:
            driver.create(client)

        assert (1, 1) == (len(there.requests), report(caught.value).possibly_billed_attempts)


@pytest.mark.slow
def test_what_may_be_billed_is_told(driver: Driver) -> None:
    """Who allows it to be asked again is told of every attempt that may be on the bill."""
    policy = RetryPolicy(first_wait=0.01, on_read_timeout=True)
    with RawServer(silence, silence, whole(completion("Hi"))) as there:
        found = driver.create(driver.client(base_url=there.url, timeout=0.3, max_retries=2, retry=policy))

    assert ("Hi", 2) == (found.choices[0].message.content, report(found).possibly_billed_attempts)
    assert ["timeout", "timeout", None] == [attempt.reason for attempt in report(found).attempts]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["alone", "chain", "without breakers"])
def test_a_total_outage_is_not_answered_with_more_traffic(driver: Driver, way: str) -> None:
    """While all is down, 304 calls, 16 at a time, are a tenth more attempts, and three; with breakers a few in all."""
    breaker = None if way == "without breakers" else BreakerPolicy()
    with RawServer(DOWN) as first, RawServer(DOWN) as second:
        routes = [elsewhere(second)] if way == "chain" else []
        client = driver.client(base_url=first.url, routes=routes, breaker=breaker, retry=QUICK)
        failed = [error for _ in range(19) for error in driver.together(*calls(client, 16))]

    kinds = (openai.InternalServerError, CircuitOpenError)
    most = math.ceil(1.1 * 304 + 3) if breaker is None else 16 * 3
    assert 304 == sum(isinstance(error, kinds) for error in failed)
    assert 5 <= len(first.requests) <= most
    assert len(second.requests) <= most
    assert (way == "chain") == bool(second.requests)


# Breakers.


def test_a_closed_breaker_holds_nobody_back(driver: Driver) -> None:
    """Thirty-two calls through one breaker are all at the server at the same time."""
    together = threading.Barrier(32, timeout=10)

    def script(exchange: Exchange) -> None:
        together.wait()
        whole(completion("Hi"))(exchange)

    with RawServer(script) as there:
        found = driver.together(*calls(driver.client(base_url=there.url, max_retries=0), 32))

    assert ["Hi"] * 32 == [one.choices[0].message.content for one in found]


def sick_until(is_well: threading.Event) -> Callable[[Exchange], None]:
    """Make a script that refuses until the server is well again."""

    def script(exchange: Exchange) -> None:
        (whole(completion("Hi")) if is_well.is_set() else DOWN)(exchange)

    return script


@pytest.mark.slow
def test_an_outage_with_a_fallback(driver: Driver) -> None:
    """During an outage few calls reach the primary, every answer is quick, and afterwards it is soon asked again."""
    is_well, policy = threading.Event(), BreakerPolicy(open_for=0.3, growth=1, jitter=0)
    with RawServer(sick_until(is_well)) as first, RawServer(HI) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], breaker=policy)
        started = time.monotonic()
        took = [timed(lambda: driver.create(client)) for _ in range(20)]
        probes = (time.monotonic() - started) // 0.3
        attempts = len(first.requests)
        is_well.set()
        well_at = time.monotonic()
        while "default" not in routes_of([driver.create(client)]) and time.monotonic() - well_at < 5:
            pass
        back_after = time.monotonic() - well_at

    assert attempts <= 5 + probes
    assert max(took) < 0.5
    assert back_after < 0.3 + 0.5


def timed(work: Callable[[], Any]) -> float:
    """Say how long something takes, in seconds."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


def test_an_outage_without_a_fallback(driver: Driver) -> None:
    """A lone endpoint that is down is asked five times for twenty calls; the others fail at once and say why."""
    is_well = threading.Event()
    with RawServer(sick_until(is_well)) as there:
        policy = BreakerPolicy(open_for=60)
        client = driver.client(base_url=there.url, breaker=policy, max_retries=0)
        failed = [error for _ in range(20) for error in driver.together(*calls(client, 1))]

        assert 5 == len(there.requests)
        is_well.set()
        only(client.breakers).open(0.05)
        assert until(lambda: only(client.breakers).state == "half_open")
        assert "Hi" == driver.create(client).choices[0].message.content
    assert [openai.InternalServerError] * 5 + [CircuitOpenError] * 15 == [type(error) for error in failed]
    assert "closed" == only(client.breakers).state


@pytest.mark.slow
def test_calls_may_wait_for_the_next_probe(driver: Driver) -> None:
    """With `when_open="wait"` a call to a lone endpoint that is left alone waits, and is answered when it is well."""
    is_well = threading.Event()
    with RawServer(sick_until(is_well)) as there:
        policy = BreakerPolicy(consecutive_failures=1, open_for=0.2, when_open="wait")
        client = driver.client(base_url=there.url, breaker=policy, max_retries=0)
        with pytest.raises(openai.InternalServerError):
            driver.create(client)
        is_well.set()
        found = driver.create(client.with_options(max_retries=5))

    assert ("Hi", 2) == (found.choices[0].message.content, len(there.requests))


def half_open(client: Any) -> Any:
    """Open the one breaker there is until a probe may go; give it."""
    breaker = only(client.breakers)
    breaker.open(0.02)
    assert until(lambda: breaker.state == "half_open")
    return breaker


def test_a_probe_that_finds_no_place(driver: Driver) -> None:
    """A probe that the limiter turns away leaves the way free for the next one."""
    with RawServer(stream(ROLE, delta(content="Hi"), end="hold"), HI) as there:
        client = driver.client(
            base_url=there.url, limiter=LimiterPolicy(initial=1, maximum=1, max_wait=0.05), max_retries=0
        )
        opened = driver.create(client, stream=True)
        breaker = half_open(client)
        with pytest.raises(LimiterTimeoutError):
            driver.create(client)
        driver.call(opened.close)

        assert "Hi" == driver.create(client).choices[0].message.content
    assert ("closed", 0, 2) == (breaker.state, breaker.in_flight, len(there.requests))


@pytest.mark.parametrize("way", ["closed", "forgotten", "out of time"])
def test_a_probe_that_comes_to_nothing(driver: Driver, way: str) -> None:
    """A probe that is given up, forgotten, or has no time left, says nothing: the next call is the probe."""
    with RawServer(HI, stream(ROLE, end="hold"), HI) as there:
        client = driver.client(base_url=there.url, max_retries=0)
        driver.create(client)
        breaker = half_open(client)
        give_up(driver, client, way)

        assert ("half_open", 0) == (breaker.state, breaker.in_flight)
        assert "Hi" == driver.create(client).choices[0].message.content
    assert "closed" == breaker.state


def give_up(driver: Driver, client: Any, way: str) -> None:
    """Begin a stream and let go of it before its first token, in one of the ways there are."""
    if way == "out of time":
        opened = driver.create(client.with_options(deadlines=Deadlines(total=0.5)), stream=True)
        with pytest.raises(TotalTimeout):
            driver.stream_text(opened)
        return
    opened = driver.create(client, stream=True)
    if way == "closed":
        driver.call(opened.close)
    del opened
    gc.collect()


@pytest.mark.parametrize("is_begun", [False, True], ids=["before the headers", "while it is read"])
async def test_a_probe_that_is_cancelled(*, is_begun: bool) -> None:
    """A task that is cancelled while it probes leaves the way free for the next one."""
    asked = threading.Event()

    def says_nothing(exchange: Exchange) -> None:
        asked.set()
        (stream(ROLE, end="hold") if is_begun else silence)(exchange)

    async def probe(client: AsyncClient) -> None:
        async for _ in await client.chat.completions.create(**BODY, stream=True):
            pass

    with RawServer(HI, says_nothing, HI) as there:
        async with AsyncClient(base_url=there.url, api_key="k", max_retries=0) as client:
            await client.chat.completions.create(**BODY)
            breaker = half_open(client)
            task = asyncio.create_task(probe(client))
            await asyncio.to_thread(asked.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

            assert ("half_open", 0) == (breaker.state, breaker.in_flight)
            assert "Hi" == (await client.chat.completions.create(**BODY)).choices[0].message.content
    assert "closed" == breaker.state


class Refused:
    """A stage that counts the calls that an open circuit refuses, and tells when all that are expected were."""

    def __init__(self, expected: int) -> None:
        self._lock = threading.Lock()
        self._missing = expected
        self.all = threading.Event()

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Count."""
        try:
            return await proceed(call)
        except CircuitOpenError:
            with self._lock:
                self._missing -= 1
            if not self._missing:
                self.all.set()
            raise


def test_a_hundred_calls_at_the_half_open_moment(driver: Driver) -> None:
    """Of a hundred threads, or tasks, that come when a probe may go, one reaches the server; the others do not wait."""
    refused, policies = Refused(99), Policies.of(breaker=BreakerPolicy(jitter=0))

    def probed(exchange: Exchange) -> None:
        refused.all.wait(20)
        whole(completion("Hi"))(exchange)

    with RawServer(HI, probed) as there:
        client = driver.client(base_url=there.url, max_retries=0, stages=[refused, *default_stages(policies)])
        driver.create(client)
        breaker = only(policies.breakers)
        breaker.open(0.02)
        assert until(lambda: breaker.state == "half_open")
        found = driver.together(*calls(client, 100))

        assert 2 == len(there.requests)
    assert (99, 1) == (sum(isinstance(one, CircuitOpenError) for one in found), routes_of(found).count("default"))
    assert ("closed", 0) == (breaker.state, breaker.in_flight)


def test_success_of_before_the_trip_closes_nothing(driver: Driver) -> None:
    """A slow answer that began before the circuit opened, and ends well after, is no sign of recovery."""
    may_end = threading.Event()

    def slow(exchange: Exchange) -> None:
        exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
        exchange.chunks(ROLE, delta(content="Hi"))
        may_end.wait(10)
        exchange.chunks(FINISH, DONE)
        exchange.send(b"0\r\n\r\n")

    with RawServer(slow, DOWN) as there:
        client = driver.client(base_url=there.url, max_retries=0, breaker=BreakerPolicy(open_for=60))
        opened = driver.create(client, stream=True)
        for _ in range(5):
            with pytest.raises(openai.InternalServerError):
                driver.create(client)
        may_end.set()

        assert "Hi" == driver.stream_text(opened)
        with pytest.raises(CircuitOpenError):
            driver.create(client)
    assert 6 == len(there.requests)


class Late:
    """A stage that lets the calls of one session begin later."""

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Wait, or go on."""
        if call.options.session_id == "late":
            await call.io.sleep(0.4)
        return await proceed(call)


@pytest.mark.slow
def test_slowness_is_seen_while_it_lasts(driver: Driver) -> None:
    """Calls that wait for a first token too long open the circuit before any of them has ended."""
    policies = Policies.of(breaker=BreakerPolicy(minimum_calls=4, slow_first_token=0.1))
    with RawServer(stream(ROLE, end="hold")) as first, RawServer(HI) as second:
        client = driver.client(
            base_url=first.url,
            routes=[elsewhere(second, deadlines=Deadlines(first_token=5))],
            stages=[Late(), *default_stages(policies)],
            deadlines=Deadlines(first_token=1.5),
        )
        found = driver.together(*calls(client, 4), *calls(client.with_options(session_id="late"), 1))

    assert ["deepseek-v4-pro"] * 5 == routes_of(found)
    assert (4, (("default", "circuit_open"),)) == (len(first.requests), report(found[4]).skipped)
    assert report(found[4]).times.total < 1.5  # type: ignore[operator]  # it has ended


def test_keys_do_not_share_their_troubles(driver: Driver) -> None:
    """Children with keys of their own share the breakers, but a key that fails is left alone by itself."""

    def script(exchange: Exchange) -> None:
        is_bad = exchange.request.headers["authorization"].endswith("bad")
        (DOWN if is_bad else whole(completion("Hi")))(exchange)

    with RawServer(script) as there:
        client = driver.client(base_url=there.url, max_retries=0)
        bad = client.with_options(api_key="bad")
        failed = [driver.together(*calls(bad, 1))[0] for _ in range(6)]
        good = [driver.create(client.with_options(api_key=f"key-{n}")) for n in range(10)]

    assert (CircuitOpenError, 11) == (type(failed[5]), len(client.breakers))
    assert ["default"] * 10 == routes_of(good)
    assert ["open"] + ["closed"] * 10 == [breaker.state for breaker in client.breakers]


def test_refusals_are_not_failures(driver: Driver) -> None:
    """Between 429s five failures still open the circuit; 429s alone never do, but the limit shrinks."""
    busy = refusal(429, "too many")
    with RawServer(*[refusal(500, "no"), busy] * 10) as mixed, RawServer(busy) as full:
        clients = [driver.client(base_url=there.url, max_retries=0) for there in (mixed, full)]
        failed = [[driver.together(*calls(client, 1))[0] for _ in range(20)] for client in clients]

    assert (9, 20) == (len(mixed.requests), len(full.requests))
    assert [CircuitOpenError] * 11 == [type(error) for error in failed[0][9:]]
    assert {openai.RateLimitError} == {type(error) for error in failed[1]}
    assert ["open", "closed"] == [only(client.breakers).state for client in clients]
    assert only(clients[1].limiters).limit <= 32


def test_what_is_shared_between_colours() -> None:
    """Breakers and limiters of a sync client, given to an async one, know what both have seen."""

    async def ask(client: Client, url: str) -> int:
        shared: Any = {"breaker": client.breakers, "limiter": client.limiters}
        async with AsyncClient(base_url=url, api_key="k", max_retries=0, **shared) as other:
            for _ in range(3):
                with pytest.raises(openai.InternalServerError):
                    await other.chat.completions.create(**BODY)
            with pytest.raises(CircuitOpenError):
                await other.chat.completions.create(**BODY)
            return only(other.limiters).in_flight  # type: ignore[no-any-return]

    with (
        RawServer(stream(ROLE, end="hold"), DOWN) as there,
        Client(base_url=there.url, api_key="k", max_retries=0) as client,
    ):
        opened = client.chat.completions.create(**BODY, stream=True)
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                client.chat.completions.create(**BODY)

        assert 1 == asyncio.run(ask(client, there.url))
        with pytest.raises(CircuitOpenError):
            client.chat.completions.create(**BODY)
        opened.close()
    assert (6, 0) == (len(there.requests), only(client.limiters).in_flight)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_begins_anew() -> None:
    """A child has closed breakers and free places; what it does with them changes nothing in its parent."""
    program = """
    import logging
    from deepseek_sdk import LimiterPolicy

    logging.disable()  # a circuit that is opened is a warning
    client = Client(base_url=URL, api_key="k", max_retries=0, limiter=LimiterPolicy(initial=1, maximum=1, max_wait=5))
    opened = client.chat.completions.create(**body("hold", stream=True))
    (breaker,), (limiter,) = client.breakers, client.limiters
    breaker.open()

    def work(number):
        assert list(client.breakers) == [] == list(client.limiters)
        assert said(client.chat.completions.create(**body("child"))) == "Hi"
        (mine,), (place,) = client.breakers, client.limiters
        assert (mine.state, place.in_flight, place.limit) == ("closed", 0, 1)

    check(in_children(2, work))
    assert (breaker.state, limiter.in_flight) == ("open", 1)
    opened.close()
    breaker.close()
    assert said(client.chat.completions.create(**body("parent"))) == "Hi"
    assert (breaker.state, limiter.in_flight) == ("closed", 0)
    """
    with RawServer(stream(ROLE, end="hold"), whole(completion("Hi"))) as there:
        run(program, there.url)

        assert 4 == len(there.requests)


# Limits.


@pytest.mark.parametrize("way", ["closed", "forgotten", "out of time"])
def test_the_only_place_is_free_at_once(driver: Driver, way: str) -> None:
    """With one place, a stream is begun and let go of before its end, and the next call goes at once."""
    with RawServer(stream(ROLE, end="hold"), HI) as there:
        client = driver.client(
            base_url=there.url, limiter=LimiterPolicy(initial=1, maximum=1, max_wait=0), max_retries=0
        )
        give_up(driver, client, way)

        assert "Hi" == driver.create(client).choices[0].message.content
    assert 0 == only(client.limiters).in_flight


@pytest.mark.slow
def test_a_thousand_random_aborts(driver: Driver, server: str) -> None:  # noqa: F811  the fixture
    """With one place, 1,000 calls are closed, cancelled, forgotten or read at random; the next one goes at once."""
    policy = LimiterPolicy(initial=1, maximum=1, max_wait=10)
    client = driver.client(base_url=server, limiter=policy, max_retries=0)
    draw = random.Random(4)  # noqa: S311  repeatable

    async def churn() -> None:
        for _ in range(1000):
            await one_async(client, draw)

    if driver.is_async:
        driver.call(churn)
    else:
        for _ in range(1000):
            one_sync(client, draw)
    impatient = client.with_options(deadlines=Deadlines(total=5))
    found = driver.create(impatient, "whole", model="m")

    assert "word" == found.choices[0].message.content
    # An event loop closes what was forgotten as soon as it gets to it.
    assert (report(found).times.queue or 0) < 1
    assert (0, 0) == (only(client.limiters).in_flight, only(client.limiters).queued)
    assert ("closed", 0) == (only(client.breakers).state, only(client.breakers).in_flight)


# Routes.


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_goes_on_to_another_key(driver: Driver, status: int) -> None:
    """Another model for the same key is not tried; another key at the same endpoint is."""

    def script(exchange: Exchange) -> None:
        is_refused = exchange.request.headers["authorization"].endswith("own-key-0000000")
        (refusal(status, "no") if is_refused else HI)(exchange)

    with RawServer(script) as there:
        routes = [Route("deepseek-v4-pro"), Route("deepseek-v4-flash", name="other", api_key="other-key-000000")]
        client = driver.client(base_url=there.url, api_key="own-key-0000000", routes=routes)
        found = driver.create(client)
        with pytest.raises(openai.APIStatusError) as caught:
            driver.create(client.with_options(routes=routes[:1]))

    assert ["default", "other"] == [attempt.route for attempt in report(found).attempts]
    assert (status, 3) == (caught.value.status_code, len(there.requests))


def test_a_long_prompt_goes_to_a_larger_window_only(driver: Driver) -> None:
    """Of the routes behind one that a prompt does not fit into, those are asked whose window is known to be larger."""
    text = "This model's maximum context length is 1000 tokens. However, you requested 1500 tokens"
    with RawServer(refusal(400, text)) as first, RawServer(HI) as second:
        routes = [
            elsewhere(second, "unknown"),
            elsewhere(second, "small", context_window=1499),
            elsewhere(second, "large", context_window=2000),
        ]
        client = driver.client(base_url=first.url, routes=routes)
        found = driver.create(client)
        with pytest.raises(openai.BadRequestError):
            driver.create(client.with_options(routes=routes[:2]))

    assert (["large"], ["large"]) == (routes_of([found]), [request.body["model"] for request in second.requests])


@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "plain"])
def test_what_a_filter_stops_is_not_asked_elsewhere(driver: Driver, *, is_stream: bool) -> None:
    """A refused or filtered content is nobody else's: neither as an error nor as a finish reason."""
    filtered = stream(ROLE, delta(content="Hi"), delta_end("content_filter"), DONE)
    with RawServer(refusal(400, "Content Exists Risk"), filtered) as first, RawServer(HI) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)])
        with pytest.raises(openai.BadRequestError):
            driver.create(client, stream=is_stream)
        found = driver.create(client, stream=is_stream)
        text = driver.stream_text(found) if is_stream else found.choices[0].message.content

    assert ("Hi", "content_filter", "default") == (text, report(found).finish_reason, report(found).route)
    assert ([], 2) == (second.requests, len(first.requests))


def delta_end(reason: str) -> bytes:
    """Give the event that ends an answer for a reason."""
    return event(chunk(reason, USAGE, content=""))


def test_a_primary_that_comes_and_goes_is_returned_to(driver: Driver) -> None:
    """Each call begins at the primary again, whoever answered the call before."""
    with RawServer(*[DOWN, HI] * 3) as first, RawServer(HI) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second, name="other")])
        found = [driver.create(client) for _ in range(6)]

    assert ["other", "default"] * 3 == routes_of(found)
    assert (6, 3) == (len(first.requests), len(second.requests))


@pytest.mark.slow
def test_users_who_bring_their_own_keys() -> None:
    """Of fifty thousand accounts, twenty a second, those of the last minutes are kept, at no cost to speak of."""
    now = 0.0
    breakers = Breakers(BreakerPolicy(), now=lambda: now)
    limiters = Limiters(LimiterPolicy(), now=lambda: now)
    most = 0
    started = time.monotonic()
    for number in range(50_000):
        now = number / 20
        account = Account("https://a.invalid", "deepseek-flash", f"sha256:{number:012x}")
        permit: Any = breakers[account].admit(now)
        limiter = limiters[account]
        lease = limiter.ask(now)
        (permit.fail if number % 7 == 0 else permit.succeed)(now)
        limiter.release(lease, now, "success")
        most = max(most, len(breakers), len(limiters))

    # A minute is 1,200 of them; looking for idle ones only now and then may double that.
    assert most < 4 * 1200
    assert time.monotonic() - started < 45
