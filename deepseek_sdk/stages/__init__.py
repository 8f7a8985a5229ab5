"""The stages a call passes, in THE order, and what a stage of your own is written with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._call import Call
from deepseek_sdk._io import IO
from deepseek_sdk._pipeline import Proceed, Stage
from deepseek_sdk._reply import Ending, Reply
from deepseek_sdk._sse import Event
from deepseek_sdk.stages._policies import Policies
from deepseek_sdk.stages.breaker import CircuitBreaker
from deepseek_sdk.stages.budget import SpendLimit
from deepseek_sdk.stages.cache import ResponseCache
from deepseek_sdk.stages.dialect import Dialect
from deepseek_sdk.stages.fit import WindowFit
from deepseek_sdk.stages.limiter import ConcurrencyLimit
from deepseek_sdk.stages.repair import StructuredOutput
from deepseek_sdk.stages.retry import Retry
from deepseek_sdk.stages.routes import Routes
from deepseek_sdk.stages.telemetry import Observation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "IO",
    "Call",
    "CircuitBreaker",
    "ConcurrencyLimit",
    "Dialect",
    "Ending",
    "Event",
    "Observation",
    "Policies",
    "Proceed",
    "Reply",
    "ResponseCache",
    "Retry",
    "Routes",
    "SpendLimit",
    "Stage",
    "StructuredOutput",
    "WindowFit",
    "default_stages",
]


def default_stages(policies: Policies | None = None) -> Sequence[Stage]:
    """
    Make the chain.

    Args:
        policies: What holds for every call; the defaults when None.

    Returns:
        The stages, outermost first; the target of the call answers at the end.
    """
    policies = policies or Policies()
    books = policies.books
    observation = Observation(books.telemetry, books.observers)
    return (
        observation,
        ResponseCache(books.cache, around=observation, price=books.saving),
        StructuredOutput(),
        SpendLimit(
            books.budgets,
            cost_of=books.cost_of,
            expect=books.expect,
            has_hosts=lambda: books.prices.has_hosts,
            retries=policies.retries,
        ),
        Routes(),
        WindowFit(lambda: books.counter, expected=books.expected),
        Dialect(),
        Retry(policies.retry, breakers=policies.breakers),
        CircuitBreaker(policies.breakers),
        ConcurrencyLimit(policies.limiters),
    )
