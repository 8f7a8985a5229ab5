"""What calls cost: usage times prices, over all attempts of a call."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deepseek_sdk.pricing.card import EXACT
from deepseek_sdk.pricing.clock import clock_skew
from deepseek_sdk.pricing.cost import Cost, CostParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._record import Record
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.pricing.book import PriceBook
    from deepseek_sdk.pricing.card import Prices

__all__ = ["bill", "cost_of"]

_log = logging.getLogger("deepseek_sdk")

_NOTHING = Decimal(0)


def cost_of(
    usage: Usage, model: str, start: float, end: float, book: PriceBook, *, host: str | None = None
) -> Cost | None:
    """
    Tell what tokens cost.

    Args:
        usage: The tokens.
        model: The model that answered.
        start: When the call began, in seconds since 1970.
        end: When it ended, likewise.
        book: The prices.
        host: The host that answered, where that matters to the prices.

    Returns:
        The cost; None where no price is known, which is not the same as nothing.
    """
    tier, rates = book.rates(model, start, end, host=host)
    if not rates:
        return None
    counts = _counts(usage)
    cny_parts, cny, cny_low, cny_high = _amounts([_parts(counts, rate.cny) for rate in rates if rate.cny])
    usd_parts, usd, usd_low, usd_high = _amounts([_parts(counts, rate.usd) for rate in rates if rate.usd])
    return Cost(
        cny=cny,
        usd=usd,
        cny_low=cny_low,
        cny_high=cny_high,
        usd_low=usd_low,
        usd_high=usd_high,
        cny_parts=cny_parts,
        usd_parts=usd_parts,
        tier=tier,
        price_version=book.version,
    )


def _counts(usage: Usage) -> tuple[int, int, int]:
    """Count tokens; a server that miscounts cannot make a cost negative."""
    hit, miss, output = usage.hit, usage.miss, usage.output
    return (hit, miss, output) if min(hit, miss, output) >= 0 else (max(hit, 0), max(miss, 0), max(output, 0))


def _parts(counts: tuple[int, int, int], prices: Prices) -> CostParts:
    hit, miss, output = counts
    times = EXACT.multiply
    return CostParts(times(hit, prices.hit), times(miss, prices.miss), times(output, prices.output))


def _amounts(parts: Sequence[CostParts]) -> tuple[CostParts, Decimal, Decimal, Decimal] | tuple[None, None, None, None]:
    """Give what the amount is made of, the amount, the least and the most that it may be."""
    if not parts:
        return None, None, None, None
    totals = [part.total for part in parts]
    now = totals[0]
    return (parts[0], now, now, now) if len(totals) == 1 else (parts[0], now, min(totals), max(totals))


def bill(record: Record, book: PriceBook) -> Cost | None:
    """
    Tell what a call costs, by what is known so far.

    Args:
        record: The call. Its failed attempts count where the server told their tokens, or may bill them.
        book: The prices.

    Returns:
        The sum over its attempts; None where no attempt has a price. What answers in this process has none. What the
        cache answered, and nobody was asked for, costs nothing.
    """
    attempts = tuple(record.attempts)
    if not attempts:
        return _free(record, book)
    skew = _skew_of(record, attempts, book)
    at = record.at + (skew or 0.0)
    total, is_partial = None, False
    for attempt in attempts:
        cost = _cost_of_attempt(attempt, at, book)
        if cost is None:
            is_partial = is_partial or attempt.may_cost
        else:
            total = cost if total is None else total + cost
    if total is None or (skew is None and not is_partial):
        return total
    return replace(total, is_partial=is_partial or total.is_partial, clock_skew=skew)


def _free(record: Record, book: PriceBook) -> Cost | None:
    cache = record.cache
    if cache is None or not cache.is_free:
        return None
    # The tier of its time, so that sums over calls of one tier stay of that tier.
    tier, _ = book.rates(cache.model or record.asked, record.at, record.at)
    parts = CostParts(_NOTHING, _NOTHING, _NOTHING)
    return Cost(
        cny=_NOTHING,
        usd=_NOTHING,
        cny_low=_NOTHING,
        cny_high=_NOTHING,
        usd_low=_NOTHING,
        usd_high=_NOTHING,
        cny_parts=parts,
        usd_parts=parts,
        tier=tier,
        price_version=book.version,
    )


def _cost_of_attempt(attempt: Attempt, at: float, book: PriceBook) -> Cost | None:
    account = attempt.account
    if attempt.usage is None or (account is not None and account.backend is not None):
        return None
    host = urlsplit(account.base_url).hostname if account is not None and book.has_hosts else None
    started = at + attempt.started
    ended = started if attempt.ended is None else max(at + attempt.ended, started)
    cost = cost_of(attempt.usage, attempt.model, started, ended, book, host=host)
    if cost is None or not attempt.is_estimated:
        return cost
    return _estimated(cost, is_certain=not attempt.is_possibly_billed)


def _estimated(cost: Cost, *, is_certain: bool) -> Cost:
    if is_certain:
        return replace(cost, is_estimated=True)
    cny_low, usd_low = (None if amount is None else _NOTHING for amount in (cost.cny, cost.usd))
    return replace(cost, is_estimated=True, cny_low=cny_low, usd_low=usd_low)


def _skew_of(record: Record, attempts: Sequence[Attempt], book: PriceBook) -> float | None:
    date = None if record.headers is None or not attempts else record.headers.get("date")
    sent = None if date is None else book.clock.instant(date)
    if sent is None:
        return None
    last = attempts[-1]
    heard = next((t for t in (last.first_token, last.ended, record.times.total) if t is not None), last.started)
    skew = clock_skew(sent, record.at, record.at + last.started, record.at + heard)
    if skew is not None and book.says_first("clock"):
        message = "This machine's clock is %.0f s %s the server's: prices go by the server's clock"
        _log.warning(message, abs(skew), "behind" if skew > 0 else "ahead of")
    return skew
