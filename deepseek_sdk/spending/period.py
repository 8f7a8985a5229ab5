"""Days and months: when a budget begins anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

__all__ = ["Period", "period_of"]

Period: TypeAlias = Literal["day", "month"]

_DAY_S = 86_400


def period_of(at: float, period: Period | None, utc_offset: float) -> tuple[int, int | None]:
    """
    Find the period that an instant lies in.

    Args:
        at: The instant, in seconds since 1970.
        period: What kind of period, or None: all of time.
        utc_offset: How many hours the wall clock is ahead of UTC, all year round.

    Returns:
        When it began, and when the next one begins, in seconds since 1970; 0 and None for all of time.
    """
    if period is None:
        return 0, None
    offset = round(utc_offset * 3600)
    if period == "day":
        start = int((at + offset) // _DAY_S) * _DAY_S - offset
        return start, start + _DAY_S
    local = datetime.fromtimestamp(at, UTC) + timedelta(seconds=offset)
    first = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    # The first of a month and 32 days is always in the next one.
    following = (first + timedelta(days=32)).replace(day=1)
    return int(first.timestamp()) - offset, int(following.timestamp()) - offset
