"""`Drift`: notices that hits have become wrong more often than promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

__all__ = ["Drift"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """
    A CUSUM over the verdicts on served hits: the alarm raises the threshold one step.

        Drift(target=0.01)    alarms where about one hit in twenty is wrong instead of one in a hundred

    A wrong hit adds, a right one takes away; the sum never falls below zero. It is the log-likelihood ratio of "wrong
    *worse* times as often" against "as often as promised". A step is taken back after *calm* right hits in a row.

    Args:
        target: The share of served hits that may be wrong.
        worse: How many times as much should be noticed.
        alarm_at: The sum that alarms; 4 means a false alarm about every 3,300 verdicts and notice after
            about 80 where one in twenty is wrong, at *target* 0.01.
        calm: The right hits in a row after which a step is taken back.
        most: The steps there are.
        level: The steps taken so far: what the threshold must be raised by.
        total: The sum.
        quiet: The right hits in a row.
    """

    target: float = 0.01
    worse: float = 5.0
    alarm_at: float = 4.0
    calm: int = 200
    most: int = 4
    level: int = 0
    total: float = 0.0
    quiet: int = 0

    def after(self, *, is_wrong: bool) -> Drift:
        """
        Take in one verdict.

        Args:
            is_wrong: The hit was wrong.

        Returns:
            The state after it; `level` differs where the threshold must move.
        """
        total = max(0.0, self.total + self._weight(is_wrong=is_wrong))
        if total >= self.alarm_at:
            return replace(self, level=min(self.most, self.level + 1), total=0.0, quiet=0)
        quiet = 0 if is_wrong else self.quiet + 1
        if quiet >= self.calm and self.level:
            return replace(self, level=self.level - 1, total=0.0, quiet=0)
        return replace(self, total=total, quiet=quiet)

    def recalibrated(self) -> Drift:
        """
        Begin anew, since the threshold was set anew.

        Returns:
            The state without steps.
        """
        return replace(self, level=0, total=0.0, quiet=0)

    def _weight(self, *, is_wrong: bool) -> float:
        worst = min(0.5, self.target * self.worse)
        return log(worst / self.target) if is_wrong else log((1 - worst) / (1 - self.target))
