"""`LimiterPolicy`: how many calls may be in flight, and how long others wait."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number, check_seconds

__all__ = ["LimiterPolicy"]

# "deepseek-v4-flash 2500, deepseek-v4-pro 500" concurrent requests of an account (API docs, rate limit).
_MAXIMUM, _MAXIMUM_PRO = 2500, 500
# Not "deepseek-prover", nor a gateway's tier "Pro/".
_PRO = re.compile(r"-pro(?:-|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterPolicy:
    """
    How many calls may be in flight with an account, and how long others wait for a place.

        LimiterPolicy()                          64 at first; more while it goes well, fewer after a 429
        LimiterPolicy(initial=8, maximum=8)      never more than 8
        LimiterPolicy(maximum=4000)              an account with a raised quota
        LimiterPolicy(minimum=8)                 8 may always try, whatever is refused
        LimiterPolicy(backoff=0.5)               a 429 halves the limit
        LimiterPolicy(rpm=60)                    60 calls at once after a quiet minute, then one a second
        LimiterPolicy(tpm=100_000)               tokens in the same way: estimated before, settled after a call
        LimiterPolicy(max_wait=5)                no call waits longer than 5 s; None: as long as its deadline
        LimiterPolicy(batch_every=2)             every other place is for batch calls, while any wait

    Args:
        initial: How many at first.
        minimum: Not fewer than that, whatever is refused, unless the server names a lower limit.
        maximum: Not more than that, whatever *minimum* says. Not given: 500 for models whose name has "pro" as its last
            word or between dashes (deepseek-v4-pro), else 2500, as DeepSeek allows.
        backoff: What the limit is multiplied by after a 429.
        rpm: How many calls may be sent in a minute, or None.
        tpm: How many tokens, of prompts and answers, may be used in a minute, or None. What a server says a call has
            used is believed up to ten times this number.
        max_wait: How long a call may wait for its place, in seconds, or None.
        batch_every: While batch calls wait, at least one of so many places is theirs.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    initial: int = 64
    minimum: int = 1
    maximum: int | Unset = UNSET
    backoff: float = 0.8
    rpm: int | None = None
    tpm: int | None = None
    max_wait: float | None = None
    batch_every: int = 8

    def __post_init__(self) -> None:
        for name in ("initial", "minimum", "batch_every"):
            check_count(name, getattr(self, name), least=1)
        for name in ("rpm", "tpm"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least=1)
        if self.max_wait is not None:
            check_seconds("max_wait", self.max_wait)
        self._check_maximum()
        check_number("backoff", self.backoff)
        if not 0 < self.backoff < 1:
            message = f"backoff must be above 0 and below 1, not {self.backoff!r}"
            raise ConfigurationError(message)

    def maximum_for(self, model: str) -> int:
        """
        Tell the maximum for a model.

        Args:
            model: Its name.

        Returns:
            The *maximum* that was given, else DeepSeek's.
        """
        if not isinstance(self.maximum, Unset):
            return self.maximum
        return _MAXIMUM_PRO if _PRO.search(model) else _MAXIMUM

    def _check_maximum(self) -> None:
        if isinstance(self.maximum, Unset):
            return
        check_count("maximum", self.maximum, least=1)
        if self.maximum < self.minimum:
            message = f"maximum must be at least minimum, {self.minimum}, not {self.maximum}"
            raise ConfigurationError(message)
