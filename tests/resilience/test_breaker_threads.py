from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.resilience.breaking.breaker import Permit
from tests.resilience.breaker_world import World

if TYPE_CHECKING:
    from collections.abc import Callable


class Forgotten:
    """A cycle that only the garbage collector finds, and that settles a permit at its end."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.me = self
        self._end = end

    def __del__(self) -> None:
        self._end()


@pytest.mark.parametrize("outcome", ["neutral", "fail", "succeed", "first_token"])
def test_the_garbage_collector_may_settle_in_the_middle_of_anything(outcome: str) -> None:
    """A permit that is settled while the same thread holds the lock waits for nothing and is settled right after."""
    ended = []

    def chance() -> float:
        # Asked for in the middle of an opening.
        ended.append(gc.collect())
        return 0.5

    world = World(chance)
    permit = world.go()
    end = getattr(permit, outcome)
    gc.collect()
    gc.disable()
    try:
        Forgotten(lambda: end(world.now))
        world.trip()
    finally:
        gc.enable()
    is_settled = permit.is_settled
    permit.neutral(world.now)

    assert (outcome != "first_token") == is_settled
    assert 1 == len(ended)
    assert ended[0] > 0
    assert ("open", 0) == (world.state(), world.breaker.in_flight)


@pytest.mark.slow
def test_a_hundred_threads_at_the_half_open_moment() -> None:
    """T25: of a hundred that come at the instant when a probe may go, one goes; again and again."""
    count, rounds = 100, 5
    world, answers = World(), [[] for _ in range(rounds)]  # type: ignore[var-annotated]
    start, done = threading.Barrier(count, world.trip, timeout=20), threading.Barrier(count, timeout=20)

    def come() -> None:
        for found in answers:
            if start.wait() == 0:
                world.now += world.breaker.retry_in or 0
            done.wait()
            found.append(world.breaker.admit(world.now, lease=60))
            if done.wait() == 0:
                world.breaker.reset()
            done.wait()

    threads = [threading.Thread(target=come) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [1] * rounds == [sum(isinstance(answer, Permit) for answer in found) for found in answers]
    assert [count] * rounds == [len(found) for found in answers]


@pytest.mark.slow
def test_threads_lose_no_count() -> None:
    """Whatever many threads do at once, every call is counted once and none is left in flight."""
    world, count, each = World(consecutive_failures=None, error_ratio=None, slow_ratio=None), 8, 300
    start = threading.Barrier(count, timeout=20)

    def work(number: int) -> None:
        start.wait()
        for turn in range(each):
            permit = world.go(slow_after=8)
            permit.first_token(world.now)
            (permit.fail if (number + turn) % 3 == 0 else permit.succeed)(world.now)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    failed = sum((number + turn) % 3 == 0 for number in range(count) for turn in range(each))
    assert (count * each, failed) == (world.breaker.calls, world.breaker.failures)
    assert 0 == world.breaker.in_flight
