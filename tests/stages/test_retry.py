from __future__ import annotations

import email.utils
import time
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._clock import Limits
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
from deepseek_sdk.stages import Retry, default_stages
from deepseek_sdk.stages.retry import backoff, retry_after
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._reply import Reply

NOW = 1_800_000_000.0
REQUEST = httpx2.Request("POST", "http://test.invalid")
CUT = ConnectionResetError("reset")


def refused(status: int, **headers: str) -> openai.APIStatusError:
    """Give openai's error for a refusal with headers, `_` for `-` in their names."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, headers=named, request=REQUEST)
    kind = {429: openai.RateLimitError, 400: openai.BadRequestError}.get(status, openai.InternalServerError)
    return kind("no", response=response, body=None)


def date(seconds: float) -> str:
    """Write an instant as HTTP does."""
    return email.utils.formatdate(seconds, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 3 "}, 3),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": date(NOW + 30)}, 30),
        ({"retry-after": date(NOW - 30)}, 0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30"}, 30),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 99 Foo 2026 07:28:00 GMT"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    """Milliseconds, seconds and dates are read; nothing a server can send raises, or asks for less than no time."""
    assert expected == retry_after(headers, NOW)


@pytest.mark.parametrize(
    ("retries", "asked", "chance", "expected"),
    [
        (0, None, 1.0, 0.5),
        (1, None, 1.0, 1.0),
        (2, None, 1.0, 2.0),
        (3, None, 1.0, 4.0),
        (4, None, 1.0, 8.0),
        (5, None, 1.0, 8.0),
        (10_000, None, 1.0, 8.0),
        (2, None, 0.5, 1.0),
        (2, None, 0.0, 0.0),
        (0, 3.0, 0.0, 3.0),
        (9, 3.0, 0.0, 3.0),
        (0, 3.0, 1.0, 3.3),
        (0, 0.0, 1.0, 0.0),
        (0, 120.0, 0.0, 120.0),
        (0, 120.1, 0.0, None),
        (0, 1e300, 1.0, None),
    ],
)
def test_how_long_to_wait(retries: int, asked: float | None, chance: float, expected: float | None) -> None:
    """Waits double up to 8 s and are spread by chance; a server's wish is obeyed up to two minutes, never undercut."""
    assert expected == (None if expected is None else pytest.approx(backoff(retries, asked, chance)))
    assert (expected is None) == (backoff(retries, asked, chance) is None)


def chain(backend: ScriptedBackend, chance: float = 1.0) -> Any:
    """Put the stage, with a chance of its own, before a backend."""
    return compose([Retry(lambda: chance)], backend)


def text(reply: Reply) -> str:
    """Read the content of a reply."""
    parts = []
    while batch := finish(reply.next()):
        parts += [event.json()["choices"][0]["delta"].get("content", "") for event in batch if not event.is_done]
    return "".join(parts)


@pytest.mark.parametrize("max_retries", [0, 1, 2, 5])
def test_a_failure_that_may_pass_is_tried_again(max_retries: int) -> None:
    """With `max_retries=n` a server that stays down is asked n + 1 times, with growing waits between."""
    io, backend = VirtualIO(), ScriptedBackend(*[refused(503)] * 9)
    with pytest.raises(openai.InternalServerError):
        finish(chain(backend)(make_call(io=io, max_retries=max_retries)))

    assert (max_retries + 1, [0.5, 1, 2, 4, 8][:max_retries]) == (len(backend.calls), io.slept)


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
        finish(chain(backend, chance)(make_call(io=io, max_retries=1)))

        assert [pytest.approx(expected)] == io.slept


def test_a_wish_as_a_date_is_obeyed() -> None:
    """A date is read against the clock on the wall."""
    io, backend = VirtualIO(), ScriptedBackend(refused(503, retry_after=date(time.time() + 60)), said("Hi"))
    finish(chain(backend, 0)(make_call(io=io, max_retries=1)))

    assert [pytest.approx(60, abs=2)] == io.slept


def test_too_long_a_wish_ends_the_call() -> None:
    """A server that asks for more than two minutes is not asked again."""
    io, backend = VirtualIO(), ScriptedBackend(refused(429, retry_after="121"), said("Hi"))
    with pytest.raises(openai.RateLimitError):
        finish(chain(backend)(make_call(io=io, max_retries=5)))

    assert (1, []) == (len(backend.calls), io.slept)


@pytest.mark.parametrize(
    ("total", "attempts", "ends_at"), [(inf, 6, 15.5), (15.6, 6, 15.5), (15.5, 5, 7.5), (1.2, 2, 0.5), (0.4, 1, 0)]
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


def test_the_order_of_the_stages() -> None:
    """Retry is a link of the chain that every client gets, and waits by a chance of its own."""
    stages = default_stages()

    assert [Retry] == [type(stage) for stage in stages]
    assert all(0 <= stage._chance() <= 1 for stage in stages if isinstance(stage, Retry))
