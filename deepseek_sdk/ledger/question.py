"""`Question`: which calls are meant, and what they are told apart by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.names import clean
from deepseek_sdk.ledger.period import clock_of, instant, to_micros

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from deepseek_sdk.ledger.period import Instant

__all__ = ["DIMENSIONS", "Question", "ask"]

# What belongs to a call.
OF_CALLS = ("user", "session", "tenant", "template", "day", "cache")
# What belongs to an attempt: one call may have several models.
OF_ATTEMPTS = ("model", "route", "tier")
DIMENSIONS = (*OF_ATTEMPTS, *OF_CALLS)
_TAG = "tag:"
# Before and after all calls, in microseconds since 1970.
_FIRST, _LAST = 0, 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    What is asked of a ledger.

    Attributes:
        since: When the period begins, or None.
        until: When it ends, or None; it is not part of the period.
        by: What calls are told apart by, or None.
        only: What calls must have in common, by what they can be told apart by.
        tz: The clock by which days begin.
        now: The time, in seconds since 1970.
    """

    since: datetime | None
    until: datetime | None
    by: str | None
    only: Mapping[str, str]
    tz: tzinfo
    now: float

    @property
    def bounds(self) -> tuple[int, int]:
        """The period, in microseconds since 1970: from the first up to the second."""
        return (
            _FIRST if self.since is None else max(to_micros(self.since), _FIRST),
            _LAST if self.until is None else to_micros(self.until),
        )

    @property
    def is_of_attempts(self) -> bool:
        """Whether single attempts have to be looked at."""
        return any(name in OF_ATTEMPTS for name in (self.by, *self.only))


def ask(
    *, since: Instant, until: Instant, by: str | None, only: Mapping[str, str] | None, tz: tzinfo | str, now: float
) -> Question:
    """
    Make a question of arguments.

    Args:
        since: When the period begins.
        until: When it ends; a day is part of the period.
        by: What calls are told apart by.
        only: What they must have in common.
        tz: The clock by which days begin, or the name of its zone.
        now: The time, in seconds since 1970.

    Returns:
        The question.

    Raises:
        ConfigurationError: It cannot be answered.
    """
    if by is not None:
        _check(by)
    clock = clock_of(tz)
    first, last = _period(since, until, now, clock)
    return Question(
        since=first,
        until=last,
        by=None if by is None else clean(by),
        only=_read_only({} if only is None else only),
        tz=clock,
        now=now,
    )


def _period(since: Instant, until: Instant, now: float, tz: tzinfo) -> tuple[datetime | None, datetime | None]:
    first, last = instant(since, now, tz), instant(until, now, tz, is_end=True)
    # Not by the clock itself: where it is put back, a later instant may look earlier.
    if first is not None and last is not None and to_micros(first) > to_micros(last):
        raise ConfigurationError(f"since must not be after until, but {since!r} is after {until!r}")
    return first, last


def _read_only(only: object) -> dict[str, str]:
    if not isinstance(only, Mapping):
        raise ConfigurationError(f"only must be a mapping, such as {{'user': '42'}}, not {only!r}")
    for name, value in only.items():
        _check(name)
        _check_value(name, value)
    return {name: clean(value) for name, value in only.items()}


def _check_value(name: str, value: object) -> None:
    if name == "day":
        raise ConfigurationError("only cannot name a day: give it as since and until")
    if not isinstance(value, str):
        raise ConfigurationError(f"only[{name!r}] must be a string, not {value!r}")


def _check(name: object) -> None:
    is_tag = isinstance(name, str) and name.startswith(_TAG) and name != _TAG
    if not is_tag and name not in DIMENSIONS:
        known = ", ".join((*DIMENSIONS, "tag:KEY"))
        raise ConfigurationError(f"calls cannot be told apart by {name!r}, but by {known}")
