"""Ledgers of what was asked of a cache, and the clock that these tests go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk.caching.warming.history import Ask
from deepseek_sdk.ledger import Ledger
from tests.caching.kept_answers import key_of
from tests.ledger.conftest import ended

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# 2026-11-30 00:00 in Beijing, a Monday.
MIDNIGHT = 1_795_968_000.0
HOUR, DAY = 3_600.0, 86_400.0


def at(day: float, hour: float) -> float:
    """Give an hour of a day, counted from MIDNIGHT on, by the clock of Beijing."""
    return MIDNIGHT + day * DAY + hour * HOUR


def ask(name: object, day: float, hour: float, times: int = 1) -> Ask:
    """Ask a question."""
    return Ask(key_of(name)[:16], at(day, hour), times)


def written(path: Path, calls: Iterable[tuple[object, float, dict[str, Any]]]) -> Path:
    """Write a ledger with calls: the name of the answer, when it was asked for, and what else is known."""
    ledger = Ledger(path, wall=lambda: at(30, 0))
    for name, when, more in calls:
        status = more.pop("status", "hit")
        entry = None if name is None else key_of(name)[:16]
        outcome = CacheOutcome(status=status, entry_id=entry, model="deepseek-flash")
        ledger(ended(when, attempts=0, cache=outcome, **more))
    ledger.close()
    return path
