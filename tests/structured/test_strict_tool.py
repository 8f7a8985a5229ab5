"""A schema as a strict tool, and the call as an answer; the emulator says whether the beta endpoint takes it."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import pytest
from openai.lib._parsing._completions import type_to_response_format_param

from deepseek_sdk.structured.strict_schema import strict_problem
from deepseek_sdk.structured.strict_tool import lowered_to_tool, raised_from_tool
from deepseek_sdk.testing import Reply, ToolCall
from tests.structured.test_judging import answered

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator


class Mood(enum.Enum):
    """A choice."""

    GOOD = "好"
    BAD = "坏"


class Leaf(pydantic.BaseModel):
    """A part, one of whose names is that of a keyword."""

    title: str
    kind: Literal["leaf"]
    default: int = 3


class Tree(pydantic.BaseModel):
    """What strict mode can serve: nesting, choices, what may be missing, and more of itself."""

    name: str = pydantic.Field(alias="名称", description="怎么叫", pattern="^.+$")
    mood: Mood
    leaves: list[Leaf]
    parts: list[Tree]
    left: Leaf | list[Leaf] | None = None
    height: float = pydantic.Field(ge=0, lt=100)


TREE = Tree(名称="根", mood=Mood.GOOD, leaves=[Leaf(title="一", kind="leaf")], height=1.5, parts=[])


def body(model: type[pydantic.BaseModel], **changes: Any) -> dict[str, Any]:
    """Ask for a model as `parse()` does, without thinking."""
    return {
        "model": "deepseek-flash",
        "messages": [{"role": "user", "content": "A tree."}],
        "thinking": {"type": "disabled"},
        "response_format": type_to_response_format_param(model),
        **changes,
    }


def test_there_and_back(driver: Driver, emulator: StartEmulator) -> None:
    """The beta endpoint takes the request, and the answer reads as if it had been asked for by a schema."""
    text = TREE.model_dump_json(by_alias=True)
    server = emulator(replies=[Reply(tool_calls=[ToolCall("Tree", text)])])
    client = driver.client(base_url=server.url)
    lowered = lowered_to_tool(body(Tree))
    assert lowered is not None
    answer = driver.call(client.post, "/chat/completions", body=lowered, cast_to=object)
    raised = raised_from_tool(json.dumps(answer).encode())

    assert raised is not None
    choice = json.loads(raised)["choices"][0]
    assert ("stop", text) == (choice["finish_reason"], choice["message"]["content"])
    assert "tool_calls" not in choice["message"]
    assert "/beta/chat/completions" == server.requests[0].path
    assert {"type": "function", "function": {"name": "Tree"}} == server.requests[0].body["tool_choice"]
    assert "response_format" not in server.requests[0].body


def test_schemas_are_written_as_the_guide_does() -> None:
    """Definitions are `$def`, constant texts a choice of one; keywords `title` and `default` are left out."""
    lowered = lowered_to_tool(body(Tree))
    assert lowered is not None
    parameters = lowered["tools"][0]["function"]["parameters"]
    leaf = parameters["$def"]["Leaf"]

    assert strict_problem(parameters) is None
    assert ["leaf"] == leaf["properties"]["kind"]["enum"]
    assert {"title", "kind", "default"} == leaf["properties"].keys() == set(leaf["required"])
    assert {"type": "integer"} == leaf["properties"]["default"]
    assert "#/$def/Leaf" in json.dumps(parameters)
    assert "$defs" not in json.dumps(parameters)
    assert ["object", "array", "null"] == [part["type"] for part in parameters["properties"]["left"]["anyOf"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"thinking": {"type": "enabled"}},
        {"thinking": None},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"stream": True},
        {"logprobs": True},
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "{", "prefix": True}]},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "array"}}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}},
    ],
)
def test_requests_that_cannot_be_lowered(changes: dict[str, Any]) -> None:
    """Thinking, other tools, streams and begun answers rule a forced tool out; so do schemas that are not strict."""
    assert lowered_to_tool(body(Tree, **changes)) is None


class Loose(pydantic.BaseModel):
    """What has keys that nobody knows beforehand."""

    counts: dict[str, int]


class Pair(pydantic.BaseModel):
    """What strict mode has no words for."""

    pair: tuple[int, str]


class Short(pydantic.BaseModel):
    """What is limited in a way that strict mode does not serve."""

    name: str = pydantic.Field(max_length=3)


class Dated(pydantic.BaseModel):
    """What has a format that strict mode does not serve."""

    when: pydantic.AwareDatetime


class Person(pydantic.BaseModel):
    """What may, or may not, have another of its kind, which has no end where it is written out."""

    mother: Person | None


@pytest.mark.parametrize("model", [Person, Loose, Pair, Short, Dated])
def test_schemas_that_cannot_be_strict(model: type[pydantic.BaseModel]) -> None:
    """Schemas beyond the guide are asked for in another way."""
    assert lowered_to_tool(body(model)) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [("Tree", "Tree"), ("树 1.0", "__1_0"), ("a" * 80, "a" * 64), ("", "answer"), (None, "answer")],
)
def test_names_of_functions(given: object, expected: str) -> None:
    """The name is one that a function may have."""
    described = {**body(Tree)["response_format"]["json_schema"], "name": given, "description": "树"}
    lowered = lowered_to_tool(body(Tree, response_format={"type": "json_schema", "json_schema": described}))

    assert lowered is not None
    assert (expected, "树") == tuple(lowered["tools"][0]["function"][key] for key in ("name", "description"))


@pytest.mark.parametrize(
    "answer",
    [
        b"no",
        b"[]",
        answered("text"),
        answered("text", tool_calls=[]),
        b'{"choices": [{"message": {"tool_calls": [1]}}]}',
    ],
)
def test_answers_without_the_call(answer: bytes) -> None:
    """An answer that calls nothing stays as it is: it is judged like any other."""
    assert raised_from_tool(answer) is None


@pytest.mark.parametrize(("second", "content"), [('{"a": 1}', '{"a": 1}'), ('{"a": 2}', "")], ids=["same", "other"])
def test_several_calls(second: str, content: str) -> None:
    """Calls that say the same are one; of others none is the answer, and the caller sees no tool he does not know."""
    calls = [
        {"id": text, "type": "function", "function": {"name": "a", "arguments": text}} for text in ('{"a": 1}', second)
    ]
    raised = json.loads(raised_from_tool(answered("", "tool_calls", tool_calls=calls)) or b"")

    assert (content, "stop") == (raised["choices"][0]["message"]["content"], raised["choices"][0]["finish_reason"])
    assert "tool_calls" not in raised["choices"][0]["message"]


def test_a_cut_call_stays_cut() -> None:
    """What was cut in the middle of the call is the beginning of the content, and still says so."""
    call = {"id": "1", "type": "function", "function": {"name": "Tree", "arguments": '{"tree'}}
    raised = json.loads(raised_from_tool(answered("", "length", tool_calls=[call])) or b"")

    assert ('{"tree', "length") == (raised["choices"][0]["message"]["content"], raised["choices"][0]["finish_reason"])


def test_choices_within_choices() -> None:
    """A choice that is one of several possibilities is written out among them."""
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"B": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    }
    given = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    lowered = lowered_to_tool({**body(Tree), "response_format": given})

    assert lowered is not None
    choices = lowered["tools"][0]["function"]["parameters"]["properties"]["a"]["anyOf"]
    assert ["string", "integer", "null"] == [choice["type"] for choice in choices]
