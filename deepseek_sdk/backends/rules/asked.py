"""What a request asks, as far as preset replies can answer it, and the chunks of an answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk.backends.rules.template import holds_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FINGERPRINT", "chunks_of", "fitted", "is_chinese", "question_of"]

FINGERPRINT = "rule-engine"

# How many characters one chunk of a stream brings.
_PIECE = 8

# Nothing was read or written by a model.
_USAGE = {
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "total_tokens": 0,
    "prompt_cache_hit_tokens": 0,
    "prompt_cache_miss_tokens": 0,
    "completion_tokens_details": {"reasoning_tokens": 0},
}


def question_of(body: Mapping[str, Any]) -> str:
    """
    Find the text that rules look at.

    Args:
        body: The request.

    Returns:
        The text of the last message of the user, else the prompt, else nothing.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return _text(body.get("prompt"))
    asked = (m for m in reversed(messages) if isinstance(m, dict) and m.get("role") == "user")
    return _text(next(asked, {}).get("content"))


def _text(content: object) -> str:
    """Join the texts among the parts of a message, or of a prompt."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def fitted(body: Mapping[str, Any], reply: str) -> str:
    """
    Give a reply the form that is asked for.

    Args:
        body: The request.
        reply: The reply.

    Returns:
        The reply; where JSON is asked for and it is no object, an object with the reply as its "message".
    """
    form = body.get("response_format")
    wants_json = isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")
    return json.dumps({"message": reply}, ensure_ascii=False) if wants_json and not holds_object(reply) else reply


def is_chinese(text: str) -> bool:
    """
    Tell in which language to excuse oneself.

    Args:
        text: What was asked.

    Returns:
        Whether it is more likely Chinese than anything else: it has Chinese characters, and no kana.
    """
    return re.search("[\u3400-\u9fff]", text) is not None and re.search("[\u3041-\u30ff]", text) is None


def chunks_of(path: str, body: Mapping[str, Any], content: str, *, model: str, is_stream: bool) -> Iterator[Any]:
    """
    Cut an answer into the chunks that a server would send.

    Args:
        path: "/chat/completions" or "/completions".
        body: The request.
        content: The answer.
        model: Who answers.
        is_stream: The caller asked for a stream.

    Yields:
        The role, the content, the ending, and the usage where it is wanted.
    """
    is_chat, head = path == "/chat/completions", {"model": model, "system_fingerprint": FINGERPRINT}
    size = _PIECE if is_stream else len(content)
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    wanted = body.get("n")
    for index in range(wanted if isinstance(wanted, int) else 1):
        choices = _chat_choices(pieces) if is_chat else _text_choices(pieces)
        yield from ({**head, "choices": [{"index": index, "logprobs": None, **choice}]} for choice in choices)
    options = body.get("stream_options")
    if not is_stream or (isinstance(options, dict) and options.get("include_usage")):
        yield {**head, "choices": [], "usage": _USAGE}


def _chat_choices(pieces: list[str]) -> Iterator[dict[str, Any]]:
    for delta in ({"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)):
        yield {"delta": delta, "finish_reason": None}
    yield {"delta": {}, "finish_reason": "stop"}


def _text_choices(pieces: list[str]) -> Iterator[dict[str, Any]]:
    for piece in pieces:
        yield {"text": piece, "finish_reason": None}
    yield {"text": "", "finish_reason": "stop"}
