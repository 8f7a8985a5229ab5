from __future__ import annotations

import concurrent.futures
import gc
import logging
import threading
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import (
    CircuitOpenError,
    FirstTokenTimeout,
    QueueTimeoutError,
    StallTimeout,
    TotalTimeout,
    classify,
)
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaker import Breaker, BreakerPolicy, Breakers
from deepseek_sdk.stages.breaker import CircuitBreaker, Terms, terms
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")
TARGET = SimpleNamespace(name="primary", account=ACCOUNT)
REQUEST = httpx2.Request("POST", "http://test.invalid")
CUT = ConnectionResetError("reset")
THINKING: dict[str, Any] = {"model": "deepseek-flash", "messages": []}
NOT_THINKING = {**THINKING, "thinking": {"type": "disabled"}}


def refused(status: int) -> openai.APIStatusError:
    """Give openai's error for a refusal."""
    return openai.APIStatusError("no", response=httpx2.Response(status, request=REQUEST), body=None)


class World:
    """A chain of the stage and a backend, in virtual time; by chance 0.5, nothing is jittered."""

    def __init__(self, backend: Any, **policy: Any) -> None:
        self.io = VirtualIO()
        self.breakers = Breakers(BreakerPolicy(**policy), lambda: 0.5, self.io.now)
        self.breaker: Breaker = self.breakers[ACCOUNT]
        self.proceed: Any = compose([CircuitBreaker(self.breakers)], backend)

    def state(self) -> str:
        """Tell the state of the breaker."""
        return self.breaker.state

    def call(self, **changes: Any) -> Call:
        """Make a call to the primary."""
        return make_call(io=self.io, **{"upstream": TARGET, "can_move_on": True, **changes})

    def ask(self, **changes: Any) -> Reply:
        """Ask the primary."""
        return finish(self.proceed(self.call(**changes)))  # type: ignore[no-any-return]

    def attempt(self, **changes: Any) -> str:
        """Ask the primary, read the answer, and tell how that went in one word."""
        try:
            read(self.ask(**changes))
        except openai.APIError as error:
            return classify(error).reason
        return "complete"


def read(reply: Reply) -> None:
    """Read a reply to its end."""
    while finish(reply.next()):
        pass


@pytest.mark.parametrize(
    ("changes", "policy", "expected"),
    [
        ({"body": THINKING}, {}, Terms(30, 45)),
        ({"body": NOT_THINKING}, {}, Terms(8, 45)),
        ({"body": NOT_THINKING}, {"slow_first_token": 3}, Terms(3, 45)),
        ({"body": THINKING}, {"slow_first_token": 3}, Terms(3, 45)),
        ({"body": NOT_THINKING}, {"slow_first_token": None}, Terms(inf, 45)),
        ({"can_move_on": False}, {}, Terms(inf, 45)),
        ({"is_direct": True}, {}, Terms(inf, 45)),
        ({"can_move_on": False}, {"slow_first_token": 3}, Terms(inf, 45)),
        ({"body": NOT_THINKING, "limits": Limits(first_token=8, stall=15)}, {}, Terms(8, 23)),
        ({"body": NOT_THINKING, "limits": Limits(first_token=600, stall=120)}, {}, Terms(8, 45)),
        ({"body": NOT_THINKING, "limits": Limits(first_token=inf, stall=2)}, {}, Terms(8, 32)),
    ],
)
def test_what_is_expected_of_a_call(changes: dict[str, Any], policy: dict[str, Any], expected: Terms) -> None:
    """Slowness matters where another can take over and tokens are seen; a lease is as long as silence may last."""
    call = make_call(**{"can_move_on": True, **changes})

    assert expected == terms(call, BreakerPolicy(**policy))


@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (refused(500), True),
        (refused(503), True),
        (refused(408), True),
        (openai.APIConnectionError(request=REQUEST), True),
        (openai.APITimeoutError(REQUEST), True),
        (FirstTokenTimeout(request=REQUEST, limit=8), True),
        (QueueTimeoutError(request=REQUEST, limit=None), True),
        (StallTimeout(request=REQUEST, limit=15), True),
        (TotalTimeout(request=REQUEST, limit=60), False),
        (refused(429), False),
        (refused(400), False),
        (refused(401), False),
        (refused(402), False),
        (refused(404), False),
        (ValueError("ours"), False),
        ([CUT], True),
        ([chunk("shown"), CUT], True),
        ([chunk("shown"), chunk(finish="insufficient_system_resource")], True),
        ([{"error": {"message": "busy", "type": "server_error"}}], True),
        ([{"error": {"message": "bad", "type": "invalid_request_error"}}], False),
    ],
    ids=lambda value: getattr(value, "status_code", None) or type(value).__name__,
)
def test_which_failures_count(failure: Any, *, counts: bool) -> None:
    """What the table of errors calls a trip counts, before an answer or within it; nothing else counts at all."""
    world = World(ScriptedBackend(failure))
    with pytest.raises((openai.APIError, ValueError)):
        read(world.ask())

    assert (int(counts), int(counts)) == (world.breaker.calls, world.breaker.failures)
    assert 0 == world.breaker.in_flight


@pytest.mark.parametrize("error", [KeyboardInterrupt(), concurrent.futures.CancelledError(), GeneratorExit()])
def test_a_cancelled_call_counts_nothing(error: BaseException) -> None:
    """Whoever cancels a call says nothing about its server."""

    async def cancelled(_: Call) -> Reply:
        raise error

    world = World(cancelled)
    with pytest.raises(type(error)):
        world.ask()

    assert (0, 0) == (world.breaker.calls, world.breaker.in_flight)


def test_an_open_circuit_answers_at_once() -> None:
    """A refused call raises what to wait for and why, and sends and records nothing."""
    backend = ScriptedBackend(*[refused(503)] * 5)
    world = World(backend)
    assert ["overloaded"] * 5 == [world.attempt() for _ in range(5)]
    call = world.call()
    with pytest.raises(CircuitOpenError, match=r"deepseek-flash at https://api\.deepseek\.com") as caught:
        finish(world.proceed(call))

    error = caught.value
    assert (ACCOUNT, 10, False, False) == (error.account, error.retry_in, error.is_cooling, error.may_wait)
    assert isinstance(error, openai.APIConnectionError)
    assert ([], 5) == (call.record.attempts, len(backend.calls))


def test_what_a_refusal_says() -> None:
    """It tells whether the server asked for it, whether waiting is allowed, and whether only a hand can end it."""
    world = World(ScriptedBackend(), when_open="wait")
    world.breaker.leave_alone(30)
    with pytest.raises(CircuitOpenError) as asked:
        world.ask()
    world.breaker.open()
    with pytest.raises(CircuitOpenError) as by_hand:
        world.ask()

    assert (30, True, True) == (asked.value.retry_in, asked.value.is_cooling, asked.value.may_wait)
    assert (None, False) == (by_hand.value.retry_in, by_hand.value.is_cooling)


def test_refused_calls_count_nothing() -> None:
    """What was not sent is neither a failure nor a call."""
    world = World(ScriptedBackend(*[refused(503)] * 5))
    found = [world.attempt() for _ in range(50)]

    assert ["overloaded"] * 5 + ["circuit_open"] * 45 == found
    assert 5 == world.breaker.failures


@pytest.mark.parametrize("off", ["no account", "no upstream", "no policy"])
def test_what_has_no_breaker(off: str) -> None:
    """A rule engine has no account, and breakers can be switched off: then every call goes through."""
    backend = ScriptedBackend(*[refused(503)] * 50)
    breakers = Breakers(None if off == "no policy" else BreakerPolicy())
    upstream = {"no account": SimpleNamespace(account=None), "no upstream": None, "no policy": TARGET}[off]
    for _ in range(50):
        with pytest.raises(openai.APIStatusError):
            finish(compose([CircuitBreaker(breakers)], backend)(make_call(upstream=upstream)))

    assert (50, 0) == (len(backend.calls), len(breakers))


def test_accounts_do_not_share_a_circuit() -> None:
    """The same model with another key, or at another endpoint, is asked on."""
    others = [ACCOUNT._replace(credential="sha256:other"), ACCOUNT._replace(base_url="https://other.invalid")]
    world = World(ScriptedBackend(*[refused(503)] * 5, said("Hi"), said("Hi")))
    assert ["overloaded"] * 5 == [world.attempt() for _ in range(5)]

    assert "circuit_open" == world.attempt()
    assert ["complete"] * 2 == [world.attempt(upstream=SimpleNamespace(account=other)) for other in others]


def test_a_lone_primary_that_comes_back() -> None:
    """T23: in an outage of 6 s, 20 calls make 5 attempts, also where nothing can take over; then it is asked again."""
    world, attempts = World(primary := Outage(6.0)), []
    for _ in range(20):
        attempts.append(world.attempt(can_move_on=False))
        finish(world.io.sleep(0.3))
    assert 5 == len(primary.asked_at)
    assert ["overloaded"] * 5 + ["circuit_open"] * 15 == attempts
    finish(world.io.sleep(10 - world.io.now() + primary.asked_at[-1]))

    assert ["complete"] * 3 == [world.attempt(can_move_on=False) for _ in range(3)]
    assert "closed" == world.state()


class Outage:
    """A primary that is down at first."""

    def __init__(self, seconds: float) -> None:
        self.asked_at: list[float] = []
        self._seconds = seconds

    async def __call__(self, call: Call) -> Reply:
        """Refuse, or answer."""
        self.asked_at.append(call.io.now())
        is_down = call.io.now() < self._seconds
        return await ScriptedBackend(refused(503) if is_down else said("Hi"))(call)


def test_a_long_outage_costs_a_probe_at_a_time() -> None:
    """In ten minutes with a call a second, a primary that stays down is asked five times, and then by probes only."""
    world = World(primary := Outage(inf))
    for _ in range(600):
        world.attempt()
        finish(world.io.sleep(1))

    assert len(primary.asked_at) <= 5 + 8
    assert [10, 20, 40, 80, 120] == [
        round(b - a) for a, b in zip(primary.asked_at[4:], primary.asked_at[5:], strict=False)
    ][:5]


def test_nobody_waits_behind_a_refusal_of_the_next_stage() -> None:
    """T24: a probe that another stage refuses, such as the limiter, gives its lease back."""
    world = World(ScriptedBackend(*[refused(503)] * 5, refused(429), said("Hi")))
    for _ in range(5):
        world.attempt()
    finish(world.io.sleep(10))

    assert ["rate_limit", "complete"] == [world.attempt(), world.attempt()]
    assert "closed" == world.state()


def test_the_first_token_of_a_probe_lets_the_others_go() -> None:
    """The circuit closes with the first token, long before the stream of the probe has ended."""
    world = World(ScriptedBackend(*[refused(503)] * 5, [chunk(role="assistant"), chunk("H"), 100, *said("i")]))
    for _ in range(5):
        world.attempt()
    finish(world.io.sleep(10))
    reply = world.ask()
    assert "half_open" == world.state()
    finish(reply.next())
    assert "half_open" == world.state()
    finish(reply.next())

    assert "closed" == world.state()


def test_a_folded_plain_answer_closes_too() -> None:
    """A plain call that is read as a stream tells of its first token; one that is read whole, of its end."""
    for is_direct in (False, True):
        world = World(ScriptedBackend(*[refused(503)] * 5, said("Hi")))
        for _ in range(5):
            world.attempt()
        finish(world.io.sleep(10))
        finish(world.ask(is_stream=False, is_direct=is_direct).gather())

        assert ("closed", 0) == (world.state(), world.breaker.in_flight)


@pytest.mark.parametrize("end", ["close", "abandon"])
def test_a_stream_that_is_given_up_is_neutral(end: str) -> None:
    """A stream that its caller closes early, or drops, counts neither way."""
    world = World(ScriptedBackend([chunk("H"), *said("i")]))
    reply = world.ask()
    finish(reply.next())
    if end == "close":
        finish(reply.close())
    else:
        reply.abandon()

    assert (0, 0, 0) == (world.breaker.calls, world.breaker.failures, world.breaker.in_flight)


def test_a_dropped_probe_is_found_by_the_garbage_collector() -> None:
    """A probe that nobody reads any more gives its lease back when it is collected."""
    world = World(ScriptedBackend(*[refused(503)] * 5, [chunk("H")], said("Hi")))
    for _ in range(5):
        world.attempt()
    finish(world.io.sleep(10))

    class Holder:
        def __init__(self, reply: Reply) -> None:
            self.me, self.reply = self, reply

        def __del__(self) -> None:
            self.reply.abandon()

    Holder(world.ask())
    gc.collect()

    assert "complete" == world.attempt()


def test_a_slow_primary_is_left() -> None:
    """T27: twenty streams without a first token open the circuit while all of them still wait."""
    world = World(ScriptedBackend(*[[100, *said("Hi")]] * 20))
    calls = [world.call(body=NOT_THINKING) for _ in range(20)]

    async def wait(io: Any, call: Call) -> None:
        reply = await world.proceed(call.replace(io=io))
        while await reply.next():
            pass

    for call in calls:
        world.io.spawn(lambda io, call=call: wait(io, call))
    finish(world.io.sleep(7.9))
    assert ("closed", 20) == (world.state(), world.breaker.calls)
    finish(world.io.sleep(0.2))

    assert "circuit_open" == world.attempt()
    assert "slow ratio" == world.breaker.reason


@pytest.mark.parametrize("changes", [{"can_move_on": False}, {"is_direct": True, "is_stream": False}])
def test_a_slow_endpoint_is_better_than_none(changes: dict[str, Any]) -> None:
    """Where nothing can take over, or no tokens are seen, slowness opens nothing."""
    world = World(ScriptedBackend(*[[20, *said("Hi")]] * 21))
    for _ in range(21):
        finish(world.ask(body=NOT_THINKING, **changes).gather())

    assert ("closed", 0) == (world.state(), world.breaker.slow)


@pytest.mark.parametrize(("silence", "slow"), [(0, 0), (7.9, 0), (8.1, 1)])
def test_a_caller_who_takes_his_time_does_not_make_a_server_slow(silence: float, slow: int) -> None:
    """A stream that is opened and read later is not slow: the server is waited for only while somebody reads."""
    world = World(ScriptedBackend([silence, *said("Hi")]))
    reply = world.ask(body=NOT_THINKING)
    finish(world.io.sleep(20))
    assert 0 == world.breaker.slow
    finish(reply.next())
    finish(world.io.sleep(20))
    read(reply)

    assert (1, slow) == (world.breaker.calls, world.breaker.slow)


def test_calls_in_a_queue_of_ours_are_not_slow() -> None:
    """Seconds spent between the stage and the wire, as in the limiter, are not the server's."""
    world = World(ScriptedBackend())

    async def queued(call: Call) -> Reply:
        await call.io.sleep(100)
        return await ScriptedBackend([7, *said("Hi")])(call)

    chain: Any = compose([CircuitBreaker(world.breakers)], queued)
    read(finish(chain(world.call(body=NOT_THINKING))))

    assert (1, 0) == (world.breaker.calls, world.breaker.slow)


def test_results_of_before_the_trip_close_nothing() -> None:
    """T25: a stream that began before the circuit opened, and ends well after, leaves it open."""
    world = World(ScriptedBackend(said("Hi"), *[refused(503)] * 5))
    early = world.ask()
    for _ in range(5):
        world.attempt()
    read(early)

    assert "open" == world.state()


def test_one_breaker_serves_both_colours(caplog: pytest.LogCaptureFixture) -> None:
    """Failures of a sync and of an async client open the same circuit, for both."""
    breakers = Breakers(BreakerPolicy())
    chain: Any = compose([CircuitBreaker(breakers)], ScriptedBackend(*[refused(503)] * 5))

    async def ask(io: Any, times: int) -> None:
        for _ in range(times):
            with pytest.raises(openai.APIStatusError):
                await chain(make_call(io=io, upstream=TARGET))

    with caplog.at_level(logging.WARNING, logger="deepseek_sdk"):
        finish(ask(SyncIO(Background(), Watchdog()), 2))
        anyio.run(ask, AsyncIO(Background()), 3)

    assert "open" == breakers[ACCOUNT].state
    assert ["consecutive failures"] == [record.getMessage().rpartition(": ")[2] for record in caplog.records]


@pytest.mark.slow
def test_nothing_is_locked_while_a_call_runs() -> None:
    """T18: 32 threads are all inside their calls at the same time, which none could pass alone."""
    count = 32
    inside = threading.Barrier(count, timeout=20)

    async def together(call: Call) -> Reply:
        inside.wait()
        return await ScriptedBackend(said("Hi"))(call)

    breakers = Breakers(BreakerPolicy())
    chain: Any = compose([CircuitBreaker(breakers)], together)

    def work() -> None:
        read(finish(chain(make_call(io=SyncIO(Background(), Watchdog()), upstream=TARGET))))

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()

    assert (count, 0, 0) == (
        breakers[ACCOUNT].calls,
        breakers[ACCOUNT].failures,
        breakers[ACCOUNT].in_flight,
    )


@pytest.mark.slow
def test_a_hundred_threads_send_one_probe() -> None:
    """T25: when a hundred calls come at the half-open moment, one reaches the server."""
    count = 100
    breakers = Breakers(BreakerPolicy())
    start, inside = threading.Barrier(count, timeout=20), threading.Event()
    asked, refused_count = [], []

    async def slow_server(call: Call) -> Reply:
        asked.append(call)
        inside.wait(20)
        return await ScriptedBackend(said("Hi"))(call)

    chain: Any = compose([CircuitBreaker(breakers)], slow_server)

    def work() -> None:
        start.wait()
        try:
            read(finish(chain(make_call(io=SyncIO(Background(), Watchdog()), upstream=TARGET))))
        except CircuitOpenError as error:
            refused_count.append(error)
            if len(refused_count) == count - 1:
                inside.set()

    breakers[ACCOUNT].open(0)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()

    assert (1, count - 1) == (len(asked), len(refused_count))
    assert "closed" == breakers[ACCOUNT].state
    assert all(error.retry_in is not None and 0 < error.retry_in <= 45 for error in refused_count)
