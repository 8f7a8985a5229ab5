"""
What is asked before the daily peak, how much of it, and when: decisions on numbers, which do nothing.

    score = how often it will be asked x how near it is to what the peak asks x how likely there is no answer by then
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number, check_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import tzinfo

    from deepseek_sdk.caching.warming.history import Peak

__all__ = ["Budget", "Candidate", "Rollout", "Window", "chosen", "next_window", "risk", "rollout_of", "starts", "worth"]

_HOUR_S = 3_600.0
_STEP_S = 900.0
# What will hardly be asked while there is no answer is not worth a call.
_LEAST_SCORE = 0.2
# Of what was asked for before the peak so much must have been wanted in it, or less is asked the next time.
_PAYS = 0.5
_FIRST, _GROWTH = 0.1, 2.0
# So many are needed to judge by.
_LEAST_ASKED = 10
_PENNY = 1e-9


class Candidate(NamedTuple):
    """
    A question that may be asked before the peak.

    Attributes:
        key: Of its answer.
        expected: How often it will be asked in the peak.
        nearness: How near it is to what the peak asks, from 0 to 1.
        risk: How likely there is no answer that can be given then, from 0 to 1.
        cny: What asking costs, in CNY, or None: nobody knows.
    """

    key: str
    expected: float
    nearness: float = 1.0
    risk: float = 1.0
    cny: float | None = None

    @property
    def score(self) -> float:
        """How many of those who will ask would have to wait."""
        return self.expected * self.nearness * self.risk


class Window(NamedTuple):
    """
    The next time that a peak comes.

    Attributes:
        begins: In seconds since 1970.
        ends: Likewise.
    """

    begins: float
    ends: float


class Budget(NamedTuple):
    """
    What may be spent before one peak.

        Budget()                      200 calls
        Budget(calls=50, cny=0.5)     what ends first

    Attributes:
        calls: How many calls.
        cny: How much money, in CNY, or None: as much as they cost.
    """

    calls: int = 200
    cny: float | None = None

    def check(self) -> Budget:
        """
        Look whether it can be used.

        Returns:
            It.

        Raises:
            ConfigurationError: It cannot.
        """
        check_count("budget.calls", self.calls, least=0)
        if self.cny is not None:
            check_number("budget.cny", self.cny)
        return self

    def allows(self, calls: int, cny: float) -> bool:
        """
        Say whether so much may be spent.

        Args:
            calls: How many calls, in all.
            cny: How much money, in all.

        Returns:
            Whether it may.
        """
        return calls <= self.calls and (self.cny is None or cny <= self.cny + _PENNY)


class Rollout(NamedTuple):
    """
    How much of what could be asked beforehand is: a tenth at first, more while it pays, less when it does not.

        Rollout()                                   a tenth
        Rollout().after(asked=20, wanted=15)        a fifth, since three quarters of it were wanted
        Rollout().after(asked=20, wanted=2)         half as much

    Attributes:
        share: The part of the expected traffic of the peak, above 0 and at most 1.
        asked: Answers that were asked for beforehand since the share last changed.
        wanted: How many of these somebody asked for then.
    """

    share: float = _FIRST
    asked: int = 0
    wanted: int = 0

    def after(self, *, asked: int, wanted: int, pays: float = _PAYS, least: float = 0.01) -> Rollout:
        """
        Learn from a peak that is over.

        Args:
            asked: How many answers were asked for before it.
            wanted: How many of these somebody asked for.
            pays: From which part on it pays, above 0 and at most 1.
            least: What the share never falls below.

        Returns:
            What holds from now on; the share changes when enough is known.

        Raises:
            ConfigurationError: *pays* or *least* cannot be used.
        """
        check_share("pays", pays)
        check_share("least", least)
        asked, wanted = self.asked + asked, self.wanted + min(wanted, asked)
        if asked < _LEAST_ASKED:
            return Rollout(self.share, asked, wanted)
        factor = _GROWTH if wanted >= pays * asked else 1 / _GROWTH
        return Rollout(min(max(self.share * factor, least), 1.0))


def worth(candidates: Iterable[Candidate], *, least: float = _LEAST_SCORE) -> list[Candidate]:
    """
    Rank what could be asked beforehand.

    Args:
        candidates: What could.
        least: The lowest score that is worth a call.

    Returns:
        Those that are worth it, the best first.
    """
    found = [candidate for candidate in candidates if candidate.score >= least]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.key))


def chosen(ranked: Sequence[Candidate], rollout: Rollout, budget: Budget) -> list[Candidate]:
    """
    Choose what is asked beforehand.

    Args:
        ranked: What could be, the best first.
        rollout: Which part of the traffic.
        budget: What it may cost; where a price is not known, the median of those that are known counts.

    Returns:
        The best, until they make up that part or the budget is used up; at least one, where there is one that the
        budget allows.
    """
    return list(_within(_affordable(ranked, budget), rollout.share * sum(one.expected for one in ranked)))


def _within(candidates: Iterable[Candidate], traffic: float) -> Iterator[Candidate]:
    expected = 0.0
    for candidate in candidates:
        yield candidate
        expected += candidate.expected
        if expected >= traffic - _PENNY:
            return


def _affordable(ranked: Sequence[Candidate], budget: Budget) -> Iterator[Candidate]:
    prices = [one.cny for one in ranked if one.cny is not None]
    usual = median(prices) if prices else 0.0
    spent = 0.0
    for calls, candidate in enumerate(ranked, start=1):
        spent += usual if candidate.cny is None else candidate.cny
        if not budget.allows(calls, spent):
            return
        yield candidate


def risk(expires_ms: int | None, window: Window) -> float:
    """
    Tell how likely it is that there is no answer when somebody asks.

    Args:
        expires_ms: When the answer that is there ends, in milliseconds since 1970; None: never.
        window: The peak.

    Returns:
        The part of the peak in which there is none: 0 where the answer outlives it, 1 where it ends before.
    """
    if expires_ms is None:
        return 0.0
    length = max(window.ends - window.begins, 1.0)
    return min(max((window.ends - expires_ms / 1000) / length, 0.0), 1.0)


def next_window(peak: Peak, now: float, clock: tzinfo) -> Window:
    """
    Tell when the peak comes next.

    Args:
        peak: Its hours.
        now: The time, in seconds since 1970.
        clock: By which clock these hours are told.

    Returns:
        The next one that has not begun.
    """
    midnight = datetime.fromtimestamp(now, clock).replace(hour=0, minute=0, second=0, microsecond=0)
    # By the clock on the wall: where it is put forward or back, the peak comes when people do.
    days = (midnight + timedelta(days=day) for day in range(3))
    begins = (day.replace(hour=peak.hours[0]).timestamp() for day in days)
    first = next(instant for instant in begins if instant > now)
    return Window(first, first + len(peak.hours) * _HOUR_S)


def starts(
    window: Window,
    calls: int,
    *,
    now: float,
    seconds_per_call: float = 10.0,
    at_once: int = 1,
    spare_s: float = 300.0,
    earliest_s: float = 6 * _HOUR_S,
    is_dear: Callable[[float], bool] | None = None,
) -> float:
    """
    Tell when to begin, so that all is asked when the peak begins.

    Args:
        window: The peak.
        calls: How many calls.
        now: The time, in seconds since 1970.
        seconds_per_call: How long one takes.
        at_once: How many go on at a time.
        spare_s: How long before the peak to be done, in seconds.
        earliest_s: How long before the peak to begin at the earliest, in seconds.
        is_dear: Says of an instant whether calls cost more then than at other hours; None: they never do.

    Returns:
        The latest instant at which nothing is dear until all is asked; where there is none, the latest that there is.
        In seconds since 1970, and never before *now*.

    Raises:
        ConfigurationError: A number cannot be used.
    """
    check_number("seconds_per_call", seconds_per_call)
    check_count("at_once", at_once, least=1)
    check_number("spare_s", spare_s)
    check_number("earliest_s", earliest_s)
    needed = math.ceil(calls / at_once) * seconds_per_call
    latest = max(window.begins - spare_s - needed, now)
    first = max(window.begins - earliest_s, now)
    begin = latest
    while is_dear is not None and begin >= first:
        if not any(map(is_dear, _instants(begin, begin + needed))):
            return begin
        begin -= _STEP_S
    return latest


def _instants(begin: float, end: float) -> Iterator[float]:
    """Give instants between two, both among them: prices hold for longer than is between them."""
    yield from (begin + step * _STEP_S for step in range(math.ceil((end - begin) / _STEP_S)))
    yield end


def rollout_of(told: object) -> Rollout:
    """
    Read a rollout that was written down as JSON.

    Args:
        told: A list of its three numbers, or anything else.

    Returns:
        It; the first one where it cannot be read.
    """
    if not isinstance(told, list | tuple) or len(told) != len(Rollout()):
        return Rollout()
    rollout = Rollout(*told)
    try:
        check_share("share", rollout.share)
        check_count("asked", rollout.asked)
        check_count("wanted", rollout.wanted)
    except ConfigurationError:
        return Rollout()
    return rollout
