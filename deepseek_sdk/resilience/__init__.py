"""What to do when a server fails, is slow or is busy: decisions over instants and what happened, and their state."""

from __future__ import annotations

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaker import Breaker, Breakers
from deepseek_sdk.resilience.breaker_policy import BreakerPolicy
from deepseek_sdk.resilience.budget import RetryBudget
from deepseek_sdk.resilience.limiter import Limiter, Limiters
from deepseek_sdk.resilience.limiter_policy import LimiterPolicy
from deepseek_sdk.resilience.retry_policy import RetryPolicy
from deepseek_sdk.resilience.states import BreakerSnapshot, BreakerState

__all__ = [
    "Account",
    "Breaker",
    "BreakerPolicy",
    "BreakerSnapshot",
    "BreakerState",
    "Breakers",
    "Limiter",
    "LimiterPolicy",
    "Limiters",
    "RetryBudget",
    "RetryPolicy",
]
