"""Periods of time, as people name them, and the days that calls belong to."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import TypeAlias

from deepseek_sdk.errors import ConfigurationError

__all__ = ["BEIJING", "Instant", "clock_of", "day_of", "from_micros", "instant", "to_micros"]

# DeepSeek's prices and bills go by this clock.
BEIJING = timezone(timedelta(hours=8))

Instant: TypeAlias = datetime | date | str | float | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.IGNORECASE)
_SECONDS = re.compile(r"\d{9,}(?:\.\d+)?")
_MANNERS = "'7d', '24h', '2026-11-01', '2026-11-01T10:00+08:00', a date, a datetime or seconds since 1970"


def clock_of(tz: tzinfo | str) -> tzinfo:
    """
    Read a clock.

    Args:
        tz: It, or the name of its zone, such as "Europe/Berlin".

    Returns:
        The clock.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(tz, tzinfo):
        return tz
    if isinstance(tz, str):
        from zoneinfo import ZoneInfo  # noqa: PLC0415  not part of importing the library

        # There is an error of its own for names that are none, that are no names of files, and that are directories.
        with contextlib.suppress(KeyError, ValueError, OSError):
            return ZoneInfo(tz)
    raise ConfigurationError(f"tz must be a tzinfo or the name of a time zone, such as 'Europe/Berlin', not {tz!r}")


def instant(value: Instant, now: float, tz: tzinfo, *, is_end: bool = False) -> datetime | None:
    """
    Read an instant.

        "7d"                          seven days ago; so "90s", "30m", "24h", "2w"
        "2026-11-01"                  the beginning of that day, or its end where a period ends with it
        "2026-11-01T10:00"            by the clock of *tz*, unless it says another
        1796004000                    seconds since 1970

    Args:
        value: The instant, in one of these manners, or a `datetime` or `date`.
        now: The time, in seconds since 1970.
        tz: The clock by which days begin.
        is_end: A period ends with it: a whole day is part of the period.

    Returns:
        The instant, by the clock of *tz*; None for None.

    Raises:
        ConfigurationError: It is none.
    """
    if value is None:
        return None
    try:
        return _read(value, now, tz, is_end=is_end).astimezone(tz)
    except (ValueError, TypeError, OverflowError, OSError):
        raise ConfigurationError(f"{value!r} is no instant: give {_MANNERS}") from None


def _read(value: datetime | date | str | float, now: float, tz: tzinfo, *, is_end: bool) -> datetime:
    if isinstance(value, str):
        return _read_text(value.strip(), now, tz, is_end=is_end)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or tz)
    if isinstance(value, date):
        return datetime.combine(value + timedelta(days=is_end), time(), tz)
    if isinstance(value, bool):
        raise TypeError
    return _EPOCH + timedelta(seconds=value)


def _read_text(text: str, now: float, tz: tzinfo, *, is_end: bool) -> datetime:
    if ago := _AGO.fullmatch(text):
        return _EPOCH + timedelta(seconds=now) - timedelta(**{_UNITS[ago[2].lower()]: float(ago[1])})
    if _SECONDS.fullmatch(text):
        return _EPOCH + timedelta(seconds=float(text))
    try:
        return _read(date.fromisoformat(text), now, tz, is_end=is_end)
    except ValueError:
        return _read(datetime.fromisoformat(text), now, tz, is_end=is_end)


def to_micros(value: datetime) -> int:
    """
    Count microseconds since 1970.

    Args:
        value: An instant with its clock.

    Returns:
        The number.
    """
    return (value - _EPOCH) // _MICROSECOND


def from_micros(micros: int, tz: tzinfo) -> datetime:
    """
    Make of microseconds since 1970 an instant.

    Args:
        micros: Their number.
        tz: The clock to read it by.

    Returns:
        The instant.
    """
    return (_EPOCH + timedelta(microseconds=micros)).astimezone(tz)


def day_of(micros: int, tz: tzinfo) -> str:
    """
    Say to which day an instant belongs.

    Args:
        micros: Microseconds since 1970.
        tz: The clock by which days begin.

    Returns:
        The day, such as "2026-11-30".
    """
    return from_micros(micros, tz).date().isoformat()
