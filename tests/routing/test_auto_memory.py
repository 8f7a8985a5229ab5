from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from deepseek_sdk._attempt import Attempt
from deepseek_sdk.routing.auto import RoutingDecision
from deepseek_sdk.routing.memory import RouteMemory

DIRECT = RoutingDecision(band="direct", tokens=10, chosen="a", order=("a",))
PREFIX = RoutingDecision(band="prefix", tokens=100_000, chosen="a", order=("a",))


@dataclass(kw_only=True)
class Call:
    """What a memory reads of a record."""

    attempts: list[Attempt] = field(default_factory=list)
    session_id: str | None = None
    routing: RoutingDecision | None = DIRECT


class Time:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def attempt(route: str, seconds: float, first_token: float | None = None, **more: str) -> Attempt:
    """Make an attempt that began a second after its call."""
    given = {"outcome": "complete", **more}
    first = None if first_token is None else 1.0 + first_token
    return Attempt(route=route, model="m", started=1.0, ended=1.0 + seconds, first_token=first, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (attempt("a", 4.0, 0.5), 0.5),
        (attempt("a", 4.0), 4.0),
        (attempt("a", 8.0, outcome="failed", reason="first_token_timeout"), 8.0),
        (attempt("a", 20.0, 1.0, outcome="failed", reason="stall"), 20.0),
        (attempt("a", 0.1, outcome="failed", reason="overloaded"), None),
        (attempt("a", 3.0, 0.5, outcome="abandoned"), None),
        (Attempt(route="a", model="m", started=1.0), None),
    ],
    ids=["streamed", "whole", "no first token", "stalled", "refused", "abandoned", "running"],
)
def test_how_long_a_route_takes(told: Attempt, expected: float | None) -> None:
    """The wait for the first token, or the whole time; what was refused at once says nothing."""
    memory = RouteMemory(Time())
    memory(Call(attempts=[told]))

    assert expected == memory.seconds_of("a", "direct")


def test_the_newest_times_weigh_most() -> None:
    """Each time moves the average by a fifth of the difference."""
    memory = RouteMemory(Time())
    for seconds in (1.0, 2.0, 2.0):
        memory(Call(attempts=[attempt("a", seconds)]))

    assert pytest.approx(1.36) == memory.seconds_of("a", "direct")


def test_times_are_kept_by_length_of_prompt() -> None:
    """Long prompts say nothing about short ones, and calls that name their model are not weighed."""
    memory = RouteMemory(Time())
    memory(Call(attempts=[attempt("a", 9.0)], routing=PREFIX))
    memory(Call(attempts=[attempt("b", 9.0)], routing=None))

    assert (9.0, None) == (memory.seconds_of("a", "prefix"), memory.seconds_of("a", "direct"))
    assert memory.seconds_of("b", "direct") is None


def test_old_times_are_forgotten() -> None:
    """After five minutes a route counts as unknown, and what comes then does not mix with what was."""
    time = Time()
    memory = RouteMemory(time)
    memory(Call(attempts=[attempt("a", 9.0)]))
    time.now += 301
    forgotten = memory.seconds_of("a", "direct")
    memory(Call(attempts=[attempt("a", 1.0)]))

    assert (None, 1.0) == (forgotten, memory.seconds_of("a", "direct"))


def test_a_conversation_knows_who_answered_it() -> None:
    """The route of the last complete answer, whatever failed before it."""
    memory = RouteMemory(Time())
    failed = attempt("a", 1.0, outcome="failed", reason="overloaded")
    memory(Call(attempts=[failed, attempt("b", 1.0)], session_id="会话-1"))
    memory(Call(attempts=[failed], session_id="会话-1"))
    memory(Call(session_id="会话-1"))
    memory(Call(attempts=[attempt("c", 1.0)]))

    assert ("b", None, None) == (memory.warm("会话-1"), memory.warm("会话-2"), memory.warm(None))


@pytest.mark.slow
def test_names_that_callers_make_up_do_not_grow() -> None:
    """Routes and sessions are forgotten, the oldest first, and what waits is bounded, too."""
    memory = RouteMemory(Time())
    for number in range(11_000):
        memory(Call(attempts=[attempt(f"route-{number}", 1.0)], session_id=f"session-{number}"))
        if number % 500 == 0:
            memory.warm("any")
    waiting = len(memory._told), len(memory._answered)

    assert max(waiting) <= 1000
    assert (None, "route-10999") == (memory.warm("session-0"), memory.warm("session-10999"))
    assert (None, 1.0) == (memory.seconds_of("route-0", "direct"), memory.seconds_of("route-10999", "direct"))
    assert (1000, 10_000) == (len(memory._speeds), len(memory._sessions))


def test_records_may_come_in_the_middle_of_a_change() -> None:
    """The garbage collector, in a thread that holds the lock already, waits for nothing."""
    memory = RouteMemory(Time())
    with memory._lock.get():
        memory(Call(attempts=[attempt("a", 2.0)]))

    assert 2.0 == memory.seconds_of("a", "direct")


def test_many_threads_share_a_memory() -> None:
    """However many tell and ask at once, an average stays between what was told."""
    memory, seen = RouteMemory(Time()), []

    def work(seconds: float) -> None:
        for _ in range(200):
            memory(Call(attempts=[attempt("a", seconds)], session_id="s"))
            seen.append(memory.seconds_of("a", "direct"))

    threads = [threading.Thread(target=work, args=(1.0 + number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1600 == len(seen)
    assert all(one is not None and 1.0 <= one <= 8.0 for one in seen)
    assert "a" == memory.warm("s")
