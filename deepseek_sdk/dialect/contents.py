"""Messages one by one: roles and contents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed
from deepseek_sdk.dialect.request import with_messages
from deepseek_sdk.errors import EmptyMessageError, InvalidRequestError

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Kind, Severity
    from deepseek_sdk.dialect.request import Message, Request

__all__ = [
    "NO_OUTPUT",
    "ROLES",
    "developer_role",
    "empty_assistant",
    "empty_tool_output",
    "null_content",
    "null_tool_output",
    "text_parts",
    "unknown_part",
    "unknown_role",
    "written_parts",
]

ROLES = frozenset({"system", "user", "assistant", "tool", "latest_reminder"})
# What DeepSeek's own client sends where a tool said nothing.
NO_OUTPUT = "(no output)"
# The service's own encoder puts this between the parts of a message.
_BETWEEN_PARTS = "\n\n"
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def _changed(
    code: str, changed: dict[int, Message], what: str, fix: str, *, severity: Severity = "error", kind: Kind
) -> Finding | None:
    """Make the finding about messages that can all be mended, where there are any."""
    if not changed:
        return None
    places = tuple(f"messages[{index}]" for index in changed)
    message, repair = f"{listed(places)} {what}", partial(with_messages, changed=changed)
    return Finding(code=code, places=places, message=message, fix=fix, severity=severity, repair=repair, kind=kind)


def developer_role(request: Request) -> Finding | None:
    """Find OpenAI's name for a system message."""
    changed = {index: {**message, "role": "system"} for index, message in request.of("developer")}
    what, fix = "has the role developer", "it is sent as system"
    return _changed("developer_role", changed, what, fix, kind=InvalidRequestError)


def unknown_role(request: Request) -> Finding | None:
    """Find a role that the API does not know."""
    odd = {index: message.get("role") for index, message in request.of() if not _is_known(message.get("role"))}
    if not odd:
        return None
    places = tuple(f"messages[{index}].role" for index in odd)
    return Finding(
        code="unknown_role",
        places=places,
        message=f"{listed(places)} is {next(iter(odd.values()))!r}",
        fix=f"the API knows {', '.join(sorted(ROLES))}",
        is_certain=False,
    )


def _is_known(role: object) -> bool:
    return isinstance(role, str) and role in ROLES


def empty_assistant(request: Request) -> Finding | None:
    """Find an answer without content and without calls: "content or tool_calls must be set"."""
    odd = {index: message for index, message in request.of("assistant") if _is_empty(message)}
    if calling := [index for index, message in odd.items() if message.get("function_call")]:
        return _function_calls(tuple(f"messages[{index}].function_call" for index in calling))
    changed = {index: {**message, "content": ""} for index, message in odd.items()}
    what, fix = "has neither content nor tool_calls", 'content "" is sent'
    return _changed("empty_assistant", changed, what, fix, kind=EmptyMessageError)


def _is_empty(message: Message) -> bool:
    return message.get("content") is None and not message.get("tool_calls")


def _function_calls(places: tuple[str, ...]) -> Finding:
    message = f"{listed(places)} is what came before tool_calls, and is ignored"
    fix = "send tool_calls, and the result with the role tool"
    return Finding(code="function_call", places=places, message=message, fix=fix, kind=EmptyMessageError)


def null_content(request: Request) -> Finding | None:
    """Find a message of anyone else without content."""
    messages = request.of("system", "user", "latest_reminder")
    changed = {index: {**message, "content": ""} for index, message in messages if message.get("content") is None}
    what, fix = "has no content", 'content "" is sent'
    return _changed("null_content", changed, what, fix, kind=InvalidRequestError)


def null_tool_output(request: Request) -> Finding | None:
    """Find the result of a tool that is null."""
    odd = {index: message for index, message in request.of("tool") if message.get("content") is None}
    changed = {index: {**message, "content": NO_OUTPUT} for index, message in odd.items()}
    fix = f"{NO_OUTPUT!r} is sent"
    return _changed("null_tool_output", changed, "has no content", fix, kind=InvalidRequestError)


def empty_tool_output(request: Request) -> Finding | None:
    """Find the result of a tool that says nothing; models have answered nothing to that."""
    odd = {index: message for index, message in request.of("tool") if message.get("content") in ("", [])}
    changed = {index: {**message, "content": NO_OUTPUT} for index, message in odd.items()}
    what, fix = "is a tool's output, and empty", f"{NO_OUTPUT!r} is sent"
    return _changed("empty_tool_output", changed, what, fix, severity="warning", kind=InvalidRequestError)


def written_parts(request: Request) -> Finding | None:
    """Find parts of a content that are written as other interfaces write them, and a list where only text may be."""
    changed = {}
    for index, message in request.of():
        content = message.get("content")
        if isinstance(content, (list, tuple)) and (written := _written(message, content)) is not content:
            changed[index] = {**message, "content": written}
    what, fix = "has parts that the API does not know", "they are sent as text and image_url"
    return _changed("content_part", changed, what, fix, kind=InvalidRequestError)


def _written(message: Message, content: Any) -> Any:
    parts = [_part(part) for part in content]
    if message.get("role") == "latest_reminder" and all(_is_text(part) for part in parts):
        return _BETWEEN_PARTS.join(part["text"] for part in parts)
    return content if all(new is old for new, old in zip(parts, content, strict=True)) else parts


def _part(part: Any) -> Any:
    """Write one part as the API wants it; the same object where it is right, or cannot be read."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, str) and kind in _TEXTS:
        text = part.get(_TEXTS[kind])
        is_right = kind == "text" and isinstance(text, str)
        return part if is_right or not isinstance(text, str | None) else {"type": "text", "text": text or ""}
    if kind in ("image_url", "input_image") and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return part


def unknown_part(request: Request) -> Finding | None:
    """Find parts that the API cannot read, such as audio, and images in an answer."""
    places = []
    for index, message in request.of():
        content = message.get("content")
        is_answer = message.get("role") == "assistant"
        if isinstance(content, (list, tuple)):
            parts = enumerate(_part(part) for part in content)
            places += [f"messages[{index}].content[{at}]" for at, part in parts if not _is_read(part, is_answer)]
        elif content is not None and not isinstance(content, str):
            places.append(f"messages[{index}].content")
    if not places:
        return None
    what, fix = f"{listed(places)} cannot be read", "send text, or image_url in a question"
    return Finding(code="unknown_part", places=tuple(places), message=what, fix=fix, is_certain=False)


def _is_read(part: Any, is_answer: bool) -> bool:  # noqa: FBT001  of two facts, the second
    if _is_text(part):
        return True
    if is_answer or not isinstance(part, dict):
        return False
    image = part.get("image_url")
    is_image = part.get("type") == "image_url" and isinstance(image, dict) and isinstance(image.get("url"), str)
    return is_image or part.get("type") == "file"


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def text_parts(request: Request) -> Finding | None:
    """Find lists of text where the model reads nothing but text: such a model has refused them."""
    if not request.is_text_only:
        return None
    changed = {}
    for index, message in request.of():
        content = message.get("content")
        if isinstance(content, (list, tuple)) and all(_is_text(part) for part in content):
            changed[index] = {**message, "content": _BETWEEN_PARTS.join(part["text"] for part in content)}
    what, fix = "is a list of texts, which this model has refused", "they are sent as one text"
    return _changed("text_parts", changed, what, fix, severity="warning", kind=InvalidRequestError)
