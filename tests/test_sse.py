from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from deepseek_sdk._sse import DONE, Event, Framer, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

BOM = b"\xef\xbb\xbf"


def framed(chunks: Iterable[bytes]) -> list[Event]:
    """Feed *chunks* to a framer, and end the stream."""
    framer = Framer()
    return [event for chunk in chunks for event in framer.feed(chunk)] + framer.finish()


def told(chunks: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
    """Give the name and data of every event."""
    return [(event.name, event.data) for event in framed(chunks)]


def bytewise(stream: bytes) -> list[bytes]:
    """Cut a stream into single bytes."""
    return [stream[n : n + 1] for n in range(len(stream))]


STREAMS = {
    "one line": (b"data: a\n\n", [(b"", b"a")]),
    "no blank after the colon": (b"data:a\n\n", [(b"", b"a")]),
    "only one blank is taken off": (b"data:  a\n\n", [(b"", b" a")]),
    "blanks at the end stay": (b"data: a \n\n", [(b"", b"a ")]),
    "a colon in the data": (b"data: a: b\n\n", [(b"", b"a: b")]),
    "two events": (b"data: a\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "data of several lines": (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
    "data of several lines, some empty": (b"data: a\ndata\ndata: b\n\n", [(b"", b"a\n\nb")]),
    "CR": (b"data: a\r\rdata: b\r\r", [(b"", b"a"), (b"", b"b")]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"", b"a"), (b"", b"b")]),
    "LF, then CRLF": (b"data: a\n\r\ndata: b\r\n\n", [(b"", b"a"), (b"", b"b")]),
    "CR, then LF, is one end of line": (b"data: a\r\ndata: b\r\n\r\n", [(b"", b"a\nb")]),
    "LF, then CR, is two": (b"data: a\n\rdata: b\n\r", [(b"", b"a"), (b"", b"b")]),
    "a name": (b"event: error\ndata: a\n\n", [(b"error", b"a")]),
    "a name after the data": (b"data: a\nevent: error\n\n", [(b"error", b"a")]),
    "a name holds for one event": (b"event: error\ndata: a\n\ndata: b\n\n", [(b"error", b"a"), (b"", b"b")]),
    "a name without data is forgotten": (b"event: ping\n\ndata: b\n\n", [(b"", b"b")]),
    "a comment": (b": keep-alive\n\ndata: a\n\n: keep-alive\n\n", [(b"", b"a")]),
    "a comment inside an event": (b"data: a\n: hm\ndata: b\n\n", [(b"", b"a\nb")]),
    "a comment that looks like data": (b":data: a\n\n", []),
    "an id": (b"id: 5\ndata: a\n\n", [(b"", b"a")]),
    "an id, then a comment": (b"id: 5\ndata: a\n\n: keep-alive\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "an id alone": (b"data: a\n\nid: 5\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "retry": (b"retry: 100\n\ndata: a\n\n", [(b"", b"a")]),
    "an unknown field": (b"datum: x\ndata: a\n\n", [(b"", b"a")]),
    "a field name with a blank": (b"data : x\ndata: a\n\n", [(b"", b"a")]),
    "blank lines": (b"\n\n\n\ndata: a\n\n\n\n", [(b"", b"a")]),
    "empty data": (b"data: \n\n", []),
    "empty data between events": (b"data: a\n\ndata: \n\ndata:\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "a byte-order mark": (BOM + b"data: a\n\n", [(b"", b"a")]),
    "a mark after the first event": (b"data: a\n\n" + BOM + b"data: b\n\n", [(b"", b"a")]),
    "two marks": (BOM + BOM + b"data: a\n\ndata: b\n\n", [(b"", b"b")]),
    "a mark in the data": (b"data: " + BOM + b"a\n\n", [(b"", BOM + b"a")]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", [(b"", b"a"), (b"", b"b")]),
    "no end of line at the end": (b"data: a\n\ndata: b", [(b"", b"a"), (b"", b"b")]),
    "CR at the end": (b"data: a\r\r", [(b"", b"a")]),
    "one CR at the end": (b"data: a\r", [(b"", b"a")]),
    "a comment at the end": (b"data: a\n\n: x", [(b"", b"a")]),
    "a separator that only Unicode calls one": (
        "data: a\u2028b\x85c\x0bd\x1ee\n\n".encode(),
        [(b"", "a\u2028b\x85c\x0bd\x1ee".encode())],
    ),
    "nothing": (b"", []),
    "DONE": (b"data: [DONE]\n\n", [(b"", b"[DONE]")]),
}


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS)
def test_streams_are_cut_into_events(stream: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    """A stream gives the events that the standard says, save those without data."""
    assert expected == told([stream])


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS)
def test_bytes_may_come_one_by_one(stream: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    """A stream that comes byte by byte gives the same events."""
    assert expected == told(bytewise(stream))


@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS)
def test_bytes_may_be_cut_in_two_anywhere(stream: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    """A stream cut in two, with or without an empty piece between, gives the same events wherever the cut is."""
    cuts = [told([stream[:n], b"", stream[n:]]) for n in range(len(stream) + 1)]

    assert [expected] * len(cuts) == cuts


lines = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8).map(str.encode)
events = st.tuples(
    lines.filter(lambda name: not name.startswith(b" ")),
    st.lists(lines, min_size=1, max_size=3).filter(lambda data: data != [b""]),
)
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
noise = st.sampled_from([b": keep-alive", b":", b"id: 7", b"retry: 10", b"retry: x", b"foo: bar", b"foo"])


@st.composite
def encoded(draw: st.DrawFn) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Give events and one of the legal ways to write them."""
    wanted, written = draw(st.lists(events, max_size=4)), [draw(st.sampled_from([b"", BOM]))]
    for name, data in wanted:
        fields = [
            b"data:%b%b" % (b" " if line.startswith(b" ") else draw(st.sampled_from([b"", b" "])), line)
            for line in data
        ]
        if name:
            fields.insert(draw(st.integers(0, len(fields))), b"event: " + name)
        for extra in draw(st.lists(noise, max_size=2)):
            fields.insert(draw(st.integers(0, len(fields))), extra)
        for field in [*fields, b""]:
            end = draw(ends)
            # LF after the CR of the line before would be one end of line with it.
            is_one = written[-1] == b"\r" and not field and end == b"\n"
            written += [field, b"\r\n" if is_one else end]
    stream = b"".join(written)
    return [(name, b"\n".join(data)) for name, data in wanted], stream


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(encoded(), st.data())
def test_any_encoding_cut_anywhere_gives_the_same_events(
    case: tuple[list[tuple[bytes, bytes]], bytes], data: st.DataObject
) -> None:
    """However events are written, and wherever the bytes are cut, the same events come out."""
    wanted, stream = case
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert wanted == told(chunks)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(encoded(), st.integers(1, 9))
def test_what_is_handed_on_reads_the_same_in_openai(case: tuple[list[tuple[bytes, bytes]], bytes], size: int) -> None:
    """The decoder of openai reads from `raw` the data and name that the event has, and nothing more."""
    _, stream = case
    found = framed(stream[n : n + size] for n in range(0, len(stream), size))

    read = list(SSEDecoder().iter_bytes(event.raw for event in found))
    assert [(e.name.decode(), e.data.decode()) for e in found] == [(sse.event or "", sse.data) for sse in read]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=6))
def test_no_bytes_break_the_framer(chunks: list[bytes]) -> None:
    """Garbage gives events or none, never an exception, and its cut does not matter."""
    assert told([b"".join(chunks)]) == told(chunks)


def test_ordinary_events_are_handed_on_as_they_came() -> None:
    """The bytes of a plain one-line event are not touched, several in one piece included."""
    stream = b'data: {"a" :1}\n\ndata: {"b": 2}\n\n'

    assert [b'data: {"a" :1}\n\n', b'data: {"b": 2}\n\n'] == [event.raw for event in framed([stream])]


def test_utf8_is_put_together_again() -> None:
    """A character whose bytes arrive apart is whole in the event."""
    stream = 'data: {"content":"深度求索🐋"}\n\n'.encode()

    assert [{"content": "深度求索🐋"}] == [event.json() for event in framed(bytewise(stream))]


class CountingLine(list[bytes]):
    """The pieces of a line, which count how often they are walked through."""

    walks = 0

    def __iter__(self) -> object:  # type: ignore[override]
        type(self).walks += 1
        return super().__iter__()


def test_a_huge_event_in_small_pieces_costs_linear_time() -> None:
    """The 2,000 pieces of an event of 8 MB are put together once, not again for every piece."""
    framer = Framer()
    framer._line = CountingLine()
    piece = b"x" * 4000

    found = framer.feed(b": go\n\ndata: ")
    before = CountingLine.walks
    for _ in range(2000):
        found += framer.feed(piece)
    found += framer.feed(b"\n\n")

    assert [8_000_000] == [len(event.data) for event in found]
    assert CountingLine.walks - before <= 4


def test_a_framer_begins_anew_after_the_end() -> None:
    """After `finish()` nothing of the old stream is left, so a mark is skipped again."""
    framer = Framer()
    framer.feed(b"event: x\ndata: a")
    framer.finish()

    assert [(b"", b"b")] == [(event.name, event.data) for event in framer.feed(BOM + b"data: b\n\n")]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"", True),
        (b"data: a\n\n", True),
        (b": x\n\n", True),
        (b"data: a", False),
        (b"data: a\n", False),
        (b"event: a\n", False),
        (b"data: a\n\r", False),
        (b"d", False),
    ],
)
def test_a_framer_knows_whether_something_is_half_read(stream: bytes, expected: bool) -> None:  # noqa: FBT001
    """Between whole events the framer is clean; within one, or after a CR that an LF may follow, it is not."""
    framer = Framer()
    framer.feed(stream)

    assert expected == framer.is_clean


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b"null", None),
        (b"[1]", [1]),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\ud83d"', "\ud83d"),
        (b"1e999", float("inf")),
    ],
)
def test_data_is_decoded_as_openai_decodes_it(data: bytes, expected: object) -> None:
    """An event decodes to what the standard library's decoder gives, lone surrogates included."""
    event = Event(b"", data)

    assert (expected, json.loads(data)) == (event.json(), expected)


@pytest.mark.parametrize("data", [b"", b"{", b"a", b'{"a":1}{', b'"\xff"', b"\xff\xfe1\x00", b'"\xed\xa0\xbd"'])
def test_data_that_openai_cannot_read_is_a_value_error(data: bytes) -> None:
    """What is no JSON in valid UTF-8 is a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        Event(b"", data).json()


def test_data_is_decoded_once() -> None:
    """Asking twice gives the same object."""
    event = Event(b"", b'{"a": [1]}')

    assert event.json() is event.json()


@pytest.mark.parametrize(
    "value", [{"a": "深"}, {"a": "\ud83d"}, {"a": "line\nbreak\r"}, [], "x", {"a": 1.5, "b": None}]
)
def test_encoded_events_read_the_same_in_openai(value: object) -> None:
    """What `encode()` makes is one event for openai's decoder, with the same JSON."""
    event = encode(value)

    assert [value] == [json.loads(sse.data) for sse in SSEDecoder().iter_bytes(iter([event.raw]))]
    assert [event.data] == [found.data for found in framed([event.raw])]
    assert value == event.json()


@pytest.mark.parametrize(
    ("data", "expected"), [(b"[DONE]", True), (b"[DONE] ", True), (b"{}", False), (b" [DONE]", False)]
)
def test_done_is_told_as_openai_tells_it(data: bytes, expected: bool) -> None:  # noqa: FBT001
    """The end of a stream is data that begins with `[DONE]`."""
    assert expected == Event(b"", data).is_done


def test_done_is_a_constant_event() -> None:
    """`DONE` is the event that a framer makes of its own bytes."""
    assert [(DONE.raw, DONE.data)] == [(event.raw, event.data) for event in framed([DONE.raw])]


def test_events_show_their_data() -> None:
    """The representation of an event shows the beginning of its data, not all of it."""
    assert "Event(b'{}')" == repr(Event(b"", b"{}"))
    assert len(repr(Event(b"", b"x" * 1000))) < 100
