"""`UsageReport`: what calls used and cost, by model, user, day and so on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from deepseek_sdk.ledger.notes import Note

__all__ = ["UsageReport", "UsageRow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """
    What some calls used and cost; sums are exact.

    Attributes:
        key: What they have in common: a model, a user, a day ("2026-11-30") ...; None where they have none, and for
            all calls together.
        calls: How many there were.
        failed: Of these, those that raised an error.
        abandoned: Of these, those whose answer was let go before its end.
        attempts: How many times a server, or a backend, was asked for them.
        hit: Tokens of prompts read from the server's cache.
        miss: Other tokens of prompts.
        output: Tokens generated, reasoning included.
        reasoning: Of these, tokens of reasoning.
        cny: The cost in CNY; None where no call has a price in it.
        cny_low: The least that it may be: see `Cost`.
        cny_high: The most that it may be.
        usd: As *cny*, by the list in USD; nothing is converted.
        usd_low: As *cny_low*.
        usd_high: As *cny_high*.
        estimated_calls: Calls some of whose tokens are estimates, since the server never told.
        unpriced_calls: Calls that may cost something that is not in the amounts, since no price is known.
        cached: Calls that the cache answered; their tokens are in no sum.
        saved_cny: What their answers would have cost in CNY, all of their prompts at the price of the server's own
            cache: the least that it may be. None where there are none, or none of them has a price in it.
        saved_usd: Likewise in USD.
    """

    key: str | None
    calls: int
    failed: int
    abandoned: int
    attempts: int
    hit: int
    miss: int
    output: int
    reasoning: int
    cny: Decimal | None
    cny_low: Decimal | None
    cny_high: Decimal | None
    usd: Decimal | None
    usd_low: Decimal | None
    usd_high: Decimal | None
    estimated_calls: int
    unpriced_calls: int
    cached: int
    saved_cny: Decimal | None
    saved_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """
    What the calls of a period used and cost.

    Attributes:
        rows: A row for each key: days in their order, all else by cost. Without *by*, the total alone.
        total: All of it.
        by: What they are told apart by, or None.
        since: When the period begins, or None: with the first call that is known.
        until: When it ends, or None: now.
        findings: Why calls may be missing.
    """

    rows: tuple[UsageRow, ...]
    total: UsageRow
    by: str | None
    since: datetime | None
    until: datetime | None
    findings: tuple[Note, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether no call of the period is known to be missing."""
        return not self.findings

    @property
    def notes(self) -> tuple[str, ...]:
        """Why calls may be missing, in sentences."""
        return tuple(note.text() for note in self.findings)
