"""Every fault of the menu does on the wire what it says."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.testing import Fault, Reply, ToolCall
from tests.testing.conftest import CHAT, Exchange, decoded, read_until, request_bytes, soon

if TYPE_CHECKING:
    from tests.testing.conftest import Serve

STREAM = {**CHAT, "stream": True}
REPLY = Reply(content="One two three four 五六七 🙂.", reasoning="Let me count.")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALLS = Reply(tool_calls=[ToolCall("f", {"a": 1}), ToolCall("f", {"b": 2})], reasoning="")


def deltas(exchange: Exchange) -> list[dict[str, Any]]:
    """Give the deltas of the chunks."""
    chunks = [event for event in exchange.events if isinstance(event, dict) and event.get("choices")]
    return [chunk["choices"][0]["delta"] for chunk in chunks]


def finish(exchange: Exchange) -> str | None:
    """Give the finish reason of a stream."""
    chunks = [event for event in exchange.events if isinstance(event, dict) and event.get("choices")]
    return next((c["choices"][0]["finish_reason"] for c in chunks if c["choices"][0]["finish_reason"]), None)


def text(exchange: Exchange, field: str = "content") -> str:
    """Join the content of a stream."""
    return "".join(delta.get(field) or "" for delta in deltas(exchange))


@pytest.fixture
def fail(serve: Serve) -> Any:
    """Send one request that a fault befalls."""

    def run(
        fault: Fault | str, body: Any = STREAM, *, reply: Reply = REPLY, wait_s: float = 2.0, **options: Any
    ) -> Exchange:
        server = serve(replies=reply, faults=[fault], **options)
        exchange = server.exchange(body, wait_s=wait_s)
        assert server.emulator.requests[0].fault == (fault if isinstance(fault, Fault) else Fault.named(fault)).name
        return exchange

    return run


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "stream"])
@pytest.mark.parametrize(("name", "end"), [("reset_before_headers", "reset"), ("close_before_headers", "eof")])
def test_endings_before_the_headers(fail: Any, name: str, end: str, body: Any) -> None:
    """The connection is reset, or closed, before anything is sent."""
    exchange = fail(name, body)

    assert ("", end) == (exchange.head, exchange.end)


def test_no_answer(fail: Any) -> None:
    """Nothing comes, and the connection stays open."""
    exchange = fail("no_answer", wait_s=0.1)

    assert ("", "open") == (exchange.head, exchange.end)


def test_slow_headers(fail: Any) -> None:
    """The headers are late, the rest is as usual."""
    began = time.monotonic()
    exchange = fail(Fault.slow_headers(seconds=0.15))

    assert time.monotonic() - began > 0.15
    assert REPLY.content == text(exchange)


def test_slow_first_token(fail: Any) -> None:
    """The headers are there at once, keep-alives fill the time, then everything is as usual."""
    exchange = fail(Fault.slow_first_token(seconds=0.15), keep_alive_s=0.04)

    assert exchange.body.startswith(b": keep-alive\n\n")
    assert REPLY.content == text(exchange)
    assert exchange.is_whole


@pytest.mark.parametrize(("body", "sign"), [(STREAM, b": keep-alive\n\n"), (CHAT, b"\n")], ids=["stream", "plain"])
def test_keep_alives_only(serve: Serve, body: Any, sign: bytes) -> None:
    """Only keep-alives come, in the form that goes with the kind of request: for ever, or until the body ends."""
    server = serve(
        faults=[Fault.keep_alive_forever(every_s=0.02), Fault.keep_alive_then_close(every_s=0.02, seconds=0.1)]
    )
    with server.socket() as peer:
        peer.sendall(request_bytes(body))
        endless = read_until(peer, lambda seen: seen.body.count(sign) > 2)
    ending = server.exchange(body)

    assert ("open", "eof") == (endless.end, ending.end)
    assert ending.is_whole
    for exchange in (endless, ending):
        assert exchange.body
        assert b"" == exchange.body.replace(sign, b"")


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "stream"])
@pytest.mark.parametrize(
    ("name", "end", "is_whole"),
    [
        ("cut_by_eof", "eof", True),
        ("cut_by_close", "eof", False),
        ("cut_by_broken_chunking", "eof", False),
        ("cut_by_reset", "reset", False),
        ("cut_mid_event", "eof", True),
    ],
)
def test_cuts(fail: Any, name: str, end: str, *, is_whole: bool, body: Any) -> None:
    """The answer ends in the middle, in the way that the name says."""
    exchange = fail(name, body)

    assert (end, is_whole) == (exchange.end, exchange.is_whole)
    assert exchange.body
    assert b"[DONE]" not in exchange.body
    assert b'"finish_reason":"stop"' not in exchange.body or body is CHAT
    if body is CHAT:
        assert isinstance(decoded(exchange.body), bytes)


def test_a_body_until_close_has_neither_length_nor_chunks(fail: Any) -> None:
    """Nothing in the headers of `cut_by_close` tells how long the body is."""
    head = fail("cut_by_close").head.lower()

    assert "transfer-encoding" not in head
    assert "content-length" not in head
    assert "x-ds-trace-id" in head


@pytest.mark.parametrize("after", [0, 1, 5, 1000])
def test_cuts_come_after_the_events_asked_for(fail: Any, after: int) -> None:
    """A cut lets exactly so many events through, and never the finish reason."""
    exchange = fail(Fault.cut_by_eof(after_events=after))

    assert finish(exchange) is None
    assert len(exchange.events) == after or (after == 1000 and REPLY.content == text(exchange))


def test_a_cut_in_an_event_leaves_half_of_it(fail: Any) -> None:
    """The last event has no end."""
    exchange = fail(Fault.cut_mid_event(after_events=2))

    assert 2 == exchange.body.count(b"\n\n")
    assert not exchange.body.endswith(b"\n\n")


@pytest.mark.parametrize(
    ("fault", "has_keep_alives"),
    [(Fault.stall(after_events=2), False), (Fault.stall_with_keep_alives(after_events=2, every_s=0.02), True)],
)
def test_stalls_without_end(serve: Serve, fault: Fault, *, has_keep_alives: bool) -> None:
    """After some events nothing comes but, where asked for, keep-alives; the connection stays open."""
    server = serve(replies=REPLY, faults=[fault])
    with server.socket() as peer:
        peer.sendall(request_bytes(STREAM))
        sign = b": keep-alive" if has_keep_alives else b"data: "
        exchange = read_until(peer, lambda seen: sign in seen.body and len(seen.events) >= 2)

    assert ("open", 2) == (exchange.end, len(exchange.events))
    assert has_keep_alives == (b": keep-alive" in exchange.body)


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "stream"])
@pytest.mark.parametrize("fault", [Fault.stall(seconds=0.1), Fault.stall_with_keep_alives(seconds=0.1)])
def test_stalls_may_end(fail: Any, fault: Fault, body: Any) -> None:
    """After its seconds a stalled answer goes on to its end."""
    began = time.monotonic()
    exchange = fail(fault, body)

    assert time.monotonic() - began > 0.1
    assert exchange.is_whole
    answer = text(exchange) if body is STREAM else json.loads(exchange.body)["choices"][0]["message"]["content"]
    assert REPLY.content == answer


def test_malformed_event(fail: Any) -> None:
    """One event is no JSON, all others are as usual."""
    exchange = fail(Fault.malformed_event(after_events=2))

    assert isinstance(exchange.events[2], str)
    assert REPLY.content == text(exchange)


def test_malformed_plain_answer(fail: Any) -> None:
    """A plain answer that is no JSON."""
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(fail("malformed_event", CHAT).body)


@pytest.mark.parametrize(("fault", "before"), [(Fault.error_event_early(), 0), (Fault.error_event_late(), 3)])
def test_error_events(fail: Any, fault: Fault, before: int) -> None:
    """An error arrives as an event under status 200, and is the last thing to arrive."""
    exchange = fail(fault)

    assert 200 == exchange.status
    assert before + 1 == len(exchange.events)
    assert "Internal Server Error" == exchange.events[-1]["error"]["message"]


def test_error_in_a_plain_answer(fail: Any) -> None:
    """A plain answer under status 200 is an error."""
    assert "error" in json.loads(fail("error_event_early", CHAT).body)


def test_byte_by_byte(fail: Any) -> None:
    """Everything is there, in many small reads."""
    exchange = fail("byte_by_byte")

    assert REPLY.content == text(exchange)
    assert exchange.raw.count(b"\r\n1\r\n") > 0


def test_split_utf8(fail: Any) -> None:
    """Chunks end inside characters; put together they are whole."""
    exchange = fail("split_utf8")
    sizes_cut = b"\xe4\xba\r\n" in exchange.raw or b"\xe4\r\n" in exchange.raw

    assert sizes_cut
    assert REPLY.content == text(exchange)


def test_crlf_events(fail: Any) -> None:
    """Lines end with both characters."""
    body = fail("crlf_events").body

    assert body.count(b"\n") == body.count(b"\r\n") > 0


def test_comments_and_ids(serve: Serve) -> None:
    """Comments and other fields stand around the data, which is on several lines; joined it is as usual."""
    server = serve(replies=REPLY, faults=["comments_and_ids"])
    body = server.exchange(STREAM).body

    for sign in (b"\nid: ", b"retry: 3000", b"event: message", b":comment", b": between"):
        assert sign in body
    events = [
        "\n".join(line[6:] for line in block.splitlines() if line.startswith("data: "))
        for block in body.decode().split("\n\n")
    ]
    chunks = [json.loads(event) for event in events if event not in {"", "[DONE]"}]
    assert REPLY.content == "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
    assert any("\n" in event for event in events)


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "stream"])
def test_gzip(fail: Any, body: Any) -> None:
    """The body is compressed and says so; a stream can be read as it comes."""
    exchange = fail("gzip", body)

    assert "content-encoding: gzip" in exchange.head
    assert b"choices" in gzip.decompress(exchange.body)
    assert zlib.decompressobj(wbits=31).decompress(exchange.body[:600])


def test_openai_reads_odd_framing(serve: Serve) -> None:
    """What is odd but valid is no trouble for openai."""
    names = ["byte_by_byte", "split_utf8", "crlf_events", "gzip", "slow_first_token(seconds=0.01)", "missing_done"]
    server = serve(replies=REPLY, faults=names)

    answers = ["".join(c.choices[0].delta.content or "" for c in server.ask(stream=True)) for _ in names]
    assert [REPLY.content] * len(names) == answers


def test_missing_done(fail: Any) -> None:
    """The stream finishes for a reason, and ends without [DONE]."""
    exchange = fail("missing_done")

    assert ("stop", True) == (finish(exchange), exchange.is_whole)
    assert "[DONE]" not in exchange.events


@pytest.mark.parametrize(("name", "has_done"), [("missing_done_open", False), ("held_after_done", True)])
def test_streams_held_open(serve: Serve, name: str, *, has_done: bool) -> None:
    """The stream has finished but the body does not end, for some seconds or for ever."""
    server = serve(replies=REPLY, faults=[name, f"{name}(seconds=0.05)"])
    with server.socket() as peer:
        peer.sendall(request_bytes(STREAM))
        exchange = read_until(peer, lambda seen: finish(seen) is not None and (not has_done or "[DONE]" in seen.events))
    closing = server.exchange(STREAM)

    assert ("open", False, "stop") == (exchange.end, exchange.is_whole, finish(exchange))
    assert has_done == ("[DONE]" in exchange.events)
    assert ("eof", has_done) == (closing.end, closing.is_whole)


def test_missing_finish_reason(fail: Any) -> None:
    """[DONE] comes though no chunk gave a reason."""
    exchange = fail("missing_finish_reason")

    assert finish(exchange) is None
    assert "[DONE]" == exchange.events[-1]
    assert json.loads(fail("missing_finish_reason", CHAT).body)["choices"][0]["finish_reason"] is None


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "stream"])
def test_empty_answer(serve: Serve, body: Any) -> None:
    """Finish reason `stop`, and nothing before it."""
    server = serve(replies=REPLY, faults=["empty_answer"])
    exchange = server.exchange(body)
    if body is STREAM:
        assert ("stop", "", "") == (finish(exchange), text(exchange), text(exchange, "reasoning_content"))
    else:
        choice = json.loads(exchange.body)["choices"][0]
        assert {"role": "assistant", "content": ""} == choice["message"]
        assert "stop" == choice["finish_reason"]
    assert b'"completion_tokens":0' in exchange.body


@pytest.mark.parametrize("name", ["insufficient_system_resource", "content_filter"])
def test_interrupted_answers(fail: Any, name: str) -> None:
    """The answer stops in the middle and says why."""
    stream, plain = fail(Fault.named(f"{name}(after_events=6)")), json.loads(fail(name, CHAT).body)["choices"][0]

    assert (name, "[DONE]") == (finish(stream), stream.events[-1])
    assert REPLY.content.startswith(text(stream))
    assert len(text(stream)) < len(REPLY.content)
    assert name == plain["finish_reason"]
    assert REPLY.content.startswith(plain["message"]["content"])


def test_unknown_finish_reason(fail: Any) -> None:
    """The reason is one that nobody knows."""
    assert "budget_exhausted" == finish(fail("unknown_finish_reason"))
    assert b'"finish_reason":"tired"' in fail(Fault.unknown_finish_reason(reason="tired"), CHAT).body


def test_reasoning_only(fail: Any) -> None:
    """The answer is where the thought should be."""
    stream, plain = fail("reasoning_only"), json.loads(fail("reasoning_only", CHAT).body)["choices"][0]["message"]

    assert ("", "Let me count." + REPLY.content) == (text(stream), text(stream, "reasoning_content"))
    assert ("", "Let me count." + REPLY.content) == (plain["content"], plain["reasoning_content"])


def test_repeated_roles(fail: Any) -> None:
    """Every delta has the role, every fragment the id, type and name of its call."""
    found = deltas(fail("repeated_roles", {**STREAM, "tools": [TOOL]}, reply=CALLS))
    fragments = [fragment for delta in found for fragment in delta.get("tool_calls", [])]

    assert {"assistant"} == {delta["role"] for delta in found}
    assert all({"id", "type"} < set(fragment) and fragment["function"]["name"] == "f" for fragment in fragments)
    assert 2 == len({fragment["id"] for fragment in fragments}) < len(fragments)


def test_missing_tool_index(fail: Any) -> None:
    """Fragments of tool calls do not say which call they belong to."""
    found = deltas(fail("missing_tool_index", {**STREAM, "tools": [TOOL]}, reply=CALLS))

    assert all("index" not in fragment for delta in found for fragment in delta.get("tool_calls", []))


def test_empty_tool_calls(fail: Any) -> None:
    """Deltas of text have an empty list of tool calls."""
    found = deltas(fail("empty_tool_calls"))

    assert all(delta["tool_calls"] == [] for delta in found[:-1])


@pytest.mark.parametrize(
    ("name", "on_finish", "on_its_own"),
    [
        ("usage_finish", True, False),
        ("usage_own_chunk", False, True),
        ("usage_both", True, True),
        ("usage_missing", False, False),
    ],
)
def test_usage_shapes(fail: Any, name: str, *, on_finish: bool, on_its_own: bool) -> None:
    """The usage stands where the name says."""
    chunks = [event for event in fail(name).events if isinstance(event, dict)]
    finishing = next(chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["finish_reason"])
    alone = [chunk for chunk in chunks if not chunk["choices"]]

    assert (on_finish, on_its_own) == (bool(finishing["usage"]), bool(alone))
    assert all(chunk["usage"]["prompt_tokens"] > 0 for chunk in alone)


def test_usage_missing_from_a_plain_answer(fail: Any) -> None:
    """A plain answer without usage."""
    assert "usage" not in json.loads(fail("usage_missing", CHAT).body)
    assert "usage" in json.loads(fail("usage_both", CHAT).body)


STATUSES = sorted(name for name in Fault.menu() if name.startswith("status_"))


@pytest.mark.parametrize("name", STATUSES)
def test_statuses(fail: Any, name: str) -> None:
    """The status is the name's, the body has the shape of an error, and a retry time is given if the name says so."""
    exchange = fail(name)

    assert int(name.split("_")[1]) == exchange.status
    body = json.loads(exchange.body)
    assert set(body) == {"error_msg"} or {"message", "type", "param", "code"} == set(body["error"])
    assert (exchange.status == 404) == ("error_msg" in body)
    assert ("retry" in name) == ("retry-after" in exchange.head)


def test_retry_times(fail: Any) -> None:
    """They are given in seconds, in milliseconds, or as a date."""
    heads = [fail(Fault.status(429, retry_after_s=1.5, form=form)).head for form in ("seconds", "milliseconds", "date")]
    date = parsedate_to_datetime(heads[2].split("retry-after: ")[1].split("\r\n")[0])

    assert "retry-after: 1.5" in heads[0]
    assert "retry-after-ms: 1500" in heads[1]
    assert abs(date.timestamp() - time.time()) < 3


def test_a_status_may_have_its_own_text(fail: Any) -> None:
    """The message can be given."""
    assert b"busy" in fail(Fault.status(503, message="I am busy")).body


def test_octet_stream_error(fail: Any) -> None:
    """The content type says nothing, the body is the usual error."""
    exchange = fail("octet_stream_error")

    assert (400, True) == (exchange.status, "content-type: application/octet-stream" in exchange.head)
    assert "error" in json.loads(exchange.body)


@pytest.mark.parametrize(
    ("name", "status", "content_type", "body"),
    [
        ("html_200", 200, "text/html", b"<html>"),
        ("html_502", 502, "text/html", b"Bad Gateway"),
        ("blank_200", 200, "application/json", b"\n\n\n\n"),
        ("empty_200", 200, "application/json", b""),
        ("json_error_200", 200, "application/json", b'{"error":'),
    ],
)
def test_other_answers(fail: Any, name: str, status: int, content_type: str, body: bytes) -> None:
    """A page, blank lines, nothing, or an error stand where an answer should."""
    exchange = fail(name, CHAT)

    assert status == exchange.status
    assert f"content-type: {content_type}" in exchange.head
    assert body in exchange.body
    assert len(body) == len(exchange.body) or body.strip()


def test_answers_of_the_other_kind(fail: Any) -> None:
    """A stream was asked for and a plain answer comes, or the reverse."""
    plain, stream = fail("plain_to_stream", STREAM), fail("stream_to_plain", CHAT)

    assert REPLY.content == json.loads(plain.body)["choices"][0]["message"]["content"]
    assert "text/event-stream" in stream.head
    assert REPLY.content == text(stream)


def test_faults_befall_completions_only(serve: Serve) -> None:
    """A request that only reads takes no fault from the list."""
    server = serve(faults=["status_503"])
    server.client.models.list()

    with pytest.raises(openai.InternalServerError):
        server.ask()
    server.ask()


def test_faults_may_change_while_it_runs(serve: Serve) -> None:
    """The list can be replaced and extended."""
    server = serve()
    server.emulator.inject("status_500")
    server.emulator.faults = ["status_503"]

    with pytest.raises(openai.InternalServerError, match="503"):
        server.ask()
    assert ["status_503"] == server.emulator.faults


def test_a_client_that_leaves_is_noticed_at_once(serve: Serve) -> None:
    """Whatever a request waits for, the end of its connection ends it."""
    faults = ["no_answer", "stall", "keep_alive_forever", "held_after_done", "slow_headers(seconds=30)"]
    server = serve(faults=faults)
    for number in range(len(faults)):
        with server.socket() as peer:
            peer.sendall(request_bytes(STREAM))
            assert soon(lambda number=number: len(server.emulator.requests) > number)  # type: ignore[misc]
            time.sleep(0.02)
        request = server.emulator.requests[number]

        assert soon(lambda request=request: request.outcome == "aborted by client")  # type: ignore[misc]
        assert faults[number].startswith(request.fault or "?")
    assert server.emulator.wait_until_idle(1)
    assert 0 == server.emulator.in_flight
