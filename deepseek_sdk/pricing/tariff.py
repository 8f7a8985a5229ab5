"""When peak prices hold: a decision on an instant, by the clock and the calendar of Beijing."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["BEIJING_S", "DAY_S", "EPOCH", "Regime", "Tariff", "Tier", "Year", "date_in_beijing"]

Tier: TypeAlias = Literal["peak", "off_peak", "flat", "unknown"]

# Beijing is 8 hours ahead of UTC, without summer time.
BEIJING_S = 8 * 3600
DAY_S = 86_400
EPOCH = date(1970, 1, 1).toordinal()
# 1970-01-01 was a Thursday; Monday is 0.
_THURSDAY = 3
# No holidays are longer than that.
_HORIZON = 400


class Regime(NamedTuple):
    """
    A rule for peak hours.

        Regime(0.0, ((32_400, 43_200),), frozenset(range(5)), has_holidays=True)     9 to 12, Monday to Friday

    Attributes:
        valid_from: Since when it holds, in seconds since 1970.
        windows: The hours, in seconds from midnight in Beijing; the end of each is outside.
        weekdays: The days, 0 for Monday.
        has_holidays: There are no peak hours on public holidays.
    """

    valid_from: float
    windows: tuple[tuple[int, int], ...]
    weekdays: frozenset[int]
    has_holidays: bool


class Year(NamedTuple):
    """
    The holidays of a year, as days since 1970.

    Attributes:
        off: Days off.
        unsure: Days that may be off: not announced yet.
        source: Who says so.
    """

    off: frozenset[int]
    unsure: frozenset[int] = frozenset()
    source: str = ""


class Tariff:
    """Rules for peak hours, one after another, and the holidays that they go by."""

    def __init__(self, regimes: tuple[Regime, ...], years: Mapping[int, Year]) -> None:
        self.regimes = tuple(sorted(regimes, key=lambda regime: regime.valid_from))
        self.years = years
        self._cuts = sorted({cut % DAY_S for regime in regimes for window in regime.windows for cut in window})

    def tier(self, at: float) -> Tier:
        """
        Tell which prices hold.

        Args:
            at: When, in seconds since 1970.

        Returns:
            "peak" or "off_peak"; "unknown" in peak hours of a day of which nobody knows whether it is a holiday; "flat"
            before there were peak hours.
        """
        regime = next((rule for rule in reversed(self.regimes) if rule.valid_from <= at), None)
        if regime is None:
            return "flat"
        day, second = divmod(at + BEIJING_S, DAY_S)
        is_in_window = any(start <= second < end for start, end in regime.windows)
        if not is_in_window or (int(day) + _THURSDAY) % 7 not in regime.weekdays:
            return "off_peak"
        return self._working(int(day)) if regime.has_holidays else "peak"

    def _working(self, day: int) -> Tier:
        year = self.years.get(date_in_beijing(day * DAY_S - BEIJING_S).year)
        if year is None or day in year.unsure:
            return "unknown"
        return "off_peak" if day in year.off else "peak"

    def next_change(self, at: float) -> float:
        """
        Find when other prices hold.

        Args:
            at: From when on, in seconds since 1970.

        Returns:
            The first instant after *at* with another tier, in seconds since 1970; infinity where none is known.
        """
        tier = self.tier(at)
        return next((edge for edge in self._edges(at) if self.tier(edge) != tier), math.inf)

    def _edges(self, at: float) -> Iterator[float]:
        """Give the instants after *at* at which the tier may change, in order."""
        starts = [regime.valid_from for regime in self.regimes if regime.valid_from > at]
        if len(starts) < len(self.regimes):
            today = math.floor((at + BEIJING_S) / DAY_S)
            for day in range(today, today + _HORIZON):
                midnight = day * DAY_S - BEIJING_S
                edges = [float(midnight + cut) for cut in self._cuts]
                edges += [start for start in starts if midnight <= start < midnight + DAY_S]
                yield from (edge for edge in sorted(edges) if edge > at)
        yield from starts


def date_in_beijing(at: float) -> date:
    """
    Tell the date in Beijing.

    Args:
        at: When, in seconds since 1970.

    Returns:
        The date; the first or the last there is, where a clock is as wrong as that.
    """
    day = math.floor((at + BEIJING_S) / DAY_S) + EPOCH
    return date.fromordinal(min(max(day, date.min.toordinal()), date.max.toordinal()))
