from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib.streaming._deltas import accumulate_delta

from deepseek_sdk._deltas import Normaliser
from deepseek_sdk.testing.scripted import chunk


def normalised(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    """Give *chunks* as they leave a normaliser."""
    normaliser = Normaliser()
    return [normaliser.normalise(item) for item in chunks]


def accumulated(*deltas: dict[str, Any]) -> dict[object, object]:
    """Normalise deltas of choice 0 and add them up with openai's own accumulator."""
    total: dict[object, object] = {}
    for item in normalised(*(chunk(**delta) for delta in deltas)):
        total = accumulate_delta(total, copy.deepcopy(item["choices"][0]["delta"]))
    return total


def fragment(
    index: Any = 0, call_id: str | None = None, name: str | None = None, arguments: str = ""
) -> dict[str, Any]:
    """Make a fragment of a tool call; ... leaves the index out."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    place = {} if index is ... else {"index": index}
    named = {} if call_id is None else {"id": call_id, "type": "function"}
    return {**place, **named, "function": function}


def called(*calls: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Give the tool calls that should come out: id, name and arguments of each."""
    return [
        {"index": n, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (call_id, name, arguments) in enumerate(calls)
    ]


CALLS = {
    "as it should be": (
        [[fragment(0, "a", "f")], [fragment(0, arguments='{"x"')], [fragment(0, arguments=":1}")]],
        [("a", "f", '{"x":1}')],
    ),
    "all at once": ([[fragment(0, "a", "f", "{}"), fragment(1, "b", "g", "{}")]], [("a", "f", "{}"), ("b", "g", "{}")]),
    "id repeated": ([[fragment(0, "a", "f", "1")], [fragment(0, "a", None, "2")]], [("a", "f", "12")]),
    "name repeated": ([[fragment(0, "a", "f", "1")], [fragment(0, None, "f", "2")]], [("a", "f", "12")]),
    "id and name repeated": ([[fragment(0, "a", "f", "1")]] * 3, [("a", "f", "111")]),
    "name in two pieces": ([[fragment(0, "a", "get_")], [fragment(0, None, "it", "{}")]], [("a", "get_it", "{}")]),
    "id after the name": ([[fragment(0, None, "f")], [fragment(0, "a", None, "{}")]], [("a", "f", "{}")]),
    "no index": ([[fragment(..., "a", "f")], [fragment(..., None, None, "{}")]], [("a", "f", "{}")]),
    "null index": ([[fragment(None, "a", "f")], [fragment(None, None, None, "{}")]], [("a", "f", "{}")]),
    "no index, id repeated": ([[fragment(..., "a", "f", "1")], [fragment(..., "a", "f", "2")]], [("a", "f", "12")]),
    "no index, one after the other": (
        [[fragment(..., "a", "f", "1")], [fragment(..., "b", "f", "2")], [fragment(..., None, None, "3")]],
        [("a", "f", "1"), ("b", "f", "23")],
    ),
    "no index, interleaved": (
        [[fragment(..., "a", "f", "1")], [fragment(..., "b", "g", "2")], [fragment(..., "a", None, "3")]],
        [("a", "f", "13"), ("b", "g", "2")],
    ),
    "parallel": (
        [[fragment(0, "a", "f")], [fragment(0, arguments="1")], [fragment(1, "b", "f")], [fragment(1, arguments="2")]],
        [("a", "f", "1"), ("b", "f", "2")],
    ),
    "parallel, interleaved": (
        [[fragment(0, "a", "f"), fragment(1, "b", "g")], [fragment(1, arguments="2")], [fragment(0, arguments="1")]],
        [("a", "f", "1"), ("b", "g", "2")],
    ),
    "parallel, all repeated": (
        [[fragment(0, "a", "f", "1")], [fragment(1, "b", "f", "2")]] * 2,
        [("a", "f", "11"), ("b", "f", "22")],
    ),
    "empty id and name later": (
        [[fragment(0, "a", "f")], [{"index": 0, "id": "", "function": {"name": "", "arguments": "1"}}]],
        [("a", "f", "1")],
    ),
    "null id and name later": (
        [[fragment(0, "a", "f")], [{"index": 0, "id": None, "function": {"name": None, "arguments": "1"}}]],
        [("a", "f", "1")],
    ),
    "null function": ([[fragment(0, "a", "f", "1")], [{"index": 0, "function": None}]], [("a", "f", "1")]),
}


@pytest.mark.parametrize(("deltas", "expected"), CALLS.values(), ids=CALLS)
def test_tool_calls_add_up(deltas: list[list[dict[str, Any]]], expected: list[tuple[str, str, str]]) -> None:
    """Whatever a server repeats or leaves out, openai's accumulator makes the right tool calls of it."""
    total = accumulated(*({"tool_calls": calls} for calls in deltas))

    assert called(*expected) == total["tool_calls"]


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([fragment(1, "b", "g", "1"), fragment(0, "a", "f", "2"), fragment(1, arguments="3")], {"b": "13", "a": "2"}),
        ([fragment(1, "a", "f", "1"), fragment(1, arguments="2")], {"a": "12"}),
        ([fragment(5, "a", "f", "1"), fragment(5, arguments="2"), fragment(7, "b", "f", "3")], {"a": "12", "b": "3"}),
    ],
    ids=["the second first", "counted from one", "gaps"],
)
def test_tool_calls_out_of_order_lose_nothing(fragments: list[dict[str, Any]], expected: dict[str, str]) -> None:
    """Calls whose indices do not begin at 0, or not in order, are kept apart, each with all of its arguments."""
    total: Any = accumulated(*({"tool_calls": [item]} for item in fragments))

    assert expected == {call.get("id"): call["function"]["arguments"] for call in total["tool_calls"]}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([{"role": "assistant"}, {"content": "a"}], {"role": "assistant", "content": "a"}),
        ([{"role": "assistant", "content": "a"}] * 3, {"role": "assistant", "content": "aaa"}),
        ([{"role": None, "content": "a"}, {"role": "assistant", "content": "b"}],
         {"role": "assistant", "content": "ab"}),
        ([{"role": "assistant"}, {"role": "", "content": "b"}], {"role": "assistant", "content": "b"}),
        ([{"role": "assistant", "tool_calls": []}, {"role": "assistant", "content": "b"}],
         {"role": "assistant", "tool_calls": [], "content": "b"}),
    ],
    ids=["once", "repeated", "null first", "empty later", "with empty tool calls"],
)  # fmt: skip
def test_roles_add_up(deltas: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """A role that is repeated is one role, and the text is whole."""
    assert expected == accumulated(*deltas)


def test_choices_have_roles_of_their_own() -> None:
    """The first role of every choice is handed on."""
    found = normalised(
        chunk("a", role="assistant"), chunk("b", index=1, role="assistant"), chunk("c", role="assistant")
    )

    assert [True, True, False] == ["role" in item["choices"][0]["delta"] for item in found]


def test_choices_have_tool_calls_of_their_own() -> None:
    """The same id in two choices is no repetition."""
    found = normalised(*(chunk(index=n, tool_calls=[fragment(0, "a", "f")]) for n in (0, 1)))

    assert ["a", "a"] == [item["choices"][0]["delta"]["tool_calls"][0]["id"] for item in found]


@pytest.mark.parametrize(
    "item",
    [
        chunk("a"),
        chunk("a", role="assistant"),
        chunk(tool_calls=[fragment(0, "a", "f")]),
        chunk(tool_calls=[]),
        chunk(finish="stop"),
        {"object": "chat.completion.chunk", "choices": []},
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": None}]},
        {"object": "text_completion", "choices": [{"index": 0, "text": "a"}]},
        {"object": "text_completion", "choices": [], "usage": {"prompt_tokens": 1}},
    ],
)
def test_what_is_right_is_left_alone(item: dict[str, Any]) -> None:
    """A chunk without repetitions is the very same object."""
    assert item is normalised(item)[0]


def test_nothing_is_changed_in_place() -> None:
    """A chunk that is rewritten is copied: whoever holds it sees no change."""
    item = chunk(role="assistant", tool_calls=[fragment(..., "a", "f", "1")])
    before = copy.deepcopy(item)
    normalised(item, item)

    assert before == item


@pytest.mark.parametrize("index", [-1, 10**9, "0", 1.5, True, [], {}])
def test_an_impossible_index_is_refused(index: object) -> None:
    """An index that no list has, or that would need a list of any size, is a TypeError."""
    with pytest.raises(TypeError, match="no index"):
        normalised(chunk(tool_calls=[fragment(index, "a", "f")]))


plain = st.builds(
    lambda n, name, pieces: (f"call_{n}", name, pieces),
    st.integers(0, 999),
    st.sampled_from(["f", "g", "get_weather"]),
    st.lists(st.text('abc{}:"1', max_size=4), max_size=4),
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(plain, min_size=1, max_size=4, unique_by=lambda call: call[0]), st.data())
def test_any_way_of_sending_calls_adds_up(calls: list[tuple[str, str, list[str]]], data: st.DataObject) -> None:
    """However often id, name and role are repeated, and whether or not there is an index, the calls come out whole."""
    has_index = data.draw(st.booleans())
    deltas: list[dict[str, Any]] = []
    for n, (call_id, name, pieces) in enumerate(calls):
        for position, piece in enumerate(["", *pieces]):
            repeats = position == 0 or data.draw(st.booleans())
            part = fragment(n if has_index else ..., call_id if repeats else None, name if repeats else None, piece)
            deltas.append({"tool_calls": [part], **data.draw(st.sampled_from([{}, {"role": "assistant"}]))})

    assert (
        called(*((call_id, name, "".join(pieces)) for call_id, name, pieces in calls))
        == accumulated(*deltas)["tool_calls"]
    )
