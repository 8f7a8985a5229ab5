"""About how many tokens a request is, where exact counting would cost more than it is worth."""

from __future__ import annotations

import json
from math import ceil
from typing import TYPE_CHECKING, Any

from deepseek_sdk._mode import thinking_mode
from deepseek_sdk._usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deepseek_sdk.errors import Partial

__all__ = ["estimate_billed", "estimate_prompt", "estimate_text", "estimate_tokens", "estimate_usage"]

# "1 English character = approximately 0.3 token, 1 Chinese character = approximately 0.6 token" (API docs).
_PER_ASCII, _PER_OTHER = 0.3, 0.6
# What the service writes around that, counted with its own encoder: the marks of a message, and of a call with its
# result, the line on effort (of pro at its longest), the texts that explain tools and the wanted format.
_PER_MESSAGE, _PER_CALL, _EFFORT, _EFFORT_OF_PRO, _TOOLS, _FORMAT = 2, 30, 26, 92, 222, 24
# What is part of the prompt as JSON.
_WRITTEN = ("tools", "response_format")


def estimate_tokens(body: Mapping[str, Any]) -> int:
    """
    Estimate what a request may use.

    Args:
        body: Its JSON body.

    Returns:
        Tokens of its texts, plus the *max_tokens* that it reserves, where it does.
    """
    reserved = body.get("max_tokens") or body.get("max_completion_tokens")
    return estimate_prompt(body) + (reserved if isinstance(reserved, int) and not isinstance(reserved, bool) else 0)


def estimate_prompt(body: Mapping[str, Any]) -> int:
    """
    Estimate the prompt of a request.

    Args:
        body: Its JSON body.

    Returns:
        Tokens of its texts.
    """
    texts: list[str] = []
    for name in ("messages", "prompt", "tools"):
        _collect(body.get(name), texts)
    return int(_weight(texts))


def estimate_billed(body: Mapping[str, Any]) -> int:
    """
    Estimate what the service bills for the prompt of a request: its texts, and what is written around them.

    Args:
        body: Its JSON body.

    Returns:
        Tokens.
    """
    texts: list[str] = []
    for name in ("messages", "prompt", "suffix"):
        _collect(body.get(name), texts)
    messages = body.get("messages")
    if not isinstance(messages, (list, tuple)):
        return ceil(_weight(texts))
    written = [json.dumps(body[name], ensure_ascii=False, default=str) for name in _WRITTEN if body.get(name)]
    return ceil(_weight([*texts, *written])) + _template(body, messages)


def _template(body: Mapping[str, Any], messages: Sequence[Any]) -> int:
    calls = sum(len(message.get("tool_calls") or ()) for message in messages if isinstance(message, dict))
    total = _PER_MESSAGE * (1 + len(messages)) + _PER_CALL * calls
    if thinking_mode(body) != "off":
        total += _EFFORT_OF_PRO if "pro" in str(body.get("model")) else _EFFORT
    return total + _TOOLS * bool(body.get("tools")) + _FORMAT * bool(body.get("response_format"))


def estimate_usage(body: Mapping[str, Any], partial: Partial) -> Usage:
    """
    Estimate what an answer has used that the server gave no account of.

    Args:
        body: The JSON body of the request.
        partial: What had come of the answer.

    Returns:
        The usage, as if nothing had been cached.
    """
    reasoning = estimate_text(partial.reasoning)
    called = _weight(text for call in partial.tool_calls for text in _texts(call.get("function")))
    output = reasoning + estimate_text(partial.text) + ceil(called)
    return Usage(hit=0, miss=estimate_billed(body), output=output, reasoning=reasoning)


def estimate_text(text: str) -> int:
    """
    Estimate the tokens of a text.

    Args:
        text: Any.

    Returns:
        The nearest whole number, rounded up.
    """
    return ceil(_weight((text,)))


def _weight(texts: Iterable[str]) -> float:
    # Added up first: the sum of many small fractions would be a little off.
    ascii_ = others = 0
    for text in texts:
        plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
        ascii_, others = ascii_ + plain, others + len(text) - plain
    return ascii_ * _PER_ASCII + others * _PER_OTHER


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    # A list to fill: generators within generators take several times as long, and every call is estimated.
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for name, item in value.items():
            # An image is not counted by the letters of its base64.
            if name != "image_url":
                _collect(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
