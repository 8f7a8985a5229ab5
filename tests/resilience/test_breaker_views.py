from __future__ import annotations

import logging
import threading
from math import inf

import pytest

from deepseek_sdk.resilience.breaking.breaker import Breaker, BreakerPolicy, Breakers, BreakerSnapshot
from tests.resilience.breaker_world import ACCOUNT, World


def test_it_says_what_it_is() -> None:
    """The representation tells the state and why, and nothing of the key."""
    world = World()
    world.play("SF")
    assert "<Breaker deepseek-flash at https://api.deepseek.com: closed; 2 calls, 1 failed, 0 slow>" == repr(
        world.breaker
    )
    world.play("FFFF")
    assert ": open for 10.0 s, consecutive failures; 6 calls, 5 failed, 0 slow>" in repr(world.breaker)
    world.breaker.open()

    assert ": open until closed by hand, by hand;" in repr(world.breaker)
    assert ACCOUNT.credential not in repr(world.breaker)


def test_a_snapshot_tells_everything() -> None:
    """It holds what the properties say, one by one."""
    world = World()
    world.go()
    world.go(slow_after=3)
    world.play("SF")
    world.now += 4
    assert BreakerSnapshot("closed", None, None, 4, 1, 1, 2) == world.breaker.snapshot()
    world.play("FFFF")
    assert BreakerSnapshot("open", "consecutive failures", 10, 8, 5, 1, 2) == world.breaker.snapshot()
    world.breaker.cool_down(60)
    assert BreakerSnapshot("open", "consecutive failures", 60, 8, 5, 1, 2) == world.breaker.snapshot()
    world.breaker.open()
    snapshot = world.breaker.snapshot()

    assert BreakerSnapshot("open", "by hand", inf, 8, 5, 1, 2) == snapshot
    assert snapshot == tuple(getattr(world.breaker, name) for name in BreakerSnapshot._fields)


def test_a_snapshot_is_of_one_instant() -> None:
    """Time that passes between two looks does not tear it apart: what is open has a time, what is half open none."""
    now = iter(range(0, 1000, 3))
    breaker = Breaker(ACCOUNT, BreakerPolicy(open_for=10), lambda: 0.5, lambda: float(next(now)))
    breaker.open(10)
    found = [breaker.snapshot() for _ in range(6)]

    assert [("open", 7), ("open", 4), ("open", 1), ("half_open", 0), ("half_open", 0), ("half_open", 0)] == [
        (seen.state, seen.retry_in) for seen in found
    ]


@pytest.mark.slow
def test_a_snapshot_is_not_torn_by_threads() -> None:
    """While others open and close, a reason and a time are there exactly when the circuit is not closed."""
    world, torn, is_over = World(), [], threading.Event()

    def change() -> None:
        while not is_over.is_set():
            world.breaker.open(30)
            world.breaker.close()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3000):
            seen = world.breaker.snapshot()
            if not (seen.state == "closed") == (seen.reason is None) == (seen.retry_in is None):
                torn.append(seen)
    finally:
        is_over.set()
        thread.join()

    assert [] == torn


def test_an_answer_that_is_forgotten_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The garbage collector may tell of it inside a log handler, so the next who comes tells of what has changed."""
    world = World()
    permits = [world.go(slow_after=8) for _ in range(20)]
    world.now += 9
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        permits[0].abandon(world.now, has_token=True)
        assert [] == caplog.messages
        world.refused()

    assert ["slow ratio"] == [message.rpartition(": ")[2] for message in caplog.messages]


def test_changes_of_state_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Opening is a warning with its reason, closing is information; the key is in neither."""
    world = World()
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        world.trip()
        world.now += 10
        world.play("S")
        world.breaker.cool_down(5)
        world.now += 5
        world.play("S")
        world.breaker.open()
        world.breaker.reset()
        world.breaker.reset()

    name = "deepseek-flash at https://api.deepseek.com"
    assert [
        ("WARNING", f"{name} is left alone for 10.0 s: consecutive failures"),
        ("INFO", f"{name} is asked again"),
        ("WARNING", f"{name} is left alone for 5.0 s: asked to be left alone"),
        ("INFO", f"{name} is asked again"),
        ("WARNING", f"{name} is left alone until closed by hand: by hand"),
        ("INFO", f"{name} is asked again"),
    ] == [(record.levelname, record.getMessage()) for record in caplog.records]


def test_a_log_handler_may_ask_for_the_state() -> None:
    """Nothing is locked while a change is told, so that a handler may look at the breaker."""
    world, seen = World(), []

    class Asking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((record.levelname, world.state()))

    handler, logger = Asking(), logging.getLogger("deepseek_sdk")
    logger.addHandler(handler)
    try:
        world.trip()
    finally:
        logger.removeHandler(handler)

    assert [("WARNING", "open")] == seen


def test_all_breakers_of_a_client() -> None:
    """There is one breaker per account, made when it is first asked for, and all can be reset at once."""
    breakers = Breakers(BreakerPolicy(consecutive_failures=1))
    other = ACCOUNT._replace(model="deepseek-v4-pro")
    assert breakers[ACCOUNT] is breakers[ACCOUNT]
    breakers[other].open()
    assert (2, True) == (len(breakers), breakers.is_on)
    assert [ACCOUNT, other] == [breaker.account for breaker in breakers]
    assert "<Breakers: 2 accounts, 1 left alone>" == repr(breakers)
    breakers.reset()

    assert ["closed", "closed"] == [breaker.state for breaker in breakers]


def test_breakers_can_be_switched_off() -> None:
    """Without a policy there is no breaker, and asking for one says so."""
    breakers = Breakers(None)
    with pytest.raises(KeyError, match="breakers are switched off"):
        breakers[ACCOUNT]

    assert (False, 0, [], "Breakers(None)") == (breakers.is_on, len(breakers), list(breakers), repr(breakers))
