from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk._progress import Progress
from deepseek_sdk._sse import DONE, Event, encode
from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import (
    DeepSeekError,
    EmptyAnswerError,
    MalformedResponseError,
    Partial,
    ServerEventError,
    StreamInterruptedError,
    SystemResourceError,
    UnknownFinishReasonError,
)
from deepseek_sdk.testing.scripted import chunk, whole

RESPONSE = stub_response(200, "http://test.invalid/chat/completions")


def chat(text: str) -> str:
    """Let the JSON text of a chat chunk say that it is one."""
    return text.replace('"choices"', '"object":"chat.completion.chunk","choices"', 1) if '"delta"' in text else text


def event(data: object, *, name: bytes = b"") -> Event:
    """Make an event of JSON text, or of what is to be sent as JSON, written as DeepSeek does."""
    if isinstance(data, str):
        text = chat(data).encode()
    else:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return Event(b"data: %b\n\n" % text, text, name=name)


def observed(*chunks: object) -> Progress:
    """Give the progress of an answer of which *chunks* have come."""
    progress = Progress(RESPONSE)
    for item in chunks:
        progress.observe(item if isinstance(item, Event) else event(item))
    return progress


def completion(message: Any, finish: Any = "stop", **more: Any) -> Event:
    """Make a whole answer."""
    return whole({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more})


class TestOrdinaryDeltas:
    """What `accepts()` takes without decoding it."""

    SHAPES = (
        '{"choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}]}',
        '{"choices":[{"index":0,"delta":{"content":"@"},"logprobs":null,"finish_reason":null}],"usage":null}',
        '{"choices":[{"index":0,"delta":{"content":"@","reasoning_content":null},"finish_reason":null}]}',
        '{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"@"},"finish_reason":null}]}',
        '{"choices":[{"index":0,"delta":{"reasoning_content":"@","content":""},"finish_reason":null}]}',
        '{"choices": [{"index": 0, "delta": {"content": "@"}, "finish_reason": null}]}',
        '{"choices":[{"text":"@","index":0,"logprobs":null,"finish_reason":null}]}',
        '{"choices":[{"delta":{"content":"@"}}],"error":null,"x":{"\\"content\\":":"y"}}',
    )
    CHANNELS = ("text", "text", "text", "reasoning", "reasoning", "text", "text", "text")

    @pytest.mark.parametrize(("shape", "channel"), [*zip(SHAPES, CHANNELS, strict=True)])
    @pytest.mark.parametrize("text", ["b", " ", "深度", "🐋", '"', "\\", "\n", "\x7f", "\u2028", '\\", "x": "', "</s>"])
    @pytest.mark.parametrize("is_escaped", [True, False])
    def test_deltas_like_one_before_are_taken(
        self,
        shape: str,
        channel: str,
        text: str,
        is_escaped: bool,  # noqa: FBT001
    ) -> None:
        """An event that differs from an earlier one in its text alone is taken, and the text is remembered."""
        progress = observed(shape.replace("@", "a"))
        taken = progress.accepts(event(shape.replace("@", json.dumps(text, ensure_ascii=is_escaped)[1:-1])).raw)

        assert (True, "a" + text) == (taken, getattr(progress.partial(), channel))

    ORDINARY = '{"choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}]}'

    @pytest.mark.parametrize(
        "other",
        [
            '{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":null},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":5},"finish_reason":null}]}',
            '{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"reasoning_content":"b"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}',
            '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}],"usage":{"prompt_tokens":1}}',
            '{"choices":[{"index":0,"delta":{"role":"assistant","content":"b"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"b","role":"assistant"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"b","tool_calls":[]},"finish_reason":null}]}',
            '{"error":{"message":"x"},"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]} ',
            '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]',
            '{"choices":[{"index":0,"delta":{"content":"b","content":"c"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"c"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"a\\"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\x41"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\u12"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\u12g4"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"a\tb"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"a\x00b"},"finish_reason":null}]}',
            "[DONE]",
            "",
        ],
    )
    def test_all_others_are_left_to_be_decoded(self, other: str) -> None:
        """Another shape, an ending, usage, a role, an error, tool calls, an empty delta, broken JSON: none is taken."""
        progress = observed(self.ORDINARY.replace("@", "a"))
        taken = progress.accepts(event(other).raw)

        assert (False, "a") == (taken, progress.partial().text)

    @pytest.mark.parametrize("body", [b"\xff", b"\xe6\xb7", b"\xed\xa0\xbd", b"\xc0\xaf", b"ok\x80"])
    def test_invalid_utf8_is_not_taken(self, body: bytes) -> None:
        """Bytes that are no UTF-8 are left to be decoded, and refused."""
        progress = observed(self.ORDINARY.replace("@", "a"))
        before, after = chat(self.ORDINARY).encode().split(b"@")

        assert not progress.accepts(b"data: %b%b%b\n\n" % (before, body, after))
        assert "a" == progress.partial().text

    @pytest.mark.parametrize(
        "raw",
        [
            b'event: x\ndata: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}\n\n',
            b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}\n',
            b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}\n\ndata: ',
            b'data:{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}\n\n',
            b": keep-alive\n\n",
            b"data: ",
            b"",
        ],
    )
    def test_what_is_not_just_one_event_is_not_taken(self, raw: bytes) -> None:
        """Bytes that are less, or more, than one event are left to be cut."""
        progress = observed(self.ORDINARY.replace("@", "a"))

        assert not progress.accepts(chat(raw.decode()).encode())

    def test_two_events_at_once_are_told_in_linear_time(self) -> None:
        """Two events in one piece are not taken, and a long text in the first does not take for ever."""
        progress = observed(self.ORDINARY.replace("@", "a"))
        long = event(self.ORDINARY.replace("@", "深" + "b" * 4000)).raw

        assert not progress.accepts(long + long)

    @pytest.mark.parametrize("blanks", ["", " ", "  ", "\t", " \t "])
    def test_blanks_in_the_json_change_nothing(self, blanks: str) -> None:
        """However the JSON is spaced, what is remembered is the text."""
        shape = f'{{"choices":[{{"index":0,"delta":{{"content":{blanks}"@"{blanks}}},"finish_reason":null}}]}}'
        progress = observed(*[shape.replace("@", "x")] * 3)

        assert "xxx" == progress.partial().text
        assert not progress.accepts(event(shape.replace('"@', '5"x')).raw)

    NEVER_LEARNT: tuple[dict[str, Any], ...] = (
        {"choices": [{"index": 1, "delta": {"content": "a"}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {"prompt_tokens": 1}},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a", "refusal": "b"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a", "reasoning_content": "b"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [{"index": 0, "id": "c"}]}}]},
        {"choices": [{"index": 0, "delta": {"content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]},
        {"choices": [{"index": 0, "delta": {"content": "a", "more": {"content": "b"}}}]},
        {"choices": []},
        {"ping": 1},
    )

    @pytest.mark.parametrize("data", NEVER_LEARNT)
    def test_other_events_teach_nothing(self, data: dict[str, Any]) -> None:
        """Only an event that says one text of choice 0 and nothing else is something to go by."""
        data = {"object": "chat.completion.chunk", **data}
        progress = observed(data)

        assert (False, False) == (progress.knows_ordinary, progress.accepts(event(data).raw))

    @pytest.mark.parametrize(
        "text",
        [
            '{"x":{"content":"decoy"},"choices":[{"delta":{"cont\\u0065nt":"a"}}]}',
            '{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"cont\\u0065nt":"b"}}]}',
            '{"content":"decoy","choices":[{"delta":{"\\u0063ontent":"decoy"}}]}',
            '{"choices":[{"delta":{"\\u0063ontent":"a"}}]}',
            '{"content":"","choices":[{"delta":{"\\u0063ontent":"a"}}]}',
            '{"half":"\\ud83d","choices":[{"delta":{"content":"a"}}]}',
        ],
    )
    def test_decoys_teach_nothing(self, text: str) -> None:
        """A string that only looks like the one the delta is about is not gone by."""
        progress = observed(text)

        assert not progress.knows_ordinary

    def test_named_and_rewritten_events_teach_nothing(self) -> None:
        """An event with a name, or with data of several lines, is not gone by."""
        text = chat(self.ORDINARY).replace("@", "a").encode()

        assert not observed(Event(b"event: x\ndata: %b\n\n" % text, text, name=b"x")).knows_ordinary
        assert not observed(Event(b"data: %b\n\n" % text, text + b"\n")).knows_ordinary

    def test_a_stream_that_changes_channel_is_learnt_anew(self) -> None:
        """After the thought the answer is taken as quickly, each into its own text."""
        thought, answer = self.SHAPES[3], self.SHAPES[2]
        progress = observed(thought.replace("@", "a"))
        taken = [
            progress.accepts(event(thought.replace("@", "b")).raw),
            progress.accepts(event(answer.replace("@", "c")).raw),
        ]
        progress.observe(event(answer.replace("@", "c")))
        taken.append(progress.accepts(event(answer.replace("@", "d")).raw))

        assert [True, False, True] == taken
        assert Partial(text="cd", reasoning="ab") == progress.partial()

    def test_learning_ends_when_it_does_not_pay(self) -> None:
        """A stream whose events all differ is not studied for ever."""
        progress = observed(*({**chunk(), "n": n} for n in range(16)))
        progress.observe(event(self.ORDINARY.replace("@", "a")))

        assert not progress.knows_ordinary

    def test_halves_of_a_character_are_joined(self) -> None:
        """A surrogate pair whose halves come in two events, escaped, is one character."""
        shape = self.ORDINARY
        progress = observed(shape.replace("@", "a"))
        progress.observe(event(shape.replace("@", "\\ud83d")))
        progress.observe(event(shape.replace("@", "\\ude00")))

        assert "a😀" == progress.partial().text

    pieces = st.sampled_from(
        [
            b'"', b"\\", b"\\\\", b'\\"', b"\\u", b"\\u00e4", b"\\ud83d", b"\\n", b"\n", b"\n\n", b"\r", b"\x00",
            b"\x1f",            b"a", b" ", b",", b":", b"}", "深".encode(), b"\xff",
            b"\xed\xa0\x80", b'","role":"x', b'"},"finish_reason":"stop',
            b'"},"finish_reason":null}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":"',
        ]
    )  # fmt: skip

    bodies = st.lists(pieces, max_size=5).map(b"".join) | st.binary(max_size=6)

    @pytest.mark.slow
    @settings(max_examples=150, deadline=None)
    @given(st.sampled_from(SHAPES), st.lists(bodies, max_size=4))
    def test_whatever_is_taken_is_what_decoding_gives(self, shape: str, bodies: list[bytes]) -> None:
        """Whatever bytes are taken are valid JSON of the same shape, whose text is exactly what is remembered."""
        first = json.loads(chat(shape).replace("@", "a"))
        progress = observed(shape.replace("@", "a"))
        before, after = chat(shape).encode().split(b"@")
        texts = ["a"]
        for body in bodies:
            raw = b"data: %b%b%b\n\n" % (before, body, after)
            if progress.accepts(raw):
                text = json.loads(b'"%b"' % body)
                assert put(first, text) == json.loads(raw[6:-2].decode())
                texts.append(text)

        assert halves("".join(texts)) in map(halves, (progress.partial().text, progress.partial().reasoning))

    @pytest.mark.slow
    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from(SHAPES), st.lists(st.text(min_size=1, max_size=8), max_size=4), st.booleans())
    def test_every_text_is_taken(self, shape: str, texts: list[str], is_escaped: bool) -> None:  # noqa: FBT001
        """Whatever a delta says, in either way of writing it, it is taken."""
        progress = observed(shape.replace("@", "a"))
        raws = [event(shape.replace("@", json.dumps(text, ensure_ascii=is_escaped)[1:-1])).raw for text in texts]

        assert [True] * len(texts) == [progress.accepts(raw) for raw in raws]


def put(data: Any, text: str) -> Any:
    """Give *data* with another text where it says "a"."""
    if isinstance(data, dict):
        return {key: put(value, text) for key, value in data.items()}
    if isinstance(data, list):
        return [put(value, text) for value in data]
    return text if data == "a" else data


def halves(text: str) -> bytes:
    """Tell apart no pair of surrogates from the character they stand for."""
    return text.encode("utf-16-le", "surrogatepass")


def call(index: int | None = 0, **more: Any) -> dict[str, Any]:
    """Make one fragment of a tool call."""
    return {**({} if index is None else {"index": index}), **more}


STATES = {
    "nothing": ([], (False, False, None, False)),
    "role": ([chunk(role="assistant")], (False, False, None, False)),
    "empty role chunk": ([chunk("", role="assistant", reasoning_content="")], (False, False, None, False)),
    "nulls": ([{"choices": [{"delta": {"content": None, "reasoning_content": None}}]}], (False, False, None, False)),
    "reasoning": ([chunk(reasoning_content="a")], (True, False, None, False)),
    "content": ([chunk("a")], (True, True, None, False)),
    "a blank": ([chunk(" ")], (True, True, None, False)),
    "refusal": ([chunk(refusal="no")], (True, True, None, False)),
    "tool call": ([chunk(tool_calls=[call(id="c", function={"name": "f"})])], (True, True, None, False)),
    "empty tool calls": ([chunk(tool_calls=[])], (False, False, None, False)),
    "old function call": ([chunk(function_call={"name": "f", "arguments": ""})], (True, True, None, False)),
    "completion": ([{"choices": [{"text": "a", "index": 0}]}], (True, True, None, False)),
    "length, with nothing": ([chunk(finish="length")], (False, False, "length", False)),
    "finished": ([chunk("a"), chunk(finish="stop")], (True, True, "stop", False)),
    "finished with content": ([chunk("a", finish="stop")], (True, True, "stop", False)),
    "tool calls": ([chunk(tool_calls=[call(id="c")]), chunk(finish="tool_calls")], (True, True, "tool_calls", False)),
    "filtered": ([chunk(finish="content_filter")], (False, False, "content_filter", False)),
    "done": ([chunk("a", finish="stop"), DONE], (True, True, "stop", True)),
    "thought only": ([chunk(reasoning_content="a"), chunk(finish="stop")], (True, False, "stop", False)),
    "empty infill": ([{"choices": [{"text": "", "index": 0, "finish_reason": "stop"}]}], (False, False, "stop", False)),
    "usage without choices": ([{"choices": [], "usage": {}}], (False, False, None, False)),
    "choices null": ([{"choices": None}], (False, False, None, False)),
    "delta null": ([{"choices": [{"index": 0, "delta": None, "finish_reason": None}]}], (False, False, None, False)),
    "whole": ([completion({"role": "assistant", "content": "a"})], (True, True, "stop", False)),
    "whole thought": ([completion({"content": "", "reasoning_content": "a"})], (True, False, "stop", False)),
}


@pytest.mark.parametrize(("chunks", "expected"), STATES.values(), ids=STATES)
def test_progress_tells_what_has_come(chunks: list[object], expected: tuple[object, ...]) -> None:
    """Tokens, answer tokens, the finish reason and the end are told apart."""
    progress = observed(*chunks)

    assert expected == (progress.has_token, progress.has_answer, progress.finish_reason, progress.is_done)
    assert progress.is_complete == (progress.finish_reason is not None)


def test_progress_knows_an_answer_in_the_wrong_channel() -> None:
    """An answer that ended with a thought and nothing else is marked; one that was cut by length is not."""
    thought = chunk(reasoning_content="a")

    assert observed(thought, chunk(finish="stop")).answer_in_reasoning
    assert not observed(thought, chunk(finish="length")).answer_in_reasoning
    assert not observed(thought, chunk("b"), chunk(finish="stop")).answer_in_reasoning
    assert not observed(thought).answer_in_reasoning


USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk("a"), chunk(finish="stop", usage=USAGE)],
        [chunk("a"), chunk(finish="stop"), {"choices": [], "usage": USAGE}],
        [{**chunk("a"), "usage": None}, {**chunk(finish="stop"), "usage": USAGE}, {"choices": [], "usage": None}],
        [chunk("a", usage={"prompt_tokens": 3}), chunk(finish="stop", usage=USAGE)],
        [completion({"content": "a"}, usage=USAGE)],
    ],
    ids=["on the last chunk", "on a chunk of its own", "null before and after", "on every chunk", "whole"],
)
def test_usage_is_found_wherever_it_is(chunks: list[object]) -> None:
    """The last usage block counts, whichever chunk carries it."""
    assert USAGE == observed(*chunks).usage


def test_the_model_is_the_one_that_answers() -> None:
    """The model is what the server calls itself, and chunks that do not say change nothing."""
    assert "deepseek-flash" == observed(chunk("a"), {"choices": []}, {"model": None, "choices": []}).model
    assert observed({"choices": []}).model is None


def test_partial_is_what_came_of_choice_0() -> None:
    """Text, thought and tool calls of the first choice are kept, others are not."""
    progress = observed(
        chunk(role="assistant", reasoning_content="Hm"),
        chunk(reasoning_content=".\n"),
        chunk("深"),
        chunk("度"),
        chunk("other", index=1),
        chunk(tool_calls=[call(id="c1", type="function", function={"name": "f", "arguments": '{"a'})]),
        chunk(tool_calls=[call(function={"arguments": '":1}'})]),
        chunk(tool_calls=[call(1, id="c2", type="function", function={"name": "g", "arguments": ""})]),
    )
    calls = (
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
    )

    assert Partial(text="深度", reasoning="Hm.\n", tool_calls=calls) == progress.partial()


def test_partial_of_repeated_ids_and_names() -> None:
    """A server that repeats id and name with every fragment is not taken at its word."""
    fragment = call(id="c1", type="function", function={"name": "f", "arguments": "x"})
    progress = observed(chunk(tool_calls=[fragment]), chunk(tool_calls=[fragment]), chunk(tool_calls=[fragment]))

    expected = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "xxx"}}
    assert (expected,) == progress.partial().tool_calls


def test_partial_of_an_infill() -> None:
    """The text of a completion is the text of the answer."""
    assert Partial(text="ab") == observed({"choices": [{"text": "a"}]}, {"choices": [{"text": "b"}]}).partial()


def test_events_are_handed_on_as_they_are() -> None:
    """An event that needs no rewriting is the very same; one that repeats its role is not."""
    first, again = event(chunk("a", role="assistant")), event(chunk("b", role="assistant"))
    progress = Progress(RESPONSE)

    assert first is progress.observe(first)
    assert {"content": "b"} == progress.observe(again).json()["choices"][0]["delta"]
    assert DONE is observed(chunk("a", finish="stop")).observe(DONE)


@pytest.mark.parametrize("data", [{}, {"type": "ping"}, {"choices": None}, {"usage": USAGE}, {"object": "ping"}])
def test_objects_without_choices_become_empty_chunks(data: dict[str, Any]) -> None:
    """An object that is no chunk is made one without choices, which every program can read."""
    read = Progress(RESPONSE).observe(event(data)).json()

    assert {**data, "choices": [], "object": "chat.completion.chunk"} == read


def shaped(delta: object, **choice: Any) -> tuple[Event, type[DeepSeekError], str]:
    """Expect that a chunk with *delta* is refused."""
    return event({"choices": [{"delta": delta, **choice}]}), MalformedResponseError, "shape"


BAD: dict[str, tuple[Event, type[DeepSeekError], str]] = {
    "broken JSON": (event('{"choices":['), MalformedResponseError, "broken JSON"),
    "text": (event("upstream error"), MalformedResponseError, "broken JSON"),
    "HTML": (Event(b"", b"<html>", is_whole=True), MalformedResponseError, "no answer"),
    "invalid UTF-8": (Event(b"", b'{"a":"\xff"}'), MalformedResponseError, "broken JSON"),
    "a list": (event([]), MalformedResponseError, "no object"),
    "null": (event(None), MalformedResponseError, "no object"),
    "a string": (event('"x"'), MalformedResponseError, "no object"),
    "choices of text": (event({"choices": "x"}), MalformedResponseError, "another shape"),
    "choices of no text": (event({"choices": ""}), MalformedResponseError, "another shape"),
    "choices of nothing": (event({"choices": 0}), MalformedResponseError, "another shape"),
    "choices by name": (event({"choices": {}}), MalformedResponseError, "another shape"),
    "a choice of text": (event({"choices": ["x"]}), MalformedResponseError, "another shape"),
    "a choice of null": (event({"choices": [None]}), MalformedResponseError, "another shape"),
    "a delta of text": shaped("x"),
    "content in parts": shaped({"content": [{"text": "x"}]}),
    "content of a number": shaped({"content": 5}),
    "content of true": shaped({"content": True}),
    "a thought in parts": shaped({"reasoning_content": {"a": 1}}),
    "tool calls of an object": shaped({"tool_calls": {"a": 1}}),
    "a tool call of null": shaped({"tool_calls": [None]}),
    "a function of text": shaped({"tool_calls": [{"index": 0, "function": "f"}]}),
    "arguments of an object": shaped({"tool_calls": [{"index": 0, "function": {"arguments": {"a": 1}}}]}),
    "a negative index": shaped({"tool_calls": [{"index": -1, "id": "c"}]}),
    "a finish reason of a list": shaped({}, finish_reason=["stop"]),
    "deeper than anyone reads": (event("[" * 100_000), MalformedResponseError, "broken JSON"),
    "whole, no choices": (whole({"id": "x"}), MalformedResponseError, "no choices"),
    "whole, empty choices": (whole({"choices": []}), MalformedResponseError, "no choices"),
    "whole, message of text": (completion("x"), MalformedResponseError, "shape"),
    "error": (event({"error": {"message": "Overloaded", "type": "server_error"}}), ServerEventError, "Overloaded"),
    "error of text": (event({"error": "Overloaded"}), ServerEventError, "Overloaded"),
    "error without a message": (event({"error": {"code": 5}}), ServerEventError, "An error occurred"),
    "error by name": (event({"message": "Overloaded"}, name=b"error"), ServerEventError, "Overloaded"),
    "error by object": (event({"object": "error", "message": "Overloaded"}), ServerEventError, "Overloaded"),
    "error beside choices": (event({"choices": [], "error": {"message": "Oh"}}), ServerEventError, "Oh"),
    "whole, error": (whole({"error": {"message": "Oh"}}), ServerEventError, "Oh"),
    "resources": (event(chunk(finish="insufficient_system_resource")), SystemResourceError, "lack of resources"),
    "an unknown reason": (event(chunk(finish="coffee")), UnknownFinishReasonError, "'coffee'"),
    "a reason of a number": (event({"choices": [{"delta": {}, "finish_reason": 5}]}), UnknownFinishReasonError, "5"),
    "an empty answer": (event(chunk(finish="stop")), EmptyAnswerError, "empty"),
    "whole, empty": (completion({"content": ""}), EmptyAnswerError, "empty"),
    "whole, null": (completion({"content": None, "tool_calls": None}), EmptyAnswerError, "empty"),
    "done too early": (DONE, StreamInterruptedError, r"\[DONE\]"),
}


@pytest.mark.parametrize(("bad", "kind", "text"), BAD.values(), ids=BAD)
def test_bad_events_raise(bad: Event, kind: type[DeepSeekError], text: str) -> None:
    """What is no chunk, an error, a broken-off or an empty answer raises an error that says so."""
    with pytest.raises(kind, match=text) as caught:
        Progress(RESPONSE).observe(bad)

    assert (kind, "") == (type(caught.value), caught.value.partial.text)


@pytest.mark.parametrize(("bad", "kind", "text"), BAD.values(), ids=BAD)
def test_bad_events_tell_what_had_come(bad: Event, kind: type[DeepSeekError], text: str) -> None:
    """Whatever ends an answer early, what had come of it is on the error; an answer with a token is not empty."""
    progress = observed(chunk("深"))
    if kind is EmptyAnswerError:
        assert bad is progress.observe(bad)
        return
    with pytest.raises(kind, match=text) as caught:
        progress.observe(bad)

    assert "深" == caught.value.partial.text


def test_a_malformed_event_is_shown_in_part() -> None:
    """The error keeps the beginning of what could not be read."""
    with pytest.raises(MalformedResponseError) as caught:
        Progress(RESPONSE).observe(Event(b"", b"<html>" + b"x" * 5000))

    assert ("<html>", 2000) == (caught.value.raw[:6], len(caught.value.raw))


def test_an_error_event_keeps_the_servers_object() -> None:
    """The error object of the server is the body, so that openai's `code` and `type` are there."""
    error = {"message": "Oh", "type": "invalid_request_error", "code": "c"}
    with pytest.raises(openai.APIError) as caught:
        Progress(RESPONSE).observe(event({"error": error}))

    assert (error, "invalid_request_error", "c") == (caught.value.body, caught.value.type, caught.value.code)


def test_an_unknown_reason_is_told() -> None:
    """The value that nobody knows is an attribute of the error."""
    with pytest.raises(UnknownFinishReasonError) as caught:
        Progress(RESPONSE).observe(event(chunk("a", finish="coffee")))

    assert ("coffee", "a") == (caught.value.finish_reason, caught.value.partial.text)


def test_an_answer_that_broke_off_is_described() -> None:
    """The error of an interruption has the reason, the request and what had come."""
    error = observed(chunk("ab")).interrupted("It broke")

    assert "It broke. 2 characters of text and 0 of reasoning had arrived." == str(error)
    assert RESPONSE.request is error.request


def test_half_a_character_is_rewritten_whole() -> None:
    """A rewritten event may hold half of a surrogate pair, which has no bytes of its own."""
    progress = observed(encode(chunk("a", role="assistant")))
    rewritten = progress.observe(encode(chunk("\ud83d", role="assistant")))

    assert {"content": "\ud83d"} == json.loads(rewritten.raw[6:])["choices"][0]["delta"]
