"""What a request asks, as far as preset replies can answer it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk._wire import stub_response
from deepseek_sdk.backends.rules.text import shown
from deepseek_sdk.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["choice_count", "is_chinese", "question_of", "wants_json"]

# How many choices a request may ask for; that is the most which OpenAI's API allows.
_MOST_CHOICES = 128


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


def wants_json(body: Mapping[str, Any]) -> bool:
    """
    Tell whether the answer is to be JSON.

    Args:
        body: The request.

    Returns:
        Whether it is.
    """
    form = body.get("response_format")
    return isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")


def choice_count(body: Mapping[str, Any]) -> int:
    """
    Read how many choices are asked for.

    Args:
        body: The request.

    Returns:
        The number, 1 where it is not said.

    Raises:
        InvalidRequestError: It cannot be that many.
    """
    wanted = body.get("n")
    if wanted is None:
        return 1
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= _MOST_CHOICES:
        message = f"n must be a whole number from 1 to {_MOST_CHOICES}, not {shown(wanted)}"
        raise InvalidRequestError(message, param="n", response=stub_response(400, "http://backend.invalid"))
    return wanted


def is_chinese(text: str) -> bool:
    """
    Tell in which language to excuse oneself.

    Args:
        text: What was asked.

    Returns:
        Whether it is more likely Chinese than anything else: it has Chinese characters, and no kana.
    """
    return re.search("[\u3400-\u9fff]", text) is not None and re.search("[\u3041-\u30ff]", text) is None
