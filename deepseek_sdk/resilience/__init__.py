"""What to do when a server fails, is slow or is busy: decisions over instants and what happened, and their state."""

from __future__ import annotations

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaker import Breaker, BreakerPolicy, Breakers, BreakerState
from deepseek_sdk.resilience.budget import RetryBudget
from deepseek_sdk.resilience.limiter import Limiter, LimiterPolicy, Limiters
from deepseek_sdk.resilience.retrying import RetryPolicy

__all__ = [
    "Account",
    "Breaker",
    "BreakerPolicy",
    "BreakerState",
    "Breakers",
    "Limiter",
    "LimiterPolicy",
    "Limiters",
    "RetryBudget",
    "RetryPolicy",
]
