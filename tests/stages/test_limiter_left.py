from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import threading
from typing import TYPE_CHECKING, Any

import anyio
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.stages.limiter import ConcurrencyLimit
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.stages.limited_calls import ACCOUNT, Endless, call_on, limiters, refused, single, text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from deepseek_sdk._io import IO
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.resilience.limiting.limiter import Limiters
    from deepseek_sdk.stages import Call

CUT = ConnectionResetError("reset")


def test_an_abandoned_stream_leaves_its_place() -> None:
    """With one place: a stream is begun and let go, and the next call goes at once."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single())], Endless())
    reply = finish(proceed(call_on(io)))
    finish(reply.next())
    finish(reply.close())
    following = call_on(io)

    assert "onetwo" == text(finish(proceed(following)))
    assert (None, 0) == (following.record.times.queue, io.now())


class Stop(BaseException):
    """Ends a call as a key press does."""


KINDS = ("close", "abandon", "forget", "drop", "refused", "failed", "stopped", "cut", "read")


class Aborting:
    """A backend whose answer to each call suits the way in which it is to end."""

    def __init__(self) -> None:
        self.kind = ""

    async def __call__(self, call: Call) -> Reply:
        """Answer, or fail."""
        if self.kind == "stopped":
            raise Stop
        scripts: dict[str, Any] = {"refused": refused(429), "failed": CUT, "cut": [chunk("Hi"), CUT]}
        return await ScriptedBackend(scripts.get(self.kind, said("one", "two")))(call)


async def leave(kind: str, reply: Reply) -> None:
    """Leave an answer in one of many ways; what is only forgotten is left to the garbage collector."""
    if kind in ("close", "abandon", "forget"):
        await reply.next()
    if kind == "close":
        await reply.close()
    elif kind == "abandon":
        reply.abandon()
    elif kind in ("cut", "read"):
        while await reply.next():
            pass


async def one_abort(kind: str, proceed: Any, call: Call) -> None:
    """Begin a call and let it end badly."""
    with contextlib.suppress(openai.OpenAIError, ConnectionResetError, Stop):
        await leave(kind, await proceed(call))


async def many_aborts(make_io: Callable[[], IO], kept: Limiters) -> None:
    """Abort 1,000 calls in random ways, where there is one place, and then make one."""
    choose, backend = random.Random(28), Aborting()  # noqa: S311  the same every time
    proceed = compose([ConcurrencyLimit(kept)], backend)
    for _ in range(1000):
        backend.kind = choose.choice(KINDS)
        await one_abort(backend.kind, proceed, call_on(make_io()))
        if backend.kind in ("forget", "drop"):
            gc.collect(0)
        assert 0 == kept[ACCOUNT].in_flight, backend.kind
    backend.kind = "read"
    call = call_on(make_io(), is_stream=False)
    assert b"onetwo" in await (await proceed(call)).gather()
    assert call.record.times.queue is None


@pytest.fixture
def _collected_by_hand() -> Iterator[None]:
    """Let nothing that is forgotten grow old by chance."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.usefixtures("_collected_by_hand")
@pytest.mark.parametrize("colour", ["virtual", "sync", "async"])
def test_a_thousand_aborts_leave_the_place_free(colour: str) -> None:
    """With one place: after 1,000 calls that ended in every way there is, the next goes at once."""
    if colour == "virtual":
        io = VirtualIO()
        finish(many_aborts(lambda: io, single()))
    elif colour == "sync":
        finish(many_aborts(lambda: SyncIO(Background(), Watchdog()), single()))
    else:
        anyio.run(many_aborts, lambda: AsyncIO(Background()), single())


async def turns(count: int) -> None:
    """Let the other tasks of the loop go on."""
    for _ in range(count):
        await asyncio.sleep(0)


async def cancelled_in_line(choose: random.Random, proceed: Any) -> None:
    """Cancel a call that waits, around the moment at which its place becomes free."""
    holder = await proceed(call_on(AsyncIO(Background())))
    waiting = asyncio.create_task(proceed(call_on(AsyncIO(Background()))))
    await turns(choose.randrange(4))
    steps: list[Callable[[], object]] = [holder.abandon, waiting.cancel]
    choose.shuffle(steps)
    for step in steps:
        step()
        await turns(choose.randrange(3))
    with contextlib.suppress(asyncio.CancelledError):
        (await waiting).abandon()


@pytest.mark.slow
async def test_cancelled_waiters_keep_nothing() -> None:
    """With one place: whenever a task that waits is cancelled, before or after it was its turn, the place is free."""
    choose = random.Random(29)  # noqa: S311  the same every time
    kept = single()
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    for _ in range(1000):
        await cancelled_in_line(choose, proceed)
        assert (0, 0) == (kept[ACCOUNT].in_flight, kept[ACCOUNT].queued)


class Suspending(VirtualIO):
    """An `io` whose waits never end, as on an event loop that was stopped."""

    async def wait(self, *_: Any, **__: Any) -> Any:
        """Suspend."""
        await Never()


class Never:
    """Something to wait for."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def test_a_waiter_whose_loop_died_keeps_nothing() -> None:
    """A coroutine that is thrown away while it waits, or after it got its place, takes no place with it."""
    io = VirtualIO()
    kept = single()
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    held, waiting = finish(proceed(call_on(io))), []
    for _ in range(3):
        waiting.append(proceed(call_on(Suspending())))
        waiting[-1].send(None)
    waiting.pop().close()
    finish(held.close())
    states = [kept[ACCOUNT].in_flight, kept[ACCOUNT].queued]
    waiting.clear()

    assert [1, 1, 0, 0] == [*states, kept[ACCOUNT].in_flight, kept[ACCOUNT].queued]


class Crowd:
    """A backend that counts how many calls it answers at the same time, from any thread."""

    def __init__(self) -> None:
        self.flying: list[None] = []
        self.most = 0

    async def __call__(self, call: Call) -> Reply:
        """Answer after a moment."""
        self.flying.append(None)
        self.most = max(self.most, len(self.flying))
        reply = await ScriptedBackend([chunk("Hi"), 0.001, chunk(finish="stop"), *said()[-1:]])(call)
        reply.on_end(lambda *_: self.flying.pop())
        return reply


@pytest.mark.slow
def test_threads_and_tasks_share_the_places() -> None:
    """Threads of a client and tasks of another keep one limit together, and all come to their turn."""
    kept, crowd = limiters(initial=4, maximum=4), Crowd()
    proceed = compose([ConcurrencyLimit(kept)], crowd)
    answers: list[bytes] = []

    async def one(io: IO) -> None:
        answers.append(await (await proceed(call_on(io, is_stream=False))).gather())

    async def tasks() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(one, AsyncIO(Background()))

    def thread() -> None:
        for _ in range(10):
            finish(one(SyncIO(Background(), Watchdog())))

    threads = [threading.Thread(target=thread) for _ in range(10)]
    for started in threads:
        started.start()
    anyio.run(tasks)
    for started in threads:
        started.join()

    assert 200 == len(answers)
    assert 4 == crowd.most
    assert (0, 0) == (kept[ACCOUNT].in_flight, kept[ACCOUNT].queued)
