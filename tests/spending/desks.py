"""Desks as several processes have them, without the thread that looks after them: tests say when it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.spending import SpendBudget
from deepseek_sdk.spending.desk import Desk, Shortage, Want
from deepseek_sdk.spending.purse import Key, Purse
from deepseek_sdk.spending.store import Store
from tests.spending.prices import NOON

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.spending.ticket import Ticket


class Counter:
    """
    One process at its desk, with one budget of tokens.

    Attributes:
        desk: The desk.
        budget: The budget.
        at: What its clock shows, in seconds since 1970.
    """

    def __init__(self, path: Path | None, limit: int = 1000, **rules: Any) -> None:
        self.budget = SpendBudget(limit=limit, unit="tokens", **rules)
        self.at = NOON
        self.desk = Desk(None if path is None else Store(path), lambda: self.at)

    def purse(self, scope: str = "") -> Purse:
        """Find what it holds."""
        start, until = self.budget.period_at(self.at)
        key = Key(self.budget.name, self.budget.unit, scope, start)
        return self.desk.purse(key, lambda key: Purse(key, self.budget, until))

    def ask(self, amount: int, scope: str = "") -> Ticket | Shortage:
        """Reserve, as a call does."""
        wants = [Want(self.purse(scope), amount)]
        return self.desk.take(wants) or self.desk.acquire(wants)

    def got(self, amount: int, scope: str = "") -> Ticket:
        """Reserve what there must be room for."""
        ticket = self.ask(amount, scope)
        assert not isinstance(ticket, Shortage), ticket
        return ticket

    def spend(self, amount: int, used: int | None = None, scope: str = "") -> bool:
        """Reserve, and use so much of it; say whether that was possible."""
        ticket = self.ask(amount, scope)
        if isinstance(ticket, Shortage):
            return False
        end(ticket, amount if used is None else used)
        return True


def end(ticket: Ticket, used: int) -> None:
    """End the call of a ticket that has used so much."""
    ticket.counted = lambda: [used]
    ticket.end()
