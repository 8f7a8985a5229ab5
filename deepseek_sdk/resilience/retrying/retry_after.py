"""How long a server asks to wait before it is asked again."""

from __future__ import annotations

import email.utils
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["headers_of", "retry_after"]


def headers_of(error: Exception) -> Mapping[str, str]:
    """
    Find the headers of the answer that an error stands for.

    Args:
        error: It.

    Returns:
        The headers; none where there was no answer.
    """
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    return headers


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """
    Read how long a server asks to wait.

    Args:
        headers: The headers of its answer: `retry-after-ms`, or `retry-after` in seconds or as a date.
        now: The time, in seconds since the epoch.

    Returns:
        Seconds, or None where it does not say.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    return _seconds_until(headers.get("retry-after"), now)


def _seconds_until(date: str | None, now: float) -> float | None:
    parsed = email.utils.parsedate_tz(date)
    if parsed is None:
        return None
    try:
        return max(email.utils.mktime_tz(parsed) - now, 0.0)
    except (ValueError, OverflowError, OSError):
        return None
