"""The server's clock, as the dates of its answers tell it."""

from __future__ import annotations

import email.utils
from datetime import UTC

__all__ = ["ServerClock", "clock_skew"]

_LARGEST_SKEW_S = 60.0
# From 2020 to 2100: what a server or a proxy says beyond that is no time, and must not decide on prices.
_EARLIEST, _LATEST = 1_577_836_800.0, 4_102_444_800.0


class ServerClock:
    """Reads the dates of answers; many answers of one second have the same."""

    def __init__(self) -> None:
        self._last: tuple[str, float | None] = ("", None)

    def instant(self, date: str) -> float | None:
        """
        Read a date.

        Args:
            date: The header of an answer.

        Returns:
            It, in seconds since 1970; None where it is no date, or none at which such a server can have answered.
        """
        known, instant = self._last
        if known != date:
            instant = _instant(date)
            self._last = (date, instant)
        return instant


def _instant(date: str) -> float | None:
    try:
        parsed = email.utils.parsedate_to_datetime(date)
        instant = parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()
    except (OverflowError, ValueError):
        return None
    return instant if _EARLIEST <= instant < _LATEST else None


def clock_skew(date: float, start: float, asked: float, end: float) -> float | None:
    """
    Compare this machine's clock with the server's.

    Args:
        date: When the server answered, by its clock, in seconds since 1970.
        start: When it may have been asked first, by this machine's.
        asked: When it was asked last, likewise.
        end: When it must have answered, likewise.

    Returns:
        How far this machine is behind, in seconds, negative where it is ahead; None where it is at most a minute.
    """
    return None if start - _LARGEST_SKEW_S <= date <= end + _LARGEST_SKEW_S else date - asked
