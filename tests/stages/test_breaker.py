from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING

import openai
import pytest

from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.errors import (
    CircuitOpenError,
)
from deepseek_sdk.resilience.breaking.breaker import BreakerPolicy, Breakers
from deepseek_sdk.stages.breaker import CircuitBreaker
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from tests.stages.breaker_world import (
    ACCOUNT,
    TARGET,
    World,
    refused,
)

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


@pytest.mark.parametrize(
    ("limits", "lease"),
    [
        (Limits(first_token=8, stall=15), 23),
        (Limits(first_token=600, stall=120), 45),
        (Limits(first_token=inf, stall=2), 32),
        (Limits(first_token=inf, stall=inf), 45),
    ],
)
def test_how_long_a_probe_is_waited_for(limits: Limits, lease: float) -> None:
    """A probe that nothing is heard of is replaced after as long as silence may last, or would by default."""

    async def silent(call: Call) -> Reply:
        await call.io.sleep(1000)
        return await ScriptedBackend(said("Hi"))(call)

    world = World(silent)
    world.breaker.open(0)
    world.io.spawn(lambda io: world.proceed(world.call(limits=limits).replace(io=io)))
    finish(world.io.sleep(lease - 0.1))
    with pytest.raises(CircuitOpenError) as caught:
        world.ask()
    assert caught.value.retry_in == pytest.approx(0.1)
    finish(world.io.sleep(0.1))

    assert world.breaker.retry_in == pytest.approx(0)


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
    world.breaker.cool_down(30)
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
