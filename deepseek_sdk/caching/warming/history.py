"""
What is asked at which hour of the day, learnt from the ledger and from what the cache holds.

The ledger knows when a kept answer was given or made, the cache knows which question that was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from math import exp2, log
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching import operations
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.caching.warming.warm import FROM_ELSEWHERE
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.resilience.checks import check_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import tzinfo
    from pathlib import Path

    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exact import ExactCache

__all__ = ["TAG", "Ask", "Hours", "Known", "Peak", "asks", "counted", "known"]

# Calls of the warm-up bear this tag: they are no questions that anybody asked.
TAG = "prewarm"

_HOURS = 24
_DAY_S, _MICRO = 86_400.0, 1_000_000
# All borders of hours, by whatever clock, are borders of quarters of an hour.
_QUARTER = 900 * _MICRO
# A question that was asked once in an hour is not asked then every day: so many days count as if it were asked at the
# hours of all questions.
_PRIOR_DAYS = 2.0
# Hours with this share of the load of the busiest belong to the peak; one that stands out less than so is none.
_PEAK_SHARE, _STANDS_OUT = 0.7, 1.5
_LEAST_ASKS, _LEAST_DAYS = 20, 2.0

_ASKS = (
    f"SELECT cache_entry, at / {_QUARTER}, count(*) FROM calls"  # noqa: S608  no input in it
    " WHERE cache_entry IS NOT NULL AND at >= ? AND at < ? AND (?3 IS NULL OR tenant = ?3)"
    f" AND NOT EXISTS (SELECT 1 FROM json_each(tags) WHERE key = '{TAG}')"
    " GROUP BY 1, 2 ORDER BY 2, 1"
)


class Ask(NamedTuple):
    """
    That something was asked.

    Attributes:
        entry: The id of the answer.
        at: When, in seconds since 1970, to a quarter of an hour.
        times: How often.
    """

    entry: str
    at: float
    times: int = 1


class Known(NamedTuple):
    """
    A question whose answer is in the cache.

    Attributes:
        key: Of the answer.
        text: The question: the last text of the user.
        partition: What the rest of the request comes to.
        tenant: Whose it is, as the cache writes it.
        asked: The model that was asked for.
        tags: Of the call that asked it first.
        expires_ms: When the answer ends, in milliseconds since 1970; None: never.
        cny: What the answer cost, in CNY, or None: nobody knows.
        is_given: The answer comes from elsewhere: nobody wants a model's in its place.
    """

    key: str
    text: str
    partition: str
    tenant: str
    asked: str
    tags: tuple[tuple[str, str], ...] = ()
    expires_ms: int | None = None
    cny: float | None = None
    is_given: bool = False

    @property
    def id(self) -> str:
        """What the ledger calls the answer."""
        return self.key[:16]


class Peak(NamedTuple):
    """
    The busiest hours of a day, one after another.

    Attributes:
        hours: Which, from 0 to 23; they may go past midnight.
        load: How often something is asked in them, each day.
        share: What part of all that is asked in a day that is.
    """

    hours: tuple[int, ...]
    load: float
    share: float


def asks(path: Path, *, since: float, until: float, tenant: str | None = None) -> Iterator[Ask]:
    """
    Read what was asked of a cache.

    Args:
        path: The ledger.
        since: From when on, in seconds since 1970.
        until: Before when, likewise.
        tenant: Of which tenant, by the caller's word; None: of all.

    Yields:
        What was asked, in the order of time; not what the warm-up itself has asked.

    Raises:
        LedgerError: The ledger is not there, or cannot be read.
    """
    from deepseek_sdk.ledger.reader import opened  # noqa: PLC0415  the ledger is read by those who warm up

    with opened(path) as database:
        values = (int(since * _MICRO), int(until * _MICRO), tenant)
        for entry, quarter, times in database.execute(_ASKS, values):
            yield Ask(entry, quarter * _QUARTER / _MICRO, times)


def counted(found: Iterable[Ask]) -> dict[str, int]:
    """
    Count how often each answer was asked for.

    Args:
        found: What was asked.

    Returns:
        The counts by the id of the answer, the largest first.
    """
    counts: dict[str, int] = defaultdict(int)
    for ask in found:
        counts[ask.entry] += ask.times
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def known(cache: ExactCache, entries: Iterable[str]) -> Iterator[Known]:
    """
    Tell which questions were asked; nobody notices that they are looked at.

    Args:
        cache: Where the answers are.
        entries: The ids of answers.

    Yields:
        Those that are still there and answer a text, past their time or not.

    Raises:
        ConfigurationError: The disk cannot be used.
    """
    with operations.opened(cache) as tier:
        for entry in entries:
            for row in operations.rows(cache, tier, Selection(key_prefix=entry)):
                found = operations.peek(cache, tier, row.key)
                if found is not None and found.entry.text.strip():
                    yield _known(found.entry)


def _known(entry: Entry) -> Known:
    return Known(
        key=entry.key,
        text=entry.text,
        partition=entry.partition,
        tenant=entry.tenant,
        asked=entry.asked,
        tags=tuple(pair for pair in entry.tags if pair[0] != TAG),
        expires_ms=entry.expires_ms,
        cny=_cny(entry.cost),
        is_given=FROM_ELSEWHERE in entry.provenance,
    )


def _cny(cost: str | None) -> float | None:
    try:
        told = json.loads(cost or "null")
        return None if told is None or told.get("cny") is None else float(told["cny"])
    except (ValueError, AttributeError, TypeError):
        return None


class Hours:
    """
    How often each question is asked at each hour of the day; what is long ago counts less.

    Args:
        now: The time, in seconds since 1970.
        clock: By which clock hours are told.
        half_life_days: After so many days an ask counts half.

    Raises:
        ConfigurationError: *half_life_days* cannot be used.
    """

    def __init__(self, *, now: float, clock: tzinfo = BEIJING, half_life_days: float = 7.0) -> None:
        check_number("half_life_days", half_life_days)
        if half_life_days <= 0:
            raise ConfigurationError(f"half_life_days must be above 0, not {half_life_days!r}")
        self.clock = clock
        self._now = now
        self._half_life = half_life_days
        self._first = now
        self._asks = 0
        self._load = [0.0] * _HOURS
        self._by_entry: dict[str, dict[int, float]] = {}

    def add(self, found: Iterable[Ask]) -> None:
        """
        Learn what was asked.

        Args:
            found: It; what is said to be asked in the future is left out.
        """
        for ask in found:
            if ask.at > self._now or ask.times < 1:
                continue
            hour = datetime.fromtimestamp(ask.at, self.clock).hour
            weight = ask.times * exp2((ask.at - self._now) / _DAY_S / self._half_life)
            self._first = min(self._first, ask.at)
            self._asks += ask.times
            self._load[hour] += weight
            hours = self._by_entry.setdefault(ask.entry, {})
            hours[hour] = hours.get(hour, 0.0) + weight

    @property
    def entries(self) -> Collection[str]:
        """The ids of all answers that were asked for."""
        return self._by_entry.keys()

    @property
    def days(self) -> float:
        """How many days were seen, from the first ask on; such as are long ago count less. At least one."""
        span = max((self._now - self._first) / _DAY_S, 1.0)
        return self._half_life / log(2) * (1 - exp2(-span / self._half_life))

    def load(self) -> tuple[float, ...]:
        """
        Tell how busy each hour is.

        Returns:
            How often something is asked in each, from midnight on, each day.
        """
        return tuple(weight / self.days for weight in self._load)

    def expected(self, entry: str, hours: Collection[int]) -> float:
        """
        Tell how often a question will be asked within some hours of a day.

        Args:
            entry: The id of its answer.
            hours: Which hours.

        Returns:
            How often: as it was then, and, where little is known, as it is at all hours and these are busy.
        """
        own = self._by_entry.get(entry, {})
        total = sum(self._load)
        if not own or not total:
            return 0.0
        then = sum(own.get(hour, 0.0) for hour in set(hours))
        share = sum(self._load[hour] for hour in set(hours)) / total
        daily = sum(own.values()) / self.days
        return (then + _PRIOR_DAYS * daily * share) / (self.days + _PRIOR_DAYS)

    def weights(self, hours: Collection[int]) -> Mapping[str, float]:
        """
        Tell how much each question was asked within some hours.

        Args:
            hours: Which.

        Returns:
            A weight for each that was asked then, by the id of its answer.
        """
        found = {entry: sum(own.get(hour, 0.0) for hour in set(hours)) for entry, own in self._by_entry.items()}
        return {entry: weight for entry, weight in found.items() if weight > 0}

    def peak(self) -> Peak | None:
        """
        Find the busiest hours of a day.

        Returns:
            The busiest with those around it that are nearly as busy; None: too little is known, or none stands out.
        """
        load = self.load()
        busiest = max(range(_HOURS), key=lambda hour: (load[hour], -hour))
        is_flat = load[busiest] < _STANDS_OUT * sum(load) / _HOURS
        if self._asks < _LEAST_ASKS or self._now - self._first < _LEAST_DAYS * _DAY_S or is_flat:
            return None
        hours = _around(busiest, load)
        within = sum(load[hour] for hour in hours)
        return Peak(hours, within, within / sum(load))


def _around(busiest: int, load: tuple[float, ...]) -> tuple[int, ...]:
    least = load[busiest] * _PEAK_SHARE
    first = last = busiest
    while last - first < _HOURS - 1 and load[(first - 1) % _HOURS] >= least:
        first -= 1
    while last - first < _HOURS - 1 and load[(last + 1) % _HOURS] >= least:
        last += 1
    return tuple(hour % _HOURS for hour in range(first, last + 1))
