"""`BreakerPolicy`: when an account is left alone, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number, check_seconds, check_share

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BreakerPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """
    When an account is left alone, and for how long; durations are seconds, None switches a rule off.

        BreakerPolicy(consecutive_failures=5)    opens after 5 failures with no good answer among them
        BreakerPolicy(error_ratio=0.5)           opens when half of the calls of the last minute failed
        BreakerPolicy(slow_ratio=0.6)            opens when 6 of 10 calls of the last minute had no first token in time
        BreakerPolicy(slow_first_token=3)        "in time" is 3 s; by default 8 s, or 30 s for a call that thinks
        BreakerPolicy(minimum_calls=20)          the two ratios mean nothing before the 20th call
        BreakerPolicy(open_for=10, growth=2, open_for_longest=120)    open 10 s, then 20 s, 40 s ... up to 2 minutes
        BreakerPolicy(jitter=0.1)                each of these up to 10 % shorter or longer, by chance
        BreakerPolicy(window=60, buckets=10)     "the last minute", forgotten in steps of 6 s
        BreakerPolicy(when_open="wait")          where nothing else can answer, a call waits for the next probe

    Slowness opens a circuit only where something else can take over.

    Raises:
        ConfigurationError: A field is something that cannot be; the error names it.
    """

    minimum_calls: int = 20
    consecutive_failures: int | None = 5
    error_ratio: float | None = 0.5
    slow_ratio: float | None = 0.6
    slow_first_token: float | Unset | None = UNSET
    window: float = 60.0
    buckets: int = 10
    open_for: float = 10.0
    open_for_longest: float = 120.0
    growth: float = 2.0
    jitter: float = 0.1
    when_open: Literal["fail", "wait"] = "fail"

    def __post_init__(self) -> None:
        self._check_rules()
        check_count("minimum_calls", self.minimum_calls, least=1)
        check_count("buckets", self.buckets, least=1)
        check_seconds("window", self.window, may_be_zero=False)
        check_seconds("open_for", self.open_for, may_be_zero=False)
        check_number("open_for_longest", self.open_for_longest, least=self.open_for)
        check_number("growth", self.growth, least=1)
        check_number("jitter", self.jitter)
        if self.jitter >= 1:
            raise ConfigurationError(f"jitter must be below 1, not {self.jitter!r}")
        if self.when_open not in {"fail", "wait"}:
            raise ConfigurationError(f"when_open must be 'fail' or 'wait', not {self.when_open!r}")

    def _check_rules(self) -> None:
        rules: dict[str, Callable[[str, Any], None]] = {
            "consecutive_failures": lambda name, value: check_count(name, value, least=1),
            "error_ratio": check_share,
            "slow_ratio": check_share,
            "slow_first_token": lambda name, value: check_seconds(name, value, may_be_zero=False),
        }
        for name, check in rules.items():
            value = getattr(self, name)
            if value is not None and value is not UNSET:
                check(name, value)
