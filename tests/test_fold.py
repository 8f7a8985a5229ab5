from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from deepseek_sdk._deltas import Normaliser
from deepseek_sdk._fold import Fold, Gathered, unfold
from deepseek_sdk._sse import DONE, encode
from deepseek_sdk._usage import Usage
from deepseek_sdk.testing.scripted import chunk, whole


def folded(*chunks: dict[str, Any]) -> dict[str, Any]:
    """Give the answer that *chunks* add up to."""
    fold = Fold()
    for item in chunks:
        fold.add(item)
    return fold.answer()


def message_of(*chunks: dict[str, Any]) -> dict[str, Any]:
    """Give the message of choice 0."""
    message: dict[str, Any] = folded(*chunks)["choices"][0]["message"]
    return message


def completion(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make a whole answer, one choice for each message."""
    choices = [{"index": n, "message": message, "finish_reason": "stop"} for n, message in enumerate(messages)]
    head = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "deepseek-flash"}
    return {**head, "choices": choices, **more}


def test_an_ordinary_stream_is_a_plain_answer() -> None:
    """Role, text, thought, finish reason and usage stand where a plain answer has them."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    answer = folded(
        chunk(role="assistant", reasoning_content=""),
        chunk(reasoning_content="Hm."),
        chunk("深"),
        chunk("度"),
        chunk(finish="stop", usage=usage),
    )

    assert completion({"role": "assistant", "content": "深度", "reasoning_content": "Hm."}, usage=usage) == answer
    assert "深度" == ChatCompletion.model_validate(answer).choices[0].message.content


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([{}], {"role": "assistant", "content": ""}),
        ([{"content": None}], {"role": "assistant", "content": ""}),
        ([{"content": ""}], {"role": "assistant", "content": ""}),
        ([{"content": None}, {"content": "a"}, {"content": None}], {"role": "assistant", "content": "a"}),
        ([{"content": "a\n"}, {"content": " "}], {"role": "assistant", "content": "a\n "}),
        ([{"content": "\ud83d"}, {"content": "\ude00"}], {"role": "assistant", "content": "\ud83d\ude00"}),
        ([{"reasoning_content": None}], {"role": "assistant", "content": "", "reasoning_content": None}),
        ([{"reasoning_content": None}, {"reasoning_content": "a"}],
         {"role": "assistant", "content": "", "reasoning_content": "a"}),
        ([{"reasoning_content": ""}], {"role": "assistant", "content": "", "reasoning_content": ""}),
        ([{"role": "tool"}], {"role": "tool", "content": ""}),
        ([{"refusal": None}, {"refusal": "no"}], {"role": "assistant", "content": "", "refusal": "no"}),
        ([{"prefix": True}, {"prefix": None}], {"role": "assistant", "content": "", "prefix": True}),
        ([{"future": "a"}, {"future": "b"}], {"role": "assistant", "content": "", "future": "ab"}),
        ([{"future": {"x": 1}}, {"future": {"y": 2}}], {"role": "assistant", "content": "", "future": {"y": 2}}),
        ([{"tool_calls": []}], {"role": "assistant", "content": ""}),
        ([{"tool_calls": None}], {"role": "assistant", "content": ""}),
    ],
)  # fmt: skip
def test_deltas_add_up(deltas: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """Texts are joined exactly, null changes nothing, and of unknown fields the last value stands."""
    assert expected == message_of(*(chunk(**delta) for delta in deltas))


def test_tool_calls_add_up() -> None:
    """Fragments of parallel calls are joined by index, unknown fields included."""
    message = message_of(
        chunk(tool_calls=[{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
        chunk(
            tool_calls=[
                {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{"}, "x": 1}
            ]
        ),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}, {"index": 1, "function": {"arguments": "}"}}]),
        chunk(tool_calls=[{"index": 0, "id": None, "function": None}]),
        chunk(tool_calls=[{"index": 1, "function": {"name": None, "arguments": None}}]),
    )
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    second = {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}, "x": 1}

    assert {"role": "assistant", "content": "", "tool_calls": [first, second]} == message


def test_choices_are_kept_apart() -> None:
    """Interleaved choices come out in the order of their indices."""
    answer = folded(chunk("b", index=1), chunk("a"), chunk("B", index=1, finish="stop"), chunk("A", finish="length"))

    found = [(c["index"], c["message"]["content"], c["finish_reason"]) for c in answer["choices"]]
    assert [(0, "aA", "length"), (1, "bB", "stop")] == found


USAGES: dict[str, list[dict[str, Any]]] = {
    "on the last chunk": [
        chunk("a"),
        chunk(finish="stop", usage={"prompt_tokens": 100, "prompt_cache_hit_tokens": 80}),
    ],
    "on a chunk without choices": [
        {**chunk("a"), "usage": None},
        {**chunk(finish="stop"), "usage": None},
        {"choices": [], "usage": {"prompt_tokens": 100, "prompt_cache_hit_tokens": 80}},
    ],
    "on every chunk": [
        chunk("a", usage={"prompt_tokens": 100, "prompt_cache_hit_tokens": 0}),
        chunk(finish="stop", usage={"prompt_tokens": 100, "prompt_cache_hit_tokens": 80}),
    ],
}


@pytest.mark.parametrize("chunks", USAGES.values(), ids=USAGES)
def test_usage_is_counted_once(chunks: list[dict[str, Any]]) -> None:
    """In each of its three places, usage is what the last block says, never a sum."""
    assert {"prompt_tokens": 100, "prompt_cache_hit_tokens": 80} == folded(*chunks)["usage"]


def test_unknown_fields_are_kept() -> None:
    """What stands beside choices, and in them, comes through; the last value that is not null wins."""
    answer = folded(
        {**chunk("a"), "system_fingerprint": "x", "future": 1, "none": None},
        {**chunk(finish="stop"), "system_fingerprint": None, "future": 2},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": None, "matched_stop": 5}]},
    )

    assert ("x", 2, None) == (answer["system_fingerprint"], answer["future"], answer["none"])
    assert ("stop", 5) == (answer["choices"][0]["finish_reason"], answer["choices"][0]["matched_stop"])


def with_logprobs(logprobs: Any, text: str = "a") -> dict[str, Any]:
    """Make a chunk with logprobs."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": None}]}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([None, None], None),
        ([{"content": [1]}, {"content": [2, 3]}], {"content": [1, 2, 3]}),
        ([{"content": [1]}, None, {"content": [2]}], {"content": [1, 2]}),
        ([{"reasoning_content": [1], "content": None}, {"reasoning_content": None, "content": [2]}],
         {"reasoning_content": [1], "content": [2]}),
        ([{"content": None, "refusal": None}], {"content": None, "refusal": None}),
        ([{"tokens": ["a"], "token_logprobs": [-1], "text_offset": [0], "top_logprobs": [{"a": -1}]},
          {"tokens": ["b"], "token_logprobs": [-2], "text_offset": [1], "top_logprobs": [{"b": -2}]}],
         {"tokens": ["a", "b"], "token_logprobs": [-1, -2], "text_offset": [0, 1],
          "top_logprobs": [{"a": -1}, {"b": -2}]}),
    ],
    ids=["none", "chat", "null between", "thought and answer", "nulls", "completions"],
)  # fmt: skip
def test_logprobs_are_joined(parts: list[Any], expected: Any) -> None:
    """Lists of either kind of logprobs are appended to each other."""
    before = copy.deepcopy(parts)
    answer = folded(*map(with_logprobs, parts))

    assert expected == answer["choices"][0]["logprobs"]
    assert before == parts


def test_an_infill_is_folded() -> None:
    """The pieces of a completion are joined; it has no message."""
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "deepseek-v4-pro"}
    answer = folded(
        {**head, "choices": [{"index": 0, "text": "re", "logprobs": None, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "text": "turn", "logprobs": None, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": "stop"}]},
        {**head, "choices": [], "usage": {"prompt_tokens": 1}},
    )

    choice = {"index": 0, "text": "return", "logprobs": None, "finish_reason": "stop"}
    assert {**head, "choices": [choice], "usage": {"prompt_tokens": 1}} == answer


def test_nothing_folds_to_no_choices() -> None:
    """A stream without chunks is an answer without choices."""
    assert {"choices": []} == folded()
    assert {"choices": []} == folded({"choices": None})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("chat.completion.chunk", "chat.completion"), ("text_completion", "text_completion"), ("new", "new"), ([], [])],
)
def test_the_object_says_what_the_answer_is(name: Any, expected: Any) -> None:
    """A chunk of a chat completion becomes one; any other object keeps its name, whatever it is."""
    assert expected == folded({"object": name, "choices": []})["object"]


def test_chunks_are_not_changed() -> None:
    """Whoever holds a chunk sees no change after it was folded, nor does the answer change with it."""
    chunks = [chunk("a", tool_calls=[{"index": 0, "function": {"arguments": "x"}}]), chunk("b", more={"x": [1]})]
    before = copy.deepcopy(chunks)
    folded(*chunks, *chunks)

    assert before == chunks


class CountedText(str):
    """A text that counts how often something is added to one like it."""

    __slots__ = ()
    additions = 0

    def __add__(self, other: str) -> CountedText:
        type(self).additions += len(self)
        return CountedText(super().__add__(other))

    __iadd__ = __add__


def test_long_answers_are_joined_once() -> None:
    """No text is copied for every piece that is added to it."""
    fold = Fold()
    for _ in range(2000):
        part = {"index": 0, "function": {"arguments": CountedText("y")}}
        fold.add(chunk(CountedText("x"), reasoning_content=CountedText("z"), tool_calls=[part]))
    message = fold.answer()["choices"][0]["message"]

    assert 0 == CountedText.additions
    assert (2000, 2000) == (len(message["content"]), len(message["tool_calls"][0]["function"]["arguments"]))


def test_an_answer_can_be_asked_for_in_between() -> None:
    """What has been folded so far can be looked at, and folding goes on."""
    fold = Fold()
    fold.add(chunk("a"))
    fold.answer()
    fold.add(chunk("b"))

    assert "ab" == fold.answer()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "answer",
    [
        completion({"role": "assistant", "content": "a"}),
        completion({"role": "assistant", "content": "a", "reasoning_content": "b"}, usage={"prompt_tokens": 1}),
        completion({"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}, future={"x": 1}),
        completion({"role": "assistant", "content": "", "reasoning_content": None}),
        {
            "object": "text_completion",
            "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": "length"}],
        },
        {"object": "chat.completion", "choices": []},
    ],
)
def test_unfolding_and_folding_changes_nothing(answer: dict[str, Any]) -> None:
    """An answer taken apart and put together is the same answer."""
    assert answer == folded(*unfold(answer))


def test_tool_calls_are_unfolded_with_indices() -> None:
    """Each tool call of a whole answer gets the index that a stream needs."""
    calls: list[dict[str, Any]] = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b"}]
    first, last = unfold(completion({"role": "assistant", "content": "", "tool_calls": calls}))

    expected = [{"index": 0, **calls[0]}, {"index": 1, **calls[1]}]
    assert expected == first["choices"][0]["delta"]["tool_calls"]
    assert {} == last["choices"][0]["delta"]


def test_unfolded_answers_end_like_streams() -> None:
    """Finish reason and usage come last, and every chunk says that it is one."""
    first, last = unfold(completion({"content": "a"}, usage={"prompt_tokens": 1}))

    assert (None, "stop") == (first["choices"][0]["finish_reason"], last["choices"][0]["finish_reason"])
    assert ("usage" in first, last["usage"]) == (False, {"prompt_tokens": 1})
    assert ["chat.completion.chunk"] * 2 == [first["object"], last["object"]]


texts = st.none() | st.text(max_size=5)
deltas = st.fixed_dictionaries(
    {}, optional={"role": st.just("assistant"), "content": texts, "reasoning_content": texts, "refusal": texts}
)
streams = st.lists(
    st.builds(lambda n, delta: chunk(index=n, **delta), st.integers(0, 2), deltas), min_size=1, max_size=8
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(streams)
def test_any_stream_survives_another_round(chunks: list[dict[str, Any]]) -> None:
    """What any stream folds to, taken apart again, folds to the same."""
    normaliser = Normaliser()
    answer = folded(*map(normaliser.normalise, chunks))

    again = json.loads(json.dumps(answer))
    assert answer == folded(*map(Normaliser().normalise, unfold(again)))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(streams)
def test_any_stream_keeps_every_text(chunks: list[dict[str, Any]]) -> None:
    """The texts of an answer are the texts of its chunks, joined, choice by choice."""
    answer = folded(*chunks)

    for choice in answer["choices"]:
        for name in ("content", "reasoning_content"):
            said = [c["choices"][0]["delta"].get(name) for c in chunks if c["choices"][0]["index"] == choice["index"]]
            assert "".join(text or "" for text in said) == (choice["message"].get(name) or "")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, Usage(hit=0, miss=100, output=7, reasoning=0)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20},
         Usage(hit=80, miss=20, output=0, reasoning=0)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}},
         Usage(hit=80, miss=20, output=0, reasoning=0)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20,
          "prompt_tokens_details": {"cached_tokens": 80}}, Usage(hit=80, miss=20, output=0, reasoning=0)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 0, "prompt_tokens_details": {"cached_tokens": 80}},
         Usage(hit=0, miss=100, output=0, reasoning=0)),
        ({"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}},
         Usage(hit=0, miss=1, output=9, reasoning=5)),
        ({"prompt_tokens": 1, "prompt_tokens_details": None, "completion_tokens_details": None},
         Usage(hit=0, miss=1, output=0, reasoning=0)),
        ({"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": None}},
         Usage(hit=0, miss=1, output=0, reasoning=0)),
        ({"prompt_tokens": None, "completion_tokens": None}, Usage(hit=0, miss=0, output=0, reasoning=0)),
        ({}, Usage(hit=0, miss=0, output=0, reasoning=0)),
    ],
    ids=["plain", "deepseek", "openai", "both", "disagreeing", "reasoning", "nulls", "null inside", "all null", "none"],
)  # fmt: skip
def test_usage_of_any_shape_is_read(block: dict[str, Any], expected: Usage) -> None:
    """Cache hits are read from either place and counted once; hits and misses make the prompt."""
    assert expected == Usage.parse(block)
    assert Usage.parse(block).prompt == (block.get("prompt_tokens") or 0)


def test_gathered_events_make_a_body() -> None:
    """Chunks become the JSON body of a plain answer; `[DONE]` is no chunk."""
    gathered = Gathered()
    for event in (encode(chunk("a")), encode(chunk(finish="stop")), DONE):
        gathered.take(event)

    assert completion({"role": "assistant", "content": "a"}) == json.loads(gathered.content())


def test_a_whole_answer_is_its_own_body() -> None:
    """An answer that came whole is handed on byte for byte."""
    event = whole(completion({"content": "a"}))
    gathered = Gathered()
    gathered.take(event)

    assert event.data is gathered.content()
