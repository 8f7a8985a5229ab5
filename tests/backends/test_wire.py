from __future__ import annotations

import functools
from math import inf
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from openai._models import FinalRequestOptions

from deepseek_sdk._call import CallOptions
from deepseek_sdk._clock import Deadlines, Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._wire import RAW_RESPONSE, ConnectionLost, DeadlineReached, timeout_of
from deepseek_sdk.backends.wire import Endpoint, StreamSupport, answer
from deepseek_sdk.errors import (
    DeepSeekError,
    FirstTokenTimeout,
    InsufficientBalanceError,
    InvalidRequestError,
    MalformedResponseError,
    QueueTimeoutError,
    StallTimeout,
    StreamInterruptedError,
    TotalTimeout,
)
from deepseek_sdk.testing.scripted import chunk, make_call
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

URL = "http://test.invalid/v1"
REQUEST = httpx2.Request("POST", f"{URL}/chat/completions")
ROLE = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'
TEXT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
STOP = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
BODY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}'
SSE = "text/event-stream"


class Upstream:
    """A response whose body comes as it is written down: bytes, bytes that come late, silence, or a failure."""

    def __init__(self, io: VirtualIO, *steps: Any, content_type: str = SSE) -> None:
        headers = {"content-type": content_type, "x-ds-trace-id": "t-1"}
        self.response = httpx2.Response(200, headers=headers, request=REQUEST)
        self.endings: list[bool | None] = []
        self._io = io
        self._steps = list(steps)

    async def read(self, until: float) -> bytes | None:
        """Give the next bytes, or None at the end."""
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, bytes):
                return step
            if isinstance(step, Exception):
                raise step
            if isinstance(step, tuple):
                await self._io.sleep(step[0])
                return step[1]  # type: ignore[no-any-return]
            left = until - self._io.now()
            await self._io.sleep(min(step, left))
            if left < step:
                self._steps.insert(0, step - left)
                raise DeadlineReached
        return None

    async def close(self, *, is_done: bool) -> None:
        """Take note."""
        self.endings.append(is_done)

    def abort(self) -> None:
        """Take note."""
        self.endings.append(None)


class WiredIO(VirtualIO):
    """Virtual time with a wire: each request is answered by the next of *answers*."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.sent: list[tuple[FinalRequestOptions, float]] = []
        self._answers = list(answers)

    async def send(self, _call_upstream: Any, options: Any, until: float) -> Any:
        """Note the request, and give or raise what is next."""
        self.sent.append((options, until))
        found = self._answers.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found


@functools.cache
def client(base_url: str = URL) -> openai.OpenAI:
    """Give a client that is never asked to send anything."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(500))
    headers = {"X-Session-Id": "s", "X-Custom": "c"}
    return openai.OpenAI(
        api_key="test-key", base_url=base_url, http_client=httpx2.Client(transport=transport), default_headers=headers
    )


def endpoint(support: StreamSupport | None = None, base_url: str = URL, **options: Any) -> Endpoint:
    """Make an endpoint."""
    given = {"method": "post", "url": "/chat/completions", "json_data": {"model": "old"}, **options}
    final = FinalRequestOptions.construct(**given)
    asked = client(base_url)
    timeout = timeout_of(asked, final)
    return Endpoint(
        name="default", client=asked, send=list, options=final, support=support or StreamSupport(), timeout=timeout
    )


def call_of(io: VirtualIO, **changes: Any) -> Call:
    """Make a call that asks an endpoint."""
    return make_call(io=io, **{"upstream": endpoint(), **changes})


def opened(*steps: Any, content_type: str = SSE, **changes: Any) -> Reply:
    """Give the reply to a response with a body."""
    io = WiredIO()
    io._answers.append(Upstream(io, *steps, content_type=content_type))
    return finish(answer(call_of(io, **changes)))


def refused(status: int, message: str) -> openai.APIStatusError:
    """Give openai's error for a refusal."""
    response = httpx2.Response(status, json={"error": {"message": message}}, request=REQUEST)
    return client()._make_status_error_from_response(response)


LEARNT: list[tuple[str, dict[str, Any], int, str, tuple[bool, bool, bool]]] = [
    ("stream_options refused", {}, 400, "unknown field `stream_options`", (True, False, True)),
    ("stream refused", {}, 400, "stream is not supported", (True, False, False)),
    ("as 422", {}, 422, "stream must be false", (True, False, False)),
    ("a streamed call", {"is_stream": True}, 400, "stream is not supported", (False, True, True)),
    ("a direct call", {"is_direct": True}, 400, "stream is not supported", (False, True, True)),
    ("another status", {}, 500, "stream is not supported", (False, True, True)),
    ("another field", {}, 400, "temperature is out of range", (False, True, True)),
    ("a word that begins so", {}, 400, "the upstream refused", (False, True, True)),
]


@pytest.mark.parametrize(
    ("changes", "status", "message", "expected"), [case[1:] for case in LEARNT], ids=[case[0] for case in LEARNT]
)
def test_what_an_endpoint_refuses_is_learnt(
    changes: dict[str, Any], status: int, message: str, expected: tuple[bool, bool, bool]
) -> None:
    """A refusal of streaming, or of its options, in a call that was not streamed is worth another way of asking."""
    support = StreamSupport()
    is_worth_it = support.learn(make_call(**{"is_stream": False, **changes}), refused(status, message))

    assert expected == (is_worth_it, support.takes_options, support.can_stream)


def test_the_same_refusal_is_learnt_once() -> None:
    """An endpoint that goes on refusing is not asked for ever."""
    support, call = StreamSupport(), make_call(is_stream=False)
    found = [
        support.learn(call, refused(400, text)) for text in ("stream_options", "stream_options", "stream", "stream")
    ]

    assert [True, False, True, False] == found


STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("changes", "known", "expected"),
    [
        ({"is_stream": True}, {}, {}),
        ({"is_direct": True}, {}, {}),
        ({}, {}, STREAMED),
        ({}, {"takes_options": False}, {"stream": True}),
        ({}, {"can_stream": False}, {}),
        ({"is_stream": True}, {"can_stream": False}, {}),
    ],
)
def test_how_a_call_is_asked_for(changes: dict[str, Any], known: dict[str, bool], expected: dict[str, Any]) -> None:
    """Only a plain call that is folded is asked for as a stream, in the way that the endpoint takes."""
    support = StreamSupport()
    for name, value in known.items():
        setattr(support, name, value)
    body = {"model": "m", "messages": []}
    call = make_call(body=body, **{"is_stream": False, **changes})

    assert {**body, **expected} == endpoint(support).request(call).json_data
    assert {"model": "m", "messages": []} == body


def test_the_request_of_an_attempt() -> None:
    """It has the call's body, no headers of this library, and no retries of openai's; the caller's own is unchanged."""
    headers = {RAW_RESPONSE: "true", "X-Batch": "1", "X": "y"}
    asked = endpoint(headers=headers, extra_json={"thinking": {}}, max_retries=7)
    found = asked.request(make_call(body={"model": "new"}))
    kept = {name: value for name, value in found.headers.items() if isinstance(value, str)}  # type: ignore[union-attr]

    assert ({"model": "new"}, None, 0, {"X": "y"}) == (found.json_data, found.extra_json, found.max_retries, kept)
    assert ({"model": "old"}, headers, 7) == (asked.options.json_data, asked.options.headers, asked.options.max_retries)


def test_the_request_goes_to_the_right_host() -> None:
    """What only `/beta` serves is sent there."""
    asked = endpoint(base_url="https://api.deepseek.com/v1", url="/completions")

    assert "https://api.deepseek.com/beta/completions" == asked.request(make_call()).url


@pytest.mark.parametrize(
    ("connect", "timeout", "expected"),
    [
        (3, openai.NOT_GIVEN, (3, 600)),
        (3, 20.0, (3, 20)),
        (3, httpx2.Timeout(20, connect=9), (3, 20)),
        (None, 20.0, (None, 20)),
    ],
)
def test_the_connect_deadline_is_part_of_the_timeout(connect: float | None, timeout: Any, expected: Any) -> None:
    """How long connecting may take is laid over the timeout of the call, or of the client."""
    options = CallOptions(deadlines=Deadlines(connect=connect))
    found: Any = endpoint(timeout=timeout).request(make_call(options=options)).timeout

    assert expected == (found.connect, found.read)


def test_the_timeout_is_left_alone() -> None:
    """Without a connect deadline the request keeps its own timeout."""
    assert 20.0 == endpoint(timeout=20.0).request(make_call()).timeout


class TestOpening:
    """Until the server has accepted."""

    def test_the_attempt_is_on_the_record(self) -> None:
        """An attempt begins with its route and model, and the headers of the answer are kept."""
        reply = opened(TEXT)
        attempt = reply.call.record.attempts[0]

        assert ("default", "deepseek-flash", "running") == (attempt.route, attempt.model, attempt.outcome)
        assert "t-1" == reply.call.record.headers["x-ds-trace-id"]  # type: ignore[index]

    @pytest.mark.parametrize(
        ("limits", "kind", "limit"),
        [
            (Limits(first_token=2, stall=9), FirstTokenTimeout, 2),
            (Limits(first_token=9, stall=9, total=3), TotalTimeout, 3),
        ],
    )
    def test_headers_that_do_not_come(self, limits: Limits, kind: type[DeepSeekError], limit: float) -> None:
        """The wait for headers is bounded by the clock, which names the error."""
        io = WiredIO(DeadlineReached())
        with pytest.raises(kind) as caught:
            finish(answer(call := call_of(io, limits=limits)))

        assert (limit, [limit]) == (caught.value.limit, [until for _, until in io.sent])  # type: ignore[attr-defined]
        assert (["failed"], True) == (
            [attempt.outcome for attempt in call.record.attempts],
            call.record.attempts[0].is_possibly_billed,
        )

    def test_a_refusal_is_told_apart(self) -> None:
        """What openai raises becomes the error that says what is wrong, and the attempt has failed."""
        io = WiredIO(refused(402, "Insufficient Balance"))
        with pytest.raises(InsufficientBalanceError):
            finish(answer(call := call_of(io)))

        assert [("failed", "balance", False)] == [
            (attempt.outcome, attempt.reason, attempt.is_possibly_billed) for attempt in call.record.attempts
        ]

    def test_a_refused_way_of_asking_is_changed(self) -> None:
        """Options first, then streaming itself are given up, within one attempt, and for the calls after it."""
        io = WiredIO(refused(400, "stream_options"), refused(400, "stream"))
        io._answers += [Upstream(io, BODY), Upstream(io, BODY)]
        support = StreamSupport()
        call = call_of(io, is_stream=False, upstream=endpoint(support))
        finish(answer(call))
        finish(answer(call))
        asked: list[Any] = [options.json_data for options, _ in io.sent]

        assert [True, True, None, None] == [body.get("stream") for body in asked]
        assert [True, False, False, False] == ["stream_options" in body for body in asked]
        assert 2 == len(call.record.attempts)

    def test_a_call_that_is_streamed_is_refused_as_such(self) -> None:
        """A caller that wants a stream of an endpoint that has none is told so."""
        io = WiredIO(refused(400, "stream is not supported"))
        with pytest.raises(openai.BadRequestError):
            finish(answer(call_of(io)))

        assert 1 == len(io.sent)

    def test_other_errors_pass_through(self) -> None:
        """An error that is not about the answer is raised as it is, and settled."""
        io = WiredIO(openai.APIConnectionError(request=REQUEST))
        with pytest.raises(openai.APIConnectionError):
            finish(answer(call := call_of(io)))

        assert "connection" == call.record.attempts[0].reason

    def test_a_cancelled_attempt_is_abandoned(self) -> None:
        """A cancellation while the headers are awaited is no failure of the route."""
        io = WiredIO(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            finish(answer(call := call_of(io)))

        assert "abandoned" == call.record.attempts[0].outcome

    @pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
    def test_a_body_that_is_no_key_is_the_callers_mistake(self, value: object) -> None:
        """What cannot be sent is refused by the name of its field; nothing was sent."""
        io = WiredIO(TypeError("not JSON serializable"))
        with pytest.raises(InvalidRequestError, match="metadata cannot be sent") as caught:
            finish(answer(call_of(io, body={"model": "m", "metadata": value})))

        assert "metadata" == caught.value.param

    def test_a_mistake_elsewhere_is_not_the_callers(self) -> None:
        """Where every field can be sent, the exception is raised as it is."""
        with pytest.raises(TypeError, match="bug"):
            finish(answer(call_of(WiredIO(TypeError("bug")))))


READ: list[tuple[str, list[Any], str, str]] = [
    ("events", [ROLE, TEXT, STOP, DONE], SSE, "a"),
    ("events, wrong type", [ROLE, TEXT, STOP, DONE], "application/json", "a"),
    ("events in one piece", [ROLE + TEXT + STOP + DONE], SSE, "a"),
    ("events byte by byte", [bytes([byte]) for byte in ROLE + TEXT + STOP + DONE], SSE, "a"),
    ("keep-alives", [b": keep-alive\n\n", ROLE, b": keep-alive\n\n", TEXT, STOP, b": keep-alive\n\n", DONE], SSE, "a"),
    ("blank lines, then events", [b"\n\n", b"\r\n", ROLE, TEXT, STOP, DONE], SSE, "a"),
    ("a name first", [b"event: message\n", TEXT, STOP, DONE], SSE, "a"),
    ("an id first", [b"id: 1\n", TEXT, STOP, DONE], SSE, "a"),
    ("retry first", [b"retry: 5\n\n", TEXT, STOP, DONE], SSE, "a"),
    ("a mark first", [b"\xef\xbb\xbf" + TEXT, STOP, DONE], SSE, "a"),
    ("whole", [BODY], "application/json", "a"),
    ("whole, wrong type", [BODY], SSE, "a"),
    ("whole, in pieces", [BODY[:9], BODY[9:]], "application/json", "a"),
    ("whole, after blank lines", [b"\n", b"\n \t\n", b"\n" + BODY], "application/json", "a"),
    ("whole, after a long wait", [b"\n", 500, BODY], "application/json", "a"),
    ("no blank line at the end", [TEXT, STOP, DONE[:-2]], SSE, "a"),
    ("finish chunk without its blank line", [TEXT, STOP[:-2]], SSE, "a"),
]


@pytest.mark.parametrize(
    ("steps", "content_type", "expected"), [case[1:] for case in READ], ids=[case[0] for case in READ]
)
@pytest.mark.parametrize("is_stream", [True, False])
def test_a_body_is_read_as_what_it_is(
    steps: list[Any],
    content_type: str,
    expected: str,
    is_stream: bool,  # noqa: FBT001
) -> None:
    """The first byte that is no blank decides, whatever was asked for and whatever the header says."""
    reply = opened(*steps, content_type=content_type, is_stream=is_stream)
    finish(reply.gather())

    assert (expected, "stop") == (text_of(reply), reply.progress.finish_reason)


def text_of(reply: Reply) -> str:
    """Give the text of an answer, streamed or whole."""
    return reply.progress.partial().text or ("a" if reply.progress.has_answer else "")


BROKEN: list[tuple[str, list[Any], str, type[DeepSeekError]]] = [
    ("nothing", [], SSE, StreamInterruptedError),
    ("blank lines", [b"\n\n", b"\n\n"], "application/json", QueueTimeoutError),
    ("keep-alives", [b": keep-alive\n\n"] * 3, SSE, QueueTimeoutError),
    ("a cut inside an event", [TEXT, STOP[:30]], SSE, StreamInterruptedError),
    ("a cut inside the first event", [TEXT[:30]], SSE, StreamInterruptedError),
    ("a lost connection", [TEXT, ConnectionLost("reset")], SSE, StreamInterruptedError),
    ("no finish", [TEXT, DONE], SSE, StreamInterruptedError),
    ("half a body", [BODY[:40]], "application/json", StreamInterruptedError),
    ("HTML", [b"<html><body>Bad Gateway"], "text/html", MalformedResponseError),
    ("HTML as events", [b"<html>"], SSE, MalformedResponseError),
    ("a list", [b"[]"], "application/json", MalformedResponseError),
    ("text", [b"upstream connect error"], "text/plain", MalformedResponseError),
    ("keep-alives, then a cut", [b": keep-alive\n\n", ConnectionLost("reset")], SSE, StreamInterruptedError),
]


@pytest.mark.parametrize(
    ("steps", "content_type", "kind"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
@pytest.mark.parametrize("is_stream", [True, False])
def test_a_body_that_is_no_answer_is_an_error(
    steps: list[Any],
    content_type: str,
    kind: type[DeepSeekError],
    is_stream: bool,  # noqa: FBT001
) -> None:
    """Whatever a body lacks of an answer has an error of its own, and the response is closed."""
    reply = opened(*steps, content_type=content_type, is_stream=is_stream)
    with pytest.raises(DeepSeekError) as caught:
        finish(reply.gather())

    assert kind is type(caught.value)
    assert False in reply.source._stream.endings  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("steps", "kind", "at"),
    [
        ([1, b": keep-alive\n\n"] * 99, FirstTokenTimeout, 3),
        ([1, b"\n"] * 99, FirstTokenTimeout, 3),
        ([1, TEXT, *[1, b": keep-alive\n\n"] * 99], StallTimeout, 6),
        ([1, TEXT[:9], *[0.5, b"x"] * 99], FirstTokenTimeout, 3),
        ([b": keep-alive\n\n", 600], FirstTokenTimeout, 3),
        ([1, TEXT, 600], StallTimeout, 6),
        ([(2, b": keep-alive\n\n")] * 99, FirstTokenTimeout, 4),
    ],
    ids=["keep-alives", "blank lines", "keep-alives after a token", "a slow event", "silence", "a stall", "a flood"],
)
def test_keep_alives_put_no_clock_off(steps: list[Any], kind: type[DeepSeekError], at: float) -> None:
    """Comments, blank lines and half events are no progress: with 3 s and 5 s the clocks run out on time."""
    reply = opened(*steps, limits=Limits(first_token=3, stall=5))
    with pytest.raises(kind):
        finish(reply.gather())

    assert at == reply.call.io.now()


def test_bytes_may_pass_between_whole_events_only() -> None:
    """The response's own bytes are offered while no event is half read."""
    reply = opened(TEXT, TEXT + TEXT[:9], TEXT[9:], limits=Limits(first_token=inf, stall=inf))
    found = []
    for _ in range(3):
        finish(reply.next())
        found.append(reply.source.upstream is not None)

    assert [True, False, True] == found


@pytest.mark.parametrize(("is_forgotten", "expected"), [(False, [False]), (True, [None])])
def test_letting_go_is_passed_on(*, is_forgotten: bool, expected: list[bool | None]) -> None:
    """Closing and aborting a source closes and aborts its response."""
    reply = opened(TEXT, 60)
    finish(reply.next())
    if is_forgotten:
        reply.abandon()
    else:
        finish(reply.close())

    assert expected == reply.source._stream.endings  # type: ignore[attr-defined]


def test_a_chunk_of_the_builder_is_one_of_the_wire() -> None:
    """What tests are scripted with is read as the server's own chunks are."""
    assert "a" == chunk("a")["choices"][0]["delta"]["content"]
