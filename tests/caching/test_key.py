"""Keys: whatever differs between two requests gives two keys, but for how the answer travels."""

from __future__ import annotations

import copy
import json
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.key import TRANSPORT, UncacheableError, check_context, exact_key, last_text, partition_key
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

CHAT = "/chat/completions"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "天气",
        "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "enum": ["北京", "上海"]}}},
    },
}
CALL: dict[str, Any] = {
    "id": "call_00_a",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "北京"}'},
}
# Every field of the chat completions of DeepSeek's reference and of openai's types, and what servers take besides.
RICH: dict[str, Any] = {
    "model": "deepseek-flash",
    "messages": [
        {"role": "system", "content": "You are terse.", "name": "boss"},
        {"role": "developer", "content": "Answer in Chinese."},
        {"role": "user", "content": "北京天气?", "name": "wang"},
        {"role": "assistant", "content": None, "reasoning_content": "先查。", "tool_calls": [CALL], "refusal": None},
        {"role": "tool", "tool_call_id": "call_00_a", "content": "晴"},
        {"role": "assistant", "content": "晴天。", "prefix": False, "audio": {"id": "audio_1"}, "annotations": []},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "上海呢?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "text", "text": "Quick!", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
    "audio": {"format": "mp3", "voice": "alloy"},
    "chat_template_kwargs": {"enable_thinking": True},
    "frequency_penalty": 0.5,
    "function_call": "none",
    "functions": [{"name": "f", "parameters": {}}],
    "guided_json": {"type": "object"},
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "max_completion_tokens": 4096,
    "max_tokens": 2048,
    "metadata": {"topic": "weather"},
    "min_p": 0.05,
    "modalities": ["text"],
    "moderation": {"model": "omni"},
    "n": 1,
    "parallel_tool_calls": True,
    "prediction": {"type": "content", "content": "晴"},
    "presence_penalty": 0.25,
    "prompt_cache_key": "key",
    "prompt_cache_retention": "24h",
    "reasoning_effort": "high",
    "repetition_penalty": 1.1,
    "response_format": {"type": "json_schema", "json_schema": {"name": "w", "strict": True, "schema": {"a": [1, 2]}}},
    "safety_identifier": "user",
    "seed": 42,
    "service_tier": "auto",
    "stop": ["\n", "。"],
    "store": False,
    "temperature": 0.7,
    "thinking": {"type": "enabled"},
    "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
    "tools": [TOOL, {**TOOL, "function": {**TOOL["function"], "name": "other"}}],
    "top_k": 40,
    "top_logprobs": 3,
    "top_p": 0.9,
    "user": "user-1",
    "user_id": "user_2",
    "verbosity": "low",
    "web_search_options": {"search_context_size": "low"},
}
FIM: dict[str, Any] = {
    "model": "deepseek-v4-pro",
    "prompt": "def fib(a):",
    "suffix": "    return fib(a-1)",
    "best_of": 1,
    "echo": False,
    "frequency_penalty": 0,
    "logit_bias": None,
    "logprobs": 2,
    "max_tokens": 128,
    "n": 1,
    "presence_penalty": 0,
    "seed": 1,
    "stop": "\n\n",
    "temperature": 1,
    "top_p": 1.0,
    "user": "u",
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def key(body: Any, path: str = CHAT, **changes: Any) -> str:
    """Give the exact key of a request."""
    return exact_key(path, body, **{"tenant": "acme", **changes})


def partition(body: Any, path: str = CHAT, **changes: Any) -> str:
    """Give the partition of a request."""
    return partition_key(path, body, **{"tenant": "acme", **changes})


def asked(text: Any, *earlier: str, system: str = "Be terse.", **fields: Any) -> dict[str, Any]:
    """Give a body with turns of a conversation in front of what is asked."""
    turns = [{"role": ("user", "assistant")[n % 2], "content": said} for n, said in enumerate(earlier)]
    return {"messages": [{"role": "system", "content": system}, *turns, {"role": "user", "content": text}], **fields}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk all that stands in a JSON value, itself left out."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield (*path, name)
        yield from places(child, (*path, name))


def changed(body: dict[str, Any], path: tuple[Any, ...], change: Any) -> dict[str, Any]:
    """Give a copy with another value at one place; *change* gets what holds the place, and its name."""
    other = copy.deepcopy(body)
    holder: Any = other
    for name in path[:-1]:
        holder = holder[name]
    change(holder, path[-1])
    return other


def different(holder: Any, name: Any) -> None:
    """Put another value of a like kind somewhere."""
    value = holder[name]
    if isinstance(value, bool):
        holder[name] = not value
    elif isinstance(value, int | float):
        holder[name] = value + 1
    elif isinstance(value, str):
        holder[name] = value + " "
    elif isinstance(value, list):
        holder[name] = [*value, None]
    elif isinstance(value, dict):
        holder[name] = {**value, "extra": None}
    else:
        holder[name] = "not null"


def removed(holder: Any, name: Any) -> None:
    """Take something out."""
    del holder[name]


def emptied(holder: Any, name: Any) -> None:
    """Put null somewhere, or something else where there is null."""
    holder[name] = "" if holder[name] is None else None


PLACES = [*((RICH, CHAT, path) for path in places(RICH)), *((FIM, "/completions", path) for path in places(FIM))]
SOFT = (("messages", 6, "content", 0, "text"), ("messages", 6, "content", 4, "text"))


class TestExact:
    """Keys of the exact tier."""

    def test_the_bodies_are_rich(self) -> None:
        """What is changed below is more than forty fields, and all that stands inside of them."""
        assert 40 <= len(RICH)
        assert 150 <= len(PLACES)

    @pytest.mark.parametrize("change", [different, removed, emptied])
    def test_each_field_changed_alone_makes_another_key(self, change: Any) -> None:
        """No two of all requests that differ from one another in one place have one key."""
        told: dict[str, str] = {}
        for body, path, place in PLACES:
            told.setdefault(json.dumps([path, changed(body, place, change)], sort_keys=True), path)
        keys = {key(*reversed(json.loads(text))) for text in told}

        assert len(told) == len(keys)
        assert not keys & {key(RICH), key(FIM, "/completions")}

    @pytest.mark.parametrize("name", sorted(TRANSPORT))
    @pytest.mark.parametrize("value", [None, True, False, {"include_usage": True}, {}])
    def test_how_an_answer_travels_makes_no_difference(self, name: str, value: object) -> None:
        """A stream and a plain answer are one answer; but a field of that name elsewhere is no such field."""
        inner = {**RICH, "metadata": {**RICH["metadata"], name: value}}

        assert key(RICH) == key({**RICH, name: value})
        assert partition(RICH) == partition({**RICH, name: value})
        assert 2 == len({key(RICH), key(inner)}) == len({partition(RICH), partition(inner)})

    @pytest.mark.parametrize(
        "values",
        [
            (1, 1.0, True, "1", [1]),
            (0, 0.0, False, "", None, [], {}, "0", -0.0),
            ("null", None, "None"),
            ("é", "e\u0301"),
            ("花呗", "花唄", "花呗 ", "花呗\u200b"),
            (0.1, 0.1 + 1e-17 + 1e-16, "0.1"),
            ([1, 2], [2, 1], [[1, 2]], [1, [2]], "[1,2]", [1, 2, None]),
            ({"a": None}, {}, {"a": {}}, {"": None}),
            (10**30, 1e30, float(10**30 + 2**70)),
            ("\ud83d", "\ud83d\ud83d", "\\ud83d", "?"),
        ],
        ids=str,
    )
    def test_values_that_are_alike_are_told_apart(self, values: tuple[Any, ...]) -> None:
        """As JSON tells them apart: nothing is converted or normalised. What is missing is yet another thing."""
        bodies = [{"x": value} for value in values] + [{}]
        told = len({json.dumps(body) for body in bodies})

        assert told == len(bodies)
        assert told == len({key(body) for body in bodies}) == len({partition(body) for body in bodies})

    def test_the_order_of_fields_makes_no_difference(self) -> None:
        """At any depth; and a tuple is sent as the list that it is."""
        turned = {"b": {"d": (1, 2), "c": 1}, "a": 1}

        assert key({"a": 1, "b": {"c": 1, "d": [1, 2]}}) == key(turned)
        assert partition({"a": 1, "b": {"c": 1, "d": [1, 2]}}) == partition(turned)
        assert key(RICH) == key(dict(reversed(RICH.items()))) == key(MappingProxyType(RICH))

    @given(one=VALUES, other=VALUES)
    def test_keys_are_equal_where_the_json_is(self, one: Any, other: Any) -> None:
        """Two bodies have one key if and only if they are written alike with their fields sorted."""
        texts = [json.dumps({"x": value}, sort_keys=True) for value in (one, other)]

        assert (texts[0] == texts[1]) == (key({"x": one}) == key({"x": other}))
        assert key({"x": one}) == key(json.loads(texts[0]))

    def test_what_is_around_the_body_counts(self) -> None:
        """Path, tenant and query each make another key, and none can pass for another."""
        keys = {
            key({}),
            key({}, "/completions"),
            key({}, ""),
            key({}, tenant=""),
            key({}, tenant="acm", path=CHAT),
            key({}, CHAT + "acme", tenant=""),
            key({}, params={"a": "1"}),
            key({}, params={"a": 1}),
            key({"a": "1"}),
            key({}, tenant='acme",{}'),
        }

        assert 10 == len(keys)
        assert key({}) == key({}, params={}) == key({}, params=None)
        assert partition({}) not in keys

    def test_keys_stay_the_same(self) -> None:
        """The keys of what is on disk do not change with the version of Python or the order of anything."""
        assert "880b258e712abcb4ef8763678aa89f93288d1e66e7b515ff8ffe2d7f42782bae" == key(RICH)
        assert "fd6521cc134c7cb8b30e4d7ccff7d3a76fb02bf080cb03960adbd4b5edba5873" == partition(RICH)

    @pytest.mark.parametrize(
        "value",
        [math.nan, math.inf, -math.inf, object(), b"x", {1, 2}, 10**5000, {(1,): 2}, {"a": 1, 2: 3}, ...],
        ids=lambda value: str(value)[:20] if isinstance(value, float | tuple) else type(value).__name__,
    )
    def test_what_is_no_key_has_no_key(self, value: object) -> None:
        """The one error says so, and nothing of what was asked."""
        for make in (key, partition):
            with pytest.raises(UncacheableError, match=r"^the request is no JSON: \w+$"):
                make({"secret": [value]})

    def test_what_has_no_end_has_no_key(self) -> None:
        """Nor has a body that is in itself, or nested too deeply."""
        endless: list[Any] = []
        endless.append(endless)
        deep: list[Any] = []
        for _ in range(200_000):
            deep = [deep]

        for value in (endless, deep):
            with pytest.raises(UncacheableError):
                key({"x": value})
        while deep:
            # Taken apart by hand: Python frees it all at once otherwise.
            deep = deep.pop()


class TestPartition:
    """Keys of what may be compared by meaning."""

    @pytest.mark.parametrize("change", [different, removed, emptied])
    def test_everything_but_the_last_text_counts(self, change: Any) -> None:
        """Each field changed alone makes another partition; the text of the last user message does not."""
        found = {}
        for body, path, place in PLACES:
            if place not in (*SOFT, ("prompt",)):
                other = changed(body, place, change)
                found[json.dumps([path, other], sort_keys=True)] = partition(other, path)
        differing = [
            value for value in found.values() if value not in (partition(RICH), partition(FIM, "/completions"))
        ]

        assert len(found) == len(differing) == len(set(differing))

    @given(text=st.text(max_size=20), other=st.text(max_size=20))
    def test_the_last_text_does_not_count(self, text: str, other: str) -> None:
        """Whatever the user says last: as a text, in parts, or as a prompt to complete."""
        parts = [[{"type": "text", "text": said}, {"type": "image_url", "url": "u"}] for said in (text, other)]

        assert partition(asked(text)) == partition(asked(other))
        assert partition(asked(parts[0])) == partition(asked(parts[1]))
        assert partition({"prompt": text}, "/completions") == partition({"prompt": other}, "/completions")
        assert 3 == len({partition(asked(text)), partition(asked(parts[0])), partition({"prompt": text})})

    @pytest.mark.parametrize("place", SOFT)
    def test_parts_that_are_text_do_not_count(self, place: tuple[Any, ...]) -> None:
        """Images and files beside them do (see above)."""
        assert partition(RICH) == partition(changed(RICH, place, different))
        assert key(RICH) != key(changed(RICH, place, different))

    @pytest.mark.parametrize(
        "content", [None, 5, [], ["text"], [{"type": "text"}], [{"type": "text", "text": 5}], {"type": "text"}], ids=str
    )
    def test_what_is_no_text_counts(self, content: object) -> None:
        """A content of another shape is not left out, and is not taken for an empty text."""
        assert "" == last_text(asked(content))
        assert partition(asked(content)) not in {partition(asked("")), partition(asked("x")), partition(asked([1]))}

    @pytest.mark.parametrize("role", ["tool", "assistant", "system", "function", None, "User"])
    def test_a_last_message_of_another_role_counts(self, role: object) -> None:
        """Then all of the conversation has to be the same."""
        one, other = ({"messages": [{"role": role, "content": text}]} for text in ("a", "b"))

        assert partition(one) != partition(other)
        assert "" == last_text(one)

    def test_what_is_asked_with_counts(self) -> None:
        """Tenant, query, schema and path are in the partition."""
        body = asked("hi")
        others: list[dict[str, Any]] = [{"tenant": "b"}, {"params": {"v": "2"}}, {"schema": 2}]
        others += [
            {"path": "/completions"},
            {"context": "system_only"},
            {"context": "window:1"},
            {"context": "window:2"},
            {},
        ]

        assert len(others) == len({partition(body, **other) for other in others})

    def test_the_body_is_left_alone(self) -> None:
        """Nothing of the request is changed, or kept."""
        before = copy.deepcopy(RICH)
        for context in ("full", "system_only", "window:1"):
            partition(RICH, context=context)

        assert before == RICH


class TestContext:
    """How much of a conversation counts."""

    def test_all_of_it_counts_by_default(self) -> None:
        """A question is another one after another conversation."""
        assert 3 == len({partition(asked("x", *turns)) for turns in ((), ("a", "b"), ("a", "c"))})

    def test_instructions_only(self) -> None:
        """With "system_only" earlier turns do not count, and everything else does."""
        one = partition(asked("x", "a", "b"), context="system_only")

        assert one == partition(asked("y", "c"), context="system_only")
        assert one == partition(asked("y"), context="system_only")
        assert one != partition(asked("x", "a", "b", system="Be nice."), context="system_only")
        assert one != partition(asked("x", "a", "b", temperature=1), context="system_only")

    def test_instructions_anywhere_count(self) -> None:
        """Also those in the middle of a conversation, in their order."""
        late = {"role": "developer", "content": "Shout."}
        turn = {"role": "user", "content": "a"}
        ask = {"role": "user", "content": "b"}
        told = [[turn, late, ask], [late, turn, ask], [late, ask], [turn, ask], [late, late, ask]]
        found = [partition({"messages": messages}, context="system_only") for messages in told]

        assert found[0] == found[1] == found[2]
        assert 3 == len(set(found))

    def test_the_last_messages(self) -> None:
        """With "window:2" two messages before the last one count, and none before these."""
        one = partition(asked("x", "a", "b", "c", "d"), context="window:2")

        assert one == partition(asked("y", "A", "B", "c", "d"), context="window:2")
        assert one == partition(asked("y", "c", "d"), context="window:2")
        assert one != partition(asked("x", "a", "b", "C", "d"), context="window:2")
        assert one != partition(asked("x", "d"), context="window:2")
        assert partition(asked("x", "a"), context="window:9") == partition(asked("y", "a"), context="window:9")
        assert partition(asked("x", "a"), context="window:9") != partition(asked("x", "b"), context="window:9")

    def test_a_last_message_that_is_no_question_counts_in_full(self) -> None:
        """However little of the conversation counts, what a tool says last does."""
        one, other = ({"messages": [{"role": "tool", "content": text}]} for text in ("a", "b"))

        assert partition(one, context="system_only") != partition(other, context="system_only")

    @pytest.mark.parametrize(
        "context",
        [
            "",
            "Full",
            "window",
            "window:",
            "window:0",
            "window:-1",
            "window:1.5",
            "window: 1",
            "window:1\n",
            "all",
            None,
            3,
        ],
    )
    def test_another_context_is_named(self, context: object) -> None:
        """The message says what was given."""
        for body in (asked("x"), {"prompt": "x"}, {}):
            with pytest.raises(ConfigurationError, match=r"context must be .*not") as caught:
                partition(body, context=context)
            assert repr(context) in str(caught.value)

    def test_contexts_are_read(self) -> None:
        """As the number of messages that count."""
        assert [None, 0, 1, 12] == [check_context(text) for text in ("full", "system_only", "window:1", "window:12")]

    @pytest.mark.parametrize("messages", [None, [], {}, "hello", 5, [None], ["hello"], [[]]], ids=str)
    def test_messages_of_another_shape_count(self, messages: object) -> None:
        """What the server will refuse has a key all the same, and it is no other request's."""
        for context in ("full", "system_only"):
            assert partition({"messages": messages}, context=context) != partition({}, context=context)
        assert "" == last_text({"messages": messages})


class TestLastText:
    """What the user said last."""

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            (RICH, "上海呢?\nQuick!"),
            (FIM, "def fib(a):"),
            (asked("  花呗怎么还款?\n"), "  花呗怎么还款?\n"),
            (asked(""), ""),
            (asked([{"type": "text", "text": "a"}]), "a"),
            ({}, ""),
            ({"prompt": ["a"]}, ""),
            ({"messages": None, "prompt": "a"}, "a"),
            ({"messages": [], "prompt": "a"}, ""),
            ({"messages": ({"role": "user", "content": "a"},)}, "a"),
        ],
        ids=lambda value: value[:8] if isinstance(value, str) else "",
    )
    def test_it_is_raw(self, body: dict[str, Any], text: str) -> None:
        """It is what was said, without any change."""
        assert text == last_text(body)
