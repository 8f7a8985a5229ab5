"""What is judged, and what is left alone."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest
from openai import pydantic_function_tool
from openai.lib._parsing._completions import parse_chat_completion

from deepseek_sdk.structured.judging import Verdict, judge
from deepseek_sdk.structured.schemas import Validators
from deepseek_sdk.structured.wish import Wish, wish_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
TOOL = {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}


def answered(content: Any = '{"a": 1}', finish: str = "stop", **message: Any) -> bytes:
    """Give an answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"completion_tokens": 5}}).encode()


def called(arguments: Any, name: str = "f") -> bytes:
    """Give an answer that calls a function."""
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return answered("", "tool_calls", tool_calls=[call])


def judged(answer: bytes, **body: Any) -> Verdict:
    """Judge an answer to a request."""
    wish = wish_of(body)
    assert wish is not None
    return judge(wish, answer, Validators())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"response_format": None},
        {"response_format": {"type": "text"}},
        {"response_format": "json_object"},
        {"response_format": {"type": "json_object"}, "n": 2},
        {"tools": []},
        {"tools": ["f"]},
        {"tools": [{"type": "function"}]},
    ],
)
def test_requests_without_a_wish(body: dict[str, Any]) -> None:
    """What wants text, several answers, or nothing that can be read, is left alone."""
    assert wish_of(body) is None


def test_what_a_request_wants() -> None:
    """A schema binds unless it says that it does not; JSON alone does not; `parse()` does."""
    loose = {**FORMAT, "json_schema": {**FORMAT["json_schema"], "strict": False}}  # type: ignore[dict-item]

    assert Wish(wants_json=True, schema=SCHEMA, is_binding=True) == wish_of({"response_format": FORMAT})
    assert Wish(wants_json=True, schema=SCHEMA) == wish_of({"response_format": loose})
    assert Wish(wants_json=True) == wish_of({"response_format": {"type": "json_object"}, "n": 1})
    assert Wish(wants_json=False, tools={"f": TOOL["function"]}) == wish_of({"tools": [TOOL]})  # type: ignore[dict-item]
    assert [True, True, True, False] == [
        (wish_of(body, parse) or Wish(wants_json=False)).needs_schemas  # type: ignore[arg-type]
        for body, parse in [
            ({"response_format": FORMAT}, None),
            ({"tools": [TOOL]}, None),
            ({"response_format": FORMAT}, id),
            ({"response_format": {"type": "json_object"}}, None),
        ]
    ]


@pytest.mark.parametrize(
    "answer",
    [
        answered(),
        answered('{"a": 1, "b": "中"}', "content_filter"),
        answered("no", "content_filter"),
        answered(None, refusal="No."),
        answered([{"type": "text", "text": "no"}]),
        answered(None, "tool_calls", tool_calls=[{"id": "1", "type": "function", "function": {"name": "g"}}]),
        json.dumps({"choices": [json.loads(answered("no"))["choices"][0]] * 2}).encode(),
        b"no",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{"message": "no"}]}',
        b'{"choices": [{"text": "no"}]}',
    ],
)
def test_what_is_left_alone(answer: bytes) -> None:
    """Right answers, refusals, filtered ones, calls of what was not offered, and bodies of another shape."""
    assert Verdict() == judged(answer, response_format=FORMAT, tools=[TOOL])


@pytest.mark.parametrize(
    ("answer", "kind", "problem"),
    [
        (answered(""), "empty", "the answer has no content"),
        (answered(None), "empty", "the answer has no content"),
        (answered(" \n"), "empty", "the answer has no content"),
        (answered('{"a":', "length"), "truncated", "the answer was cut at max_tokens"),
        (answered("no"), "invalid", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (answered('{"a": "1"}'), "invalid", "a: '1' is not of type 'integer'"),
        (answered("[" * 100_000), "invalid", "not JSON: nested too deeply"),
        (answered('{"a: "1"}'), "invalid", "a: '1' is not of type 'integer'"),
        (called('{"a": 1'), "invalid", "not JSON: Expecting ',' delimiter: line 1 column 8 (char 7)"),
        (called('{"a": "1"}'), "invalid", "a: '1' is not of type 'integer'"),
        (called(""), "invalid", "not JSON: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_what_is_wrong(answer: bytes, kind: str, problem: str) -> None:
    """Empty, cut and invalid answers are told apart."""
    finding = judged(answer, response_format=FORMAT, tools=[TOOL]).finding

    assert finding is not None
    assert (kind, (problem,)) == (finding.kind, finding.problems)


@pytest.mark.parametrize(
    ("message", "usage", "is_reasoning"),
    [
        ({"reasoning_content": "Hm"}, {"completion_tokens_details": {"reasoning_tokens": 9}}, True),
        ({"reasoning_content": "Hm"}, None, True),
        ({"reasoning_content": "Hm", "content": "{"}, None, False),
        ({}, {"completion_tokens": 9}, False),
        ({}, None, False),
    ],
)  # fmt: skip
def test_reasoning_that_takes_all(message: dict[str, Any], usage: Any, *, is_reasoning: bool) -> None:
    """Where nothing but reasoning came before the limit, the finding says so."""
    choice = {"message": {"role": "assistant", "content": "", **message}, "finish_reason": "length"}
    finding = judged(json.dumps({"choices": [choice], "usage": usage}).encode(), response_format=FORMAT).finding

    assert finding is not None
    assert ("truncated", is_reasoning) == (finding.kind, finding.is_reasoning)


def test_what_is_mended_keeps_the_rest() -> None:
    """Only the text changes; what stands beside it in the answer stays."""
    verdict = judged(answered('```\n{"a": 1}\n```', reasoning_content="想"), response_format=FORMAT)

    assert verdict.mended is not None
    assert json.loads(answered(reasoning_content="想")) == json.loads(verdict.mended)
    assert ("text around the JSON",) == verdict.edits


def test_log_probabilities_keep_their_text() -> None:
    """A text with log probabilities is not rewritten: they would belong to another."""
    finding = judged(answered('```\n{"a": 1}\n```'), response_format=FORMAT, logprobs=True).finding

    assert finding is not None
    assert "invalid" == finding.kind


def test_a_call_without_arguments() -> None:
    """No arguments at all are none, for a function that needs none."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    verdict = judged(called(""), tools=[tool])

    assert b'"arguments": "{}"' in (verdict.mended or b"")
    assert ("a call without arguments",) == verdict.edits


def test_text_beside_tools() -> None:
    """Where tools are offered and none is called, any text is an answer."""
    assert Verdict() == judged(answered("no"), tools=[TOOL])
    assert Verdict() == judged(answered("no", tool_calls=None), tools=[TOOL])


def test_mended_arguments_must_fit() -> None:
    """Arguments of a function that is not strict are mended only to the names that it has, and has to have."""
    tool = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}

    assert judged(called('{"a": 1,}'), tools=[tool]).mended is not None
    assert judged(called('{"a": 1, "b": 2,}'), tools=[tool]).finding is not None
    assert judged(called("{},"), tools=[tool]).finding is not None
    assert judged(called("[1,]"), tools=[tool]).finding is not None
    assert Verdict() == judged(called('{"a": "1"}'), tools=[tool])


def test_arguments_of_another_shape() -> None:
    """A call that says no text is left to whoever reads it."""
    assert Verdict() == judged(called({"a": 1}), tools=[TOOL])
    assert Verdict() == judged(answered("", "tool_calls", tool_calls=[1, {"function": 2}]), tools=[TOOL])
    assert Verdict() == judged(answered("", "tool_calls", tool_calls="no"), tools=[TOOL])


class Model(pydantic.BaseModel):
    """What the caller wants."""

    a: int

    @pydantic.field_validator("a")
    @classmethod
    def _small(cls, a: int) -> int:
        if a == 1:
            raise ValueError("not one")
        if a == 2:
            raise RuntimeError("a bug")
        return a


def parser(wanted: Any, tools: Any = ()) -> Any:
    """Make of an answer what openai's `parse()` does."""
    return lambda answer: parse_chat_completion(response_format=wanted, input_tools=tools, chat_completion=answer)


def test_parse_decides() -> None:
    """Where the caller's model parses, that decides; what it raises but errors of validation is the caller's to see."""
    wish = wish_of({"response_format": FORMAT}, parser(Model))
    assert wish is not None
    contents = ['{"a": "0"}', '{"a": 1}', '{"a": 2}', '{"a": "x"}', '{"a": 0,}']
    found = [judge(wish, answered(content), Validators()).finding for content in contents]

    not_one = ("a: Value error, not one",)
    no_number = ("a: Input should be a valid integer, unable to parse string as an integer",)
    assert [None, not_one, None, no_number, None] == [finding and finding.problems for finding in found]


def test_parse_without_a_model() -> None:
    """Where `parse()` was given dictionaries, as frameworks do, it makes nothing of them, and schemas decide."""
    wish = wish_of({"response_format": FORMAT, "tools": [TOOL]}, parser(FORMAT, [TOOL]))
    assert wish is not None
    answers = [answered('{"a": "x"}'), answered(), called('{"a": "x"}'), called('{"a": 3}'), called('{"a": ')]
    found = [judge(wish, answer, Validators()).finding for answer in answers]

    assert [True, False, True, False, True] == [finding is not None for finding in found]


def test_a_tool_with_a_model() -> None:
    """A tool made of a model is parsed by it, call for call."""
    tool = pydantic_function_tool(Model, name="f")
    wish = wish_of({"tools": [json.loads(json.dumps(tool))]}, parser(None, [tool]))
    assert wish is not None

    assert judge(wish, called('{"a": "3"}'), Validators()).finding is None
    assert judge(wish, called('{"a": 1}'), Validators()).finding is not None


def test_parse_is_asked_about_what_it_has_seen() -> None:
    """What openai's `parse()` says beyond the caller's model is told like what the model says."""

    def parse(_: Any) -> None:
        raise ValueError("not that")

    wish = wish_of({"response_format": FORMAT}, parse)
    assert wish is not None
    finding = judge(wish, answered(), Validators()).finding

    assert finding is not None
    assert ("not that",) == finding.problems
