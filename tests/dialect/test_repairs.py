"""What a mended request looks like."""

from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.dialect import lint, repaired
from deepseek_sdk.dialect.formats import lowered
from tests.dialect.cases import (
    JSON_SCHEMA,
    OFF,
    ON,
    PICTURE,
    PRO,
    TOOLS,
    USER,
    answered,
    asked,
    call,
    calling,
    result,
    tool,
)

EMPTY = "(no output)"


def codes(body: dict[str, Any], **options: Any) -> list[str]:
    """Name what is found."""
    return [finding.code for finding in lint(body, **options)]


def messages(*given: Any, **fields: Any) -> list[Any]:
    """Give the messages of a mended request."""
    mended: list[Any] = repaired(asked(*given, **fields))["messages"]
    return mended


FIRST, SECOND = calling(call("a"), call("b")), calling(call("a"))
A, B = result("a"), result("b")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([FIRST, B, A, USER], [FIRST, B, A, USER]),
        ([FIRST, A, USER], [FIRST, A, result("b", content=EMPTY), USER]),
        ([FIRST], [FIRST, result("a", content=EMPTY), result("b", content=EMPTY)]),
        ([FIRST, A, USER, B], [FIRST, A, B, USER]),
        ([A, B, FIRST], [FIRST, A, B]),
        ([USER, A], [USER]),
        ([SECOND, A, A, USER], [SECOND, A, USER]),
        ([SECOND, A, SECOND, A], [SECOND, A, SECOND, A]),
        ([SECOND, SECOND, A], [SECOND, result("a", content=EMPTY), SECOND, A]),
        ([FIRST, SECOND, A, B], [FIRST, B, result("a", content=EMPTY), SECOND, A]),
        ([SECOND, {"role": "system", "content": "短"}, A], [SECOND, A, {"role": "system", "content": "短"}]),
    ],
)
def test_results_follow_their_calls(given: list[Any], wanted: list[Any]) -> None:
    """Results move to their calls, in the order in which they came; missing ones are made up, others left out."""
    assert [USER, *wanted] == messages(USER, *given, **TOOLS)


def test_every_place_is_named() -> None:
    """The finding says which call dangles, which result answers none, and which is late."""
    body = asked(FIRST, USER, A, result("c"), USER)
    (finding,) = lint(body)

    assert ("messages[0].tool_calls[1]", "messages[3]", "messages[2]") == finding.places
    assert (
        "messages[0].tool_calls[1] has no tool message, messages[3] answers no call, "
        "messages[2] does not follow its call" == finding.message
    )


def test_many_places_are_counted() -> None:
    """Of hundreds of places three are named."""
    (finding,) = lint(asked(*[answered(content=None)] * 200))

    assert finding.message.startswith("messages[0], messages[1], messages[2] and 197 more has neither")
    assert 200 == len(finding.places)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"id": "a", "name": "f", "arguments": "{}"}, call()),
        ({"id": "a", "type": "function", "name": "f", "arguments": "{}"}, call()),
        ({"id": "a", "function": {"name": "f", "arguments": "{}"}}, call()),
        ({"id": "a", "type": "function", "function": {"name": "f"}}, call()),
        ({"id": "a", "type": "function", "function": {"name": "f", "arguments": None}}, call()),
        (
            call(function={"name": "f", "arguments": {"城市": "北京"}}),
            call(function={"name": "f", "arguments": '{"城市": "北京"}'}),
        ),
        (call(function={"name": "f", "arguments": "{bad"}), call(function={"name": "f", "arguments": "{bad"})),
    ],
)
def test_calls_are_written_as_the_service_knows_them(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Flat calls are wrapped, missing arguments are none, and what is there stays as it is, however broken."""
    assert [wanted] == messages(USER, calling(given), result(), **TOOLS)[1]["tool_calls"]


def test_ids_are_made_up_where_there_are_none() -> None:
    """Calls without an id get one, and the results after them get it in their order."""
    bare = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    mended = messages(USER, calling(bare, bare), {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"})

    assert ["call_1_0", "call_1_1"] == [given["id"] for given in mended[1]["tool_calls"]]
    assert [("call_1_0", "1"), ("call_1_1", "2")] == [(m["tool_call_id"], m["content"]) for m in mended[2:]]


def test_ids_that_are_shared_are_told_apart() -> None:
    """Calls that share an id get one each, and so do their results, in their order."""
    mended = messages(USER, calling(call(""), call("")), result("", content="1"), result("", content="2"))

    assert ["", "_1_1"] == [given["id"] for given in mended[1]["tool_calls"]]
    assert [("", "1"), ("_1_1", "2")] == [(m["tool_call_id"], m["content"]) for m in mended[2:]]


def test_numbers_as_ids_become_text() -> None:
    """An id that is a number is the same in digits, in calls and results."""
    mended = messages(USER, calling(call(7)), result(7))

    assert ("7", "7") == (mended[1]["tool_calls"][0]["id"], mended[2]["tool_call_id"])


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("你好", {"type": "text", "text": "你好"}),
        ({"type": "input_text", "text": "你好"}, {"type": "text", "text": "你好"}),
        ({"type": "output_text", "text": "你好", "annotations": []}, {"type": "text", "text": "你好"}),
        ({"type": "refusal", "refusal": "No."}, {"type": "text", "text": "No."}),
        ({"type": "text", "text": None}, {"type": "text", "text": ""}),
        ({"type": "image_url", "image_url": "data:image/png;base64,aaaa"}, PICTURE),
        ({"type": "input_image", "image_url": "data:image/png;base64,aaaa"}, PICTURE),
        (PICTURE, PICTURE),
    ],
)
def test_parts_are_written_as_the_service_knows_them(part: Any, wanted: dict[str, Any]) -> None:
    """Parts of other interfaces become text and image_url."""
    assert [wanted] == messages({"role": "user", "content": [part]})[0]["content"]


def test_lists_of_texts_are_joined_for_a_model_that_reads_text() -> None:
    """The parts of a list become one text, with what the encoder puts between them; for flash they stay a list."""
    parts = [{"type": "text", "text": "一"}, {"type": "text", "text": "二"}]
    listed = {"role": "user", "content": parts}

    assert "一\n\n二" == messages(listed, **PRO)[0]["content"]
    assert messages(listed)[0] is listed


def test_reasoning_is_kept_byte_for_byte() -> None:
    """Reasoning under another name is sent as it is; an empty one is reasoning, too."""
    mended = messages(USER, answered(reasoning=" 嗯…\n\n"), USER, answered(reasoning_content=""), USER, **TOOLS)

    assert (" 嗯…\n\n", "") == (mended[1]["reasoning_content"], mended[3]["reasoning_content"])


def test_reasoning_is_not_wanted_where_nobody_looks() -> None:
    """Without tools, or without thinking, answers need no reasoning."""
    assert [] == codes(asked(USER, answered(), USER))
    assert [] == codes(asked(USER, answered(), USER, **TOOLS, **OFF))
    assert [] == codes(asked(USER, calling(call(), reasoning_content=None), result(), USER))


def test_calls_since_the_last_question_want_their_reasoning() -> None:
    """Also without tools a call that no question has followed brings its reasoning back."""
    body = asked(USER, calling(call(), reasoning_content=None), result())

    assert ["missing_reasoning"] == codes(body)
    assert ["renamed_reasoning"] == codes(
        asked(USER, calling(call(), reasoning_content=None, reasoning="嗯"), result())
    )
    assert [] == codes({**body, **OFF})


def test_results_alone_cannot_be_mended() -> None:
    """Where nothing but results of unknown calls is there, nothing would be left to answer."""
    (finding,) = lint(asked(result("a"), result("b")))

    assert ("tool_order", None) == (finding.code, finding.repair)


def test_thinking_that_was_asked_for_is_not_switched_off() -> None:
    """Who asks for thinking and a forced tool, or lacks reasoning, gets an error, not an answer without thinking."""
    forced = lint(asked(**TOOLS, **ON, tool_choice="required"))
    lacking = lint(asked(USER, answered(), USER, **TOOLS, **ON))

    assert [None, None] == [finding.repair for finding in (*forced, *lacking)]


def test_one_repair_makes_another_superfluous() -> None:
    """A tool that is forced switches thinking off, and then no reasoning is missing."""
    assert ["forced_tool"] == codes(asked(USER, answered(), USER, **TOOLS, tool_choice="required"))


def test_a_schema_becomes_an_instruction() -> None:
    """The schema is told in the words of the service's own encoder, after what the system message says."""
    system = {"role": "system", "content": [{"type": "text", "text": "短"}]}
    first = lowered(asked(USER, response_format=JSON_SCHEMA))
    listed = lowered(asked(system, USER, response_format=JSON_SCHEMA))
    text = first["messages"][0]["content"]

    assert "You MUST strictly adhere to the following schema to reply:\n" in text
    assert '{"type": "object", "properties": {"城市": {"type": "string"}}' in text
    assert [{"type": "text", "text": "短"}, {"type": "text", "text": text}] == listed["messages"][0]["content"]
    assert first["messages"][1] is USER
    assert first["response_format"] == listed["response_format"] == {"type": "json_object"}


def test_a_schema_that_is_none_is_json() -> None:
    """A format that forgot its schema is JSON of any kind, and the word is said."""
    mended = repaired(asked(response_format={"type": "json_schema"}))

    assert {"type": "json_object"} == mended["response_format"]
    assert "Reply in JSON." == mended["messages"][0]["content"]


@pytest.mark.parametrize("text", ["json", "用 JSON 回答", "JsOn please"])
def test_the_word_json_may_be_written_in_any_way(text: str) -> None:
    """The word counts in any case, and in a part of a content."""
    for content in (text, [{"type": "text", "text": text}]):
        assert [] == codes(asked({"role": "user", "content": content}, response_format={"type": "json_object"}))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"top_logprobs": 0}, {}),
        ({"top_logprobs": 3, "logprobs": False}, {"logprobs": False}),
        ({"top_logprobs": 3}, {"top_logprobs": 3, "logprobs": True}),
        ({"top_logprobs": 99, "logprobs": True}, {"top_logprobs": 20, "logprobs": True}),
        ({"stop": ["", ""]}, {}),
        ({"stop": ""}, {}),
        ({"stop": ["a", *["b"] * 16]}, {"stop": ["a", "b"]}),
        ({"max_completion_tokens": 9}, {"max_tokens": 9}),
        ({"max_completion_tokens": 400_000}, {"max_tokens": 393_216}),
        ({"max_completion_tokens": 9, "max_tokens": 5}, {"max_completion_tokens": 9, "max_tokens": 5}),
        ({"reasoning_effort": "none"}, OFF),
        ({"reasoning_effort": "none", **ON}, ON),
        ({"reasoning_effort": "Default"}, {}),
        ({"reasoning_effort": "High"}, {"reasoning_effort": "high"}),
        ({"reasoning_effort": "xhigh"}, {"reasoning_effort": "xhigh"}),
        ({"tool_choice": {"type": "any"}, **TOOLS, **OFF}, {"tool_choice": "required", **TOOLS, **OFF}),
        (
            {"tools": [tool(parameters={"properties": {}})]},
            {"tools": [tool(parameters={"type": "object", "properties": {}})]},
        ),
        (
            {"tools": [{"name": "f", "strict": False}]},
            {"tools": [{"type": "function", "function": {"name": "f", "strict": False}}]},
        ),
        (
            {"tools": [tool(strict=True), tool("g", strict=False)]},
            {"tools": [tool(strict=True), tool("g", strict=True)]},
        ),
    ],
)
def test_fields_are_mended(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Numbers go to the nearest that is allowed, and what means nothing is left out."""
    assert asked(**wanted) == repaired(asked(**given))


def test_one_schema_that_cannot_be_strict_makes_all_loose() -> None:
    """Where strict mode cannot hold the model to every schema, no tool is strict, and the finding says why."""
    body = asked(tools=[tool(strict=True), tool("g", strict=True, parameters={"type": "object", "properties": {}})])
    (finding,) = lint(body)

    assert "tools[1] cannot be strict: parameters: 'additionalProperties' must be false" == finding.message
    assert [False, False] == ["strict" in given["function"] for given in repaired(body)["tools"]]


def test_a_long_name_of_a_user_is_hashed() -> None:
    """Two users whose names are too long stay two users, and each stays himself."""
    first, second, again = (repaired(asked(user_id=name))["user_id"] for name in ("用" * 171, "户" * 171, "用" * 171))

    assert first == again != second
    assert "用" * 170 == repaired(asked(user_id="用" * 170))["user_id"]


def test_fields_that_nobody_knows_are_harmless() -> None:
    """The service ignores what it does not know, and so does the linter."""
    assert [] == codes(asked(seed=1, store=True, metadata={"a": "b"}, service_tier="auto", logit_bias={}, foo=1))


def test_the_model_can_be_given_beside_the_body() -> None:
    """`lint()` takes a body without a model, too."""
    body = {"messages": [{"role": "user", "content": [PICTURE]}]}

    assert ["images"] == codes(body, model="deepseek-v4-pro")
    assert [] == codes(body, model="deepseek-flash")
    assert [] == codes(asked(n=2), dialect="openai")
    assert (
        "[An image was left out: this model reads none.]"
        == repaired(body, model="deepseek-v4-pro", images="placeholder")["messages"][0]["content"]
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (ON, {"chat_template_kwargs": {"thinking": True, "enable_thinking": True}}),
        (
            {**OFF, "chat_template_kwargs": {"thinking": True, "a": 1}},
            {"chat_template_kwargs": {"thinking": True, "enable_thinking": False, "a": 1}},
        ),
        ({"thinking": None}, {}),
        ({"reasoning_effort": "none"}, {"chat_template_kwargs": {"thinking": False, "enable_thinking": False}}),
        ({"reasoning_effort": "minimal"}, {"reasoning_effort": "low"}),
        ({"reasoning_effort": "medium"}, {"reasoning_effort": "medium"}),
        ({"reasoning_effort": "ultra"}, {"reasoning_effort": "high"}),
        ({"user_id": "u"}, {}),
        ({"stream_options": {"include_usage": True}}, {}),
        ({"top_logprobs": 3}, {"top_logprobs": 3, "logprobs": True}),
        ({"n": 2, "response_format": JSON_SCHEMA}, {"n": 2, "response_format": JSON_SCHEMA}),
    ],
)
def test_vllm_has_other_words(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What DeepSeek calls otherwise is said in vLLM's words, and what both know stays."""
    assert asked(**wanted) == repaired(asked(**given), dialect="vllm")


def test_vllm_has_other_roles() -> None:
    """Roles that no template knows become system messages."""
    reminder = {"role": "latest_reminder", "content": "周一"}
    mended = repaired(asked({"role": "developer", "content": "短"}, reminder, USER), dialect="vllm")["messages"]

    assert ["system", "system", "user"] == [message["role"] for message in mended]
    assert mended[2] is USER
