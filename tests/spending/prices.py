"""Made-up prices, and what calls of known size cost by them, for tests of budgets."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from deepseek_sdk.spending import Budgets, SpendBudget

if TYPE_CHECKING:
    from deepseek_sdk._usage import Usage

# A million tokens: from the cache, other prompt, answer; in CNY, and a tenth of it in USD.
PER_MILLION = {"deepseek-flash": ("0.02", "1", "4"), "deepseek-v4-pro": ("0.15", "4.5", "13.5")}

# 1000 tokens at 1 CNY a million, 500 at 4.
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500}
COST = Decimal("0.003")

NOON = 1_795_924_800.0  # 2026-11-29 12:00 in Beijing: a Sunday


@dataclass(frozen=True, kw_only=True)
class Price:
    """What something costs at most."""

    cny_high: Decimal | None
    usd_high: Decimal | None


def cost_of(usage: Usage, model: str, start: float, end: float) -> Price | None:
    """Price a usage: twice as dear from one o'clock on, by the clock of `NOON`."""
    if model not in PER_MILLION:
        return None
    hit, miss, output = (Decimal(text) for text in PER_MILLION[model])
    factor = 2 if NOON + 3600 <= end else 1
    cost = factor * (usage.hit * hit + usage.miss * miss + usage.output * output) / 10**6
    assert start <= end
    return Price(cny_high=cost, usd_high=cost / 10)


def in_memory(*budgets: SpendBudget, **options: Any) -> Budgets:
    """Make budgets without a file, at noon."""
    return Budgets(budgets, path=":memory:", **{"now": lambda: NOON, **options})
