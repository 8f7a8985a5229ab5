"""What answers a request: a reply in the form that it asks for, and its chunks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk.backends.rules.request import choice_count, wants_json
from deepseek_sdk.backends.rules.template import holds_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FINGERPRINT", "chunks_of", "formatted"]

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


def formatted(body: Mapping[str, Any], reply: str) -> str:
    """
    Give a reply the form that is asked for.

    Args:
        body: The request.
        reply: The reply.

    Returns:
        The reply; where JSON is asked for and it is no object, an object with the reply as its "message".
    """
    if not wants_json(body) or holds_object(reply):
        return reply
    return json.dumps({"message": reply}, ensure_ascii=False)


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
    for index in range(choice_count(body)):
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
