"""`BudgetState`: how a budget stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["BudgetState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """
    How a budget stands for one user, session, tenant or tag, or for all calls.

    Attributes:
        name: Which budget.
        scope: Whose: "user 42", or "all".
        unit: "CNY", "USD" or "tokens"; the amounts are in it.
        limit: How much may be spent.
        spent: How much was, what is written off included.
        reserved: What calls in flight may still spend, and what other processes hold ready for theirs.
        remaining: What is left for new calls; below 0 where calls have used more than was expected.
        written_off: Of what counts as spent: what processes held that ended without a word, so that nobody knows.
        period_start: When the period began, in seconds since 1970, or None where it is all of time.
        until: When the next one begins, likewise.
        degraded: Why amounts are kept in this process alone, or None: they are on the disk.
    """

    name: str
    scope: str
    unit: str
    limit: Decimal
    spent: Decimal
    reserved: Decimal
    remaining: Decimal
    written_off: Decimal
    period_start: float | None
    until: float | None
    degraded: str | None = None
