"""Requests that the service refuses, with what becomes of each; tests ask the emulator whether that is so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepseek_sdk.errors import (
    EmptyMessageError,
    ImagesUnsupportedError,
    MaxTokensError,
    ReasoningMissingError,
    ResponseFormatError,
    StopSequencesError,
    ToolChoiceInThinkingError,
    ToolOrderError,
    UnknownModelError,
)

USER = {"role": "user", "content": "Hello"}
PREFIX = {"role": "assistant", "content": "Once", "prefix": True}
OFF = {"thinking": {"type": "disabled"}}
ON = {"thinking": {"type": "enabled"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}}
PRO = {"model": "deepseek-v4-pro"}
SCHEMA = {
    "type": "object",
    "properties": {"城市": {"type": "string"}},
    "required": ["城市"],
    "additionalProperties": False,
}
JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}


def tool(name: str = "f", **function: Any) -> dict[str, Any]:
    """Describe a function that takes one text."""
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **function}}


def call(own: Any = "a", **changes: Any) -> dict[str, Any]:
    """Make a call of it."""
    return {"id": own, "type": "function", "function": {"name": "f", "arguments": "{}"}, **changes}


def calling(*calls: Any, **changes: Any) -> dict[str, Any]:
    """Make the message that holds the calls, with its reasoning."""
    return {"role": "assistant", "content": "", "reasoning_content": "Hm", "tool_calls": list(calls), **changes}


def result(own: Any = "a", **changes: Any) -> dict[str, Any]:
    """Make the message that answers a call."""
    return {"role": "tool", "tool_call_id": own, "content": "晴", **changes}


def asked(*messages: Any, **fields: Any) -> dict[str, Any]:
    """Make a body."""
    return {"model": "deepseek-flash", "messages": list(messages) or [USER], **fields}


def answered(**changes: Any) -> dict[str, Any]:
    """Make an answer of the history."""
    return {"role": "assistant", "content": "Hi", **changes}


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    A request that is refused.

    Attributes:
        code: What the linter calls it.
        body: It.
        kind: The error that the refusal becomes.
        place: What is blamed.
    """

    code: str
    body: dict[str, Any]
    place: str
    kind: type[Exception] | None = None


TOOLS = {"tools": [tool()]}
LOOSE = {"additionalProperties": True, "type": "object", "properties": {}}
MENDED = [
    Case(code="retired_model", body=asked(model="deepseek-chat"), place="model", kind=UnknownModelError),
    Case(code="retired_model", body=asked(model="deepseek-reasoner"), place="model", kind=UnknownModelError),
    Case(
        code="forced_tool",
        body=asked(**TOOLS, tool_choice="required"),
        place="tool_choice",
        kind=ToolChoiceInThinkingError,
    ),
    Case(
        code="forced_tool",
        body=asked(**TOOLS, tool_choice={"type": "function", "function": {"name": "f"}}),
        place="tool_choice",
        kind=ToolChoiceInThinkingError,
    ),
    Case(code="tool_choice", body=asked(**TOOLS, **OFF, tool_choice="any"), place="tool_choice"),
    Case(
        code="tool_choice",
        body=asked(**TOOLS, **OFF, tool_choice={"type": "function", "name": "f"}),
        place="tool_choice",
    ),
    Case(
        code="response_format",
        body=asked(response_format=JSON_SCHEMA),
        place="response_format",
        kind=ResponseFormatError,
    ),
    Case(code="json_word", body=asked(response_format={"type": "json_object"}), place="messages"),
    Case(
        code="tool_order",
        body=asked(USER, calling(call(), call("b")), result(), USER, **TOOLS),
        place="messages[1].tool_calls[1]",
        kind=ToolOrderError,
    ),
    Case(
        code="tool_order",
        body=asked(USER, calling(call()), USER, result(), **TOOLS),
        place="messages[3]",
        kind=ToolOrderError,
    ),
    Case(code="tool_order", body=asked(USER, result(), USER, **TOOLS), place="messages[1]", kind=ToolOrderError),
    Case(
        code="tool_order",
        body=asked(USER, calling(call()), {"role": "system", "content": "短"}, result(), **TOOLS),
        place="messages[3]",
        kind=ToolOrderError,
    ),
    Case(
        code="repeated_id",
        body=asked(USER, calling(call(), call()), result(), result(), **TOOLS),
        place="messages[1].tool_calls[1].id",
        kind=ToolOrderError,
    ),
    Case(
        code="call_shape",
        body=asked(USER, calling({"id": "a", "name": "f", "arguments": "{}"}), result(), **TOOLS),
        place="messages[1].tool_calls[0]",
    ),
    Case(
        code="call_shape",
        body=asked(USER, calling(call(function={"name": "f", "arguments": {"城市": "北京"}})), result(), **TOOLS),
        place="messages[1].tool_calls[0]",
    ),
    Case(
        code="call_shape",
        body=asked(USER, calling(call(None)), {"role": "tool", "content": "晴"}, **TOOLS),
        place="messages[1].tool_calls[0]",
    ),
    Case(code="no_calls", body=asked(USER, answered(tool_calls=[]), USER), place="messages[1].tool_calls"),
    Case(
        code="missing_reasoning",
        body=asked(USER, answered(), USER, **TOOLS),
        place="messages[1]",
        kind=ReasoningMissingError,
    ),
    Case(
        code="missing_reasoning",
        body=asked(USER, calling(call(), reasoning_content=None), result()),
        place="messages[1]",
        kind=ReasoningMissingError,
    ),
    Case(
        code="renamed_reasoning",
        body=asked(USER, answered(reasoning="Hm\n"), USER, **TOOLS),
        place="messages[1].reasoning",
        kind=ReasoningMissingError,
    ),
    Case(
        code="empty_assistant",
        body=asked(USER, answered(content=None), USER),
        place="messages[1]",
        kind=EmptyMessageError,
    ),
    Case(code="null_content", body=asked({"role": "system", "content": None}, USER), place="messages[0]"),
    Case(
        code="null_tool_output", body=asked(USER, calling(call()), result(content=None), **TOOLS), place="messages[2]"
    ),
    Case(code="developer_role", body=asked({"role": "developer", "content": "短"}, USER), place="messages[0]"),
    Case(code="content_part", body=asked({"role": "user", "content": ["Hello"]}), place="messages[0]"),
    Case(
        code="content_part",
        body=asked({"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}),
        place="messages[0]",
    ),
    Case(code="max_tokens", body=asked(max_tokens=393_217), place="max_tokens", kind=MaxTokensError),
    Case(code="empty_stop", body=asked(stop=["", "\n"]), place="stop"),
    Case(code="stop", body=asked(stop=["\n"] * 17), place="stop", kind=StopSequencesError),
    Case(code="top_logprobs", body=asked(top_logprobs=5), place="top_logprobs"),
    Case(code="top_logprobs", body=asked(logprobs=True, top_logprobs=21), place="top_logprobs"),
    Case(code="logprobs", body=asked(logprobs=1), place="logprobs"),
    Case(code="stream_options", body=asked(stream_options={"include_usage": True}), place="stream_options"),
    Case(code="top_p", body=asked(top_p=0), place="top_p"),
    Case(code="presence_penalty", body=asked(presence_penalty=3), place="presence_penalty"),
    Case(code="frequency_penalty", body=asked(frequency_penalty=-3), place="frequency_penalty"),
    Case(code="user_id", body=asked(user_id="用" * 171), place="user_id"),
    Case(code="parallel_tool_calls", body=asked(parallel_tool_calls="no"), place="parallel_tool_calls"),
    Case(code="reasoning_effort", body=asked(reasoning_effort="auto"), place="reasoning_effort"),
    Case(code="reasoning_effort", body=asked(reasoning_effort="MAX"), place="reasoning_effort"),
    Case(code="thinking_type", body=asked(thinking={}), place="thinking"),
    Case(code="tool_shape", body=asked(tools=[{"type": "function", "name": "f"}]), place="tools[0]"),
    Case(code="tool_shape", body=asked(tools=[{"function": {"name": "f"}}]), place="tools[0]"),
    Case(code="repeated_tool", body=asked(tools=[tool(), tool()]), place="tools[1]"),
    Case(code="tool_schema", body=asked(tools=[tool(parameters={})]), place="tools[0].function.parameters"),
    Case(code="strict_tools", body=asked(tools=[tool(strict=True), tool("g")]), place="tools[1]"),
    Case(
        code="strict_tools",
        body=asked(tools=[tool(strict=True), tool("g", strict=True, parameters=LOOSE)]),
        place="tools[1]",
    ),
    Case(
        code="strict_with_format",
        body=asked(tools=[tool(strict=True)], response_format={"type": "text"}),
        place="response_format",
    ),
    Case(
        code="strict_with_format",
        body=asked(
            {"role": "user", "content": "JSON?"}, tools=[tool(strict=True)], response_format={"type": "json_object"}
        ),
        place="response_format",
    ),
    Case(code="misplaced_prefix", body=asked(USER, PREFIX, USER), place="messages[1].prefix"),
]
REFUSED = [
    Case(
        code="forced_tool",
        body=asked(**TOOLS, **ON, tool_choice="required"),
        place="tool_choice",
        kind=ToolChoiceInThinkingError,
    ),
    Case(
        code="missing_reasoning",
        body=asked(USER, answered(), USER, **TOOLS, **ON),
        place="messages[1]",
        kind=ReasoningMissingError,
    ),
    Case(
        code="images",
        body=asked({"role": "user", "content": [{"type": "text", "text": "这是什么？"}, PICTURE]}, **PRO),
        place="messages[0].content[1]",
        kind=ImagesUnsupportedError,
    ),
    Case(
        code="response_format",
        body=asked(response_format={"type": "regex", "regex": "a"}),
        place="response_format",
        kind=ResponseFormatError,
    ),
    Case(
        code="unknown_tool_choice",
        body=asked(**TOOLS, **OFF, tool_choice={"type": "function", "function": {"name": "g"}}),
        place="tool_choice",
    ),
    Case(code="n", body=asked(n=2), place="n"),
    Case(
        code="stop",
        body=asked(stop=[f"stop {number}" for number in range(17)]),
        place="stop",
        kind=StopSequencesError,
    ),
    Case(code="too_many_tools", body=asked(tools=[tool(f"f{number}") for number in range(129)]), place="tools"),
    Case(code="tool_name", body=asked(tools=[tool("天气")]), place="tools[0]"),
    Case(code="tool_name", body=asked(tools=[tool("f" * 65)]), place="tools[0]"),
    Case(code="repeated_tool", body=asked(tools=[tool(), tool(description="另一个")]), place="tools[1]"),
    Case(
        code="tool_schema",
        body=asked(tools=[tool(parameters={"type": "array"})]),
        place="tools[0].function.parameters",
    ),
    Case(code="temperature", body=asked(temperature=2.5), place="temperature"),
    Case(code="top_p", body=asked(top_p=1.5), place="top_p"),
    Case(code="top_logprobs", body=asked(logprobs=True, top_logprobs=-1), place="top_logprobs"),
    Case(
        code="prefix_with_others",
        body=asked(USER, {**PREFIX, "reasoning_content": ""}, **TOOLS),
        place="messages[1].prefix",
    ),
    Case(
        code="prefix_with_others",
        body=asked(USER, calling(call()), result(), PREFIX),
        place="messages[3].prefix",
    ),
    Case(
        code="prefix_with_others",
        body=asked({"role": "user", "content": "JSON?"}, PREFIX, response_format={"type": "json_object"}),
        place="messages[1].prefix",
    ),
    Case(
        code="function_call",
        body=asked(USER, answered(content=None, function_call={"name": "f", "arguments": "{}"}), USER),
        place="messages[1].function_call",
        kind=EmptyMessageError,
    ),
]
# Refused today, and perhaps not by the next version of the service: repair mode lets the service say so.
DOUBTFUL = [
    Case(code="unknown_role", body=asked({"role": "critic", "content": "Hm"}, USER), place="messages[0].role"),
    Case(
        code="unknown_part",
        body=asked({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}),
        place="messages[0].content[0]",
    ),
    Case(code="tool_shape", body=asked(tools=[{"type": "web_search"}]), place="tools[0]"),
    Case(code="reasoning_effort", body=asked(reasoning_effort="gigantic"), place="reasoning_effort"),
    Case(code="thinking_type", body=asked(thinking={"type": "sometimes"}), place="thinking"),
    Case(code="response_format", body=asked(response_format={"type": "xml"}), place="response_format"),
    Case(
        code="tool_choice",
        body=asked(**TOOLS, **OFF, tool_choice={"type": "allowed_tools"}),
        place="tool_choice",
    ),
    Case(
        code="unknown_call",
        body=asked(USER, calling(call(type="custom")), result(), **TOOLS),
        place="messages[1].tool_calls[0]",
    ),
]


def named(case: Case) -> str:
    """Name a case in the list of tests."""
    return case.code
