"""A kept answer, given again: as a plain call gets it, and as the stream that it was or could have been."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from deepseek_sdk._clock import Clock
from deepseek_sdk._finish import finish
from deepseek_sdk._fold import Fold
from deepseek_sdk._reply import Reply
from deepseek_sdk._wire import DeadlineReached
from deepseek_sdk.caching.entry import BadRecordError, Entry
from deepseek_sdk.caching.pieces import cut
from deepseek_sdk.caching.replay import HEADER, Replay, Suiter, chunks_of, parts_of, suited, wants_usage
from deepseek_sdk.testing.answer import Answer, Call
from deepseek_sdk.testing.encoding import Envelope, encode_answer, usage_block
from deepseek_sdk.testing.job import Job
from deepseek_sdk.testing.replies import Reply as Said
from deepseek_sdk.testing.scripted import make_call
from deepseek_sdk.testing.virtual import VirtualIO
from deepseek_sdk.testing.vocabulary import Piece
from tests.caching.test_entry import make_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.testing.encoding import UsageShape

SHAPES: tuple[UsageShape, ...] = ("finish", "own_chunk", "both")
WITH_USAGE = {"stream_options": {"include_usage": True}}
# Texts whose characters are several to a program: marks, joined emoji, flags, Korean and Indic letters.
ODD = [
    "a",
    "你",
    " ",
    "\r\n",
    "e\u0301\u0323",
    "👩\u200d👩\u200d👧",
    "👍🏽",
    "🇨🇳🇩🇪",
    "한국",
    "\u1112\u1161\u11ab",
    "क्षि",
    "1\ufe0f\u20e3",
]


def pieces(text: str) -> tuple[Piece, ...]:
    """Cut a text into words, as a model writes it."""
    return tuple(Piece(f"{word} ", 1) for word in text.split(" ") if word)


def answered(kind: str, shape: UsageShape, *, is_stream: bool, asks: bool = False) -> list[bytes]:
    """Let the emulator encode an answer of some kind: the data of its events, or the one body."""
    thinks, has_logprobs = "thinking" in kind, "logprobs" in kind
    calls = [Call(f"call_0{n}", "搜索", pieces('{"q": "天气 北京"}')) for n in range(2)] if "tools" in kind else []
    job = Job(
        model="deepseek-flash",
        ids=(1, 2, 3),
        thinking=thinks,
        thinks_now=thinks,
        max_tokens=99,
        top_logprobs=2 if has_logprobs else None,
        is_stream=is_stream,
        include_usage=asks,
        is_chat="fim" not in kind,
    )
    answer = Answer(
        reasoning=pieces("用户 问 的 是 花呗 。") if thinks else (),
        content=pieces("" if calls else "花呗 可以 在 App 里 还款 👩\u200d👩\u200d👧 \n\n ok " * 3),
        calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        reasoning_tokens=6 if thinks else 0,
        completion_tokens=40,
    )
    envelope = Envelope(id="x", created=1, first_token_s=0, token_s=0, keep_alive_s=None, usage_shape=shape)
    script = encode_answer(job, answer, Said(), envelope, usage_block(job, answer, Said(), hit_tokens=0))
    return [part.data.removeprefix(b"data: ").strip() for part in script.parts]


def streamed(kind: str, shape: UsageShape = "finish", *, asks: bool = False) -> list[dict[str, Any]]:
    """Give the chunks of an answer."""
    return [json.loads(data) for data in answered(kind, shape, is_stream=True, asks=asks)[:-1]]


def folded(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give the answer that chunks come to."""
    fold = Fold()
    for chunk in chunks:
        fold.add(chunk)
    return json.loads(json.dumps(fold.answer()))  # type: ignore[no-any-return]


def kept(kind: str = "thinking", shape: UsageShape = "finish", *, asks: bool = False, **changes: Any) -> Entry:
    """Give the entry of an answer that came as a stream."""
    chunks = streamed(kind, shape, asks=asks)
    whole = folded(chunks)
    usage = json.dumps(whole["usage"]) if whole.get("usage") else None
    answer = json.dumps(whole).encode()
    return make_entry(**{"answer": answer, "pieces": cut(chunks, answer), "usage": usage, **changes})


def plain(kind: str = "thinking") -> Entry:
    """Give the entry of an answer that came whole."""
    [answer] = answered(kind, "finish", is_stream=False)
    return make_entry(answer=answer, pieces=None, usage=json.dumps(json.loads(answer)["usage"]))


def read(entry: Entry, body: Any = None, **changes: Any) -> list[list[Any]]:
    """Pull all that a replay gives: the batches, each event as its JSON or "done"."""
    source = Replay(entry, make_call(body=body or {}, **changes), pace=None)
    batches = []
    while (batch := finish(source.pull(inf))) is not None:
        batches.append(["done" if event.is_done else json.loads(event.data) for event in batch])
    return batches


def chunks_from(entry: Entry, body: Any = None) -> list[dict[str, Any]]:
    """Give the chunks of a replay, without its end."""
    *chunks, done = [item for batch in read(entry, body) for item in batch]

    assert "done" == done
    return chunks


def shown(entry: Entry, *, is_stream: bool, body: Any = None) -> bytes:
    """Give what comes out of a reply: the bytes of a stream, or the answer."""
    call = make_call(body=body or {}, is_stream=is_stream)
    attempt = call.record.begin(route="cache", model="", now=0.0, account=None)
    reply = Reply(call, Replay(entry, call, pace=None), Clock(call.limits, call_started=0.0, now=0.0), attempt)
    if not is_stream:
        return finish(reply.gather())
    data = b""
    while more := finish(reply.next_bytes()):
        data += more
    return data


def without_usage(chunks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take usage out of all chunks, and chunks of nothing else."""
    return [{name: chunk[name] for name in chunk if name != "usage"} for chunk in chunks if chunk["choices"]]


def usages(chunks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every usage block that a stream tells."""
    return [chunk["usage"] for chunk in chunks if chunk.get("usage")]


KINDS = ["", "thinking", "tools", "thinking tools", "logprobs", "thinking logprobs", "fim", "fim logprobs"]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
every_shape = pytest.mark.parametrize("shape", SHAPES)


class TestPlain:
    """What a plain call gets."""

    @every_kind
    def test_the_answer_is_given_as_it_is_kept(self, kind: str) -> None:
        """To the byte, in one piece, whether it came whole or not."""
        for entry in (plain(kind), kept(kind)):
            assert [[json.loads(entry.answer)]] == read(entry, is_stream=False)
            assert entry.answer == shown(entry, is_stream=False)

    def test_it_stands_for_a_response_of_a_server(self) -> None:
        """With status 200, as JSON, and with a header that says where it came from; each replay has its own."""
        responses = [Replay(kept(), make_call(is_stream=False), pace=None).response for _ in range(2)]
        responses[0].headers["x-changed"] = "1"

        assert [200, 200] == [response.status_code for response in responses]
        assert "hit" == responses[1].headers[HEADER]
        assert "application/json" == responses[1].headers["content-type"]
        assert "x-changed" not in responses[1].headers
        assert "/chat/completions" == responses[1].request.url.path


class TestStream:
    """What a streamed call gets."""

    @every_kind
    @every_shape
    @pytest.mark.parametrize("asks", [False, True])
    def test_the_same_call_gets_the_same_chunks(self, kind: str, shape: UsageShape, *, asks: bool) -> None:
        """With the boundaries, the fields and the usage that the first call got."""
        chunks = streamed(kind, shape, asks=asks)
        again = chunks_from(kept(kind, shape, asks=asks), WITH_USAGE if asks else {})

        assert [json.dumps(chunk) for chunk in chunks] == [json.dumps(chunk) for chunk in again]

    @every_kind
    @every_shape
    def test_who_did_not_ask_for_usage_sees_what_he_sees_today(self, kind: str, shape: UsageShape) -> None:
        """Also where the first call asked for it: the server's own stream for such a call comes out."""
        assert streamed(kind, shape) == chunks_from(kept(kind, shape, asks=True))

    @every_kind
    @every_shape
    def test_who_asked_for_usage_gets_it_once_at_least(self, kind: str, shape: UsageShape) -> None:
        """Also where the first call did not: in the last chunk, and as the server would have told it."""
        entry = kept(kind, shape, usage=json.dumps(streamed(kind, "both")[-1]["usage"]))
        chunks = chunks_from(entry, WITH_USAGE)
        asked = streamed(kind, shape, asks=True)

        assert without_usage(asked) == without_usage(chunks)
        assert usages(asked)[:1] == usages(chunks)
        assert chunks[-1]["usage"]
        assert ("own_chunk" == shape) == (chunks[-1]["choices"] == [])

    def test_usage_that_nobody_knows_is_not_made_up(self) -> None:
        """Where the server told none, there is none."""
        entry = kept("", "own_chunk")

        assert entry.usage is None
        assert [] == usages(chunks_from(entry, WITH_USAGE))

    @every_kind
    @pytest.mark.parametrize("asks", [False, True])
    def test_an_answer_that_came_whole_is_streamed(self, kind: str, *, asks: bool) -> None:
        """It folds to the answer that it was made of, and usage stands where DeepSeek puts it, or by itself."""
        entry = plain(kind)
        whole = json.loads(entry.answer)
        for choice in whole["choices"]:
            for number, call in enumerate(choice.get("message", {}).get("tool_calls", ())):
                call["index"] = number
        chunks = chunks_from(entry, WITH_USAGE if asks else {})

        assert whole == folded(chunks)
        assert [whole["usage"]] == usages(chunks)
        assert chunks[-1]["usage"] == whole["usage"]
        assert asks == (chunks[-1]["choices"] == [])
        assert 1 == len(
            {json.dumps([chunk[name] for name in ("id", "object", "created", "model")]) for chunk in chunks}
        )

    def test_reasoning_comes_before_the_answer(self) -> None:
        """First the role, then all of the reasoning, then the answer, then its end."""
        chunks = chunks_from(plain("thinking"))
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        kinds = "".join("r" if d.get("reasoning_content") else "c" if d.get("content") else "-" for d in deltas)
        ends = [chunk["choices"][0]["finish_reason"] for chunk in chunks]

        assert {"role": "assistant", "content": None, "reasoning_content": ""} == deltas[0]
        assert re.fullmatch("-r+c+-", kinds)
        assert [*[None] * (len(chunks) - 1), "stop"] == ends

    def test_tool_calls_come_whole(self) -> None:
        """Each in one chunk, with its name and all of its arguments."""
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks_from(plain("tools"))]
        calls = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]

        assert [[0], [1]] == [[call["index"] for call in fragments] for fragments in calls]
        assert {'{"q": "天气 北京"} '} == {call["function"]["arguments"] for fragments in calls for call in fragments}

    @every_kind
    def test_openai_reads_the_chunks(self, kind: str) -> None:
        """They are of the shape that openai's types describe."""
        if "fim" not in kind:
            for chunk in chunks_from(plain(kind), WITH_USAGE):
                assert chunk == ChatCompletionChunk.model_validate(chunk).model_dump(exclude_unset=True)

    @every_kind
    @pytest.mark.parametrize("entry_of", [plain, kept])
    def test_a_reply_takes_it_for_an_answer(self, kind: str, entry_of: Any) -> None:
        """Through a reply the stream comes to its end, and folds to the same."""
        data = shown(entry_of(kind), is_stream=True)
        *events, done, end = data.split(b"\n\n")

        assert (b"data: [DONE]", b"") == (done, end)
        assert 4 <= len(events)
        said = folded([json.loads(event.removeprefix(b"data: ")) for event in events])["choices"][0]
        assert json.loads(entry_of(kind).answer)["choices"][0]["finish_reason"] == said["finish_reason"]

    def test_events_come_in_small_batches(self) -> None:
        """So that an event loop is not held up by a long answer; but not one by one."""
        sizes = [len(batch) for batch in read(kept())]

        assert {16} == set(sizes[:-1])
        assert 0 < sizes[-1] <= 16

    def test_several_choices_are_streamed(self) -> None:
        """One after the other, with one usage at the end."""
        whole = json.loads(plain("thinking").answer)
        whole["choices"] += [{**whole["choices"][0], "index": 1, "finish_reason": "tool_calls", "matched_stop": 7}]
        chunks = list(chunks_of(whole, wants_usage=False))

        assert whole == folded(chunks)
        assert [whole["usage"]] == usages(chunks)

    def test_fields_that_nobody_knows_are_given(self) -> None:
        """Of the answer, of a choice and of its message."""
        message = {
            "role": "assistant",
            "content": "a",
            "refusal": None,
            "annotations": [{"b": 1}],
            "audio": {"id": "c"},
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, "native": {"x": []}}
        whole = {"id": "i", "object": "chat.completion", "choices": [choice], "service_tier": "flex"}

        assert whole == folded(list(chunks_of(whole, wants_usage=True)))
        assert [] == usages(list(chunks_of(whole, wants_usage=True)))


class TestSafety:
    """What is kept stays as it is."""

    def test_a_caller_changes_nothing(self) -> None:
        """Whatever is done to events and chunks, the next replay gives the same."""
        for entry in (kept(), plain()):
            before, copy = [json.dumps(chunk) for chunk in chunks_from(entry)], replace(entry)
            source = Replay(entry, make_call(), pace=None)
            for event in (finish(source.pull(inf)) or [])[:5]:
                event.json()["choices"].clear()
                event.data = event.raw = b"changed"

            assert before == [json.dumps(chunk) for chunk in chunks_from(entry)]
            assert copy == entry

    def test_pieces_of_another_answer_are_found_at_once(self) -> None:
        """Before anything is shown: the constructor raises, so that the model can still be asked."""
        for wrong in (b"", b"null", b"[[],[],[[0,1]]]", kept("tools").pieces):
            with pytest.raises(BadRecordError):
                Replay(make_entry(answer=b"{}", pieces=wrong), make_call(), pace=None)

    @pytest.mark.parametrize(
        "answer", [b"{}", b"[]", b"null", b'{"choices": []}', b'{"choices": [{"index": 0}]}', b"x"]
    )
    def test_an_answer_that_is_none_is_found_at_once(self, answer: bytes) -> None:
        """So is an answer that no stream can be made of; a plain call gets it as it is."""
        entry = make_entry(answer=answer, pieces=None)

        assert answer == (finish(Replay(entry, make_call(is_stream=False), pace=None).pull(inf)) or [])[0].data
        with pytest.raises(BadRecordError):
            Replay(entry, make_call(), pace=None)

    @pytest.mark.parametrize("is_stream", [False, True])
    def test_nothing_comes_once_it_is_let_go(self, *, is_stream: bool) -> None:
        """After `close()` or `abort()` it is at its end, as it is after its last event."""
        closed, aborted = (Replay(kept(), make_call(is_stream=is_stream), pace=None) for _ in range(2))
        finish(closed.close(is_done=False))
        aborted.abort()

        assert [None, None] == [finish(source.pull(inf)) for source in (closed, aborted)]
        assert (None, False) == (closed.upstream, closed.only_waited)


class TestPace:
    """Streams that are given as fast as someone reads."""

    def test_a_stream_takes_its_time(self) -> None:
        """As long as its characters take, in even steps."""
        io, entry = VirtualIO(), kept("thinking")
        source = Replay(entry, make_call(io=io, body={}), pace=50.0)
        said, times = 0, []
        while (batch := finish(source.pull(inf))) is not None:
            for event in batch:
                times.append((io.now(), said / 50))
                delta = {} if event.is_done else event.json()["choices"][0]["delta"]
                said += sum(len(delta.get(name) or "") for name in ("content", "reasoning_content"))

        assert 100 < said
        assert [due for _, due in times] == pytest.approx([at for at, _ in times])

    @pytest.mark.parametrize("kind", ["tools", "fim"])
    def test_tool_calls_and_completions_take_theirs(self, kind: str) -> None:
        """Arguments and texts are characters too."""
        io = VirtualIO()
        source = Replay(plain(kind), make_call(io=io), pace=10.0)
        while finish(source.pull(inf)) is not None:
            pass

        assert io.now() >= 3

    def test_a_plain_call_does_not_wait(self) -> None:
        """Its answer comes at once."""
        io = VirtualIO()
        source = Replay(kept(), make_call(io=io, is_stream=False), pace=0.1)

        assert 1 == len(finish(source.pull(inf)) or [])
        assert [] == io.slept

    def test_a_deadline_ends_the_wait(self) -> None:
        """At that very instant; and nothing is lost of what comes afterwards."""
        io, entry = VirtualIO(), kept("thinking")
        source = Replay(entry, make_call(io=io, body={}), pace=1.0)
        seen = [*(finish(source.pull(0.0)) or [])]
        misses = 0
        while True:
            try:
                batch = finish(source.pull(io.now() + 0.75))
            except DeadlineReached:
                misses += 1
                continue
            if batch is None:
                break
            seen += batch

        assert 50 < misses
        assert set(io.slept) <= {0.75, *(n / 4 for n in range(4))}
        assert streamed("thinking") == [event.json() for event in seen[:-1]]

    def test_a_deadline_in_the_past_is_no_wait(self) -> None:
        """It ends at once."""
        io = VirtualIO(start=100.0)
        source = Replay(kept(), make_call(io=io), pace=0.001)
        finish(source.pull(inf))

        with pytest.raises(DeadlineReached):
            finish(source.pull(50.0))
        assert 100.0 == io.now()

    def test_a_reader_who_is_late_catches_up(self) -> None:
        """What is due meanwhile comes at once, in batches."""
        io = VirtualIO()
        source = Replay(kept(), make_call(io=io), pace=10.0)
        first = finish(source.pull(inf)) or []
        finish(io.sleep(1000.0))

        assert (2, 16) == (len(first), len(finish(source.pull(inf)) or []))


class TestParts:
    """Cutting a text where a reader would."""

    @settings(max_examples=200)
    @given(text=st.lists(st.sampled_from(ODD) | st.characters(codec=None, categories=None), max_size=80).map("".join))
    def test_parts_are_the_text(self, text: str) -> None:
        """Nothing is lost, no part is empty or begins with what belongs to the one before it."""
        parts = list(parts_of(text))

        assert text == "".join(parts)
        assert all(parts)
        assert not [
            p for p in parts[1:] if unicodedata.category(p[0]) in ("Mn", "Mc", "Me") or p[0] in "\u200d\U0001f3fd"
        ]

    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("shift", range(24))
    def test_a_character_is_in_one_part(self, odd: str, shift: int) -> None:
        """Wherever it stands, and however many follow one another."""
        text = "x" * shift + odd * 40
        one = {"🇨🇳🇩🇪": "🇨🇳", "한국": "한"}.get(odd, odd)
        ends = {0, len(text)} | set(range(shift, len(text), len(one))) | set(range(shift))
        places = [0]
        for part in parts_of(text):
            places.append(places[-1] + len(part))

        assert set(places) <= ends
        assert max(map(len, parts_of(text))) < 24 + len(odd) + 1

    def test_halves_of_a_pair_stay_together(self) -> None:
        """Where an answer holds two halves of a character that did not meet, they do not part."""
        assert ["x" * 23 + "\ud83d\ude00", "y"] == list(parts_of("x" * 23 + "\ud83d\ude00" + "y"))

    def test_a_long_text_takes_no_longer_than_it_is_long(self) -> None:
        """Flags without end are counted within their part."""
        assert 100_000 == sum(map(len, parts_of("🇨" * 100_000)))


class TestSuiter:
    """One stream for callers who asked for different things."""

    def test_chunks_that_need_no_change_are_the_same_objects(self) -> None:
        """And those that do are copies: others may be reading them."""
        given = streamed("thinking", "both", asks=True)
        before = json.dumps(given)
        asked, silent = (list(suited(given, wants_usage=wants, usage=None)) for wants in (True, False))

        assert all(one is other for one, other in zip(given, asked, strict=True))
        assert before == json.dumps(given)
        assert streamed("thinking", "both") == silent

    def test_it_goes_chunk_by_chunk(self) -> None:
        """As they come, with an end that tells the usage where nothing did."""
        suiter = Suiter(wants_usage=True)
        chunk = {"id": "a", "choices": [{"index": 0, "delta": {}}]}

        assert chunk is suiter.take(chunk)
        assert {"id": "a", "choices": [], "usage": {"x": 1}} == suiter.end({"x": 1})
        assert suiter.end(None) is Suiter(wants_usage=False).end({"x": 1}) is Suiter(wants_usage=True).end({}) is None

    def test_a_chunk_without_choices_and_usage_stays(self) -> None:
        """Some gateways begin with one, about the prompt."""
        odd: list[dict[str, Any]] = [{"choices": [], "prompt_filter_results": []}, {"choices": [], "usage": None}]

        assert [odd[0], {"choices": []}] == list(suited(odd, wants_usage=False, usage=None))

    @pytest.mark.parametrize(
        ("body", "wants"),
        [
            ({}, False),
            ({"stream_options": None}, False),
            ({"stream_options": {}}, False),
            ({"stream_options": {"include_usage": False}}, False),
            ({"stream_options": [1]}, False),
            (WITH_USAGE, True),
        ],
        ids=str,
    )
    def test_who_asked_for_usage(self, body: dict[str, Any], *, wants: bool) -> None:
        """Only who said so."""
        assert wants == wants_usage(body)
