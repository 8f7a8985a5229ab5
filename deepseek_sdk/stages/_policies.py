"""`Policies`: what holds for every call of a client and of its children."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deepseek_sdk._books import Books
from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.breaking.breaker import Breakers
from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
from deepseek_sdk.resilience.limiting.limiter import Limiters
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from deepseek_sdk.resilience.retrying.decision import most_retries
from deepseek_sdk.resilience.retrying.policy import RetryPolicy, policy_of
from deepseek_sdk.stages.cache import ResponseCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk._call import Call
    from deepseek_sdk.telemetry.gauges import Source


__all__ = ["Policies"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """
    What holds for every call.

        Policies()                                     the defaults
        Policies.of(breaker=None)                      no circuit breaker
        Policies.of(breaker=other_client.breakers)     shared with another client, of either colour

    Attributes:
        retry: What is asked again.
        breakers: The circuit breakers, one for each account.
        limiters: The limiters, one for each account.
        books: What calls are counted, paid and written down by.
    """

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breakers: Breakers = field(default_factory=lambda: Breakers(BreakerPolicy()))
    limiters: Limiters = field(default_factory=lambda: Limiters(LimiterPolicy()))
    books: Books = field(default_factory=Books)

    @classmethod
    def of(
        cls, *, retry: Any = UNSET, breaker: Any = UNSET, limiter: Any = UNSET, books: Books | None = None
    ) -> Policies:
        """
        Read the arguments of a client.

        Args:
            retry: A RetryPolicy, None for none, UNSET for the default.
            breaker: A BreakerPolicy, the Breakers of another client, None for none, UNSET for the default.
            limiter: A LimiterPolicy, the Limiters of another client, None for none, UNSET for the default.
            books: What calls are counted, paid and written down by; None: the defaults.

        Returns:
            The policies.

        Raises:
            ConfigurationError: One of them is something else.
        """
        if not isinstance(retry, RetryPolicy | Unset | None):
            raise ConfigurationError(f"retry must be a RetryPolicy or None, not {retry!r}")
        return cls(
            retry=policy_of(retry),
            breakers=_registry("breaker", breaker, BreakerPolicy, Breakers),
            limiters=_registry("limiter", limiter, LimiterPolicy, Limiters),
            books=Books() if books is None else books,
        )

    @classmethod
    def within(cls, stages: Iterable[object], books: Books | None = None) -> Policies:
        """
        Find the breakers and limiters of a pipeline that somebody has put together.

        Args:
            stages: The pipeline.
            books: As for `of()`.

        Returns:
            What its stages use; where they use none, there are none.
        """
        books = Books() if books is None else books
        books.cache = next((stage.cache for stage in stages if isinstance(stage, ResponseCache)), None)
        books.telemetry = next((stage.telemetry for stage in stages if hasattr(stage, "telemetry")), None)
        breakers = next((stage.breakers for stage in stages if hasattr(stage, "breakers")), Breakers(None))
        limiters = next((stage.limiters for stage in stages if hasattr(stage, "limiters")), Limiters(None))
        return cls(breakers=breakers, limiters=limiters, books=books)

    def show(self) -> Source | None:
        """
        Let gauges look at how circuits, limits and budgets stand.

        Returns:
            What is looked at for as long as it is kept, or None where there is no telemetry.
        """
        if self.books.telemetry is None:
            return None
        return self.books.telemetry.listening.sources.show(self.breakers, self.limiters, self.books.budgets)

    def retries(self, call: Call) -> float:
        """
        Say how often a call may be asked again of one route.

        Args:
            call: It.

        Returns:
            The number; infinite where nothing but success or time ends it.
        """
        return most_retries(self.retry, call.max_retries, can_move_on=call.can_move_on_to_route)


def _registry(name: str, given: Any, policy: Any, registry: Any) -> Any:
    if given is UNSET:
        return registry(policy())
    if given is None or isinstance(given, policy):
        return registry(given)
    if isinstance(given, registry):
        return given
    kinds = f"a {policy.__name__}, the {registry.__name__} of another client, or None"
    raise ConfigurationError(f"{name} must be {kinds}, not {given!r}")
