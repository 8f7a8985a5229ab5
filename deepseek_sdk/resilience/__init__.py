"""What to do when a server fails, is slow or is busy: decisions over instants and what happened, and their state."""

from __future__ import annotations

from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaking.breaker import Breaker, Breakers
from deepseek_sdk.resilience.breaking.policy import BreakerPolicy
from deepseek_sdk.resilience.breaking.states import BreakerSnapshot, BreakerState
from deepseek_sdk.resilience.limiting.limiter import Limiter, Limiters
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from deepseek_sdk.resilience.retrying.budget import RetryBudget
from deepseek_sdk.resilience.retrying.policy import RetryPolicy

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
