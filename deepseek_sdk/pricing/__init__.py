"""What calls cost: price cards by the instant, in CNY and USD, and the cost of a call."""

from __future__ import annotations

from deepseek_sdk.pricing.billing import bill, cost_of
from deepseek_sdk.pricing.book import PriceBook
from deepseek_sdk.pricing.card import Card, Meter, Prices
from deepseek_sdk.pricing.cost import Cost, CostParts

__all__ = ["Card", "Cost", "CostParts", "Meter", "PriceBook", "Prices", "bill", "cost_of"]
