"""`Cost`: what a call costs, in both currencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.pricing.card import EXACT

if TYPE_CHECKING:
    from decimal import Decimal
    from typing import TypeAlias

    _Amounts: TypeAlias = tuple[Decimal | None, Decimal | None, Decimal | None]

__all__ = ["Cost", "CostParts"]


class CostParts(NamedTuple):
    """What an amount is made of: tokens of the prompt read from the cache, other tokens of it, tokens generated."""

    hit: Decimal
    miss: Decimal
    output: Decimal

    @property
    def total(self) -> Decimal:
        """The sum, exactly."""
        return EXACT.add(EXACT.add(self.hit, self.miss), self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """
    What a call costs; costs can be added. An amount is None where the currency has no price.

    Attributes:
        cny: In CNY, by the prices at the start of the call; by peak prices where nobody knows whether they hold.
        usd: Likewise in USD. It is not converted: these are two lists of prices.
        cny_low: The least that it may be; different from *cny* where prices changed during the call, where the
            holidays are not known, or where a failed attempt may not be billed.
        cny_high: The most that it may be.
        usd_low: As *cny_low*.
        usd_high: As *cny_high*.
        cny_parts: What *cny* is made of.
        usd_parts: What *usd* is made of.
        tier: "peak", "off_peak", "flat", "mixed" where it is more than one, or "unknown".
        price_version: Which prices these are: `PriceBook.version`.
        is_estimated: Some tokens were estimated, since the server did not tell.
        is_partial: Something is not in it: an attempt without a known price, or one that still runs.
        clock_skew: How far this machine's clock is behind the server's, in seconds, where prices go by the server's;
            None where the clocks agree.
    """

    cny: Decimal | None
    usd: Decimal | None
    cny_low: Decimal | None
    cny_high: Decimal | None
    usd_low: Decimal | None
    usd_high: Decimal | None
    cny_parts: CostParts | None
    usd_parts: CostParts | None
    tier: str
    price_version: str
    is_estimated: bool = False
    is_partial: bool = False
    clock_skew: float | None = None

    def __add__(self, other: Cost) -> Cost:
        cny = _sums((self.cny, self.cny_low, self.cny_high), (other.cny, other.cny_low, other.cny_high))
        usd = _sums((self.usd, self.usd_low, self.usd_high), (other.usd, other.usd_low, other.usd_high))
        return Cost(
            cny=cny[0],
            usd=usd[0],
            cny_low=cny[1],
            cny_high=cny[2],
            usd_low=usd[1],
            usd_high=usd[2],
            cny_parts=_sum_parts(self.cny_parts, other.cny_parts),
            usd_parts=_sum_parts(self.usd_parts, other.usd_parts),
            tier=self.tier if self.tier == other.tier else "mixed",
            price_version=self.price_version if self.price_version == other.price_version else "mixed",
            is_estimated=self.is_estimated or other.is_estimated,
            is_partial=self.is_partial or other.is_partial or _currencies(self) != _currencies(other),
            clock_skew=max((self.clock_skew, other.clock_skew), key=lambda skew: abs(skew or 0)),
        )

    def __radd__(self, other: object) -> Cost:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __str__(self) -> str:
        amounts = [
            _range(symbol, low, high)
            for symbol, low, high in (("¥", self.cny_low, self.cny_high), ("$", self.usd_low, self.usd_high))
            if low is not None and high is not None
        ]
        return f"{' / '.join(amounts)} ({self.tier})"


def _sums(one: _Amounts, other: _Amounts) -> _Amounts:
    """Add an amount, the least and the most that it may be: mostly these are one."""
    now = _sum(one[0], other[0])
    if one[0] is one[1] is one[2] and other[0] is other[1] is other[2]:
        return now, now, now
    return now, _sum(one[1], other[1]), _sum(one[2], other[2])


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    if one is None or other is None:
        return other if one is None else one
    return EXACT.add(one, other)


def _sum_parts(one: CostParts | None, other: CostParts | None) -> CostParts | None:
    if one is None or other is None:
        return other if one is None else one
    return CostParts(*(EXACT.add(a, b) for a, b in zip(one, other, strict=True)))


def _currencies(cost: Cost) -> tuple[bool, bool]:
    return cost.cny is None, cost.usd is None


def _range(symbol: str, low: Decimal, high: Decimal) -> str:
    return f"{symbol}{_plain(low)}" if low == high else f"{symbol}{_plain(low)}-{_plain(high)}"


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
