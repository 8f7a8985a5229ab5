"""The drop-in client for DeepSeek: `from deepseek_sdk import Client` in place of `from openai import OpenAI`."""

from __future__ import annotations

from typing import TYPE_CHECKING

# First and here: what is imported from deep inside of other imports takes longer, and openai is most of the whole.
import openai as _openai  # noqa: F401

from deepseek_sdk._cache import CacheControl
from deepseek_sdk._call import CallOptions, options
from deepseek_sdk._client import AsyncClient, Client
from deepseek_sdk._clock import Deadlines
from deepseek_sdk._later import later as _later
from deepseek_sdk._report import CallReport, report
from deepseek_sdk._usage import Usage
from deepseek_sdk._version import __version__
from deepseek_sdk.errors import DeepSeekError
from deepseek_sdk.resilience import BreakerPolicy, Breakers, LimiterPolicy, Limiters, RetryBudget, RetryPolicy
from deepseek_sdk.routing.route import Route

if TYPE_CHECKING:
    from deepseek_sdk._balance import Balance, BalanceAmount
    from deepseek_sdk._check import RouteCheck
    from deepseek_sdk._health import Health, RouteHealth
    from deepseek_sdk.backends.rules import Rule, RuleEngine
    from deepseek_sdk.caching import CacheStats, ExactCache, SemanticCache
    from deepseek_sdk.ledger import Ledger, UsageReport
    from deepseek_sdk.pricing import Cost, PriceBook
    from deepseek_sdk.routing.auto import RoutingDecision, RoutingPolicy
    from deepseek_sdk.spending import Budgets, BudgetState, SpendBudget
    from deepseek_sdk.telemetry import Telemetry
    from deepseek_sdk.tokens import TokenCount
    from deepseek_sdk.tokens.fitting import Fit, TokenBudget

__all__ = [
    "AsyncClient",
    "Balance",
    "BalanceAmount",
    "BreakerPolicy",
    "Breakers",
    "BudgetState",
    "Budgets",
    "CacheControl",
    "CacheStats",
    "CallOptions",
    "CallReport",
    "Client",
    "Cost",
    "Deadlines",
    "DeepSeekError",
    "ExactCache",
    "Fit",
    "Health",
    "Ledger",
    "LimiterPolicy",
    "Limiters",
    "PriceBook",
    "RetryBudget",
    "RetryPolicy",
    "Route",
    "RouteCheck",
    "RouteHealth",
    "RoutingDecision",
    "RoutingPolicy",
    "Rule",
    "RuleEngine",
    "SemanticCache",
    "SpendBudget",
    "Telemetry",
    "TokenBudget",
    "TokenCount",
    "Usage",
    "UsageReport",
    "__version__",
    "options",
    "report",
]

# Where the names stand that take longer to load than most programs would like to wait for.
__getattr__ = _later(
    __name__,
    {
        "Balance": "_balance",
        "BalanceAmount": "_balance",
        "BudgetState": "spending",
        "Budgets": "spending",
        "CacheStats": "caching",
        "Cost": "pricing",
        "ExactCache": "caching",
        "Fit": "tokens.fitting",
        "Health": "_health",
        "Ledger": "ledger",
        "PriceBook": "pricing",
        "RouteCheck": "_check",
        "RouteHealth": "_health",
        "RoutingDecision": "routing.auto",
        "RoutingPolicy": "routing.auto",
        "Rule": "backends.rules",
        "RuleEngine": "backends.rules",
        "SemanticCache": "caching",
        "SpendBudget": "spending",
        "Telemetry": "telemetry",
        "TokenBudget": "tokens.fitting",
        "TokenCount": "tokens",
        "UsageReport": "ledger",
    },
)
