"""
The essential template, for machines that `deepseek-recipe` has no wheel for.

It is the template of DeepSeek V4 and V4.1; long texts that never change are only there as the tokens that they take.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.parts import Part
from deepseek_sdk.tokens.request import message_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepseek_sdk.tokens.request import Prompt, Version

__all__ = ["OwnRenderer"]

_BEGIN, _END = Part("<｜begin▁of▁sentence｜>", 1), Part("<｜end▁of▁sentence｜>", 1)
_SYSTEM, _USER, _ASSISTANT = Part("<｜System｜>", 1), Part("<｜User｜>", 1), Part("<｜Assistant｜>", 1)
_THINK, _THOUGHT, _REMINDER = Part("<think>", 1), Part("</think>", 1), Part("<｜latest_reminder｜>", 1)
_DSML, _IMAGE = Part("｜DSML｜", 1), Part("<｜image｜>", 1)

# "minimal->low, medium->high, xhigh->high, ultra->max" (thinking guide); the numbers are those of V4.1's encoder.
_EFFORTS = {"minimal": "low", "low": "low", "max": "max", "ultra": "max"}
_LEVELS = {"low": 50, "high": 75, "max": 100}
# Tokens of the texts around the schemas, of V4's efforts and of JSON mode, as the official encoder renders them.
_TOOLS_TOKENS: dict[Version, int] = {"v41": 212, "v4": 222}
_EFFORT_TOKENS = {"low": 0, "high": 79, "max": 92}
_JSON_TOKENS: dict[Version, int] = {"v41": 23, "v4": 21}
_SCHEMA_TOKENS = 20
# Names of tags: V4.1 puts a space where V4 has none.
_TAGS: dict[Version, tuple[str, str, str]] = {
    "v41": (" calls", " invoke", " parameter"),
    "v4": ("tool_calls", "invoke", "parameter"),
}


class OwnRenderer:
    """Renders by rules of our own: right but for corners, so counts of it have bounds instead of being exact."""

    is_exact = False

    def render(self, prompt: Prompt) -> tuple[Part, ...]:
        """Render a request; see `Renderer`. It refuses nothing."""
        try:
            parts = [*_head(prompt), *_conversation(prompt), *_opening(prompt)]
        except (AttributeError, TypeError):
            # A tool, a call or a format of no shape that the service takes: what is said is there all the same.
            parts = [_BEGIN, *_texts(prompt), *_opening(prompt)]
        return tuple(_joined(parts))


def _texts(prompt: Prompt) -> Iterator[Part]:
    for message in prompt.messages:
        yield from (_ASSISTANT if message.get("role") == "assistant" else _USER, Part(_text_of(message)))


def _head(prompt: Prompt) -> Iterator[Part]:
    """Render what stands before the first turn."""
    effort = _EFFORTS.get(prompt.effort or "high", "high")
    systems, _ = _split(prompt)
    text = "\n\n".join(_text_of(message) for message in systems)
    extras = [*_tools(prompt), *_format(prompt)]
    yield _BEGIN
    if prompt.version == "v41" and (prompt.is_thinking or systems or extras):
        yield _SYSTEM
    if prompt.is_thinking and prompt.version == "v41":
        level = _LEVELS[effort]
        text = (
            f"Reasoning Effort: {level} (range 1-100, the higher the value, the more thorough the reasoning)\n\n{text}"
        )
    elif prompt.is_thinking:
        yield Part("effort", _EFFORT_TOKENS[effort])
    yield Part(text)
    yield from extras


def _split(prompt: Prompt) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """Part the system messages of the head from the rest: V4 takes all of them there, V4.1 the first message."""
    messages = prompt.messages
    if prompt.version == "v4":
        rest = [message for message in messages if message.get("role") != "system"]
        return [message for message in messages if message.get("role") == "system"], rest
    size = 1 if messages and messages[0].get("role") == "system" else 0
    return messages[:size], messages[size:]


def _tools(prompt: Prompt) -> Iterator[Part]:
    choice = prompt.tool_choice
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    functions = [tool.get("function") or {} for tool in prompt.tools if isinstance(tool, dict)]
    schemas = [_schema(function) for function in functions if named in {None, function.get("name")}]
    if schemas:
        yield Part("tools", _TOOLS_TOKENS[prompt.version])
        yield Part("\n".join(schemas))


def _schema(function: Mapping[str, Any]) -> str:
    fields = {"name": "", "description": "", "parameters": {}}
    return _json({name: function.get(name) or default for name, default in fields.items()})


def _format(prompt: Prompt) -> Iterator[Part]:
    if prompt.response_format is None:
        return
    schema = (prompt.response_format.get("json_schema") or {}).get("schema")
    if schema is None:
        yield Part("format", _JSON_TOKENS[prompt.version])
    else:
        yield Part("format", _SCHEMA_TOKENS)
        yield Part(_json(schema))


def _conversation(prompt: Prompt) -> Iterator[Part]:
    before = ""
    for message in _split(prompt)[1]:
        role = message.get("role")
        if role == "assistant":
            yield from _answer(message, prompt)
        elif role == "system":
            yield from (_SYSTEM, Part(_text_of(message)))
        elif role == "latest_reminder":
            yield from (_REMINDER, Part(_text_of(message)))
        else:
            # There is no tool role in the template: results are part of a user's turn, and such turns are merged.
            yield Part("\n\n") if before in {"user", "tool"} else _USER
            yield from _asked(message)
        before = "tool" if role == "tool" else str(role)


def _asked(message: Mapping[str, Any]) -> Iterator[Part]:
    is_result = message.get("role") == "tool"
    if is_result:
        yield Part("<tool_result>")
    content = message.get("content")
    if isinstance(content, list | tuple):
        for index, part in enumerate(content):
            text = part.get("text") if isinstance(part, dict) else None
            yield Part("\n\n" if index else "")
            yield Part(text) if isinstance(text, str) else _IMAGE
    else:
        yield Part(_text_of(message))
    if is_result:
        yield Part("</tool_result>")


def _answer(message: Mapping[str, Any], prompt: Prompt) -> Iterator[Part]:
    is_prefix, text = bool(message.get("prefix")), _text_of(message)
    reasoning = message.get("reasoning_content") or ""
    yield _ASSISTANT
    if prompt.keeps_reasoning or (is_prefix and prompt.is_thinking):
        yield from (_THINK, Part(reasoning))
        if is_prefix and not text:
            return
    yield from (_THOUGHT, Part(text), *_calls(message, prompt.version))
    if not is_prefix:
        yield _END


def _calls(message: Mapping[str, Any], version: Version) -> Iterator[Part]:
    outer, invoke, _ = _TAGS[version]
    calls = message.get("tool_calls") or ()
    if calls:
        yield from (Part("\n\n<"), _DSML, Part(f"{outer}>\n"))
    for call in calls:
        function = call.get("function") or {}
        yield from (Part("<"), _DSML, Part(f'{invoke} name="{function.get("name")}">\n'))
        yield from _arguments(function.get("arguments"), version)
        yield from (Part("</"), _DSML, Part(f"{invoke}>\n"))
    if calls:
        yield from (Part("</"), _DSML, Part(f"{outer}>"))


def _arguments(written: Any, version: Version) -> Iterator[Part]:
    tag = _TAGS[version][2]
    values = _decoded(written)
    for name, value in values.items():
        is_text = isinstance(value, str)
        yield from (Part("<"), _DSML, Part(f'{tag} name="{name}" string="{_json(is_text)}">'))
        yield from (Part(value if is_text else _json(value)), Part("</"), _DSML, Part(f"{tag}>\n"))
    if not values and version == "v41":
        yield Part("\n")


def _decoded(written: Any) -> dict[str, Any]:
    try:
        value = json.loads(written)
    except (TypeError, ValueError):
        value = None
    return value if isinstance(value, dict) else {"arguments": written or ""}


def _opening(prompt: Prompt) -> Iterator[Part]:
    """Render the beginning of the answer, unless the request brings it."""
    if not prompt.messages or not prompt.messages[-1].get("prefix"):
        yield from (_ASSISTANT, _THINK if prompt.is_thinking else _THOUGHT)
    if prompt.forces_tool:
        yield from (Part("\n\n<"), _DSML, Part(f"{_TAGS[prompt.version][0]}>\n"))


def _text_of(message: Mapping[str, Any]) -> str:
    return "\n\n".join(message_texts(message))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    """Join texts that follow each other, since the vocabulary joins them, too."""
    text = ""
    for part in parts:
        if part.tokens is None:
            text += part.text
            continue
        if text:
            yield Part(text)
            text = ""
        yield part
    if text:
        yield Part(text)
