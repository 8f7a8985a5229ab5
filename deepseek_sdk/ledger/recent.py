"""`RecentCalls`: the last calls of a client, in memory."""

from __future__ import annotations

import time
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import PerProcess
from deepseek_sdk._record import Record
from deepseek_sdk.ledger.notes import Note
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.ledger.question import ask
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from deepseek_sdk.ledger.period import Instant
    from deepseek_sdk.ledger.question import Question
    from deepseek_sdk.ledger.report import UsageReport
    from deepseek_sdk.ledger.rows import Rows

__all__ = ["RecentCalls", "nothing"]

_LIMIT = 10_000
# What of a record is kept: not the headers, which are many times as large.
_KEPT = (
    "at", "path", "asked", "is_stream", "session_id", "user", "tenant", "tags", "template", "ending", "reason",
    "price", "times", "finish_reason", "degradation", "cache",
)  # fmt: skip
_facts = attrgetter(*_KEPT)


class RecentCalls:
    """
    The last calls of a client, in memory: what `usage()` goes by where there is no ledger.

    Args:
        limit: How many are kept.
        wall: Tells the time, in seconds since 1970.
    """

    def __init__(self, limit: int = _LIMIT, *, wall: Callable[[], float] = time.time) -> None:
        check_count("limit", limit, least=1)
        self._limit = limit
        self._wall = wall
        self._rings = PerProcess(lambda: _Ring(limit))

    def __repr__(self) -> str:
        return f"RecentCalls({self._limit})"

    def __call__(self, record: Record) -> None:
        """
        Take note of a call that is over; from any thread, the garbage collector's too.

        Args:
            record: The call.
        """
        self._rings.get().add(record)

    def usage(
        self,
        since: Instant = None,
        until: Instant = None,
        by: str | None = None,
        *,
        only: Mapping[str, str] | None = None,
        tz: tzinfo | str = BEIJING,
    ) -> UsageReport:
        """
        Add up what the calls of this client used and cost.

        Args:
            since: As `Ledger.usage()` has it.
            until: Likewise.
            by: Likewise.
            only: Likewise.
            tz: Likewise.

        Returns:
            The sums.

        Raises:
            ConfigurationError: An argument cannot be used.
        """
        question = ask(since=since, until=until, by=by, only=only, tz=tz, now=self._wall())
        ring = self._rings.get()
        rows = ring.rows()
        return _answer(rows, question, list(self._findings(ring, question)))

    # As `Ledger` has it: what is in memory can always be read.
    usage_noted = usage

    def _findings(self, ring: _Ring, question: Question) -> Iterator[Note]:
        since, _ = question.bounds
        if ring.forgotten_at is not None and ring.forgotten_at * 1e6 >= since:
            yield Note("forgotten", {"limit": f"{self._limit:,}"})


class _Slip:
    """One call: what is known of it, and, once somebody has asked, its rows."""

    __slots__ = ("_attempts", "_date", "_facts", "_repairs", "_rows", "_usage")

    def __init__(self, record: Record) -> None:
        self._facts: tuple[Any, ...] = _facts(record)
        self._attempts = tuple(record.attempts)
        self._date = None if record.headers is None else record.headers.get("date")
        # The server's word on reasoning tells which half of a cut answer is missing.
        self._usage = record.usage if record.finish_reason == "length" else None
        self._repairs = len(record.repairs)
        self._rows: Rows | None = None

    @property
    def at(self) -> float:
        """When the call began, in seconds since 1970."""
        return float(self._facts[0])

    def rows(self) -> Rows:
        """Make the rows: prices are looked up now, not while the call was waited for."""
        from deepseek_sdk.ledger.rows import rows_of  # noqa: PLC0415  not part of importing the library

        if self._rows is None:
            record = Record(started=0.0, **dict(zip(_KEPT, self._facts, strict=True)))
            record.attempts, record.usage = list(self._attempts), self._usage
            record.headers = None if self._date is None else {"date": self._date}
            record.repairs = [""] * self._repairs
            self._rows = rows_of(record)
        return self._rows


class _Ring:
    """The slips of one process."""

    def __init__(self, limit: int) -> None:
        self._slips: deque[_Slip] = deque(maxlen=limit)
        self._limit = limit
        self.forgotten_at: float | None = None

    def add(self, record: Record) -> None:
        if len(self._slips) >= self._limit:
            # Another thread may push it out first, and then tell of the next one: the same, but for a call.
            self.forgotten_at = max(self._slips[0].at, self.forgotten_at or 0.0)
        self._slips.append(_Slip(record))

    def rows(self) -> list[Rows]:
        return [slip.rows() for slip in self._slips.copy()]


def _answer(rows: Sequence[Rows], question: Question, found: Iterable[Note]) -> UsageReport:
    """Answer as a ledger does, by one that lives as long as the question."""
    import sqlite3  # noqa: PLC0415  not part of importing the library
    from contextlib import closing  # noqa: PLC0415  with it

    from deepseek_sdk.ledger.file import insert  # noqa: PLC0415  likewise
    from deepseek_sdk.ledger.query import answer  # noqa: PLC0415  likewise
    from deepseek_sdk.ledger.schema import migrate  # noqa: PLC0415  likewise

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        migrate(database)
        database.execute("BEGIN")
        insert(database, rows)
        return answer(database, question, found)


def nothing(question: Question) -> UsageReport:
    """
    Answer a question where there are no calls.

    Args:
        question: The question.

    Returns:
        The answer.
    """
    return _answer((), question, ())
