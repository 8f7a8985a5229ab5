"""How much a process takes of a budget at a time, so that most calls need no look at the disk. Decisions only."""

from __future__ import annotations

__all__ = ["next_wish", "slice_of"]

# Of what is left no process takes more than this part for itself, but for the call that asks.
_SHARE = 8


def slice_of(short: int, wish: int, available: int) -> int:
    """
    Decide how much to take.

    Args:
        short: What the call that asks lacks.
        wish: What would be worth taking.
        available: What nobody has.

    Returns:
        0 where the call cannot have what it lacks; else at least that. Near the limit it is no more than that.
    """
    if short > available:
        return 0
    return max(short, min(wish, available // _SHARE))


def next_wish(wish: int, short: int, refills: int) -> int:
    """
    Decide how much would be worth taking: twice as much each time that it was not enough.

    Args:
        wish: What was taken the last time.
        short: What the call that asks lacks.
        refills: How often more was asked for in the last moment.

    Returns:
        What to wish for; nothing but what is needed where calls are rare, so that little is lost with a process that
        is killed.
    """
    return max(2 * wish, 2 * short) if refills else short
