"""The boundaries of chunks: what is joined again is what was cut, to the byte."""

from __future__ import annotations

import json
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.entry import BadRecordError
from deepseek_sdk.caching.pieces import cut, join
from deepseek_sdk.testing.scripted import chunk
from tests.caching.chunk_streams import CHUNK_STREAMS, USAGE, folded

if TYPE_CHECKING:
    from collections.abc import Sequence

_NESTED = st.lists(st.sampled_from(["[", "]", "0", "-1", "{}", ",", "null", '"a"'])).map("".join).map(str.encode)
HEAD = {"id": "abc", "object": "chat.completion.chunk", "created": 1, "model": "deepseek-flash"}


def said(finish: str | None = None, *, index: int = 0, usage: Any = None, **delta: Any) -> dict[str, Any]:
    """Give a chunk as DeepSeek sends it."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**HEAD, "choices": [choice], "usage": usage}


def rejoined(chunks: Sequence[dict[str, Any]], answer: bytes | None = None) -> list[dict[str, Any]]:
    """Cut and join."""
    answer = folded(chunks) if answer is None else answer
    return list(join(cut(chunks, answer), answer))


def written(chunks: Sequence[dict[str, Any]]) -> list[str]:
    """Give chunks as text, where the order of fields and the kinds of numbers show."""
    return [json.dumps(item) for item in chunks]


LONG = [
    said(role="assistant", content=None, reasoning_content=""),
    *(said(content=None, reasoning_content=word) for word in ["用户", "问", "的是", "花呗", "。"] * 40),
    *(said(content=word, reasoning_content=None) for word in ["花呗", " can", " be", "\n", "还款", "😀"] * 40),
    said("stop", content="", reasoning_content=None, usage=USAGE),
]
ANSWER = folded(LONG)


@settings(max_examples=100)
@given(chunks=CHUNK_STREAMS)
def test_joining_is_exact(chunks: list[dict[str, Any]]) -> None:
    """Whatever a server streams comes back as it was, to the order of fields, and folds to the same answer."""
    answer = folded(chunks)
    found = rejoined(chunks)

    assert written(chunks) == written(found)
    assert answer == folded(found)


@settings(max_examples=30)
@given(chunks=CHUNK_STREAMS, other=CHUNK_STREAMS)
def test_another_answer_makes_no_difference(chunks: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    """An answer that was mended, so that the texts are not in it, costs room and nothing else."""
    assert written(chunks) == written(rejoined(chunks, folded(other)))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"null",
        b"{}",
        b'{"choices": [5]}',
        b'{"choices": {}}',
        b'{"choices": [{"index": 0, "message": {"content": 5, "reasoning_content": null}}]}',
        b"[",
    ],
    ids=str,
)
def test_an_answer_that_is_none_makes_no_difference(answer: bytes) -> None:
    """Nor do bytes that are no answer."""
    assert written(LONG) == written(rejoined(LONG, answer))


def test_pieces_are_small() -> None:
    """What stands around the texts is kept once: a stream of a thousand chunks takes a few bytes for each."""
    chunks = [LONG[0], *(LONG[1:-1] * 3), LONG[-1]]
    answer = folded(chunks)

    assert 4 * len(chunks) > len(cut(chunks, answer))
    assert chunks == rejoined(chunks)


def test_tool_calls_and_choices_are_cut_out_of_the_answer() -> None:
    """Arguments of several calls and texts of several choices, in any order, stand in the answer only."""
    start = {"id": "call_0", "type": "function", "function": {"name": "search", "arguments": ""}}
    calls = [
        said(role="assistant", content="", tool_calls=[{"index": 0, **start}]),
        *(said(tool_calls=[{"index": 0, "function": {"arguments": text}}]) for text in ['{"q', '": "', "天气", '"}']),
        said(tool_calls=[{"index": 1, **start}]),
        *(said(tool_calls=[{"index": 1, "function": {"arguments": text}}]) for text in ['{"q', '": "', "机票", '"}']),
        said(index=1, content="secret"),
        said(index=2, content="hidden"),
        said(index=1, content=" word"),
    ]
    pieces = cut(calls, folded(calls)).decode()

    assert calls == rejoined(calls)
    assert [] == [text for text in ("天气", "\\u5929", "u673a", "secret", "hidden", "word") if text in pieces]


def test_log_probabilities_are_cut_out_of_the_answer() -> None:
    """They are the longest part of an answer that has them."""
    tokens = [{"token": f"t{n}", "logprob": -n / 7, "bytes": [n], "top_logprobs": []} for n in range(60)]
    chunks = [said(role="assistant", content="")]
    for token in tokens:
        item = said(content=token["token"])
        item["choices"][0]["logprobs"] = {"content": [token], "reasoning_content": None}
        chunks.append(item)
    answer = folded(chunks)

    assert written(chunks) == written(rejoined(chunks))
    assert 5 * len(cut(chunks, answer)) < len(answer)


def test_halves_of_a_character_stay_apart() -> None:
    """A server may escape an emoji and split it over two events; the answer holds it as one character."""
    chunks = [said(content="a\ud83d"), said(content="\ude00b"), said(content="你"), said(content="\ud83d")]
    answer = folded(chunks)

    assert "a😀b你\ud83d" == json.loads(answer)["choices"][0]["message"]["content"]
    assert ["a\ud83d", "\ude00b", "你", "\ud83d"] == [c["choices"][0]["delta"]["content"] for c in rejoined(chunks)]
    assert b"ude00" not in cut(chunks, answer)


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0.0, -0.0), (None, "")], ids=str)
def test_values_that_compare_equal_are_told_apart(one: object, other: object) -> None:
    """Chunks that Python takes for equal are not taken for one another."""
    chunks = [{**said(content="a"), "x": one}, {**said(content="b"), "x": other}, {**said(content="c"), "x": one}]

    assert written(chunks) == written(rejoined(chunks))


@pytest.mark.parametrize(("one", "other"), [(0, 0.0), (1, True), ({"b": 1, "a": 2}, {"a": 2, "b": 1})], ids=str)
def test_what_the_answer_writes_otherwise_is_kept_as_it_was(one: object, other: object) -> None:
    """Values that Python takes for equal are not cut out of an answer that has the others."""
    chunks = [said(content="a"), said(content="b")]
    for item in chunks:
        item["choices"][0]["logprobs"] = {"content": [one]}
    whole = json.loads(folded(chunks))
    whole["choices"][0]["logprobs"] = {"content": [other, other]}

    assert written(chunks) == written(rejoined(chunks, json.dumps(whole).encode()))


def test_a_list_is_not_cut_out_of_a_text() -> None:
    """Nor is a text cut out of a list."""
    chunks = [said(content="a", note="😀")]
    chunks[0]["choices"][0]["logprobs"] = {"content": ["😀"]}
    whole = json.loads(folded(chunks))
    whole["choices"][0]["logprobs"] = {"content": "😀"}
    whole["choices"][0]["message"]["note"] = ["😀"]

    assert written(chunks) == written(rejoined(chunks, json.dumps(whole).encode()))


def test_the_order_of_fields_is_kept() -> None:
    """Chunks with the same fields in another order come back in that order."""
    one = said(content="a")
    chunks = [one, dict(reversed(one.items())), said(content="b", reasoning_content=None), one]

    assert written(chunks) == written(rejoined(chunks))


def test_a_text_that_looks_like_a_mark_is_a_text() -> None:
    """Nothing that a model says is taken for something else."""
    chunks = [{**said(content=text), "x": "\0"} for text in ("\0", "\\u0000", '"\0"', "\0\0", "", "\0")]

    assert written(chunks) == written(rejoined(chunks))


def test_each_chunk_is_the_callers_own() -> None:
    """What a caller does to a chunk changes neither the next one nor what is joined later."""
    answer = folded(LONG)
    pieces = cut(LONG, answer)
    seen = []
    for item in join(pieces, answer):
        seen.append(json.dumps(item))
        item["choices"][0]["delta"].clear()
        item["choices"].append(None)

    assert written(LONG) == seen == written(list(join(pieces, answer)))


def test_lists_of_an_answer_are_not_shared() -> None:
    """Also the parts that are cut out of lists belong to one chunk alone."""
    item = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}, "finish_reason": None}
    chunks: list[dict[str, Any]] = [{"choices": [item]}, {"choices": [item]}]
    found = rejoined(chunks)
    found[0]["choices"][0]["logprobs"]["content"][0]["token"] = "changed"

    assert chunks[1] == found[1]


def test_joining_is_lazy() -> None:
    """The first chunk costs no more than itself: what comes after it may even be broken."""
    answer = folded([chunk("ab")])
    [text] = [cut([chunk("a"), chunk("b")], answer)]
    broken = json.dumps([*json.loads(text)[:2], [*json.loads(text)[2], [99, 1]]]).encode()
    chunks = join(broken, answer)

    assert [chunk("a"), chunk("b")] == [next(chunks), next(chunks)]
    with pytest.raises(BadRecordError):
        next(chunks)


def test_no_chunks_are_no_chunks() -> None:
    """An empty stream is joined to an empty one, and any mapping may be a chunk."""
    assert [] == rejoined([])
    assert [chunk("a")] == rejoined([MappingProxyType(chunk("a"))], folded([chunk("a")]))  # type: ignore[list-item]


@pytest.mark.parametrize("wrong", [{"a": {1, 2}}, {"a": object()}, {"a": b"x"}, {(1,): 2}], ids=str)
def test_chunks_that_are_no_key_are_refused(wrong: Any) -> None:
    """They could not be kept."""
    with pytest.raises(ValueError, match="no JSON"):
        cut([wrong], b"{}")


@given(data=st.binary(max_size=60) | _NESTED)
def test_other_bytes_do_not_fit(data: bytes) -> None:
    """Bytes that are no pieces raise the one error, or make no chunks."""
    try:
        found = list(join(data, ANSWER))
    except BadRecordError:
        found = []

    assert [] == found


def test_pieces_fit_their_answer_only() -> None:
    """With an answer that has other texts, what comes is not taken for more than that answer says."""
    pieces = cut(LONG, folded(LONG))
    other = folded([chunk("no"), chunk(finish="stop")])

    with pytest.raises(BadRecordError):
        list(join(pieces, other))


def test_odd_chunks_cost_only_themselves() -> None:
    """A chunk that is unlike all others is kept as it is, and those around it are not."""
    odd: list[dict[str, Any]] = [{"choices": None}, {"choices": [None, 5]}, {"choices": [{"index": "x", "delta": []}]}]
    odd += [{"choices": [{"delta": {"tool_calls": [7, {"function": 8}, {"function": {"arguments": "a"}}]}}]}, {}]
    chunks = [item for pair in zip(odd, LONG[1:], strict=False) for item in pair]
    answer = folded(LONG[1 : 1 + len(odd)])

    assert written(chunks) == written(rejoined(chunks, answer))
    assert all(one != other for one, other in pairwise(chunks))
