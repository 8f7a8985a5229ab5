from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib.util
import logging
import socket
import threading
import time
from concurrent.futures import CancelledError, Future
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import openai
import pytest
from openai._models import FinalRequestOptions

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import IO, AsyncIO, Branch, SyncIO
from deepseek_sdk._wire import RESPONSE, CancelToken, Watchdog, default_http_client
from deepseek_sdk.backends.wire import Endpoint, StreamSupport
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

SOON_S = 5.0  # nothing below takes as long: it is what a test waits before it fails
TRIO = pytest.param("trio", marks=pytest.mark.skipif(importlib.util.find_spec("trio") is None, reason="needs trio"))
COLOURS = ["sync", "asyncio", TRIO, "virtual"]

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


class Runner:
    """Runs a toy stage in one colour."""

    def __init__(self, colour: str) -> None:
        self.colour = colour

    def __call__(self, toy: Branch[T], *, background: int = 64) -> T:
        """Run *toy* to its end, and the background work of virtual time after it."""
        if self.colour == "sync":
            return finish(toy(SyncIO(Background(background), Watchdog())))
        if self.colour == "virtual":
            io = VirtualIO(background=background)
            return finish(toy(io))
        return anyio.run(toy, AsyncIO(Background(background)), backend=self.colour)


@pytest.fixture(params=COLOURS)
def run(request: pytest.FixtureRequest) -> Runner:
    """Run the test in each colour."""
    return Runner(request.param)


async def never(io: IO) -> str:
    """Sleep for longer than any test."""
    await io.sleep(3600)
    return "never"


async def at_once(io: IO) -> str:
    """Give a result without waiting."""
    del io
    return "at once"


def failing(error: Exception, *, after: float = 0) -> Branch[str]:
    """Make a branch that fails."""

    async def branch(io: IO) -> str:
        await io.sleep(after)
        raise error

    return branch


class Ended:
    """Notes that a branch came to its end, however it did."""

    def __init__(self) -> None:
        self.future: Future[str] = Future()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note the end of the block."""
        how = "returned"
        try:
            yield
        except BaseException as error:
            how = type(error).__name__
            raise
        finally:
            self.future.set_result(how)


class TestTime:
    """`now`, `sleep` and `offload`."""

    def test_sleep_takes_as_long_as_it_says(self, run: Runner) -> None:
        """The clock of `now()` shows the time that was slept."""

        async def toy(io: IO) -> float:
            before = io.now()
            await io.sleep(0.01)
            return io.now() - before

        assert 0.01 <= run(toy) < SOON_S

    def test_offloaded_work_gives_its_result(self, run: Runner) -> None:
        """Work is called with its arguments, and what it returns comes back."""

        async def toy(io: IO) -> float:
            return await io.offload(pow, 2, 5)

        assert 32 == run(toy)

    def test_offloaded_work_raises(self, run: Runner) -> None:
        """What the work raises is raised."""

        async def toy(io: IO) -> int:
            return await io.offload(int, "x")

        with pytest.raises(ValueError, match="invalid literal"):
            run(toy)

    def test_offloaded_work_is_off_the_event_loop(self, run: Runner) -> None:
        """Only where there is an event loop does work run on another thread."""

        async def toy(io: IO) -> tuple[bool, bool]:
            return io.is_async, await io.offload(threading.get_ident) != threading.get_ident()

        is_async, is_elsewhere = run(toy)
        assert is_async == is_elsewhere == (run.colour in ("asyncio", "trio"))


class TestWait:
    """`wait`."""

    def test_a_result_is_waited_for(self, run: Runner) -> None:
        """A future that is done, or that a branch completes, gives its result."""

        async def toy(io: IO) -> list[str]:
            done: Future[str] = Future()
            done.set_result("a")
            later: Future[str] = Future()
            io.spawn(completing(later, "b"))
            return [await io.wait(done), await io.wait(later), await io.wait(later, 1)]

        assert ["a", "b", "b"] == run(toy)

    @pytest.mark.parametrize("run", ["sync", "asyncio", TRIO], indirect=True)
    def test_another_thread_may_complete_it(self, run: Runner) -> None:
        """A future that a thread completes wakes who waits for it."""

        async def toy(io: IO) -> str:
            future: Future[str] = Future()
            threading.Timer(0.01, future.set_result, ["a"]).start()
            return await io.wait(future, SOON_S)

        assert "a" == run(toy)

    def test_a_failure_is_raised(self, run: Runner) -> None:
        """The exception of the future is raised; one that was cancelled raises that."""

        async def toy(io: IO) -> str:
            future: Future[str] = Future()
            future.set_exception(KeyError("x"))
            return await io.wait(future)

        async def cancelled(io: IO) -> str:
            future: Future[str] = Future()
            future.cancel()
            return await io.wait(future)

        with pytest.raises(KeyError):
            run(toy)
        with pytest.raises(CancelledError):
            run(cancelled)

    def test_a_future_may_be_cancelled_meanwhile(self, run: Runner) -> None:
        """Who waits for a future that its owner cancels is told so."""

        async def toy(io: IO) -> str:
            future: Future[str] = Future()

            async def cancelling(io: IO) -> None:
                await io.sleep(0.001)
                future.cancel()

            io.spawn(cancelling)
            return await io.wait(future, SOON_S)

        with pytest.raises(CancelledError):
            run(toy)

    @pytest.mark.parametrize("timeout", [0, 0.01])
    def test_giving_up_leaves_the_future_alone(self, run: Runner, timeout: float) -> None:
        """A wait that takes too long raises, and the future can still be completed and waited for."""

        async def toy(io: IO) -> str:
            future: Future[str] = Future()
            with pytest.raises(TimeoutError):
                await io.wait(future, timeout)
            assert not future.done()
            future.set_result("a")
            return await io.wait(future)

        assert "a" == run(toy)

    def test_a_cancelled_waiter_leaves_the_future_alone(self, run: Runner) -> None:
        """A loser that waits for a future ends at once, and the future can still be completed."""
        ended, future = Ended(), Future[str]()

        async def waiting(io: IO) -> str:
            with ended.noted():
                return await io.wait(future)

        async def toy(io: IO) -> tuple[int, str]:
            won = await io.race(waiting, at_once)
            await io.wait(ended.future, SOON_S)
            return won

        assert (1, "at once") == run(toy)
        assert "ancel" in ended.future.result()
        assert not future.done()
        future.set_result("a")

    @pytest.mark.parametrize("run", ["asyncio", TRIO], indirect=True)
    def test_a_future_may_outlive_the_event_loop(self, run: Runner, caplog: pytest.LogCaptureFixture) -> None:
        """Completing a future for which a loop waited that is gone does no harm."""
        future: Future[str] = Future()

        async def toy(io: IO) -> None:
            with pytest.raises(TimeoutError):
                await io.wait(future, 0.001)

        run(toy)
        future.set_result("a")

        assert [] == caplog.records


def completing(future: Future[str], value: str) -> Branch[None]:
    """Make a branch that completes a future a little later."""

    async def branch(io: IO) -> None:
        await io.sleep(0.001)
        future.set_result(value)

    return branch


class TestRace:
    """`race`."""

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_the_first_result_wins(self, run: Runner, index: int) -> None:
        """The branch that is done first gives the result, wherever it stands."""
        branches = [never, never, never]
        branches[index] = at_once

        async def toy(io: IO) -> tuple[int, str]:
            return await io.race(*branches)

        assert (index, "at once") == run(toy)

    def test_one_branch_is_a_race(self, run: Runner) -> None:
        """A single branch wins."""

        async def toy(io: IO) -> tuple[int, str]:
            return await io.race(at_once)

        assert (0, "at once") == run(toy)

    def test_losers_end_at_once(self, run: Runner) -> None:
        """A loser that sleeps is cancelled where it is, and its cleanup runs."""
        ended = Ended()

        async def loser(io: IO) -> str:
            with ended.noted():
                return await never(io)

        async def toy(io: IO) -> str:
            await io.race(loser, at_once)
            return await io.wait(ended.future, SOON_S)

        assert "ancel" in run(toy)

    def test_losers_of_losers_end_at_once(self, run: Runner) -> None:
        """A loser that is itself a race takes its branches with it."""
        ended = [Ended(), Ended()]

        def sleeper(n: int) -> Branch[str]:
            async def branch(io: IO) -> str:
                with ended[n].noted():
                    return await never(io)

            return branch

        async def inner(io: IO) -> str:
            return (await io.race(sleeper(0), sleeper(1)))[1]

        async def outer(io: IO) -> str:
            await io.sleep(0.005)
            return "outer"

        async def toy(io: IO) -> list[str]:
            await io.race(inner, outer)
            return [await io.wait(end.future, SOON_S) for end in ended]

        assert all("ancel" in how for how in run(toy))

    def test_a_failure_loses(self, run: Runner) -> None:
        """While another branch may win, a failure is passed over."""

        async def slowly(io: IO) -> str:
            await io.sleep(0.005)
            return "slowly"

        async def toy(io: IO) -> tuple[int, str]:
            return await io.race(failing(KeyError()), slowly, failing(ValueError()))

        assert (1, "slowly") == run(toy)

    def test_the_first_failure_is_raised(self, run: Runner) -> None:
        """Where every branch fails, the error that came first is raised, not that of the first branch."""

        async def toy(io: IO) -> tuple[int, str]:
            return await io.race(failing(ValueError("second"), after=0.02), failing(KeyError("first")))

        with pytest.raises(KeyError, match="first"):
            run(toy)

    def test_late_results_are_discarded(self, run: Runner) -> None:
        """A loser that has a result all the same hands it to *discard*."""
        thrown_away: Future[str] = Future()

        async def stubborn(io: IO) -> str:
            with contextlib.suppress(BaseException):
                await never(io)
            return "late"

        async def discard(value: str) -> None:
            thrown_away.set_result(value)

        async def toy(io: IO) -> tuple[int, str, str]:
            index, value = await io.race(stubborn, at_once, discard=discard)
            return index, value, await io.wait(thrown_away, SOON_S)

        if run.colour in ("asyncio", "trio"):
            # There a cancellation is not to be swallowed; whoever does is cancelled again at the next await.
            assert (1, "at once") == run(toy)[:2]
        else:
            assert (1, "at once", "late") == run(toy)

    def test_one_of_two_results_is_discarded(self, run: Runner) -> None:
        """Of two branches that are done at the same time one wins, and the other's result is discarded if it came."""
        discarded: list[str] = []
        made: list[str] = []

        def making(name: str) -> Branch[str]:
            async def branch(io: IO) -> str:
                del io
                made.append(name)
                return name

            return branch

        async def discard(value: str) -> None:
            discarded.append(value)

        async def toy(io: IO) -> str:
            _, value = await io.race(making("a"), making("b"), discard=discard)
            await io.sleep(0.02)
            return value

        won = run(toy)
        assert sorted(made) == sorted([won, *discarded])

    def test_late_results_may_be_dropped(self, run: Runner) -> None:
        """Without *discard* a result that came too late is forgotten."""

        async def toy(io: IO) -> int:
            return (await io.race(at_once, at_once))[0]

        assert run(toy) in (0, 1)

    @pytest.mark.parametrize("run", ["asyncio", TRIO], indirect=True)
    def test_a_prize_that_nobody_takes_is_discarded(self, run: Runner) -> None:
        """A result that comes while the caller is cancelled is handed to *discard*."""
        discarded: list[str] = []

        async def discard(value: str) -> None:
            await anyio.lowlevel.checkpoint()
            discarded.append(value)

        async def toy(io: IO) -> bool:
            with anyio.CancelScope() as outer:

                async def winner(io: IO) -> str:
                    outer.cancel()
                    return await at_once(io)

                await io.race(winner, never, discard=discard)
            return outer.cancelled_caught

        assert run(toy)
        assert ["at once"] == discarded

    def test_results_of_a_cancelled_race_are_discarded(self, run: Runner) -> None:
        """A race that is cancelled before it is decided leaves nothing behind."""
        ended, discarded = Ended(), list[str]()

        async def stubborn(io: IO) -> str:
            with ended.noted(), contextlib.suppress(Exception):
                await never(io)
            return "late"

        async def discard(value: str) -> None:
            discarded.append(value)

        async def inner(io: IO) -> str:
            return (await io.race(stubborn, never, discard=discard))[1]

        async def outer(io: IO) -> str:
            await io.sleep(0.005)
            return "outer"

        async def toy(io: IO) -> str:
            _, value = await io.race(inner, outer)
            await io.wait(ended.future, SOON_S)
            await io.sleep(0.02)
            return value

        assert "outer" == run(toy)
        # With an event loop the cancellation is no Exception, so the branch does not get as far.
        assert ([] if run.colour in ("asyncio", "trio") else ["late"]) == discarded

    def test_branches_see_the_callers_context(self, run: Runner) -> None:
        """Context variables of the caller hold in branches; what a branch sets, stays there."""

        async def branch(io: IO) -> str:
            del io
            seen = variable.get()
            variable.set("inside")
            return seen

        async def toy(io: IO) -> tuple[str, str]:
            token = variable.set("outside")
            _, seen = await io.race(branch)
            after = variable.get()
            variable.reset(token)
            return seen, after

        assert ("outside", "outside") == run(toy)

    @pytest.mark.parametrize("run", ["sync", "asyncio", TRIO], indirect=True)
    def test_work_that_cannot_be_cancelled_is_not_waited_for(self, run: Runner) -> None:
        """A loser that blocks in offloaded work does not hold the winner up."""
        release = threading.Event()

        async def blocked(io: IO) -> str:
            await io.offload(release.wait, SOON_S)
            return "blocked"

        async def toy(io: IO) -> tuple[int, str]:
            return await io.race(blocked, at_once)

        before = time.monotonic()
        won = run(toy)
        release.set()

        assert (1, "at once") == won
        assert time.monotonic() - before < SOON_S

    @pytest.mark.slow
    @pytest.mark.parametrize("run", ["sync", "asyncio", TRIO], indirect=True)
    def test_a_loser_that_reads_from_a_socket_ends_at_once(self, run: Runner) -> None:
        """A branch that waits for a server's answer is cancelled; a thread, by shutting its socket down."""
        ended, is_async = Ended(), run.colour != "sync"
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            http_client = default_http_client(is_async=is_async, timeout=SOON_S)
            kind: Any = openai.AsyncOpenAI if is_async else openai.OpenAI
            client = kind(api_key="test-key", base_url=url, http_client=http_client)
            options = FinalRequestOptions.construct(method="post", url="/chat/completions", json_data={})
            send = functools.partial(client.request, RESPONSE, stream=True)
            support = StreamSupport()
            endpoint = Endpoint(name="x", client=client, send=send, options=options, support=support, timeout=None)

            async def reading(io: IO) -> str:
                with ended.noted():
                    await io.send(endpoint, options, inf)
                return "answered"

            async def accepting(io: IO) -> str:
                connection, _ = await io.offload(server.accept)
                connections.callback(connection.close)
                await io.offload(connection.recv, 100_000)
                return "accepted"

            async def toy(io: IO) -> tuple[int, str]:
                won = await io.race(reading, accepting)
                await io.wait(ended.future, SOON_S)
                if is_async:
                    await client.close()
                else:
                    client.close()
                return won

            with contextlib.ExitStack() as connections:
                assert (1, "accepted") == run(toy)
        assert "returned" != ended.future.result()

    def test_a_cancelled_thread_does_not_wait_again(self) -> None:
        """Once cancelled, every sleep, wait and race of the thread ends at once."""
        token = CancelToken()
        token.cancel()
        io = SyncIO(Background(), Watchdog(), token)

        for waiting in (io.sleep(3600), io.wait(Future[str]()), io.race(never, never)):
            with pytest.raises(CancelledError):
                finish(waiting)

    def test_a_cancelled_thread_still_takes_what_is_done(self) -> None:
        """A future that is done gives its result even to a thread that was cancelled."""
        token, future = CancelToken(), Future[str]()
        token.cancel()
        future.set_result("a")

        assert "a" == finish(SyncIO(Background(), Watchdog(), token).wait(future))


class TestSpawn:
    """`spawn`."""

    def test_background_work_is_done(self, run: Runner) -> None:
        """What is spawned runs, in the caller's context, while the caller goes on."""
        seen: Future[str] = Future()

        async def branch(io: IO) -> None:
            await io.sleep(0)
            seen.set_result(variable.get())

        async def toy(io: IO) -> tuple[bool, str]:
            token = variable.set("outside")
            is_started = io.spawn(branch)
            variable.reset(token)
            return is_started, await io.wait(seen, SOON_S)

        assert (True, "outside") == run(toy)

    def test_background_work_is_bounded(self, run: Runner) -> None:
        """When the limit is reached nothing more is started, until something has ended."""
        release: Future[str] = Future()
        ends = [Ended(), Ended()]

        def holding(n: int) -> Branch[None]:
            async def branch(io: IO) -> None:
                with ends[n].noted():
                    await io.wait(release)

            return branch

        async def nothing(io: IO) -> None:
            del io

        async def toy(io: IO) -> list[bool]:
            started = [io.spawn(holding(0)), io.spawn(holding(1)), io.spawn(nothing)]
            await io.sleep(0.001)
            release.set_result("go")
            for end in ends:
                await io.wait(end.future, SOON_S)
            await io.sleep(0.02)
            return [*started, io.spawn(nothing)]

        assert [True, True, False, True] == run(toy, background=2)

    def test_a_failure_in_the_background_frees_its_place(self, run: Runner, caplog: pytest.LogCaptureFixture) -> None:
        """Background work that fails disturbs nobody, is logged, and makes room for more."""
        ended = Ended()

        async def broken(io: IO) -> None:
            await io.sleep(0)
            with ended.noted():
                raise KeyError

        async def nothing(io: IO) -> None:
            del io

        async def toy(io: IO) -> bool:
            io.spawn(broken)
            await io.wait(ended.future, SOON_S)
            await io.sleep(0.02)
            return io.spawn(nothing)

        with caplog.at_level(logging.WARNING, "deepseek_sdk"):
            assert run(toy, background=1)
        expected = [] if run.colour == "virtual" else ["background work failed"]
        assert expected == [record.message for record in caplog.records]

    def test_places_are_counted(self) -> None:
        """A place that was given back can be taken again; giving it back twice, or holding it later, does no harm."""
        background = Background(1)
        ticket = background.admit()
        refused = background.admit()
        assert ticket is not None
        background.leave(ticket)
        background.leave(ticket)
        background.hold(ticket, CancelToken())

        assert (None, {}) == (refused, background._running)
        assert background.admit() is not None
