"""How many tokens a request has at most and at least, from the bytes of it alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.request import Completion, message_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.tokens.request import Prompt

__all__ = ["IMAGE_TOKENS", "MOST_IMAGE_TOKENS", "fewest_tokens", "most_tokens"]

# The image of 1024 x 1024 that stands for those whose size is not known, and the largest, by the official encoder.
IMAGE_TOKENS = 652
MOST_IMAGE_TOKENS = 1022
# No token of the vocabulary is wider.
_WIDEST_BYTES = 128
# What the template adds at most: to a request, to one with tools, to a message, and around the parts of a JSON value
# that is written out anew, such as `{"a":1}`, whose one parameter takes some seventy bytes.
_REQUEST, _TOOLS, _MESSAGE, _JSON = 256, 1024, 16, 20


def most_tokens(request: Prompt | Completion) -> int:
    """
    Bound the tokens of a request from above.

    Args:
        request: Any.

    Returns:
        A number that is not exceeded, since a token is at least one byte.
    """
    if isinstance(request, Completion):
        return _bytes(request.prompt) + _bytes(request.suffix) + _MESSAGE
    total = _REQUEST + MOST_IMAGE_TOKENS * request.images
    if request.tools:
        total += _TOOLS + _JSON * _bytes(_written(request.tools))
    if request.response_format is not None:
        total += _REQUEST + _JSON * _bytes(_written(request.response_format))
    return total + sum(_MESSAGE + _most_of(message) for message in request.messages)


def fewest_tokens(request: Prompt | Completion) -> int:
    """
    Bound the tokens of a request from below.

    Args:
        request: Any.

    Returns:
        A number that is reached, since a token is at most so wide.
    """
    if isinstance(request, Completion):
        return (_bytes(request.prompt) + _bytes(request.suffix)) // _WIDEST_BYTES
    return sum(_bytes(text) for message in request.messages for text in message_texts(message)) // _WIDEST_BYTES


def _most_of(message: Mapping[str, Any]) -> int:
    reasoning = message.get("reasoning_content")
    texts = sum(_bytes(text) + 2 for text in message_texts(message))
    calls = message.get("tool_calls")
    # A result has a tag around it: <tool_result></tool_result>.
    wrapped = 32 if message.get("role") == "tool" else 0
    return (
        texts
        + wrapped
        + (_bytes(reasoning) if isinstance(reasoning, str) else 0)
        + (_JSON * _bytes(_written(calls)) if calls else 0)
    )


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
