"""What a model costs: price cards, and the prices of one token that are made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Context
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal
    from typing import TypeAlias

    from deepseek_sdk.pricing.tariff import Tier

    Tiers: TypeAlias = Mapping[Tier, "Prices"]

__all__ = ["EXACT", "Card", "Meter", "Prices", "Rate"]

# Programs set the precision of their own threads; sums of money are exact whatever it is.
EXACT = Context(prec=200)


class Prices(NamedTuple):
    """
    What tokens cost, in one currency.

    Attributes:
        hit: Tokens of the prompt that were read from the cache.
        miss: Other tokens of the prompt.
        output: Tokens generated, reasoning included.
    """

    hit: Decimal
    miss: Decimal
    output: Decimal


class Rate(NamedTuple):
    """The prices of one token in both currencies, None where a currency has none."""

    tier: Tier
    cny: Prices | None
    usd: Prices | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """
    The prices of a model from one instant to another.

    Attributes:
        model: Its name.
        cny: Prices of 1,000,000 tokens in CNY: either "flat", or "off_peak" and "peak"; empty where there are none.
        usd: Likewise in USD.
        valid_from: Since when they hold, in seconds since 1970.
        valid_until: Until when, likewise; the instant itself is outside.
        host: The only host whose prices these are, or None for all.
        source: Who says so.
    """

    model: str
    cny: Tiers
    usd: Tiers
    valid_from: float = -math.inf
    valid_until: float = math.inf
    host: str | None = None
    source: str = ""
    _rates: Mapping[Tier, Rate] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = {tier: Rate(tier, _of_one(self.cny, tier), _of_one(self.usd, tier)) for tier in self.tiers}
        object.__setattr__(self, "_rates", rates)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers that it has prices for, the dearest first."""
        return tuple(tier for tier in ("peak", "off_peak", "flat") if tier in self.cny or tier in self.usd)

    @property
    def is_flat(self) -> bool:
        """The prices are the same at every hour."""
        return self.tiers == ("flat",)

    def rates(self, tier: Tier) -> tuple[Rate, ...]:
        """
        Give the prices of one token.

        Args:
            tier: The tier that holds; "unknown" for any.

        Returns:
            Its rate; the rates of all tiers, peak first, where it is not known.
        """
        return tuple(self._rates.values()) if tier == "unknown" else (self._rates[tier],)


def _of_one(tiers: Tiers, tier: Tier) -> Prices | None:
    listed = tiers.get(tier)
    return None if listed is None else Prices(*(EXACT.scaleb(price, -6) for price in listed))


class Meter(NamedTuple):
    """
    A price for something that is not counted in tokens.

    Attributes:
        name: What it is for.
        unit: What is counted.
        per: For how many of them the price is.
        cny: The price in CNY, or None where it is not known.
        usd: Likewise in USD.
        valid_from: Since when it holds, in seconds since 1970.
        source: Who says so.
    """

    name: str
    unit: str
    per: int
    cny: Decimal | None = None
    usd: Decimal | None = None
    valid_from: float = -math.inf
    source: str = ""
