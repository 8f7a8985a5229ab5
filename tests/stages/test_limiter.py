from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk._call import CallOptions
from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk.errors import LimiterTimeoutError, ServerEventError, StreamInterruptedError
from deepseek_sdk.resilience.limiting.limiter import Limiters
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from deepseek_sdk.stages._policies import Policies
from deepseek_sdk.stages.limiter import ConcurrencyLimit
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.stages.limited_calls import ACCOUNT, Endless, Endpoint, call_on, limiters, refused, single, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._io import IO

CUT = ConnectionResetError("reset")
BUSY = "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining balance."


@pytest.mark.parametrize(
    ("policy", "target"),
    [
        (LimiterPolicy(initial=1), Endpoint(None)),
        (LimiterPolicy(initial=1), Endpoint(is_in_process=True)),
        (None, Endpoint()),
    ],
)
def test_what_has_no_limit_is_let_through(policy: LimiterPolicy | None, target: Endpoint) -> None:
    """Rule engines have nothing to limit, backends have a queue of their own, and limiters can be off."""
    kept = Limiters(policy)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    replies = [finish(proceed(make_call(upstream=target))) for _ in range(3)]

    assert ["onetwo"] * 3 == [text(reply) for reply in replies]
    assert 0 == len(kept)


def test_a_call_without_a_target_is_let_through() -> None:
    """A chain that ends with a backend of one's own may know no targets."""
    assert "onetwo" == text(finish(compose([ConcurrencyLimit(single())], Endless())(make_call())))


def test_a_place_is_taken_until_the_answer_ends() -> None:
    """A stream is in flight until its last event is read; no time in the queue is reported where there was none."""
    io = VirtualIO()
    kept = limiters()
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    call = call_on(io)
    reply = finish(proceed(call))
    before = kept[ACCOUNT].in_flight
    text(reply)

    assert (1, 0, None) == (before, kept[ACCOUNT].in_flight, call.record.times.queue)


def test_accounts_do_not_share_places() -> None:
    """One account that is full does not hold back another."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(max_wait=0))], Endless())
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
    proceed = compose([ConcurrencyLimit(single())], Endless(chunk("Hi"), 2, chunk(finish="stop"), *said()[-1:]))
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


@pytest.mark.parametrize("start", [0.0, 1e9])
def test_a_waiter_lives_by_the_clock_of_its_call(start: float) -> None:
    """Limiters that were made without a clock take the time from the call, however far from this machine's it is."""
    io = VirtualIO(start=start)
    policies = Policies.of(limiter=LimiterPolicy(initial=1, maximum=1))
    proceed = compose([ConcurrencyLimit(policies.limiters)], Endless())
    held, call = finish(proceed(call_on(io))), call_on(io)

    async def let_go(branch: IO) -> None:
        await branch.sleep(3)
        held.abandon()

    background(io, let_go)

    assert "onetwo" == text(finish(proceed(call)))
    assert 3 == call.record.times.queue


def test_a_rate_spaces_calls_out() -> None:
    """With a rate, calls that wait together go one by one, each at its instant."""
    io = VirtualIO(start=500)
    kept = limiters(rpm=60)
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
    kept = limiters(tpm=1000)
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
        ({"max_wait": 60}, {}, 60),
        ({"max_wait": 5}, {}, 5),
        ({"max_wait": 0}, {}, 0),
        ({"max_wait": None}, {"limits": Limits(first_token=8, stall=15, total=3600)}, 3590),
        ({}, {"limits": Limits(first_token=8, stall=15, total=30)}, 20),
        ({"max_wait": 60}, {"limits": Limits(first_token=8, stall=15)}, 60),
        ({}, {"limits": Limits(first_token=8, stall=15), "can_move_on": True}, 8),
        ({"max_wait": 0}, {"limits": Limits(first_token=8, stall=15), "can_move_on": True}, 0),
    ],
)
def test_how_long_a_call_may_wait(policy: dict[str, Any], changes: dict[str, Any], expected: float) -> None:
    """The first of these ends it: the policy, the call's own end, and, where another may answer, its first token."""
    io = VirtualIO(start=100)
    proceed = compose([ConcurrencyLimit(single(**policy))], Endless())
    held = finish(proceed(call_on(io)))
    with pytest.raises(LimiterTimeoutError) as caught:
        finish(proceed(call_on(io, record=Record(started=90), **changes)))

    assert (expected, expected) == (caught.value.waited, io.now() - 100)
    assert "onetwo" == text(held)


def test_a_call_may_wait_as_long_as_it_takes() -> None:
    """Where neither the policy nor the call has an end, it waits until it is its turn."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(max_wait=None))], Endless())
    held = finish(proceed(call_on(io)))

    async def let_go(branch: IO) -> None:
        await branch.sleep(86_400)
        held.abandon()

    background(io, let_go)
    call = call_on(io)

    assert "onetwo" == text(finish(proceed(call)))
    assert 86_400 == call.record.times.queue


def test_a_call_does_not_wait_for_ever() -> None:
    """A call that gets no place in time raises what says so, and was never sent."""
    io, backend = VirtualIO(), Endless()
    kept = single(max_wait=5)
    proceed = compose([ConcurrencyLimit(kept)], backend)
    held = finish(proceed(call_on(io)))
    late = call_on(io)
    with pytest.raises(openai.RateLimitError) as caught:
        finish(proceed(late))

    error = caught.value
    assert isinstance(error, LimiterTimeoutError)
    assert (5, 1, 1, 429) == (error.waited, error.limit, error.in_flight, error.status_code)
    assert "concurrency" == error.held_by
    assert "https://api.deepseek.com/chat/completions" == str(error.request.url)
    assert (5, 1, 5) == (io.now(), backend.calls, late.record.times.queue)
    assert (1, 0) == (kept[ACCOUNT].in_flight, kept[ACCOUNT].queued)
    assert "onetwo" == text(held)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [({"initial": 1, "maximum": 1}, "concurrency"), ({"rpm": 1}, "rpm"), ({"tpm": 20}, "tpm")],
)
def test_the_error_says_what_held_the_call_back(policy: dict[str, int], expected: str) -> None:
    """Too many calls at a time, too many in a minute, or too many tokens: each has a name."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(limiters(max_wait=1, **policy))], Endless())
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 15}
    held = finish(proceed(call_on(io, body=body)))
    with pytest.raises(LimiterTimeoutError) as caught:
        finish(proceed(call_on(io, body=body)))

    assert expected == caught.value.held_by
    assert "onetwo" == text(held)


def test_waits_of_one_call_add_up() -> None:
    """A call that waits for more than one attempt reports all of it."""
    io = VirtualIO()
    proceed = compose([ConcurrencyLimit(single(max_wait=5))], Endless())
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
    kept = limiters()
    proceed = compose([ConcurrencyLimit(kept)], ScriptedBackend(script))
    with pytest.raises(type(script)):
        finish(proceed(call_on(io)))

    assert (limit, 0) == (kept[ACCOUNT].limit, kept[ACCOUNT].in_flight)


@pytest.mark.parametrize(
    ("failure", "limit"),
    [
        (refused(429), 51),
        (CUT, 64),
        ({"error": {"message": BUSY}}, 39),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, 51),
        ({"error": {"message": "The server is overloaded", "type": "overloaded_error"}}, 64),
    ],
    ids=["429", "cut", "event with a limit", "event", "other event"],
)
def test_answers_that_fail_give_their_place_back(failure: Any, limit: int) -> None:
    """The same holds where an answer had begun, and for an error inside of it that says what a 429 says."""
    io = VirtualIO()
    kept = limiters()
    reply = finish(compose([ConcurrencyLimit(kept)], ScriptedBackend([chunk("Hi"), failure]))(call_on(io)))
    with pytest.raises((openai.RateLimitError, StreamInterruptedError, ServerEventError)):
        text(reply)

    assert (limit, 0) == (kept[ACCOUNT].limit, kept[ACCOUNT].in_flight)


@pytest.mark.parametrize(("script", "left"), [([], 90), ([chunk("Hi")], 60)], ids=["before", "after a token"])
def test_what_was_refused_used_no_tokens(script: list[Any], left: int) -> None:
    """A refusal before the first token gives back what was estimated; after it nobody knows what was used."""
    io = VirtualIO()
    kept = limiters(tpm=100)
    body = {"model": "deepseek-flash", "max_tokens": 40}
    reply = finish(
        compose([ConcurrencyLimit(kept)], ScriptedBackend([*script, {"error": {"message": BUSY}}]))(
            call_on(io, body=body)
        )
    )
    with pytest.raises(ServerEventError):
        text(reply)

    assert kept[ACCOUNT].ask(io.now(), tokens=left).is_granted
    assert not kept[ACCOUNT].ask(io.now(), tokens=11).is_granted


@pytest.mark.parametrize("told", [10**30, -(10**30), True, "9", None, 1e30])
def test_an_absurd_usage_does_no_harm(told: Any) -> None:
    """Whatever a server says that a call has used: the next call waits ten minutes at most, and the rate holds."""
    io = VirtualIO()
    kept = limiters(tpm=100, max_wait=None)
    proceed = compose([ConcurrencyLimit(kept)], Endless(*said("Hi", usage={"total_tokens": told})))
    body = {"model": "deepseek-flash", "max_tokens": 40}
    for _ in range(2):
        text(finish(proceed(call_on(io, body=body))))

    both = [kept[ACCOUNT].ask(io.now(), tokens=tokens) for tokens in (100, 1)]

    assert 610 > io.now()
    assert not both[1].is_granted


def test_successes_raise_the_limit() -> None:
    """Answers that come to their end while half of the places are taken make room for more."""
    io = VirtualIO()
    kept = limiters(initial=2)
    proceed = compose([ConcurrencyLimit(kept)], Endless())
    replies = [finish(proceed(call_on(io))) for _ in range(2)]

    assert ["onetwo"] * 2 == [text(reply) for reply in replies]
    assert 3 <= kept[ACCOUNT].limit
