"""Instants, amounts and tariffs as people read and write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from decimal import Decimal

    from deepseek_sdk.cli._language import Say
    from deepseek_sdk.pricing.book import PriceBook

__all__ = ["clock", "iso", "no_price", "plain", "read_instant", "tariff_in_words", "tier_in_words"]

_BEIJING = timezone(timedelta(hours=8))
_FIRST, _LAST = (datetime(*day, tzinfo=UTC).timestamp() for day in ((1, 1, 1), (9999, 12, 31)))


def read_instant(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read an instant in ISO 8601, in seconds since 1970; without an offset it is one of the Beijing clock."""
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
        return read.replace(tzinfo=read.tzinfo or _BEIJING).timestamp()
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is no instant such as 2026-10-01T10:00+08:00.", param=parameter) from None


def tier_in_words(tier: str, say: Say) -> str:
    """Name a tier."""
    words = {
        "peak": say(en="peak", zh="高峰"),
        "off_peak": say(en="off-peak", zh="平峰"),
        "flat": say(en="all", zh="全天"),
        "mixed": say(en="mixed", zh="跨时段"),
        "unknown": say(en="unknown", zh="未知"),
    }
    return words[tier]


def tariff_in_words(book: PriceBook, now: float, say: Say) -> str:
    """Say which prices these are, which tier holds, and until when."""
    text = say(en="Per 1,000,000 tokens. Prices as of {}. ", zh="单位：每百万 token。价格核对于 {}。").format(
        book.as_of
    )
    return text + _hour_in_words(book, now, say)


def _hour_in_words(book: PriceBook, now: float, say: Say) -> str:
    tier, change = book.tariff.tier(now), book.tariff.next_change(now)
    if tier == "flat":
        return say(en="They do not depend on the hour.", zh="价格不分时段。")
    text = say(en="At {} the hour is {}, until {}.", zh="{} 属{}时段，至 {} 为止。")
    until = say(en="further notice", zh="另行通知") if math.isinf(change) else clock(change)
    return text.format(clock(now), tier_in_words(tier, say), until)


def plain(amount: Decimal) -> str:
    """Write an amount without an exponent."""
    return f"{amount:f}"


def iso(at: float) -> str | None:
    """Write an instant by the Beijing clock; None for always."""
    return None if math.isinf(at) else _in_beijing(at).isoformat()


def clock(at: float) -> str:
    """Write an instant for people."""
    return f"{_in_beijing(at):%Y-%m-%d %H:%M} UTC+8"


def _in_beijing(at: float) -> datetime:
    # A file of prices, or whoever asks, may name a day before the first or after the last that there is in UTC.
    return datetime.fromtimestamp(min(max(at, _FIRST), _LAST), UTC).astimezone(_BEIJING)


def no_price(book: PriceBook, model: str, at: float, say: Say) -> str:
    """Say that there is no price."""
    text = say(
        en="no price of {} at {} is known; there are prices of {}", zh="没有 {} 在 {} 的价格；已知价格的模型：{}"
    )
    return text.format(model, clock(at), ", ".join(book.models))
