"""How questions are put to the tables of a ledger, and sums made of what they answer."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from deepseek_sdk.ledger.amounts import to_amount
from deepseek_sdk.ledger.notes import Note
from deepseek_sdk.ledger.period import day_of, from_micros
from deepseek_sdk.ledger.presence import lost
from deepseek_sdk.ledger.report import UsageReport, UsageRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import tzinfo

    from deepseek_sdk.ledger.question import Question

__all__ = ["answer", "findings"]

_COUNTS = ("calls", "failed", "abandoned", "attempts", "estimated_calls", "unpriced_calls", "cached")
_TOKENS = ("hit", "miss", "output", "reasoning")
_AMOUNTS = ("cny", "cny_low", "cny_high", "usd", "usd_low", "usd_high")
_SAVED = ("saved_cny", "saved_usd")
_SUMS = (*_TOKENS, *_AMOUNTS, *_SAVED)
# All borders of days, by whatever clock, are borders of quarters of an hour.
_QUARTER = 900_000_000
_OF_CALLS = {
    "user": "c.user",
    "session": "c.session",
    "tenant": "c.tenant",
    "template": "c.template",
    "day": f"c.at / {_QUARTER}",
    "cache": "c.cached",
}
# A call without an attempt has a model, that of the cached answer or which was asked for, and nothing else of these.
_OF_ATTEMPTS = {"model": "COALESCE(a.model, c.model, c.asked)", "route": "a.route", "tier": "a.tier"}
_KEYS = {**_OF_CALLS, **_OF_ATTEMPTS}
_TAG = "(SELECT value FROM json_each(c.tags) WHERE key = ?)"
_NONE = [0] * (len(_COUNTS) + 3 * len(_SUMS))
# Two sums in place of one, since SQLite ends with an error where a sum has more than 63 bits.
_BITS = 31

# A call has an attempt more than once here: it is counted with its last one.
_LAST = "(a.number IS NULL OR a.number = c.attempts)"
_FROM_CALLS = "calls AS c"
_FROM_ATTEMPTS = "calls AS c LEFT JOIN attempts AS a ON a.call = c.id"


def answer(database: sqlite3.Connection, question: Question, found: Iterable[Note] = ()) -> UsageReport:
    """
    Answer a question.

    Args:
        database: The open ledger.
        question: The question.
        found: Why calls may be missing.

    Returns:
        The answer.
    """
    groups: dict[str | None, Sequence[int]] = {}
    for key, *sums in _selected(database, question):
        name = day_of(key * _QUARTER, question.tz) if question.by == "day" and key is not None else key
        groups[name] = _added(groups.get(name, _NONE), sums)
    total = _row(None, reduce(_added, groups.values(), _NONE))
    rows = [_row(key, sums) for key, sums in groups.items()]
    return UsageReport(
        rows=tuple(sorted(rows, key=_day if question.by == "day" else _rank)) if question.by else (total,),
        total=total,
        by=question.by,
        since=question.since,
        until=question.until,
        findings=tuple(found),
    )


def _added(sums: Sequence[int], others: Iterable[int | None]) -> Sequence[int]:
    return [one + (other or 0) for one, other in zip(sums, others, strict=True)]


def _selected(database: sqlite3.Connection, question: Question) -> Iterator[Sequence[Any]]:
    of = "a" if question.is_of_attempts else "c"
    key, names = _expression(question.by)
    wheres = ["c.at >= ?", "c.at < ?"]
    values: list[Any] = [*names, *question.bounds]
    for name, value in question.only.items():
        expression, names = _expression(name)
        wheres.append(f"{expression} = ?")
        values += [*names, value]
    sql = (
        f"SELECT {key} AS key, {', '.join([*_counts(of), *_sums(of)])}"  # noqa: S608  no input in it
        f" FROM {_FROM_ATTEMPTS if of == 'a' else _FROM_CALLS} WHERE {' AND '.join(wheres)} GROUP BY 1"
    )
    return iter(database.execute(sql, values))


def _expression(name: str | None) -> tuple[str, list[str]]:
    if name is None:
        return "NULL", []
    return (_KEYS[name], []) if name in _KEYS else (_TAG, [name.partition(":")[2]])


def _counts(of: str) -> list[str]:
    is_one = _LAST if of == "a" else "1"
    return [
        f"SUM({is_one})",
        f"SUM({is_one} AND c.outcome = 'failed')",
        f"SUM({is_one} AND c.outcome = 'abandoned')",
        "COUNT(a.number)" if of == "a" else "SUM(c.attempts)",
        f"SUM({is_one} AND c.is_estimated)",
        f"SUM({is_one} AND c.is_unpriced)",
        f"SUM({is_one} AND c.cached IS NOT NULL)",
    ]


def _sums(of: str) -> Iterator[str]:
    for name in _SUMS:
        column = _column(name) if of == "a" else f"c.{name}"
        yield from (f"SUM({column} >> {_BITS})", f"SUM({column} & {2**_BITS - 1})", f"COUNT({column})")


def _column(name: str) -> str:
    """Say where a sum over attempts finds its numbers: what is told of whole calls alone counts once for each."""
    if name in _SAVED:
        return f"CASE WHEN {_LAST} THEN c.{name} END"
    # What the cache answered has no attempt, and a cost.
    return f"CASE WHEN a.number IS NULL THEN c.{name} ELSE a.{name} END" if name in _AMOUNTS else f"a.{name}"


def _row(key: str | None, sums: Sequence[int]) -> UsageRow:
    counts, rest = sums[: len(_COUNTS)], iter(sums[len(_COUNTS) :])
    whole = {name: _whole(*three) for name, *three in zip(_SUMS, rest, rest, rest, strict=True)}
    values: dict[str, Any] = dict(zip(_COUNTS, counts, strict=True))
    values |= {name: whole[name] or 0 for name in _TOKENS}
    values |= {name: None if whole[name] is None else to_amount(whole[name]) for name in (*_AMOUNTS, *_SAVED)}
    return UsageRow(key=key, **values)


def _whole(high: int, low: int, count: int) -> Any:
    """Put a sum together; of nothing there is none."""
    return (high << _BITS) + low if count else None


def _day(row: UsageRow) -> str:
    return row.key or ""


def _rank(row: UsageRow) -> tuple[Any, ...]:
    return -(row.cny or 0), -(row.usd or 0), -row.calls, row.key is None, row.key or ""


def findings(database: sqlite3.Connection, question: Question) -> Iterator[Note]:
    """
    Say why calls of a period may be missing.

    Args:
        database: The open ledger.
        question: The question.

    Yields:
        What is to be known.
    """
    since, until = question.bounds
    for calls, last in database.execute("SELECT calls, until FROM removed WHERE until >= ?", (since,)):
        yield Note("removed", {"calls": calls, "until": _told(last, question.tz)})
    gone = list(lost(database, since, until, question.now))
    killed = [process for process in gone if process.is_unclean]
    if killed:
        last = killed[-1]
        values = {"count": len(killed), "pid": last.pid, "at": _told(last.beat, question.tz)}
        yield Note("killed" if len(killed) == 1 else "killed_many", values)
    dropped = sum(process.dropped for process in gone)
    if dropped:
        yield Note("dropped", {"calls": dropped})


def _told(micros: int, tz: tzinfo) -> str:
    return from_micros(micros, tz).strftime("%Y-%m-%d %H:%M:%S %Z")
