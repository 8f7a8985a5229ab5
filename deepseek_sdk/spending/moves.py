"""What a desk and a store say to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from deepseek_sdk.spending.purse import Key

__all__ = ["Move", "Row", "Standing", "StoreError"]


class StoreError(Exception):
    """The file cannot be used; the text says why."""


class Move(NamedTuple):
    """
    What one process has to say about one purse.

    Attributes:
        key: Which.
        until: When its period ends, in seconds since 1970, or None.
        limit: How much all may spend.
        unsaved: What was spent since the last time.
        known: What had been spent then, in case the file has forgotten.
        file: What told which file that was, 0 for none.
        base: What the process holds on to.
        short: What a call needs besides, or 0.
        wish: What would be worth having besides.
    """

    key: Key
    until: int | None
    limit: int
    unsaved: int
    known: int
    file: int
    base: int
    short: int
    wish: int


class Standing(NamedTuple):
    """
    How things stand after a move.

    Attributes:
        spent: What all have spent.
        others: What other processes hold.
        written_off: What of *spent* is the rest of processes that ended without a word.
        granted: What the process may spend besides its base.
        may_return: Another process that is there holds something, and may give back what it does not need.
        file: What tells this file from one that takes its place.
    """

    spent: int
    others: int
    written_off: int
    granted: int
    may_return: bool
    file: int


class Row(NamedTuple):
    """
    How one pot stands.

    Attributes:
        scope: Whose.
        spent: What all have spent.
        written_off: See `Standing`.
        others: What other processes hold.
        reserved: What calls of this process have reserved.
    """

    scope: str
    spent: int
    written_off: int
    others: int
    reserved: int
