from __future__ import annotations

import concurrent.futures
import time
from math import inf
from typing import Any

import anyio
import httpx2
import openai
import pytest
import tenacity

from deepseek_sdk._background import Background
from deepseek_sdk._clock import UNSET, Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import (
    EmptyAnswerError,
    FirstTokenTimeout,
    InvalidRequestError,
    MalformedResponseError,
    ServerEventError,
    StreamInterruptedError,
)
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.stages import Retry, default_stages
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.resilience.failures import REQUEST, caused, date, refused
from tests.stages.retrying import chain, target, text

CUT = ConnectionResetError("reset")


@pytest.mark.parametrize("max_retries", [0, 1, 2, 5])
def test_a_failure_that_may_pass_is_tried_again(max_retries: int) -> None:
    """With `max_retries=n` a server that stays down is asked n + 1 times, with growing waits between."""
    io, backend = VirtualIO(), ScriptedBackend(*[refused(503)] * 9)
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(make_call(io=io, max_retries=max_retries)))

    assert (max_retries + 1, [0.5, 1, 2, 4, 4][:max_retries]) == (len(backend.calls), io.slept)


def test_the_first_success_is_the_answer() -> None:
    """Once the server answers, nothing more is asked, and every attempt is on the record."""
    backend = ScriptedBackend(refused(503), refused(429), said("Hi"))
    call = make_call(max_retries=5)

    assert "Hi" == text(finish(chain(backend)(call)))
    assert [("failed", "overloaded"), ("failed", "rate_limit"), ("complete", None)] == [
        (attempt.outcome, attempt.reason) for attempt in call.record.attempts
    ]


@pytest.mark.parametrize(
    "error",
    [
        refused(400),
        InvalidRequestError("no", param="n", response=httpx2.Response(400, request=REQUEST)),
        FirstTokenTimeout(request=REQUEST, limit=1),
        openai.APITimeoutError(REQUEST),
        ValueError("bug"),
    ],
)
def test_a_failure_that_stays_is_raised(error: Exception) -> None:
    """What asking again cannot mend, or might bill twice, is raised after one attempt."""
    io, backend = VirtualIO(), ScriptedBackend(error, said("Hi"))
    with pytest.raises(type(error)):
        finish(chain(backend)(make_call(io=io, max_retries=5)))

    assert (1, []) == (len(backend.calls), io.slept)


def test_the_servers_wish_is_obeyed() -> None:
    """A server that asks for a wait gets it, up to a tenth longer."""
    for chance, expected in ((0.0, 30.0), (1.0, 33.0)):
        io, backend = VirtualIO(), ScriptedBackend(refused(429, retry_after="30"), said("Hi"))
        finish(chain(backend, chance=chance)(make_call(io=io, max_retries=1)))

        assert [pytest.approx(expected)] == io.slept


def test_a_wish_as_a_date_is_obeyed() -> None:
    """A date is read against the clock on the wall."""
    io, backend = VirtualIO(), ScriptedBackend(refused(503, retry_after=date(time.time() + 60)), said("Hi"))
    finish(chain(backend, chance=0)(make_call(io=io, max_retries=1)))

    assert [pytest.approx(60, abs=2)] == io.slept


def test_too_long_a_wish_ends_the_call() -> None:
    """A server that asks for more than two minutes is not asked again."""
    io, backend = VirtualIO(), ScriptedBackend(refused(429, retry_after="121"), said("Hi"))
    with pytest.raises(openai.RateLimitError):
        finish(chain(backend)(make_call(io=io, max_retries=5)))

    assert (1, []) == (len(backend.calls), io.slept)


@pytest.mark.parametrize(
    ("total", "attempts", "ends_at"), [(inf, 6, 11.5), (11.6, 6, 11.5), (11.5, 5, 7.5), (1.2, 2, 0.5), (0.4, 1, 0)]
)
def test_the_total_deadline_is_kept(total: float, attempts: int, ends_at: float) -> None:
    """No wait is begun that would end with, or after, the call's last instant."""
    io, backend = VirtualIO(start=1000), ScriptedBackend(*[refused(503)] * 9)
    call = make_call(io=io, max_retries=5, limits=Limits(first_token=inf, stall=inf, total=total))
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(call))

    assert (attempts, ends_at) == (len(backend.calls), io.now() - 1000)


def test_the_total_deadline_counts_from_the_start_of_the_call() -> None:
    """What a stage outside waited before is part of the call."""
    io, backend = VirtualIO(start=100), ScriptedBackend(*[refused(503)] * 9)
    limits = Limits(first_token=inf, stall=inf, total=10)
    call = make_call(io=io, max_retries=5, limits=limits, record=Record(started=90.3))
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(call))

    assert 1 == len(backend.calls)


@pytest.mark.parametrize(
    ("failure", "is_mended"),
    [
        ([chunk(role="assistant"), CUT], True),
        ([], True),
        ([chunk(role="assistant"), chunk(finish="stop")], True),
        ([{"error": {"message": "busy", "type": "server_error"}}], True),
        ([{"error": {"message": "bad", "type": "invalid_request_error"}}], False),
        ([{"choices": "x"}], False),
        ([chunk("shown"), CUT], False),
        ([chunk(reasoning_content="shown"), CUT], False),
        ([chunk("shown"), chunk(finish="insufficient_system_resource")], False),
    ],
    ids=[
        "cut",
        "empty body",
        "empty answer",
        "error event",
        "refusal",
        "malformed",
        "content",
        "reasoning",
        "resources",
    ],
)
def test_an_answer_that_fails_unseen_is_asked_again(failure: list[Any], *, is_mended: bool) -> None:
    """A stream that fails before its first token is replaced without a trace; nothing is, after something was shown."""
    io, backend = VirtualIO(), ScriptedBackend(failure, said("Hi"))
    reply = finish(chain(backend)(make_call(io=io, max_retries=1)))
    kinds = (StreamInterruptedError, EmptyAnswerError, ServerEventError, MalformedResponseError)
    try:
        found = text(reply)
    except kinds:
        found = "failed"

    assert ("Hi" if is_mended else "failed") == found
    assert (2 if is_mended else 1, [0.5] if is_mended else []) == (len(backend.calls), io.slept)


def test_a_plain_answer_is_asked_again_however_far_it_got() -> None:
    """Of a plain call nothing is shown before its end, so a cut after content is mended, too."""
    backend = ScriptedBackend([chunk("wrong"), CUT], [chunk("wrong"), 1, CUT], said("right"))
    reply = finish(chain(backend)(make_call(max_retries=2, is_stream=False)))

    assert b'"content": "right"' in finish(reply.gather())


def test_attempts_before_and_within_an_answer_count_together() -> None:
    """The budget is the call's: failures before an answer begins, and after, are taken from the same `max_retries`."""
    io, backend = VirtualIO(), ScriptedBackend(refused(503), [CUT], refused(503), [CUT], said("Hi"))
    reply = finish(chain(backend)(make_call(io=io, max_retries=3)))
    with pytest.raises(StreamInterruptedError):
        text(reply)

    assert (4, [0.5, 1, 2]) == (len(backend.calls), io.slept)


def test_the_last_failure_is_the_one_that_is_raised() -> None:
    """When a retry fails for good, its error is raised, with all attempts on it."""
    backend = ScriptedBackend([CUT], refused(400), said("Hi"))
    reply = finish(chain(backend)(make_call(max_retries=5)))
    with pytest.raises(openai.BadRequestError) as caught:
        text(reply)

    assert ["interrupted", "rejected"] == [attempt.reason for attempt in caught.value.attempts]  # type: ignore[attr-defined]


def test_calls_do_not_share_their_retries() -> None:
    """One stage serves many calls, each with all of its own attempts."""
    backend = ScriptedBackend(*[refused(503)] * 4)
    proceed = chain(backend)
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            finish(proceed(make_call(max_retries=1)))

    assert 4 == len(backend.calls)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_it_runs_in_both_colours(colour: str) -> None:
    """The same stage retries for the sync client and on an event loop."""
    backend = ScriptedBackend(refused(503), [CUT], said("Hi"))

    async def toy(io: Any) -> bytes:
        reply = await chain(backend, chance=0)(make_call(io=io, max_retries=2, is_stream=False))
        return await reply.gather()  # type: ignore[no-any-return]

    if colour == "sync":
        answer = finish(toy(SyncIO(Background(), Watchdog())))
    else:
        answer = anyio.run(toy, AsyncIO(Background()))

    assert b'"content": "Hi"' in answer


# Policies.


def test_no_policy() -> None:
    """Without a policy the default one holds; None is no retries, whatever the client and the call say."""
    attempts = []
    for policy in (UNSET, RetryPolicy(), None):
        backend = ScriptedBackend(*[refused(503)] * 9)
        with pytest.raises(openai.InternalServerError):
            finish(chain(backend, policy)(make_call(max_retries=3)))
        attempts.append(len(backend.calls))

    assert [4, 4, 1] == attempts


def test_a_full_pool_is_asked_again() -> None:
    """A call that got no connection of its own pool was not sent, and is, like one that could not connect."""
    for cause in (httpx2.PoolTimeout("full"), httpx2.ConnectTimeout("slow")):
        backend = ScriptedBackend(caused(openai.APITimeoutError(REQUEST), cause), said("Hi"))

        assert "Hi" == text(finish(chain(backend)(make_call(max_retries=1))))


def test_a_policy_of_ones_own() -> None:
    """The policy says what is retried, how often and when; tenacity's objects are asked after each failure."""
    policy = RetryPolicy(
        wait=tenacity.wait_incrementing(start=1, increment=1),
        stop=tenacity.stop_after_attempt(4),
        retry=tenacity.retry_if_exception_type(openai.RateLimitError),
    )
    io, backend = VirtualIO(), ScriptedBackend(*[refused(429)] * 9)
    with pytest.raises(openai.RateLimitError):
        finish(chain(backend, policy)(make_call(io=io, max_retries=0)))
    other = ScriptedBackend(refused(503))
    with pytest.raises(openai.InternalServerError):
        finish(chain(other, policy)(make_call(max_retries=5)))

    assert (4, [1, 2, 3], 1) == (len(backend.calls), io.slept, len(other.calls))


def test_a_stop_counts_from_the_start_of_the_call() -> None:
    """What a stage outside has waited before is part of the time that a stop allows."""
    policy = RetryPolicy(wait=tenacity.wait_fixed(4), stop=tenacity.stop_before_delay(10))
    io, backend = VirtualIO(start=100), ScriptedBackend(*[refused(503)] * 9)
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend, policy)(make_call(io=io, record=Record(started=97))))

    assert [4] == io.slept


def test_the_time_between_attempts_is_told() -> None:
    """A rule learns how long the call has waited so far."""
    seen: list[float] = []

    def stop(state: tenacity.RetryCallState) -> bool:
        seen.append(state.idle_for)
        return len(seen) == 3

    with pytest.raises(openai.InternalServerError):
        finish(chain(ScriptedBackend(*[refused(503)] * 3), RetryPolicy(stop=stop))(make_call()))

    assert [0, 0.5, 1.5] == seen


def test_a_silence_may_be_asked_again() -> None:
    """With `on_read_timeout` a silent server is asked again; the silent attempt counts as possibly billed."""
    limits = Limits(first_token=5, stall=inf)
    backend = ScriptedBackend([chunk(role="assistant"), 60], [chunk(role="assistant"), 1, CUT], said("Hi"))
    call = make_call(max_retries=2, limits=limits)
    reply = finish(chain(backend, RetryPolicy(on_read_timeout=True))(call))

    assert "Hi" == text(reply)
    assert [True, False, False] == [attempt.is_possibly_billed for attempt in call.record.attempts]


def test_a_silent_server_is_left_by_default() -> None:
    """Without it a silent server is not asked again: it may be generating, and billing."""
    backend = ScriptedBackend([chunk(role="assistant"), 60], said("Hi"))
    call = make_call(max_retries=2, limits=Limits(first_token=5, stall=inf))
    with pytest.raises(FirstTokenTimeout):
        text(finish(chain(backend)(call)))

    assert [True] == [attempt.is_possibly_billed for attempt in call.record.attempts]


def test_a_cancelled_branch_is_not_asked_again() -> None:
    """The loser of a race ends, whatever a rule says: its cancellation is an ordinary exception."""
    backend = ScriptedBackend(concurrent.futures.CancelledError(), said("Hi"))
    with pytest.raises(concurrent.futures.CancelledError):
        finish(chain(backend, RetryPolicy(retry=tenacity.retry_always))(make_call(max_retries=5)))

    assert 1 == len(backend.calls)


def test_later_errors_do_not_come_of_earlier_ones() -> None:
    """The error of the last attempt has no other attempt's error as its context."""
    backend = ScriptedBackend(refused(503), refused(429), refused(400))
    with pytest.raises(openai.BadRequestError) as caught:
        finish(chain(backend)(make_call(max_retries=5)))

    assert caught.value.__context__ is None


def test_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each retry is a line, and so is why there is no further one."""
    caplog.set_level("DEBUG", "deepseek_sdk")
    with pytest.raises(openai.InternalServerError):
        finish(chain(ScriptedBackend(*[refused(503)] * 2))(make_call(max_retries=1)))

    assert [
        ("INFO", "retrying in 0.50 s after overloaded (retry 1 of 1)"),
        ("DEBUG", "not retrying after overloaded: max_retries"),
    ] == [(line.levelname, line.getMessage()) for line in caplog.records]


# Targets.


def test_a_last_resort_is_asked_once() -> None:
    """What needs no server would say the same again."""
    backend = ScriptedBackend(refused(503), said("Hi"))
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(make_call(max_retries=5, upstream=target(None, is_last_resort=True))))

    assert 1 == len(backend.calls)


def test_a_backend_without_an_account_is_asked_again() -> None:
    """A backend of the caller's own is retried like an endpoint, and needs no budget."""
    io, backend = VirtualIO(), ScriptedBackend(*[refused(503)] * 9)
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(make_call(io=io, max_retries=8, upstream=target(None))))

    assert 9 == len(backend.calls)


@pytest.mark.parametrize(("before", "attempts"), [(0, 1), (1, 2), (9, 3)])
def test_a_further_route_is_not_kept_waiting(before: int, attempts: int) -> None:
    """Where another route can answer, `before_moving_on` says how often this one is asked again."""
    backend = ScriptedBackend(*[refused(503)] * 9)
    call = make_call(max_retries=2, upstream=target(), can_move_on=True, can_move_on_to_route=True)
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend, RetryPolicy(before_moving_on=before))(call))

    assert attempts == len(backend.calls)


def test_a_last_resort_is_kept_waiting() -> None:
    """A rule engine that could answer is no reason to give up on a model early."""
    backend = ScriptedBackend(refused(503), refused(503), said("Hi"))

    assert "Hi" == text(finish(chain(backend)(make_call(max_retries=2, upstream=target(), can_move_on=True))))


def test_two_stages_in_one_chain() -> None:
    """Of two such stages in a chain only the outer one retries."""
    backend = ScriptedBackend(*[refused(503)] * 9)
    with pytest.raises(openai.InternalServerError):
        finish(compose([Retry(), Retry()], backend)(make_call(max_retries=2)))

    assert 3 == len(backend.calls)


def test_it_is_in_the_chain() -> None:
    """Retry is a link of the chain that every client gets."""
    assert 1 == [type(stage) for stage in default_stages()].count(Retry)
