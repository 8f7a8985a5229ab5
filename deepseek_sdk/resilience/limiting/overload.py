"""Which errors say that too many calls are in flight: those, and no others, lower the limit of a limiter."""

from __future__ import annotations

import re

from deepseek_sdk.errors import ConcurrencyLimitError, ServerEventError, classify

__all__ = ["is_overload", "named_limit"]

# An error inside of an answer has no status: its code, its type or its text says what a 429 would have said. "The
# server is overloaded" is not among them, as a 503 is not: it is busy with the calls of others, and that is the
# breaker's concern.
_TOO_MANY = re.compile(r"rate[ _-]?limit|concurrency limit|too many requests", re.IGNORECASE)
_NAMED = re.compile(r"concurrency limit of (\d{1,9})\b")


def is_overload(error: BaseException | None) -> bool:
    """
    Say whether a server refused a call because there were too many.

    Args:
        error: What the call raised, or None.

    Returns:
        True for a 429, and for an error inside of an answer that says the same.
    """
    if isinstance(error, ServerEventError):
        said = (error.code, error.type, error.message)
        return str(error.code) == "429" or any(_TOO_MANY.search(str(text)) for text in said)
    return error is not None and classify(error).reason == "rate_limit"


def named_limit(error: BaseException | None) -> int | None:
    """
    Find how many calls may be in flight by the word of the server.

    Args:
        error: What the call raised.

    Returns:
        The number in "concurrency limit of 39", or None.
    """
    if isinstance(error, ConcurrencyLimitError):
        return error.limit
    found = _NAMED.search(error.message) if isinstance(error, ServerEventError) else None
    return int(found[1]) if found else None
