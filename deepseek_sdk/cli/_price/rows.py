"""What `price` prints, as rows, and what tables call their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.cli._price.words import iso, plain, tier_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.cli._language import Say
    from deepseek_sdk.pricing.book import PriceBook
    from deepseek_sdk.pricing.card import Card
    from deepseek_sdk.pricing.cost import Cost

__all__ = [
    "card_headings",
    "card_rows",
    "cost_headings",
    "cost_rows",
    "current_cards",
    "in_words",
    "meter_headings",
    "meter_rows",
]


def current_cards(book: PriceBook, now: float) -> Iterator[Card]:
    """Give the card of each model that holds at an instant."""
    return (card for card in book.cards if card is book.card(card.model, now, host=card.host))


def card_rows(card: Card, book: PriceBook, now: float) -> Iterator[dict[str, Any]]:
    """Make a row for each currency and tier of a card."""
    holds = card is book.card(card.model, now, host=card.host)
    tier = "flat" if card.is_flat else book.tariff.tier(now)
    for currency, tiers in (("CNY", card.cny), ("USD", card.usd)):
        for name in (name for name in reversed(card.tiers) if name in tiers):
            yield {
                "model": card.model,
                "currency": currency,
                "tier": name,
                **{part: plain(price) for part, price in tiers[name]._asdict().items()},
                "holds": None if tier == "unknown" else holds and name == tier,
                "valid_from": iso(card.valid_from),
                "host": card.host,
                "source": card.source or None,
            }


def card_headings(say: Say) -> dict[str, str]:
    """Name the columns of prices."""
    return {
        "model": say(en="model", zh="模型"),
        "currency": say(en="currency", zh="币种"),
        "tier": say(en="hours", zh="时段"),
        "hit": say(en="cache hit", zh="缓存命中"),
        "miss": say(en="cache miss", zh="缓存未命中"),
        "output": say(en="output", zh="输出"),
        "holds": say(en="holds", zh="生效中"),
        "valid_from": say(en="since", zh="生效时间"),
    }


def in_words(row: dict[str, Any], say: Say) -> dict[str, Any]:
    """Word a row of prices for a table."""
    held = {True: say(en="yes", zh="是"), False: "", None: "?"}
    return {**row, "tier": tier_in_words(row["tier"], say), "holds": held[row["holds"]]}


def meter_rows(book: PriceBook) -> list[dict[str, Any]]:
    """Make the rows of what is not counted in tokens."""
    return [
        {
            "name": meter.name,
            "per": meter.per,
            "unit": meter.unit,
            "cny": None if meter.cny is None else plain(meter.cny),
            "usd": None if meter.usd is None else plain(meter.usd),
            "valid_from": iso(meter.valid_from),
            "source": meter.source or None,
        }
        for meter in book.meters
    ]


def meter_headings(say: Say) -> dict[str, str]:
    """Name the columns of what is not counted in tokens."""
    return {
        "name": say(en="for", zh="项目"),
        "per": say(en="per", zh="数量"),
        "unit": say(en="unit", zh="单位"),
        "cny": "CNY",
        "usd": "USD",
        "valid_from": say(en="since", zh="生效时间"),
        "source": say(en="source", zh="来源"),
    }


def cost_rows(cost: Cost, at: float) -> Iterator[dict[str, Any]]:
    """Make a row for each currency of a cost; amounts are exact decimals."""
    amounts = (
        ("CNY", cost.cny_parts, cost.cny, cost.cny_low, cost.cny_high),
        ("USD", cost.usd_parts, cost.usd, cost.usd_low, cost.usd_high),
    )
    for currency, parts, total, low, high in amounts:
        if parts is not None and total is not None and low is not None and high is not None:
            yield {
                "currency": currency,
                "total": plain(total),
                **{name: plain(part) for name, part in parts._asdict().items()},
                "low": plain(low),
                "high": plain(high),
                "tier": cost.tier,
                "at": iso(at),
                "price_version": cost.price_version,
            }


def cost_headings(say: Say) -> dict[str, str]:
    """Name the columns of a cost."""
    return {
        "currency": say(en="currency", zh="币种"),
        "total": say(en="total", zh="合计"),
        "hit": say(en="cache hit", zh="缓存命中"),
        "miss": say(en="cache miss", zh="缓存未命中"),
        "output": say(en="output", zh="输出"),
        "low": say(en="at least", zh="最低"),
        "high": say(en="at most", zh="最高"),
        "tier": say(en="hours", zh="时段"),
        "price_version": say(en="prices", zh="价格版本"),
    }
