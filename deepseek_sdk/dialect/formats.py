"""Response formats: chat completions know text and JSON, and want the word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding
from deepseek_sdk.errors import InvalidRequestError, ResponseFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Request

__all__ = ["json_word", "lowered", "response_format"]

_JSON_OBJECT = {"type": "json_object"}
# The second sentence is the one that DeepSeek's own prompt encoder writes for a schema.
_INSTRUCTION = (
    "## Response Format:\n\nReply with one JSON object and nothing else. "
    "You MUST strictly adhere to the following schema to reply:\n{}"
)
_WORD = "Reply in JSON."


def response_format(request: Request) -> Finding | None:
    """Find a format that the chat endpoint does not serve."""
    given = request.body["response_format"]
    kind = given.get("type") if isinstance(given, dict) else given
    if given is None or kind in ("text", "json_object"):
        return None
    is_schema = kind == "json_schema"
    return Finding(
        code="response_format",
        places=("response_format",),
        message=f"response_format {kind!r} is not served by chat completions",
        fix="json_object is sent, and the schema as an instruction" if is_schema else "send text or json_object",
        repair=lowered if is_schema else None,
        is_certain=kind == "regex",
        kind=ResponseFormatError if kind in ("json_schema", "regex") else InvalidRequestError,
    )


def lowered(body: Body) -> Body:
    """
    Ask for JSON by a schema in the words that the service knows.

    Args:
        body: A body whose response format is `json_schema`.

    Returns:
        A copy with `json_object` instead, and the schema as an instruction in the first system message.
    """
    given = body["response_format"].get("json_schema")
    schema = given.get("schema") if isinstance(given, dict) else None
    plain = {**body, "response_format": _JSON_OBJECT}
    return plain if schema is None else _told(plain, _INSTRUCTION.format(json.dumps(schema, ensure_ascii=False)))


def json_word(request: Request) -> Finding | None:
    """Find a prompt for JSON that does not say so: the service refuses it."""
    given = request.body["response_format"]
    if not isinstance(given, dict) or given.get("type") != "json_object" or _says_json(request):
        return None
    return Finding(
        code="json_word",
        places=("messages",),
        message="response_format json_object needs the word json in a message",
        fix=f'the system message says "{_WORD}"',
        repair=lambda body: _told(body, _WORD),
    )


def _says_json(request: Request) -> bool:
    return any("json" in text or "JSON" in text or "json" in text.lower() for text in _texts(request))


def _texts(request: Request) -> Iterator[str]:
    for _, message in request.of():
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, (list, tuple)):
            yield from (part["text"] for part in content if isinstance(part, dict) and _is_text(part.get("text")))


def _is_text(text: object) -> bool:
    return isinstance(text, str)


def _told(body: Body, text: str) -> Body:
    """Add *text* to the system message at the start, where it stays the same from turn to turn."""
    messages = body["messages"]
    first = messages[0] if messages and isinstance(messages[0], dict) else {}
    if first.get("role") not in ("system", "developer"):
        return {**body, "messages": [{"role": "system", "content": text}, *messages]}
    return {**body, "messages": [{**first, "content": _joined(first.get("content"), text)}, *messages[1:]]}


def _joined(content: Any, text: str) -> Any:
    if isinstance(content, (list, tuple)):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if content else text
