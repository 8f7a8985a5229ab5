"""Streams as they come over the wire: what counts as an answer, in which shapes it is understood, and how it ends."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Deadlines, errors, report
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Reply, ToolCall
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    USAGE,
    RawServer,
    answer,
    chunk,
    completion,
    delta,
    event,
    refusal,
    stream,
    until_close,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver
    from tests.raw_server import Exchange, Script

WAYS = ("streamed", "folded")
HI = b"".join(answer("Hé", "llo 🙂"))
TEXT = "Héllo 🙂"


def ask(driver: Driver, client: Any, way: str = "streamed", **options: Any) -> str:
    """Make a call and give its text."""
    if way == "streamed":
        return driver.stream_text(driver.create(client, stream=True, **options))
    return driver.create(client, **options).choices[0].message.content  # type: ignore[no-any-return]


def client_for(driver: Driver, server: RawServer, **options: Any) -> Any:
    """Make a client that folds plain calls and does not retry."""
    return driver.client(base_url=server.url, **{"plain": "stream", "max_retries": 0, **options})


def lines(data: bytes, end: bytes) -> bytes:
    """Change the line ends."""
    return data.replace(b"\n", end)


SPLIT_DATA = json.dumps(chunk(content="Héllo 🙂"), indent=1, ensure_ascii=False)
FRAMES: dict[str, Script] = {
    "comments": stream(b": hello\n\n", HI.replace(b"\n\n", b"\n\n: keep-alive\n\n")),
    "comments inside events": stream(HI.replace(b"data: ", b":comment\ndata: ")),
    "ids": stream(HI.replace(b"data: ", b"id: 7\ndata: ")),
    "comments after ids": stream(HI.replace(b"data: ", b"id: 7\ndata: ").replace(b"\n\n", b"\n\n: keep-alive\n\n")),
    "retry": stream(b"retry: 1000\n\n", HI.replace(b"data: ", b"retry: 5\ndata: ")),
    "named events": stream(HI.replace(b"data: ", b"event: message\ndata: ")),
    "several data lines": stream(
        ROLE, "".join(f"data: {line}\n" for line in SPLIT_DATA.splitlines()).encode() + b"\n", FINISH, DONE
    ),
    "no space after the colon": stream(HI.replace(b"data: ", b"data:")),
    "carriage returns": stream(lines(HI, b"\r")),
    "both": stream(lines(HI, b"\r\n")),
    "both, cut between them": stream(*[part for line in HI.split(b"\n") for part in (line + b"\r", b"\n")][:-2]),
    "empty data": stream(b"data:\n\n", HI.replace(b"\n\n", b"\n\ndata: \n\n", 2)),
    "unknown fields": stream(HI.replace(b"data: ", b"foo: bar\nfoo\ndata: ")),
    "byte order mark": stream(b"\xef\xbb", b"\xbf" + HI),
    "byte by byte": stream(*[bytes([byte]) for byte in HI]),
    "until the connection closes": until_close(HI),
    "no [DONE]": stream(HI.removesuffix(DONE)),
    "no [DONE], until the connection closes": until_close(HI.removesuffix(DONE)),
    "no blank line after [DONE]": stream(HI.removesuffix(b"\n\n")),
    "no blank line after the finish": stream(HI.removesuffix(DONE).removesuffix(b"\n\n")),
    "garbage after [DONE]": stream(HI, b"<html>"),
    "no content type": stream(HI, content_type=""),
    "the content type of JSON": stream(HI, content_type="application/json"),
    "blank lines first": stream(b"\n\n\n", HI),
    "usage on a chunk of its own": stream(*answer("Hé", "llo 🙂")[:3], event(chunk("stop", content="")),
                                          event({**chunk(), "choices": [], "usage": USAGE}), DONE),
    "a reset after [DONE]": stream(HI, end="reset"),
    "broken chunks after [DONE]": stream(HI, end="close"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FRAMES)
def test_frame(driver: Driver, name: str, way: str) -> None:
    """An answer is understood in every shape that a stream of events may have."""
    with RawServer(FRAMES[name]) as server:
        assert TEXT == ask(driver, client_for(driver, server), way)


@pytest.mark.parametrize("way", WAYS)
def test_missing_done_is_not_waited_for(driver: Driver, way: str) -> None:
    """A complete answer without [DONE] is accepted soon, though the server keeps the connection open."""
    with RawServer(stream(HI.removesuffix(DONE), end="hold")) as server:
        started = time.monotonic()
        text = ask(driver, client_for(driver, server), way)
        elapsed = time.monotonic() - started

    assert TEXT == text
    assert elapsed < 5


@pytest.mark.parametrize("way", WAYS)
def test_split_anywhere(driver: Driver, way: str) -> None:
    """Characters may be cut anywhere."""
    data = b"".join(answer("杭州 🏞️", "👩‍👩‍👧 é"))
    for size in (1, 2, 3, 5, 7):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        with RawServer(stream(*pieces)) as server:
            assert "杭州 🏞️👩‍👩‍👧 é" == ask(driver, client_for(driver, server), way)


@pytest.mark.parametrize("way", WAYS)
def test_large_event(driver: Driver, way: str) -> None:
    """An event of several megabytes is one event, and takes no time worth mentioning."""
    text = "大 words " * 400_000
    data = delta(content=text)
    pieces = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    with RawServer(stream(ROLE, *pieces, FINISH, DONE)) as server:
        started = time.monotonic()
        assert text == ask(driver, client_for(driver, server), way)

    assert time.monotonic() - started < 15


@pytest.mark.parametrize("way", WAYS)
def test_many_events(driver: Driver, way: str) -> None:
    """A thousand events give the same text in order."""
    words = [f"w{n} " for n in range(1000)]
    with RawServer(stream(b"".join(answer(*words)))) as server:
        assert "".join(words) == ask(driver, client_for(driver, server), way)


CUTS: dict[str, tuple[Script, type[Exception]]] = {
    "end of file": (stream(ROLE, delta(content="Hé")), errors.StreamInterruptedError),
    "end of a body without length": (until_close(ROLE, delta(content="Hé")), errors.StreamInterruptedError),
    "broken chunks": (stream(ROLE, delta(content="Hé"), end="close"), errors.StreamInterruptedError),
    "reset": (stream(ROLE, delta(content="Hé"), end="reset"), errors.StreamInterruptedError),
    "in mid-event": (stream(ROLE, delta(content="Hé"), delta(content="lost")[:-20]), errors.StreamInterruptedError),
    "in mid-character": (stream(ROLE, delta(content="Hé"), delta(content="é")[:-80]), errors.StreamInterruptedError),
    "[DONE] too early": (stream(ROLE, delta(content="Hé"), DONE), errors.StreamInterruptedError),
    "error": (stream(ROLE, delta(content="Hé"), event({"error": {"message": "busy"}})), errors.ServerEventError),
    "error as text": (stream(ROLE, delta(content="Hé"), event({"error": "busy"})), errors.ServerEventError),
    "error by name": (
        stream(ROLE, delta(content="Hé"), b'event: error\ndata: {"message": "busy"}\n\n'),
        errors.ServerEventError,
    ),
    "malformed": (stream(ROLE, delta(content="Hé"), b"data: {busy\n\n"), errors.MalformedResponseError),
    "no object": (stream(ROLE, delta(content="Hé"), b"data: [1, 2]\n\n"), errors.MalformedResponseError),
    "null": (stream(ROLE, delta(content="Hé"), b"data: null\n\n"), errors.MalformedResponseError),
    "another shape": (stream(ROLE, delta(content="Hé"), event({"choices": [5]})), errors.MalformedResponseError),
    "no utf-8": (stream(ROLE, delta(content="Hé"), b'data: {"a": "\xff"}\n\n'), errors.MalformedResponseError),
    "no resources": (
        stream(ROLE, delta(content="Hé"), event(chunk("insufficient_system_resource")), DONE),
        errors.SystemResourceError,
    ),
    "unknown finish": (
        stream(ROLE, delta(content="Hé"), event(chunk("tired")), DONE),
        errors.UnknownFinishReasonError,
    ),
}


@pytest.mark.parametrize("way", [*WAYS, "helper"])
@pytest.mark.parametrize("name", CUTS)
def test_cut(driver: Driver, name: str, way: str) -> None:
    """An answer that breaks off is a typed error with what had arrived, and the caller has seen no more than that."""
    script, kind = CUTS[name]
    seen: list[str] = []
    with RawServer(script) as server, pytest.raises(openai.APIError) as caught:
        show(driver, client_for(driver, server), way, seen)

    error: Any = caught.value
    assert kind.__name__ == type(error).__name__
    assert ("Hé", "" if way == "folded" else "Hé") == (error.partial.text, "".join(seen))


def show(driver: Driver, client: Any, way: str, seen: list[str]) -> None:
    """Make a call and note what the caller sees of the text, as it comes."""
    if way == "folded":
        driver.create(client)
    elif way == "streamed":
        items = driver.iterate(driver.create(client, stream=True))
        seen.extend(item.choices[0].delta.content or "" for item in items)
    else:
        messages = [{"role": "user", "content": "Hello"}]
        with driver.entered(client.chat.completions.stream(model="m", messages=messages)) as helper:
            for item in driver.iterate(helper):
                seen += [item.delta] if item.type == "content.delta" else []


def test_content_before_an_error_is_shown(driver: Driver) -> None:
    """What arrived together with the error, before it, is handed on first."""
    seen: list[str] = []
    script = stream(ROLE + delta(content="Hé") + delta(content="llo") + event({"error": {"message": "busy"}}))
    with RawServer(script) as server, pytest.raises(errors.ServerEventError) as caught:
        show(driver, client_for(driver, server), "streamed", seen)

    assert "Héllo" == "".join(seen)
    assert "busy" in str(caught.value)
    assert {"message": "busy"} == caught.value.body


def test_malformed_keeps_the_text(driver: Driver) -> None:
    """An error about JSON holds the text that could not be read."""
    with (
        RawServer(stream(ROLE, "data: {oops 五}\n\n".encode())) as server,
        pytest.raises(errors.MalformedResponseError) as caught,
    ):
        ask(driver, client_for(driver, server))

    assert "{oops 五}" == caught.value.raw


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", ["auto", "stream", "direct"])
@pytest.mark.parametrize("body", [b"<html><body>Welcome</body></html>", b"Service restarting", b"{", b"[]", b"7"])
def test_no_answer_at_all(driver: Driver, body: bytes, plain: str, way: str) -> None:
    """A body that is no answer is a typed error with its text."""
    with (
        RawServer(whole(body, content_type="text/html")) as server,
        pytest.raises(errors.MalformedResponseError) as caught,
    ):
        ask(driver, client_for(driver, server, plain=plain), way)

    assert body.decode() == caught.value.raw


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", ["auto", "stream", "direct"])
@pytest.mark.parametrize("body", [b"\n\n\n\n", b"  \r\n"])
def test_blank_body(driver: Driver, body: bytes, plain: str, way: str) -> None:
    """Blank lines and then the end mean that the request never left the queue."""
    with RawServer(whole(body)) as server, pytest.raises(errors.QueueTimeoutError):
        ask(driver, client_for(driver, server, plain=plain), way)


@pytest.mark.parametrize("is_stream_body", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain", ""])
@pytest.mark.parametrize("plain", ["auto", "stream", "direct"])
@pytest.mark.parametrize("way", WAYS)
def test_either_kind_of_answer(
    driver: Driver,
    way: str,
    plain: str,
    content_type: str,
    is_stream_body: bool,  # noqa: FBT001
) -> None:
    """A whole body or a stream is read as what it is, whatever was asked for and whatever the headers say."""
    script = (
        stream(HI, content_type=content_type)
        if is_stream_body
        else whole(completion(TEXT, reasoning_content="hm"), content_type=content_type)
    )
    with RawServer(script) as server:
        assert TEXT == ask(driver, client_for(driver, server, plain=plain), way)


def test_whole_answer_to_a_stream(driver: Driver) -> None:
    """A whole answer to a streamed call arrives as chunks with reasoning, tool calls, finish reason and usage."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = completion("Hi", "tool_calls", reasoning_content="hm", tool_calls=[call])
    with RawServer(whole(body)) as server:
        chunks = list(driver.iterate(driver.create(client_for(driver, server), stream=True)))

    deltas = [item.choices[0].delta for item in chunks]
    assert ("hm", "Hi") == (deltas[0].reasoning_content, deltas[0].content)
    assert [(0, "call_1", "f")] == [(c.index, c.id, c.function.name) for c in deltas[0].tool_calls]
    assert ("tool_calls", 5) == (chunks[-1].choices[0].finish_reason, chunks[-1].usage.total_tokens)
    assert {"chat.completion.chunk"} == {item.object for item in chunks}


WHAT_IS_SENT: dict[str, tuple[dict[str, Any], bool]] = {
    "auto": ({}, False),
    "auto with a clock": ({"deadlines": Deadlines(first_token=5)}, True),
    "auto with a total": ({"deadlines": Deadlines(total=5)}, False),
    "auto in a batch": ({"deadlines": Deadlines(stall=5), "priority": "batch"}, False),
    "stream": ({"plain": "stream"}, True),
    "direct": ({"plain": "direct", "deadlines": Deadlines(stall=5)}, False),
}


@pytest.mark.parametrize("name", WHAT_IS_SENT)
def test_what_a_plain_call_sends(driver: Driver, name: str) -> None:
    """A plain call is streamed upstream where that was asked for or a clock needs it, and else is not."""
    options, is_streamed = WHAT_IS_SENT[name]
    with RawServer(stream(HI)) as server:
        ask(driver, driver.client(base_url=server.url, **options), "folded")

    body = server.requests[0].body
    expected = {"stream": True, "stream_options": {"include_usage": True}} if is_streamed else {}
    assert expected == {name: body[name] for name in ("stream", "stream_options") if name in body}


def test_streamed_calls_are_sent_as_they_are(driver: Driver) -> None:
    """Nothing is added to the body of a streamed call."""
    with RawServer(stream(HI)) as server:
        ask(driver, client_for(driver, server), temperature=0.5)

    body = server.requests[0].body
    assert {"model", "messages", "stream", "temperature"} == set(body)


def refusing(word: str, *, accepts: Callable[[dict[str, Any]], bool]) -> Script:
    """Make a script that refuses a field by its name."""

    def script(exchange: Exchange) -> None:
        body = exchange.request.body
        if not accepts(body):
            refusal(400, f"Unrecognized request argument supplied: {word}")(exchange)
        elif body.get("stream"):
            stream(HI)(exchange)
        else:
            whole(completion(TEXT))(exchange)

    return script


def test_refused_stream_options(driver: Driver) -> None:
    """An endpoint that refuses `stream_options` is asked once more without, and that is remembered."""
    script = refusing("stream_options", accepts=lambda body: "stream_options" not in body)
    with RawServer(script) as server:
        client = client_for(driver, server)
        texts = [ask(driver, client, "folded") for _ in range(2)]
        child = ask(driver, client.with_options(timeout=9), "folded")

    assert [TEXT, TEXT, TEXT] == [*texts, child]
    assert [True, True, True, True] == [request.body.get("stream") for request in server.requests]
    assert [True, False, False, False] == ["stream_options" in request.body for request in server.requests]


def test_refused_stream(driver: Driver) -> None:
    """An endpoint that refuses `stream` is asked once more for a whole answer, and that is remembered."""
    with RawServer(refusing("stream", accepts=lambda body: not body.get("stream"))) as server:
        client = client_for(driver, server)
        texts = [ask(driver, client, "folded") for _ in range(2)]

    assert [TEXT, TEXT] == texts
    assert [True, None, None] == [request.body.get("stream") for request in server.requests]


def test_refusal_of_one_endpoint(driver: Driver) -> None:
    """What one endpoint refuses is still asked of another."""
    script = refusing("stream_options", accepts=lambda body: "stream_options" not in body)
    with RawServer(script) as picky, RawServer(stream(HI)) as other:
        client = client_for(driver, picky)
        ask(driver, client, "folded")
        ask(driver, client.with_options(base_url=other.url), "folded")

    assert "stream_options" in other.requests[0].body


def test_refusal_that_only_speaks_of_streams(driver: Driver) -> None:
    """A refusal of something else, in whose text the word happens to stand, is not taken for a refusal of streams."""
    with RawServer(refusal(400, "The file upstream is unavailable"), stream(HI)) as server:
        client = client_for(driver, server)
        with pytest.raises(openai.BadRequestError):
            ask(driver, client, "folded")
        ask(driver, client, "folded")

    assert [True, True] == [request.body.get("stream") for request in server.requests]


def test_refused_stream_of_a_streamed_call(driver: Driver) -> None:
    """A caller who asked for a stream is told that there is none."""
    script = refusing("stream", accepts=lambda body: not body.get("stream"))
    with RawServer(script) as server, pytest.raises(openai.BadRequestError):
        ask(driver, client_for(driver, server))

    assert 1 == len(server.requests)


# What an answer says.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", ["stream", "direct"])
def test_answer_in_reasoning(driver: Driver, plain: str, way: str) -> None:
    """An answer that stands only in the reasoning channel is handed on and flagged."""
    with Emulator(replies="All of it.", faults="reasoning_only", vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url, plain=plain)
        answered = driver.create(client, stream=way == "streamed")
        if way == "streamed":
            driver.stream_text(answered)

    assert report(answered).answer_in_reasoning


def test_ordinary_answer_is_not_flagged(driver: Driver) -> None:
    """An answer with a thought and a text is not flagged."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        assert not report(driver.create(driver.client(base_url=server.url))).answer_in_reasoning


@pytest.mark.parametrize("plain", ["stream", "direct"])
def test_empty_answer(driver: Driver, plain: str) -> None:
    """`stop` with nothing said is an error, after the attempts that may be made."""
    with Emulator(faults="empty_answer", vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url, plain=plain, max_retries=0)
        with pytest.raises(errors.EmptyAnswerError) as caught:
            driver.create(client)

    assert 1 == report(caught.value).possibly_billed_attempts


def test_empty_length_is_an_answer(driver: Driver) -> None:
    """An answer whose budget went into the thought has finish reason `length` and is no error."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        answered = driver.create(driver.client(base_url=server.url, plain="stream"), max_tokens=2)

    assert ("length", "") == (answered.choices[0].finish_reason, answered.choices[0].message.content)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", ["stream", "direct"])
@pytest.mark.parametrize("fault", ["insufficient_system_resource", "unknown_finish_reason"])
def test_partial_text_is_kept(driver: Driver, fault: str, plain: str, way: str) -> None:
    """Finish reasons that mean a broken answer keep the partial text."""
    content = "One two three four five six."
    reply = Reply(content=content, reasoning="")
    with Emulator(replies=reply, faults=f"{fault}", vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url, plain=plain, max_retries=0)
        with pytest.raises(errors.StreamInterruptedError) as caught:
            ask(driver, client, way)

    assert caught.value.partial.text
    assert content.startswith(caught.value.partial.text)


def test_partial_tool_calls(driver: Driver) -> None:
    """A cut tool call is kept in OpenAI's shape, its arguments as far as they came."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    with (
        RawServer(stream(ROLE, delta(tool_calls=[call]))) as server,
        pytest.raises(errors.StreamInterruptedError) as caught,
    ):
        driver.create(client_for(driver, server))

    expected = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    assert (expected,) == caught.value.partial.tool_calls


@pytest.mark.parametrize("fault", [None, "repeated_roles", "missing_tool_index", "empty_tool_calls"])
@pytest.mark.parametrize("way", ["folded", "helper"])
def test_accumulated_deltas(driver: Driver, fault: str | None, way: str) -> None:
    """Repeated roles, ids and names, and missing indices, do not double anything in what is added up."""
    calls = [ToolCall("first", {"a": 1}, id="call_00_a"), ToolCall("second", {"b": "二"}, id="call_01_b")]
    reply = Reply(content="Both.", reasoning="hm", tool_calls=calls)
    tools = [
        {"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in ("first", "second")
    ]
    with Emulator(replies=reply, faults=fault, vocabulary=EstimatedVocabulary()) as server:
        client = driver.client(base_url=server.url, plain="stream")
        if way == "folded":
            message = driver.create(client, tools=tools).choices[0].message
        else:
            messages = [{"role": "user", "content": "Hello"}]
            manager = client.chat.completions.stream(model="deepseek-flash", messages=messages, tools=tools)
            with driver.entered(manager) as helper:
                message = driver.call(helper.get_final_completion).choices[0].message

    assert ("assistant", "Both.", "hm") == (message.role, message.content, message.reasoning_content)
    assert [("call_00_a", "first", '{"a": 1}'), ("call_01_b", "second", '{"b": "二"}')] == [
        (call.id, call.function.name, call.function.arguments) for call in message.tool_calls
    ]


def test_ordinary_events_are_untouched(driver: Driver) -> None:
    """Bytes of events that need no mending reach the caller as the server sent them."""
    with RawServer(stream(HI)) as server:
        client = client_for(driver, server)
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        with driver.entered(client.chat.completions.with_streaming_response.create(**body)) as response:
            received = b"".join(driver.iterate(response.iter_bytes()))

    assert HI == received


def test_lone_surrogates(driver: Driver) -> None:
    """A character whose halves are escaped in two events becomes one character of a folded answer."""
    halves = [delta(content="@").replace(b"@", half) for half in (b"\\ud83d", b"\\ude42")]
    with RawServer(stream(ROLE, *halves, FINISH, DONE)) as server:
        assert "🙂" == ask(driver, client_for(driver, server), "folded")


@pytest.mark.parametrize("shape", ["usage_finish", "usage_own_chunk", "usage_both", "usage_missing"])
@pytest.mark.parametrize("way", WAYS)
def test_usage_shapes(driver: Driver, shape: str, way: str) -> None:
    """Usage is found wherever it stands, and counted once."""
    with Emulator(faults=shape, vocabulary=EstimatedVocabulary()) as server:
        answered = driver.create(driver.client(base_url=server.url, plain="stream"), stream=way == "streamed")
        if way == "streamed":
            driver.stream_text(answered)
        expected = server.requests[0].completion_tokens if shape != "usage_missing" else None

    usage = report(answered).usage
    assert expected == (usage and usage.output)
    if way == "folded":
        assert expected == (answered.usage and answered.usage.completion_tokens)
