"""Ask the same route again after failures that may pass: the only retry loop there is."""

from __future__ import annotations

import email.utils
import logging
import math
import random
import time
from typing import TYPE_CHECKING

from deepseek_sdk.errors import classify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply

__all__ = ["Retry", "backoff", "retry_after"]

_log = logging.getLogger("deepseek_sdk")

_FIRST_S, _LONGEST_S = 0.5, 8.0
# openai's client obeys a server up to this long, and gives up beyond it.
_LONGEST_ASKED_S = 120.0


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


def backoff(retries: int, asked: float | None, chance: float) -> float | None:
    """
    Decide how long to wait before asking again.

    Args:
        retries: How many times it was asked again already.
        asked: How long the server asks to wait, in seconds, or None.
        chance: A random number from 0 to 1; it keeps many clients from coming back at the same instant.

    Returns:
        Seconds, or None where the server asks for too long a wait.
    """
    if asked is None:
        return chance * min(_FIRST_S * 2.0 ** min(retries, 10), _LONGEST_S)
    return asked * (1 + 0.1 * chance) if asked <= _LONGEST_ASKED_S else None


class Retry:
    """
    Makes up to `max_retries` further attempts, as long as the caller has seen nothing of the answer.

    What may be retried stands in `errors.classify()`.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call in as many attempts as it takes and may have."""
        attempts = _Attempts(call, proceed, self._chance)
        reply = await attempts.next()
        reply.rescue_with(attempts.rescue)
        return reply


class _Attempts:
    """The attempts of one call: those that fail before an answer begins, and those that fail while it comes in."""

    def __init__(self, call: Call, proceed: Proceed, chance: Callable[[], float]) -> None:
        self._call = call
        self._proceed = proceed
        self._chance = chance
        self._retries = 0

    async def next(self) -> Reply:
        while True:
            try:
                return await self._proceed(self._call)
            except Exception as error:
                if not await self._wait_after(error):
                    raise

    async def rescue(self, reply: Reply, error: Exception) -> Reply | None:
        if reply.has_shown or not await self._wait_after(error):
            return None
        return await self.next()

    async def _wait_after(self, error: Exception) -> bool:
        """Wait before the next attempt; False where there is none."""
        delay = self._delay(error)
        if delay is None:
            return False
        self._retries += 1
        reason, most = classify(error).reason, self._call.max_retries
        _log.info("retrying in %.2f s after %s (retry %d of %d)", delay, reason, self._retries, most)
        await self._call.io.sleep(delay)
        return True

    def _delay(self, error: Exception) -> float | None:
        if self._retries >= self._call.max_retries or not classify(error).retry:
            return None
        headers = getattr(getattr(error, "response", None), "headers", {})
        delay = backoff(self._retries, retry_after(headers, time.time()), self._chance())
        ends_at = self._call.record.started + self._call.limits.total
        return delay if delay is not None and self._call.io.now() + delay < ends_at else None
