from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import threading
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._call import CallOptions
from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import LimiterTimeoutError, StreamInterruptedError, refine
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.limiter import LimiterPolicy, Limiters
from deepseek_sdk.stages.limiter import ConcurrencyLimit, waits_until
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from deepseek_sdk._io import IO
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.stages import Call

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")
ENGINE = Account("backend:local", "deepseek-flash")
CUT = ConnectionResetError("reset")
BUSY = "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining balance."


@dataclass
class Endpoint:
    """What a call is sent to, as far as the stage looks at it."""

    account: Account | None = ACCOUNT


def refused(status: int, text: str = "no") -> openai.APIStatusError:
    """Give the error that a refusal becomes."""
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://test.invalid"))
    kind = {429: openai.RateLimitError, 400: openai.BadRequestError}.get(status, openai.InternalServerError)
    return refine(kind(text, response=response, body=None))


def limiters(io: IO | None = None, **policy: Any) -> Limiters:
    """Make limiters on the clock of *io*."""
    return Limiters(LimiterPolicy(**policy), io.now if io else VirtualIO().now)


def single(io: IO | None = None, **policy: Any) -> Limiters:
    """Make limiters that let one call through at a time."""
    return limiters(io, initial=1, maximum=1, **policy)


def call_on(io: IO, account: Account | None = ACCOUNT, **changes: Any) -> Call:
    """Make a call to an account, with answers of its own."""
    return make_call(io=beside(io), upstream=Endpoint(account), **changes)


def beside(io: IO) -> IO:
    """Give another call an `io` on the same clock."""
    if type(io) is not VirtualIO or io._task is not None:
        return io
    other = VirtualIO()
    other._world, other._background = io._world, io._background
    return other


def text(reply: Reply) -> str:
    """Read the content of a streamed reply."""
    parts = []
    while batch := finish(reply.next()):
        parts += [event.json()["choices"][0]["delta"].get("content", "") for event in batch if not event.is_done]
    return "".join(parts)


class Endless:
    """A backend that answers every call in the same way."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script or said("one", "two"))
        self.calls = 0

    async def __call__(self, call: Call) -> Reply:
        """Answer, and count."""
        self.calls += 1
        return await ScriptedBackend(self.script)(call)


@pytest.mark.parametrize(
    ("policy", "account"), [(LimiterPolicy(initial=1), None), (LimiterPolicy(initial=1), ENGINE), (None, ACCOUNT)]
)
def test_what_has_no_limit_is_let_through(policy: LimiterPolicy | None, account: Account | None) -> None:
    """Rule engines have nothing to limit, engines have a line of their own, and limiters can be off."""
    io, kept = VirtualIO(), Limiters(policy)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    replies = [finish(proceed(call_on(io, account))) for _ in range(3)]

    assert ["onetwo"] * 3 == [text(reply) for reply in replies]
    assert 0 == len(kept)


def test_a_call_without_a_target_is_let_through() -> None:
    """A chain that ends with a backend of one's own may know no targets."""
    assert "onetwo" == text(finish(compose([ConcurrencyLimit(single())], Endless())(make_call())))


def test_a_place_is_taken_until_the_answer_ends() -> None:
    """A stream is in flight until its last event is read; no time in the line is reported where there was none."""
    io = VirtualIO()
    kept = limiters(io)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    call = call_on(io)
    reply = finish(proceed(call))
    before = kept[ACCOUNT].in_flight
    text(reply)

    assert (1, 0, None) == (before, kept[ACCOUNT].in_flight, call.record.times.queue)


def test_accounts_do_not_share_places() -> None:
    """One account that is full does not hold back another."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(io, max_wait=0))], Endless())
    held = finish(proceed(call_on(io)))

    assert "onetwo" == text(finish(proceed(call_on(io, ACCOUNT._replace(model="other")))))
    with pytest.raises(LimiterTimeoutError):
        finish(proceed(call_on(io)))
    assert "onetwo" == text(held)


def background(io: VirtualIO, work: Callable[[IO], Any]) -> None:
    """Let something go on beside."""
    assert io.spawn(work)


def test_calls_wait_their_turn() -> None:
    """What does not fit waits, in order, realtime before batch, and reports how long it waited."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(io))], Endless(chunk("Hi"), 2, chunk(finish="stop"), *said()[-1:]))
    ended: list[tuple[str, float, float | None]] = []

    def run(name: str, priority: Any) -> None:
        async def work(branch: IO) -> None:
            call = call_on(branch, is_stream=False, options=CallOptions(priority=priority))
            await (await proceed(call)).gather()
            ended.append((name, branch.now(), call.record.times.queue))

        background(io, work)

    for name, priority in (("a", None), ("b", "batch"), ("c", "realtime"), ("d", "batch"), ("e", None)):
        run(name, priority)
    io.settle()

    assert [("a", 2, None), ("c", 4, 2), ("e", 6, 4), ("b", 8, 6), ("d", 10, 8)] == ended
    assert [] == io.failures


def test_a_rate_spaces_calls_out() -> None:
    """With a rate, calls that wait together go one by one, each at its instant."""
    io = VirtualIO(start=500)
    kept = limiters(io, rpm=60)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    for _ in range(60):
        text(finish(proceed(call_on(io))))
    started: list[float] = []

    async def work(branch: IO) -> None:
        reply = await proceed(call_on(branch, is_stream=False))
        started.append(branch.now())
        await reply.gather()

    for _ in range(4):
        background(io, work)
    io.settle()

    assert [501, 502, 503, 504] == [pytest.approx(at, abs=0.002) for at in started]
    assert [] == io.failures


def test_tokens_are_estimated_and_settled() -> None:
    """With a rate of tokens a call reserves its *max_tokens*, and gives back what its usage says it did not need."""
    io = VirtualIO()
    kept = limiters(io, tpm=1000)
    proceed = compose([ConcurrencyLimit(kept)], Endless(*said("Hi", usage={"total_tokens": 100})))
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 900}
    for _ in range(2):
        call = call_on(io, body=body)
        text(finish(proceed(call)))

    # 900 and a few, with 100 used: seconds, not the most of a minute.
    assert 0 < (call.record.times.queue or 0) < 3


@pytest.mark.parametrize(
    ("policy", "changes", "expected"),
    [
        ({}, {}, 160),
        ({"max_wait": 5}, {}, 105),
        ({"max_wait": None}, {}, inf),
        ({}, {"limits": Limits(first_token=8, stall=15, total=30)}, 120),
        ({}, {"limits": Limits(first_token=8, stall=15)}, 160),
        ({}, {"limits": Limits(first_token=8, stall=15), "can_move_on": True}, 108),
        ({"max_wait": 0}, {"limits": Limits(first_token=8, stall=15), "can_move_on": True}, 100),
    ],
)
def test_how_long_a_call_may_wait(policy: dict[str, Any], changes: dict[str, Any], expected: float) -> None:
    """The first of these ends it: the policy, the call's own end, and, where another may answer, its first token."""
    call = make_call(record=Record(started=90), **changes)

    assert expected == waits_until(LimiterPolicy(**policy), call, 100)


def test_a_call_does_not_wait_for_ever() -> None:
    """A call that gets no place in time raises what says so, and was never sent."""
    io, backend = VirtualIO(), Endless()
    kept = single(io, max_wait=5)
    proceed = compose([ConcurrencyLimit(kept)], backend)
    held = finish(proceed(call_on(io)))
    late = call_on(io)
    with pytest.raises(openai.RateLimitError) as caught:
        finish(proceed(late))

    error = caught.value
    assert isinstance(error, LimiterTimeoutError)
    assert (5, 1, 1, 429) == (error.waited, error.limit, error.in_flight, error.status_code)
    assert "https://api.deepseek.com/chat/completions" == str(error.request.url)
    assert (5, 1, 5) == (io.now(), backend.calls, late.record.times.queue)
    assert (1, 0) == (kept[ACCOUNT].in_flight, kept[ACCOUNT].queued)
    assert "onetwo" == text(held)


def test_waits_of_one_call_add_up() -> None:
    """A call that waits for more than one attempt reports all of it."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(io, max_wait=5))], Endless())
    held = finish(proceed(call_on(io)))
    call = call_on(io)
    for _ in range(2):
        with pytest.raises(LimiterTimeoutError):
            finish(proceed(call))

    assert 10 == call.record.times.queue
    assert "onetwo" == text(held)


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        (refused(429), 51),
        (refused(429, BUSY), 39),
        (refused(503), 64),
        (refused(400), 64),
        (CUT, 64),
    ],
    ids=["429", "429 with a limit", "503", "400", "cut"],
)
def test_refusals_shrink_the_limit(script: Exception, limit: int) -> None:
    """A 429 shrinks the limit, to what its text says where it does; any other failure only gives the place back."""
    io = VirtualIO()
    kept = limiters(io)
    proceed = compose([ConcurrencyLimit(kept)], ScriptedBackend(script))
    with pytest.raises(type(script)):
        finish(proceed(call_on(io)))

    assert (limit, 0) == (kept[ACCOUNT].limit, kept[ACCOUNT].in_flight)


@pytest.mark.parametrize(("failure", "limit"), [(refused(429), 51), (CUT, 64)])
def test_answers_that_fail_give_their_place_back(failure: Exception, limit: int) -> None:
    """The same holds where an answer had begun."""
    io = VirtualIO()
    kept = limiters(io)
    reply = finish(compose([ConcurrencyLimit(kept)], ScriptedBackend([chunk("Hi"), failure]))(call_on(io)))
    with pytest.raises((openai.RateLimitError, StreamInterruptedError)):
        text(reply)

    assert (limit, 0) == (kept[ACCOUNT].limit, kept[ACCOUNT].in_flight)


def test_successes_raise_the_limit() -> None:
    """Answers that come to their end while half of the places are taken make room for more."""
    io = VirtualIO()
    kept = limiters(io, initial=2)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    replies = [finish(proceed(call_on(io))) for _ in range(2)]

    assert ["onetwo"] * 2 == [text(reply) for reply in replies]
    assert 3 <= kept[ACCOUNT].limit


def test_an_abandoned_stream_leaves_its_place() -> None:
    """With one place: a stream is begun and let go, and the next call goes at once."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(io))], Endless())
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
        finish(many_aborts(lambda: io, single(io)))
    elif colour == "sync":
        finish(many_aborts(lambda: SyncIO(Background(), Watchdog()), Limiters(LimiterPolicy(initial=1, maximum=1))))
    else:
        anyio.run(many_aborts, lambda: AsyncIO(Background()), Limiters(LimiterPolicy(initial=1, maximum=1)))


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
    kept = Limiters(LimiterPolicy(initial=1, maximum=1))
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
    kept = single(io)
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
    kept, crowd = Limiters(LimiterPolicy(initial=4, maximum=4)), Crowd()
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
