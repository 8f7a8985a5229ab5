"""Servers that ask to be left alone, and calls that wait for a route that is."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._io import SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import CircuitOpenError
from deepseek_sdk.resilience.breaking.breaker import Breakers
from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
from deepseek_sdk.resilience.retrying.budget import RetryBudget
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.stages import CircuitBreaker, Retry
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.resilience.failures import ACCOUNT, opened, refused
from tests.stages.retrying import chain, target, text

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


def breakers(now: float = 0.0) -> Breakers:
    """Give breakers in a time that stands still."""
    return Breakers(BreakerPolicy(), now=lambda: now)


@pytest.mark.parametrize(
    ("error", "changes", "pause"),
    [
        (refused(429, retry_after="30"), {"can_move_on_to_route": True}, 30),
        (refused(503, retry_after_ms="1500"), {"can_move_on_to_route": True}, 1.5),
        (refused(429, retry_after="30"), {"limits": Limits(first_token=inf, stall=inf, total=5)}, 30),
        (refused(429, retry_after="121"), {}, 120),
        (refused(500, retry_after="30"), {"can_move_on_to_route": True}, None),
        (refused(429), {"can_move_on_to_route": True}, None),
        (refused(429, retry_after="30"), {"max_retries": 0}, None),
    ],
)
def test_a_server_is_left_alone(error: Exception, changes: Any, pause: float | None) -> None:
    """A wait that cannot be waited for, or need not be, becomes a pause for every call to that account."""
    kept, io, backend = breakers(), VirtualIO(), ScriptedBackend(error, said("Hi"))
    call = make_call(**{"io": io, "max_retries": 2, "upstream": target(), **changes})
    with pytest.raises(openai.APIStatusError):
        finish(chain(backend, breakers=kept)(call))

    assert ([], 1) == (io.slept, len(backend.calls))
    assert pause == (kept[ACCOUNT].retry_in if pause is None else pytest.approx(kept[ACCOUNT].retry_in))


def test_a_wish_that_is_waited_for_is_no_pause() -> None:
    """A server that is asked again after the time it said is not left alone besides."""
    kept, backend = breakers(), ScriptedBackend(refused(429, retry_after="30"), said("Hi"))

    assert "Hi" == text(finish(chain(backend, breakers=kept)(make_call(max_retries=2, upstream=target()))))
    assert kept[ACCOUNT].retry_in is None


@pytest.mark.parametrize(
    ("kept", "upstream"),
    [(breakers(), None), (breakers(), target(None)), (Breakers(None), target()), (None, target())],
    ids=["no target", "no account", "switched off", "none"],
)
def test_what_has_no_breaker_is_not_left_alone(kept: Breakers | None, upstream: Any) -> None:
    """Without an account, or without breakers, there is nothing to tell."""
    backend = ScriptedBackend(refused(429, retry_after="500"))
    with pytest.raises(openai.RateLimitError):
        finish(chain(backend, breakers=kept)(make_call(max_retries=2, upstream=upstream)))

    assert [] == list(kept or ())


# Calls that wait.

LIMITED = {"limits": Limits(first_token=8, stall=inf, total=inf), "can_move_on": True}


@pytest.mark.parametrize(
    ("refusals", "changes", "slept"),
    [
        ([opened(9)], {}, [9.9]),
        ([opened(9, is_cooling=False, may_wait=True)], {}, [9.9]),
        ([opened(9, is_cooling=False)], {}, None),
        ([opened(9)], {"can_move_on_to_route": True}, None),
        ([opened(9)], {"max_retries": 0}, [9.9]),
        ([opened(9)] * 5, {"max_retries": 0}, [9.9] * 5),
        ([opened(60)] * 2, {}, None),
        ([opened(9)], {"limits": Limits(first_token=inf, stall=inf, total=5)}, None),
        ([opened(3)] * 2, LIMITED, [3.3] * 2),
        ([opened(3)] * 3, LIMITED, None),
        ([opened(0.001)] * 100, {}, [0.055, 0.11, 0.22, 0.44, 0.88, *[1.1] * 95]),
        ([opened(0.001)] * 101, {}, None),
    ],
)
def test_a_route_that_is_left_alone(refusals: list[CircuitOpenError], changes: Any, slept: list[float] | None) -> None:
    """A call waits for it where nothing else could answer, in all no longer than for a server that asks for it."""
    io, backend = VirtualIO(), ScriptedBackend(*refusals, said("Hi"))
    call = make_call(**{"io": io, "max_retries": 2, "upstream": target(), **changes})
    try:
        found = text(finish(chain(backend, RetryPolicy(budget=RetryBudget(ratio=0, per_minute=0)))(call)))
    except CircuitOpenError:
        found = "failed"

    assert ("failed" if slept is None else "Hi") == found
    assert slept is None or pytest.approx(slept) == io.slept


def test_waits_and_retries() -> None:
    """A wait takes no retry away; where nothing was sent in the end, the failure before is what the caller gets."""
    backend = ScriptedBackend(opened(9), refused(503), opened(9), opened(9), refused(429), said("Hi"))
    io = VirtualIO()

    assert "Hi" == text(finish(chain(backend)(make_call(io=io, max_retries=2))))
    assert pytest.approx([9.9, 0.5, 9.9, 9.9, 1.0]) == io.slept

    with pytest.raises(openai.InternalServerError):
        finish(chain(ScriptedBackend(refused(503), opened(9), opened(None)))(make_call(max_retries=2)))


def test_only_the_outer_one_waits() -> None:
    """Of two such stages in a chain the outer one waits, as it is the one that asks again."""
    io, backend = VirtualIO(), ScriptedBackend(opened(9), said("Hi"))
    stages = [Retry(chance=lambda: 0.0), Retry(chance=lambda: 1.0)]

    assert "Hi" == text(finish(compose(stages, backend)(make_call(io=io))))
    assert [9] == io.slept


class Recovering:
    """
    A server that is down until an instant, and then takes a while for each answer.

    Attributes:
        asked: When it was asked.
    """

    def __init__(self, well_at: float, *, takes: float = 0.0) -> None:
        self.asked: list[float] = []
        self._well_at = well_at
        self._takes = takes

    async def __call__(self, call: Call) -> Reply:
        """Answer."""
        self.asked.append(call.io.now())
        is_well = call.io.now() >= self._well_at
        return await ScriptedBackend([self._takes, *said("Hi")] if is_well else refused(503))(call)


@pytest.mark.parametrize("takes", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("max_retries", [0, 2])
def test_many_callers_wait(takes: float, max_retries: int) -> None:
    """All that wait for the same route are answered soon after it is well, though one at a time may probe."""
    io, server = VirtualIO(), Recovering(1.0, takes=takes)
    kept = Breakers(BreakerPolicy(when_open="wait", open_for=1, jitter=0), now=io.now)
    chances = iter(number / 8 for number in range(10_000))
    policy = RetryPolicy(budget=None)
    answering = compose([Retry(policy, chance=lambda: next(chances) % 1), CircuitBreaker(kept)], server)
    answered: list[float] = []

    async def one(io: Any) -> None:
        call = make_call(io=io, max_retries=max_retries, upstream=target(), is_stream=False)
        await (await answering(call)).gather()
        answered.append(io.now())

    async def first(io: Any) -> None:
        await answering(make_call(io=io, upstream=target()))

    for branch in [*[first] * 5, *[one] * 8]:
        io.spawn(branch)
    io.settle()

    assert 5 == len(io.failures)
    assert 8 == len(answered)
    assert max(answered) < 1.1 + 2 * takes + 1.1
    assert 5 + 8 == len(server.asked)


def test_many_threads_wait() -> None:
    """Threads that wait for the same route are all answered, and in the meantime only one of them asks."""
    kept = Breakers(BreakerPolicy(when_open="wait", open_for=0.1, jitter=0))
    io, start = SyncIO(Background(), Watchdog()), threading.Barrier(8)
    server = Recovering(io.now() + 0.05)
    answering = compose([Retry(), CircuitBreaker(kept)], server)
    for _ in range(5):
        with pytest.raises(openai.InternalServerError):
            finish(answering(make_call(io=io, upstream=target())))

    def work() -> str:
        start.wait()
        return text(finish(answering(make_call(io=SyncIO(Background(), Watchdog()), upstream=target()))))

    with ThreadPoolExecutor(8) as pool:
        answers = [done.result() for done in [pool.submit(work) for _ in range(8)]]

    assert ["Hi"] * 8 == answers
    assert 5 + 8 == len(server.asked)
