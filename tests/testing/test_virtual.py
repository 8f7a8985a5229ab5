from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.testing.virtual import VirtualIO, finish

if TYPE_CHECKING:
    from deepseek_sdk._io import IO, Branch


def sleeping(seconds: float, result: str = "", seen: list[tuple[str, float]] | None = None) -> Branch[str]:
    """Make a branch that sleeps, notes when it woke, and gives a result."""

    async def branch(io: IO) -> str:
        await io.sleep(seconds)
        if seen is not None:
            seen.append((result, io.now()))
        return result

    return branch


def background(seconds: float, seen: list[tuple[str, float]], name: str = "") -> Branch[None]:
    """Make background work that sleeps and notes when it woke."""

    async def branch(io: IO) -> None:
        await io.sleep(seconds)
        seen.append((name, io.now()))

    return branch


def test_time_passes_only_while_something_waits() -> None:
    """The clock shows the start and what was slept, and every sleep is listed."""
    io = VirtualIO(start=100)
    finish(io.sleep(3600))
    finish(io.sleep(0))
    finish(io.offload(lambda: None))

    assert (3700, [3600, 0], False) == (io.now(), io.slept, io.is_async)


def test_a_race_takes_as_long_as_its_winner() -> None:
    """The branch that sleeps least wins, and the clock stands where it ended."""
    io = VirtualIO()
    won = finish(io.race(sleeping(30, "a"), sleeping(10, "b"), sleeping(20, "c")))

    assert ((1, "b"), 10, [30, 10, 20]) == (won, io.now(), io.slept)


def test_a_race_inside_a_race() -> None:
    """Races nest: the inner takes its turns among the branches of the outer."""
    io, seen = VirtualIO(), list[tuple[str, float]]()

    async def inner(io: IO) -> str:
        _, value = await io.race(sleeping(5, "x", seen), sleeping(7, "y", seen))
        await io.sleep(1)
        return value

    won = finish(io.race(sleeping(9, "a", seen), inner))

    assert ((1, "x"), 6, [("x", 5)]) == (won, io.now(), seen)


def test_losers_are_cancelled_where_they_wait() -> None:
    """A loser gets CancelledError at its wait, may clean up, and cannot wait again."""
    io, seen = VirtualIO(), list[str]()

    async def loser(io: IO) -> str:
        try:
            await io.sleep(60)
        except CancelledError:
            seen.append("cancelled")
            with contextlib.suppress(CancelledError):
                await io.wait(Future[str]())
            seen.append("again")
            raise
        return "slept"

    finish(io.race(loser, sleeping(1)))
    finish(io.sleep(100))

    assert (["cancelled", "again"], 101) == (seen, io.now())


@pytest.mark.parametrize("has_discard", [True, False])
def test_late_results_are_discarded(*, has_discard: bool) -> None:
    """A loser that gives a result all the same hands it to *discard*, or it is dropped."""
    io, discarded = VirtualIO(), list[str]()

    async def stubborn(io: IO) -> str:
        with contextlib.suppress(CancelledError):
            await io.sleep(60)
        return "late"

    async def discard(value: str) -> None:
        discarded.append(value)

    won = finish(io.race(stubborn, sleeping(1, "won"), discard=discard if has_discard else None))

    assert ((1, "won"), ["late"] if has_discard else []) == (won, discarded)


def test_losers_that_had_not_begun_never_do() -> None:
    """A branch that is decided against before its first step does not run, not even later."""
    io, seen = VirtualIO(), list[str]()

    async def at_once(io: IO) -> str:
        del io
        seen.append("ran")
        return "done"

    finish(io.race(at_once, at_once))
    finish(io.sleep(1))

    assert ["ran"] == seen


def test_background_work_takes_turns() -> None:
    """What is spawned goes on while something waits, in the order in which its waits end."""
    io, seen = VirtualIO(), list[tuple[str, float]]()
    io.spawn(background(3, seen, "slow"))
    io.spawn(background(1, seen, "quick"))
    finish(io.sleep(2))
    after = list(seen)
    io.settle()

    assert ([("quick", 1)], [("quick", 1), ("slow", 3)], 3) == (after, seen, io.now())


def test_background_work_may_start_more() -> None:
    """Work that spawns work is settled as well."""
    io, seen = VirtualIO(), list[tuple[str, float]]()

    async def first(io: IO) -> None:
        await io.sleep(1)
        io.spawn(background(1, seen, "second"))

    io.spawn(first)
    io.settle()

    assert [("second", 2)] == seen


def test_background_work_is_bounded() -> None:
    """Above the limit nothing is started; what has ended makes room."""
    io = VirtualIO(background=1)
    found = [io.spawn(background(1, [])), io.spawn(background(1, []))]
    io.settle()
    found.append(io.spawn(background(1, [])))

    assert [True, False, True] == found


def test_failures_in_the_background_can_be_looked_at() -> None:
    """Background work that raises disturbs nobody and is listed."""
    io = VirtualIO()

    async def broken(io: IO) -> None:
        await io.sleep(1)
        raise KeyError

    io.spawn(broken)
    io.settle()

    assert [KeyError] == [type(error) for error in io.failures]


def test_a_wait_that_nothing_can_end_says_so() -> None:
    """In place of waiting for ever there is an error."""
    io = VirtualIO()
    with pytest.raises(RuntimeError, match="nothing is left"):
        finish(io.wait(Future[str]()))
    with pytest.raises(RuntimeError, match="nothing is left"):
        finish(io.race())


def test_a_wait_takes_its_timeout() -> None:
    """A future that nobody completes costs the timeout; one that is completed, the time until then."""
    io, future = VirtualIO(), Future[str]()
    with pytest.raises(TimeoutError):
        finish(io.wait(future, 5))

    async def completing(io: IO) -> None:
        await io.sleep(2)
        future.set_result("a")

    io.spawn(completing)

    assert ("a", 7) == (finish(io.wait(future, 5)), io.now())


def test_work_at_the_last_instant_comes_first() -> None:
    """A future that is completed when the timeout ends is in time."""
    io, future = VirtualIO(), Future[str]()

    async def completing(io: IO) -> None:
        await io.sleep(5)
        future.set_result("a")

    io.spawn(completing)

    assert "a" == finish(io.wait(future, 5))


def test_a_branch_may_await_nothing_else() -> None:
    """A branch that awaits what needs an event loop fails with an error that says so."""
    io = VirtualIO()

    async def stage(io: IO) -> str:
        del io
        await asyncio.sleep(0)
        return "x"

    with pytest.raises(RuntimeError, match="other than its io"):
        finish(io.race(stage))


def test_there_is_no_network() -> None:
    """A call that gets as far as the wire is told what to do."""
    with pytest.raises(RuntimeError, match="ScriptedBackend"):
        finish(VirtualIO().send(None, None, 0))
