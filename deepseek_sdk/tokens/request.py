"""
What of a request becomes its prompt: the rules of the live service that stand before any rendering.

They are what the service was seen to do, where that differs from its own encoder or goes beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk.routing.models import ALIASES, RETIRED, SERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "IMAGE",
    "RESPONSE_FORMAT",
    "STRICT",
    "UNKNOWN_MODEL",
    "Completion",
    "Prompt",
    "Version",
    "message_texts",
    "read_request",
    "variants",
]

Version: TypeAlias = Literal["v4", "v41"]
Message: TypeAlias = "Mapping[str, Any]"

_IMAGE_KINDS = frozenset({"file", "image", "image_url", "input_image"})
_PRO = "deepseek-v4-pro"
# The old names were two modes of one model (change log of 2026-04-24).
_RETIRED_THINKING = {"deepseek-chat": False, "deepseek-reasoner": True}

IMAGE = "image"
RESPONSE_FORMAT = "response format"
STRICT = "strict tools"
UNKNOWN_MODEL = "unknown model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """
    A chat request, as far as its prompt depends on it.

    Attributes:
        version: The template: "v41" for flash, "v4" for pro.
        messages: The conversation.
        tools: The functions offered; empty where the request switches them off.
        tool_choice: What the request says, None for nothing.
        is_thinking: Whether the model thinks.
        effort: How hard, in the request's words; None for the default.
        response_format: What the request says, None for nothing.
        images: How many images there are.
        doubts: What in it nobody outside knows the tokens of.
    """

    version: Version = "v41"
    messages: tuple[Message, ...] = ()
    tools: tuple[Any, ...] = ()
    tool_choice: Any = None
    is_thinking: bool = True
    effort: str | None = None
    response_format: Any = None
    images: int = 0
    doubts: tuple[str, ...] = ()

    @property
    def keeps_reasoning(self) -> bool:
        """Whether thoughts of earlier turns are part of the prompt: all of them where there are tools, else none."""
        return self.is_thinking and bool(self.tools)

    @property
    def forces_tool(self) -> bool:
        """Whether the prompt ends with the beginning of a call."""
        return self.tool_choice == "required" or isinstance(self.tool_choice, dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """
    A fill-in-the-middle request.

    Attributes:
        prompt: What stands before the hole.
        suffix: What stands after it.
    """

    prompt: str
    suffix: str


def read_request(body: Mapping[str, Any]) -> Prompt | Completion:
    """
    Read the body of a request.

    Args:
        body: As it goes over the wire.

    Returns:
        What its prompt depends on.
    """
    if "messages" not in body and "prompt" in body:
        return Completion(prompt=_joined(body["prompt"]), suffix=_joined(body.get("suffix")))
    name = body.get("model")
    model = name if isinstance(name, str) else ""
    messages = _messages(body)
    # "tool_choice: none" removes the tools block (94 against 359 tokens through the live service).
    tools = () if body.get("tool_choice") == "none" else _list_of(body.get("tools"))
    images = sum(map(_images_in, messages))
    response_format = _response_format(body)
    return Prompt(
        version="v4" if model == _PRO else "v41",
        messages=messages,
        tools=tools,
        tool_choice=body.get("tool_choice") if tools else None,
        is_thinking=_is_thinking(body, model),
        effort=_effort(body),
        response_format=response_format,
        images=images,
        doubts=tuple(_doubts(model, tools, response_format, images)),
    )


def variants(prompt: Prompt) -> Iterator[Prompt]:
    """
    Give the ways in which the service may understand what is in doubt.

    Args:
        prompt: A request.

    Yields:
        It without the response format, and with tools that are not strict, where it has such.
    """
    # "Image, JSON-mode, strict and server-tool costs are not modelled."
    if RESPONSE_FORMAT in prompt.doubts:
        yield replace(prompt, response_format=None)
    if STRICT in prompt.doubts:
        loose = tuple(_loose(tool) for tool in prompt.tools)
        yield replace(prompt, tools=loose)
        if RESPONSE_FORMAT in prompt.doubts:
            yield replace(prompt, tools=loose, response_format=None)


def message_texts(message: Message) -> Iterator[str]:
    """
    Give what a message says, images left out.

    Args:
        message: Of any role.

    Yields:
        Its content, part by part.
    """
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list | tuple) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield text


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    messages = tuple(map(_message, _list_of(body.get("messages"))))
    if "developer" not in [message.get("role") for message in messages]:
        return messages
    # OpenAI's newer name of the system role; this service knows the older one only, so that is what is sent.
    return tuple(
        {**message, "role": "system"} if message.get("role") == "developer" else message for message in messages
    )


def _message(given: Any) -> Message:
    message = given if isinstance(given, dict) else {}
    # A role of another kind is refused, and must not be in the way until then.
    return message if isinstance(message.get("role", ""), str) else {**message, "role": ""}


def _list_of(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _is_thinking(body: Mapping[str, Any], model: str) -> bool:
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    # On by default; the encoder takes an effort of "none" for off.
    return body.get("reasoning_effort") != "none" and _RETIRED_THINKING.get(model, True)


def _effort(body: Mapping[str, Any]) -> str | None:
    effort = body.get("reasoning_effort")
    return effort if isinstance(effort, str) and effort != "none" else None


def _response_format(body: Mapping[str, Any]) -> Any:
    wanted = body.get("response_format")
    return wanted if isinstance(wanted, dict) and wanted.get("type", "text") != "text" else None


def _images_in(message: Message) -> int:
    content = message.get("content")
    if isinstance(content, str) or not isinstance(content, list | tuple):
        return 0
    return sum(isinstance(part, dict) and part.get("type") in _IMAGE_KINDS for part in content)


def _doubts(model: str, tools: tuple[Any, ...], response_format: Any, images: int) -> Iterator[str]:
    if model not in SERVED and model not in ALIASES and model not in RETIRED:
        yield UNKNOWN_MODEL
    if images:
        yield IMAGE
    if response_format is not None:
        yield RESPONSE_FORMAT
    if any(_function(tool).get("strict") for tool in tools):
        yield STRICT


def _loose(tool: Any) -> Any:
    function = _function(tool)
    return {**tool, "function": {**function, "strict": False}} if function.get("strict") else tool


def _function(tool: Any) -> Mapping[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) else {}


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ""
