"""About how many tokens a request is, where exact counting would cost more than it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["estimate_tokens"]

# "1 English character = approximately 0.3 token, 1 Chinese character = approximately 0.6 token" (API docs).
_PER_ASCII, _PER_OTHER = 0.3, 0.6


def estimate_tokens(body: Mapping[str, Any]) -> int:
    """
    Estimate what a request may use.

    Args:
        body: Its JSON body.

    Returns:
        Tokens of its texts, plus the *max_tokens* that it reserves, where it does.
    """
    reserved = body.get("max_tokens") or body.get("max_completion_tokens")
    spoken = [text for name in ("messages", "prompt", "tools") for text in _texts(body.get(name))]
    ascii_ = sum(len(text.encode("ascii", "ignore")) for text in spoken)
    others = sum(map(len, spoken)) - ascii_
    estimate = int(ascii_ * _PER_ASCII + others * _PER_OTHER)
    return estimate + (reserved if isinstance(reserved, int) and not isinstance(reserved, bool) else 0)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            # An image is not counted by the letters of its base64.
            if name != "image_url":
                yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
