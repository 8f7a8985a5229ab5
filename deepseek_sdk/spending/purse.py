"""`Purse`: what this process holds of a budget, and the parts of it that calls in flight have reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from deepseek_sdk.spending.budget import SpendBudget

__all__ = ["Key", "Part", "Purse"]


class Key(NamedTuple):
    """
    What is counted together.

    Attributes:
        name: The name of the budget.
        unit: Its unit.
        scope: Whose calls.
        start: When the period began, in seconds since 1970.
    """

    name: str
    unit: str
    scope: str
    start: int


class Purse:
    """
    The share of one process in one budget, for one scope and period. All amounts are whole numbers.

    What is *held* may be spent by this process and nobody else: others count it as gone. Calls reserve from it, in
    memory. Whoever changes a purse holds the lock of its desk.

    Args:
        key: What is counted together.
        budget: The rules.
        until: When the next period begins, in seconds since 1970, or None.

    Attributes:
        key: As given.
        budget: As given.
        limit: How much all processes together may spend.
        until: As given.
        held: What this process may spend, reserved or not, without asking.
        reserved: What its calls in flight may need of it.
        unsaved: What they have spent since it was last written down.
        spent: What all processes have spent, as it was last written down.
        others: What other processes held then.
        written_off: What was counted as spent then because a process ended without a word.
        file: What told the file apart in which that was.
        wish: How much more than one call needs would be worth asking for.
        refills: How often more was asked for since somebody looked.
        is_warm: Something was reserved since somebody looked.
        has_warned: That the soft limit is passed has been logged.
    """

    __slots__ = (
        "budget",
        "file",
        "has_warned",
        "held",
        "is_warm",
        "key",
        "limit",
        "others",
        "refills",
        "reserved",
        "spent",
        "unsaved",
        "until",
        "wish",
        "written_off",
    )

    def __init__(self, key: Key, budget: SpendBudget, until: int | None) -> None:
        self.key = key
        self.budget = budget
        self.limit = budget.parts
        self.until = until
        self.held = self.reserved = self.unsaved = 0
        self.spent = self.others = self.written_off = 0
        self.wish = self.refills = self.file = 0
        self.is_warm = self.has_warned = False

    @property
    def free(self) -> int:
        """What could be reserved without asking."""
        return self.held - self.reserved

    @property
    def used(self) -> int:
        """What has been spent, and what may be by calls in flight, by all that is known here."""
        return self.spent + self.unsaved + self.reserved + self.others

    @property
    def is_soft(self) -> bool:
        """Whether the soft limit has been reached."""
        soft = self.budget.soft
        return soft is not None and self.used >= self.limit * soft

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost without it."""
        return not (self.held or self.reserved or self.unsaved)

    def covers(self, now: float) -> bool:
        """
        Say whether an instant lies in its period.

        Args:
            now: It, in seconds since 1970.

        Returns:
            Whether it does.
        """
        return self.until is None or self.key.start <= now < self.until


class Part:
    """
    What one call has reserved of one purse.

    Args:
        purse: It.
        amount: How much.

    Attributes:
        purse: As given.
        amount: As given.
        is_open: It is reserved now.
    """

    __slots__ = ("amount", "is_open", "purse")

    def __init__(self, purse: Purse, amount: int) -> None:
        self.purse = purse
        self.amount = amount
        self.is_open = False

    def open(self) -> None:
        """Reserve it: there is room."""
        # Nothing is called in between, here and below, so a key press cannot divide what belongs together.
        purse = self.purse
        purse.reserved += self.amount
        purse.is_warm = True
        self.is_open = True

    def settle(self, spent: int) -> None:
        """
        Replace what was reserved by what was spent; only the first time counts.

        Args:
            spent: How much.
        """
        if self.is_open:
            purse = self.purse
            self.is_open = False
            purse.reserved -= self.amount
            purse.held -= spent
            purse.unsaved += spent
