from __future__ import annotations

import gc
import logging
import threading
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deepseek_sdk._record import Record
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaker import Breaker, BreakerPolicy, Breakers, Permit, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")


class World:
    """A breaker in a time of its own; by chance 0.5, nothing is jittered."""

    def __init__(self, chance: Callable[[], float] = lambda: 0.5, **policy: Any) -> None:
        self.now = 1000.0
        self.breaker = Breaker(ACCOUNT, BreakerPolicy(**policy), chance, lambda: self.now)

    def go(self, **terms: Any) -> Permit:
        """Let a call through that must be let through."""
        answer = self.breaker.admit(self.now, **terms)
        assert isinstance(answer, Permit)
        return answer

    def state(self) -> str:
        """Tell the state of the breaker."""
        return self.breaker.state

    def refused(self) -> Refusal:
        """Ask for a call that must be refused."""
        answer = self.breaker.admit(self.now)
        assert isinstance(answer, Refusal)
        return answer

    def play(self, outcomes: str) -> None:
        """Let calls through, one after another: S for success, F for failure, N for neutral."""
        for outcome in outcomes:
            getattr(self.go(), {"S": "succeed", "F": "fail", "N": "neutral"}[outcome])(self.now)

    def trip(self) -> None:
        """Open the circuit."""
        self.play("FFFFF")


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ("FFFF", None),
        ("FFFFF", "consecutive failures"),
        ("FFFFS" * 3 + "FFFF", None),
        ("FFFFNF", "consecutive failures"),
        ("FNFNFNFNFN"[:9], "consecutive failures"),
        ("N" * 100, None),
        ("SF" * 9 + "S", None),
        ("SF" * 10, "error ratio"),
        ("SSF" * 20, None),
        ("S" * 15 + "FFFF", None),
        ("N" * 15 + "FFFF", None),
        # Neutral calls neither thin out the failures nor help to reach the minimum.
        ("SFNNN" * 9, None),
        ("SFNNN" * 9 + "SF", "error ratio"),
        ("S" * 40, None),
    ],
)
def test_what_opens_a_circuit(outcomes: str, reason: str | None) -> None:
    """Five failures in a row or half of twenty calls open it; what is neutral counts neither way."""
    world = World()
    world.play(outcomes)

    assert reason == world.breaker.reason
    assert ("closed" if reason is None else "open") == world.state()


@pytest.mark.parametrize(
    ("policy", "outcomes", "is_open"),
    [
        ({"consecutive_failures": None}, "F" * 19, False),
        ({"consecutive_failures": None}, "F" * 20, True),
        ({"consecutive_failures": None, "error_ratio": None}, "F" * 50, False),
        ({"consecutive_failures": 1}, "F", True),
        ({"consecutive_failures": None, "minimum_calls": 4}, "SSFF", True),
        ({"consecutive_failures": None, "minimum_calls": 4, "error_ratio": 0.6}, "SSFF", False),
        ({"consecutive_failures": None, "minimum_calls": 4, "error_ratio": 1}, "FFFF", True),
    ],
)
def test_rules_can_be_changed(policy: dict[str, Any], outcomes: str, *, is_open: bool) -> None:
    """Each number of the policy is obeyed, and None switches its rule off."""
    world = World(**policy)
    world.play(outcomes)

    assert is_open == (world.state() == "open")


def test_failures_and_429s_in_turn() -> None:
    """T26: a 429 is no success: it does not interrupt a row of failures."""
    world = World()
    world.play("FN" * 4)
    assert "closed" == world.state()
    world.play("F")

    assert "open" == world.state()


def test_failures_of_long_ago_are_no_row() -> None:
    """Failures make a row only within the window: an account that is rarely asked is not held to old ones."""
    world = World()
    for _ in range(9):
        world.play("F")
        world.now += 61

    assert "closed" == world.state()


def test_only_a_complete_answer_ends_a_row() -> None:
    """T27: a call that has begun well is no success yet; its failure, long after, counts."""
    world = World()
    for _ in range(5):
        permit = world.go()
        permit.first_token(world.now)
        permit.fail(world.now)

    assert "consecutive failures" == world.breaker.reason


def test_calls_count_when_they_are_let_through() -> None:
    """T27: during an outage with calls longer than the window, the first failures open the circuit."""
    world = World(consecutive_failures=None)
    permits = [world.go() for _ in range(40)]
    world.now += 70
    for permit in permits[:19]:
        permit.fail(world.now)
    assert "closed" == world.state()
    permits[19].fail(world.now)

    assert "error ratio" == world.breaker.reason


def test_a_ratio_is_never_above_one() -> None:
    """Calls of before the window that fail in it count as calls of it, so failures never outnumber calls."""
    world = World(consecutive_failures=None, error_ratio=None)
    permits = [world.go(slow_after=8) for _ in range(9)]
    world.now += 70
    for permit in permits:
        permit.fail(world.now)

    assert (9, 9, 9) == (world.breaker.calls, world.breaker.failures, world.breaker.slow)


def test_a_call_is_slow_when_it_becomes_slow() -> None:
    """T27: calls without a first token count when it is overdue, however long they go on waiting."""
    world = World()
    permits = [world.go(slow_after=8) for _ in range(20)]
    world.now += 7.9
    assert ("closed", 0) == (world.state(), world.breaker.slow)
    for permit in permits[:9]:
        permit.first_token(world.now)
    world.now += 0.2
    assert ("closed", 11) == (world.state(), world.breaker.slow)
    late = [world.go(slow_after=2) for _ in range(10)]
    world.now += 2.1

    assert "slow ratio" == world.breaker.reason
    assert world.refused().retry_in == pytest.approx(10)
    assert not any(permit.is_settled for permit in permits + late)


def test_slowness_is_seen_by_the_next_call() -> None:
    """The call that comes after enough others have become slow is the first to be refused."""
    world = World()
    for _ in range(20):
        world.go(slow_after=8)
    world.now += 8

    assert not world.refused().is_cooling
    assert "slow ratio" == world.breaker.reason


@pytest.mark.parametrize("looks", [0, 1])
def test_a_late_first_token_is_slow(looks: int) -> None:
    """A call whose token comes late is slow, once, whether or not somebody looked while it was overdue."""
    world = World(slow_ratio=None)
    permit = world.go(slow_after=8)
    world.now += 9
    assert looks == sum(world.breaker.slow for _ in range(looks))
    permit.first_token(world.now)
    permit.succeed(world.now)

    assert (1, 0, 1) == (world.breaker.calls, world.breaker.failures, world.breaker.slow)


def test_a_slow_call_that_is_given_up_was_slow() -> None:
    """A caller who gives up because nothing comes does not hide that nothing came."""
    world = World()
    world.play("S")
    permit = world.go(slow_after=8)
    world.now += 9
    permit.neutral(world.now)

    assert (2, 1) == (world.breaker.calls, world.breaker.slow)


def test_waiting_in_our_own_queue_is_not_slow() -> None:
    """Seconds count from the attempt that follows the admission, not from the admission or an earlier attempt."""
    world = World()
    record = Record(started=world.now - 100)
    record.begin(route="", model="", now=world.now - 50)
    world.go(slow_after=8, record=record)
    world.now += 100
    assert 0 == world.breaker.slow
    record.begin(route="", model="", now=world.now)
    world.now += 7
    assert 0 == world.breaker.slow
    world.now += 1

    assert 1 == world.breaker.slow


class Busy:
    """A clock of a call whose caller is elsewhere from time to time."""

    def __init__(self, *, away: float = 0.0, paused_at: float | None = None) -> None:
        self.away = away
        self.paused_at = paused_at


def test_a_caller_who_does_not_read_is_not_the_servers_slowness() -> None:
    """While the caller has not asked for the next event, the server is not waited for."""
    world = World()
    permit = world.go(slow_after=8)
    permit.wait = busy = Busy(paused_at=world.now + 1)
    world.now += 100
    assert 0 == world.breaker.slow
    busy.away, busy.paused_at = 99, None
    world.now += 6
    assert 0 == world.breaker.slow
    world.now += 1

    assert 1 == world.breaker.slow


def test_a_token_is_not_late_because_of_the_caller() -> None:
    """A first token that lay ready while the caller was busy came in time."""
    world = World()
    permit = world.go(slow_after=8)
    permit.wait = Busy(away=95)
    world.now += 100
    permit.first_token(world.now)

    assert 0 == world.breaker.slow


@pytest.mark.parametrize(
    ("chance", "expected"),
    [(0.5, [10, 20, 40, 80, 120, 120]), (0.0, [9, 18, 36, 72, 108, 108]), (1.0, [11, 22, 44, 88, 132, 132])],
)
def test_how_long_it_stays_open(chance: float, expected: list[float]) -> None:
    """Each probe that fails doubles the time up to two minutes, spread by chance over 10 % either way."""
    world, found = World(lambda: chance), []
    world.trip()
    for _ in expected:
        found.append(world.breaker.retry_in)
        world.now += found[-1] or 0
        assert "half_open" == world.state()
        world.play("F")

    assert pytest.approx(expected) == found


@pytest.mark.parametrize(("healthy_for", "expected"), [(0, 20), (59, 20), (60, 10), (600, 10)])
def test_growth_is_forgotten(healthy_for: float, expected: float) -> None:
    """After a whole window without trouble an opening is a first one again."""
    world = World()
    world.trip()
    world.now += 10
    world.play("S")
    world.now += healthy_for
    world.trip()

    assert expected == world.breaker.retry_in


def test_growth_is_forgotten_before_a_hand_opens() -> None:
    """An outage of long ago makes the probe after an opening by hand no more expensive."""
    world = World()
    world.trip()
    world.now += 10
    world.play("S")
    world.now += 600
    world.breaker.open(5)
    world.now += 5
    world.play("F")

    assert 10 == world.breaker.retry_in


def test_growth_of_hundreds_of_openings() -> None:
    """An outage of days is no arithmetic error."""
    world = World(growth=1e100)
    world.trip()
    for _ in range(500):
        world.now += world.breaker.retry_in or 0
        world.play("F")

    assert 120 == world.breaker.retry_in


def test_one_probe_at_a_time() -> None:
    """T25: when the time is over one call goes, and all others are told how long its lease lasts."""
    world = World()
    world.trip()
    assert Refusal(10, is_cooling=False) == world.refused()
    world.now += 10
    world.go(lease=23)

    assert Refusal(23, is_cooling=False) == world.refused()
    assert ("half_open", 23) == (world.state(), world.breaker.retry_in)


def test_the_first_token_of_a_probe_closes() -> None:
    """A probe that begins to answer closes the circuit at once, and goes on as an ordinary call."""
    world = World(consecutive_failures=2)
    world.play("FF")
    world.now += 10
    probe = world.go()
    probe.first_token(world.now)
    assert ("closed", 1, 0) == (world.state(), world.breaker.calls, world.breaker.failures)
    probe.fail(world.now)
    world.play("F")

    assert "consecutive failures" == world.breaker.reason


def test_a_probe_that_is_given_up_after_its_token() -> None:
    """A probe that has closed the circuit is taken back like any other call, from where it was counted."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go()
    world.now += 20
    probe.first_token(world.now)
    probe.neutral(world.now)
    found = []
    for _ in range(12):
        found.append(world.breaker.calls)
        world.now += 6

    assert [0] * 12 == found


def test_a_slow_probe_does_not_close() -> None:
    """A first token that comes late shows no recovery; the circuit opens for longer."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go(slow_after=8, lease=23)
    world.now += 9
    probe.first_token(world.now)
    probe.succeed(world.now)

    assert ("open", "probe failed", 20) == (world.state(), world.breaker.reason, world.breaker.retry_in)


@pytest.mark.parametrize("end", ["neutral", "never"])
def test_it_is_never_stuck_half_open(end: str) -> None:
    """T24: a probe that says nothing gives its lease back, and one that never returns loses it."""
    world = World()
    world.trip()
    world.now += 10
    first = world.go(lease=23)
    if end == "neutral":
        first.neutral(world.now)
    else:
        world.now += 23
    assert "half_open" == world.state()
    world.go().succeed(world.now)

    assert "closed" == world.state()


@pytest.mark.parametrize("outcome", ["succeed", "fail", "first_token"])
def test_a_probe_that_lost_its_lease_is_not_heard(outcome: str) -> None:
    """T24, T25: how the former probe ends does not matter once another has taken its place."""
    world = World()
    world.trip()
    world.now += 10
    first = world.go(lease=23)
    world.now += 23
    world.go(lease=23)
    getattr(first, outcome)(world.now)

    assert "half_open" == world.state()
    assert Refusal(23, is_cooling=False) == world.refused()


def test_a_late_probe_is_heard_while_nobody_else_came() -> None:
    """A lease that has run out ends the probe only when there is another."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go(lease=23)
    world.now += 40
    probe.first_token(world.now)

    assert "closed" == world.state()


def test_stale_results_are_not_heard() -> None:
    """T25: successes and failures of calls from before a change of state change nothing."""
    world = World()
    slow = [world.go() for _ in range(10)]
    world.trip()
    slow.pop().succeed(world.now)
    assert "open" == world.state()
    world.now += 10
    slow.pop().succeed(world.now)
    assert "half_open" == world.state()
    world.play("S")
    for permit in slow:
        permit.fail(world.now)

    assert ("closed", 0) == (world.state(), world.breaker.failures)


def test_a_permit_is_settled_once() -> None:
    """Of what a permit is told only the first counts."""
    world = World(consecutive_failures=2)
    permit = world.go()
    permit.fail(world.now)
    permit.fail(world.now)
    permit.succeed(world.now)

    assert ("closed", 1) == (world.state(), world.breaker.failures)


def test_a_permit_is_settled_once_by_many() -> None:
    """Of what several threads tell while the breaker is busy, too, only the first counts."""
    world = World(consecutive_failures=2)
    permit = world.go()
    with world.breaker._desk.serial:
        permit.fail(world.now)
        permit.fail(world.now)
        assert not permit.is_settled

    assert ("closed", 1, 0) == (world.state(), world.breaker.failures, world.breaker.in_flight)


def test_it_can_be_opened_and_closed_by_hand() -> None:
    """Opened by hand it stays open until a hand closes it, or for the time that was said."""
    world = World()
    world.breaker.open()
    world.now += 1e6
    assert ("open", "by hand", inf) == (world.state(), world.breaker.reason, world.breaker.retry_in)
    assert Refusal(inf, is_cooling=False) == world.refused()
    world.breaker.close()
    assert ("closed", None, None) == (world.state(), world.breaker.reason, world.breaker.retry_in)
    world.breaker.open(30)
    world.now += 30

    assert "half_open" == world.state()
    world.play("S")
    assert "closed" == world.state()


def test_a_reset_breaker_is_as_new() -> None:
    """After a reset nothing is remembered: no failures, no growth, no pause; and calls in flight do not count."""
    world = World()
    early = [world.go() for _ in range(5)]
    world.trip()
    world.now += 10
    world.play("F")
    world.breaker.leave_alone(100)
    world.breaker.reset()
    assert ("closed", 0) == (world.state(), world.breaker.calls)
    for permit in early:
        permit.fail(world.now)
    assert world.breaker.is_idle
    world.trip()

    assert 10 == world.breaker.retry_in


@pytest.mark.parametrize(("asked", "expected"), [(30, 30), (120, 120), (86_400, 120), (inf, 120)])
def test_a_server_can_ask_to_be_left_alone(asked: float, expected: float) -> None:
    """T22: it is not asked for that time, two minutes at most, and then as if nothing had been: without a probe."""
    world = World()
    world.play("FFFF")
    world.breaker.leave_alone(asked)
    assert Refusal(expected, is_cooling=True) == world.refused()
    assert ("open", "asked to be left alone") == (world.state(), world.breaker.reason)
    world.now += expected
    world.go()
    world.go()

    assert ("closed", None) == (world.state(), world.breaker.reason)


@pytest.mark.parametrize("asked", [0, -5])
def test_no_pause(asked: float) -> None:
    """A server that asks for no pause gets none."""
    world = World()
    world.breaker.leave_alone(asked)

    assert "closed" == world.state()


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    """Of several wishes the latest end counts."""
    world = World()
    world.breaker.leave_alone(60)
    world.breaker.leave_alone(5)

    assert 60 == world.breaker.retry_in


def test_calls_in_flight_count_during_a_pause() -> None:
    """A pause is no change of health: what fails in it opens the circuit, and then there is a probe."""
    world = World()
    permits = [world.go() for _ in range(5)]
    world.breaker.leave_alone(60)
    for permit in permits:
        permit.fail(world.now)
    assert ("consecutive failures", 60) == (world.breaker.reason, world.breaker.retry_in)
    assert world.refused().is_cooling
    world.now += 60
    world.go()

    assert "half_open" == world.state()


def test_a_pause_while_half_open() -> None:
    """A probe that is told to come back later gives its lease back, and the next one waits as long as was asked."""
    world = World()
    world.trip()
    world.now += 10
    probe = world.go()
    world.breaker.leave_alone(30)
    probe.neutral(world.now)
    assert Refusal(30, is_cooling=True) == world.refused()
    world.now += 30
    world.go()

    assert "half_open" == world.state()


def test_when_it_is_idle() -> None:
    """A breaker may be forgotten when a new one would do the same, and when nobody came back to probe."""
    world = World()
    assert world.breaker.is_idle
    permit = world.go()
    world.now += 100
    assert not world.breaker.is_idle
    permit.fail(world.now)
    assert not world.breaker.is_idle
    world.now += 60
    assert world.breaker.is_idle
    world.trip()
    assert not world.breaker.is_idle
    world.now += 69
    assert not world.breaker.is_idle
    world.now += 1

    assert world.breaker.is_idle


def test_tickets_do_not_pile_up() -> None:
    """Of calls that have ended nothing is kept until their first token would have been overdue."""
    world = World()
    for _ in range(10_000):
        permit = world.go(slow_after=30, record=Record(started=world.now))
        permit.first_token(world.now)
        permit.succeed(world.now)
        assert permit.record is None

    assert len(world.breaker._desk.circuit._awaited) < 100


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


def test_changes_of_state_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Opening is a warning with its reason, closing is information; the key is in neither."""
    world = World()
    with caplog.at_level(logging.INFO, logger="deepseek_sdk"):
        world.trip()
        world.now += 10
        world.play("S")
        world.breaker.leave_alone(5)
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


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("minimum_calls", [0, -1, 1.5, True, None, "20"]),
        ("consecutive_failures", [0, 2.5, False]),
        ("error_ratio", [0, 1.01, -1, float("nan"), "0.5", True]),
        ("slow_ratio", [0, 1.01, -1, float("nan"), "0.5"]),
        ("slow_first_token", [0, -1, inf, float("nan"), "8"]),
        ("window", [0, inf, None, float("nan")]),
        ("buckets", [0, 2.5, None]),
        ("open_for", [0, inf, None, "10"]),
        ("open_for_longest", [9, inf, None]),
        ("growth", [0.9, inf, None]),
        ("jitter", [-0.1, 1, None]),
        ("when_open", ["explode", None, True]),
    ],
)
def test_a_policy_that_cannot_be_is_refused(name: str, values: list[Any]) -> None:
    """The error names the field and shows the value."""
    for value in values:
        with pytest.raises(ConfigurationError, match=f"^{name} must be .*, not {value!r}"):
            BreakerPolicy(**{name: value})


class AnyOrder(RuleBasedStateMachine):
    """Calls, time and hands in any order: there is never a second probe, and always a way back."""

    LEASE = 20.0

    def __init__(self) -> None:
        super().__init__()
        self.open_permits: list[Permit] = []
        # Those whose lease has not been given back, with its end.
        self.probes: dict[Permit, float] = {}

    @initialize(ratio=st.sampled_from([None, 0.5, 1.0]), row=st.sampled_from([None, 1, 3]))
    def make(self, ratio: float | None, row: int | None) -> None:
        """Choose the rules."""
        self.world = World(
            minimum_calls=4, consecutive_failures=row, error_ratio=ratio, slow_ratio=ratio, open_for_longest=40
        )

    @rule(slow_after=st.sampled_from([inf, 3.0, 8.0]))
    def call(self, slow_after: float) -> None:
        """Ask for a call: it goes exactly when the breaker says so."""
        before = self.world.breaker.retry_in
        answer = self.world.breaker.admit(self.world.now, slow_after=slow_after, lease=self.LEASE)
        assert isinstance(answer, Refusal) == (before is not None and before > 0)
        if isinstance(answer, Refusal):
            assert pytest.approx(before) == answer.retry_in
            return
        self.open_permits.append(answer)
        if answer.is_probe:
            self.probes[answer] = self.world.now + self.LEASE

    @precondition(lambda self: self.open_permits)
    @rule(data=st.data(), outcome=st.sampled_from(["succeed", "fail", "neutral", "first_token"]))
    def settle(self, data: st.DataObject, outcome: str) -> None:
        """Tell something of a call; of a former generation it changes nothing."""
        permit = data.draw(st.sampled_from(self.open_permits))
        before = self.world.state(), self.world.breaker.failures
        is_stale = permit.generation != self.world.breaker._desk.circuit._generation
        getattr(permit, outcome)(self.world.now)
        self.probes.pop(permit, None)
        if outcome != "first_token":
            self.open_permits.remove(permit)
        if is_stale:
            assert before == (self.world.state(), self.world.breaker.failures)

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0, 45.0, 200.0]))
    def let_time_pass(self, seconds: float) -> None:
        """Wait."""
        self.world.now += seconds

    @rule(seconds=st.sampled_from([1.0, 30.0, 500.0]))
    def pause(self, seconds: float) -> None:
        """Be asked by the server for a pause."""
        self.world.breaker.leave_alone(seconds)

    @rule(seconds=st.sampled_from([None, 5.0]))
    def open(self, seconds: float | None) -> None:
        """Open by hand."""
        self.world.breaker.open(seconds)
        self.probes.clear()

    @rule(name=st.sampled_from(["close", "reset"]))
    def mend(self, name: str) -> None:
        """Close by hand, or reset."""
        getattr(self.world.breaker, name)()
        self.probes.clear()
        assert "closed" == self.world.state()

    @invariant()
    def one_probe(self) -> None:
        """See that no two probes hold a lease."""
        assert sum(until > self.world.now for until in self.probes.values()) <= 1

    @invariant()
    def counts_make_sense(self) -> None:
        """See that ratios stay within 0 and 1, and that no call is lost."""
        breaker = self.world.breaker
        assert 0 <= breaker.failures <= breaker.calls
        assert 0 <= breaker.slow <= breaker.calls
        assert len([permit for permit in self.open_permits if not permit.is_settled]) == breaker.in_flight

    def teardown(self) -> None:
        """Find the way back: time, and calls that succeed, close whatever no hand has opened for ever."""
        breaker = self.world.breaker
        if breaker.retry_in == inf:
            breaker.close()
        self.world.now += 200
        # What is still in flight may have become slow meanwhile, and opened it.
        assert breaker.retry_in in {None, 0} or breaker.reason == "slow ratio"
        self.world.now += 200
        self.world.play("S")
        assert "closed" == breaker.state


AnyOrder.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
test_any_order = pytest.mark.slow(AnyOrder.TestCase)
