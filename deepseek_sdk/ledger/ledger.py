"""`Ledger`: every call in a file."""

from __future__ import annotations

import os
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import PerProcess
from deepseek_sdk.errors import ConfigurationError, LedgerError
from deepseek_sdk.ledger.notes import Note
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.ledger.question import ask
from deepseek_sdk.ledger.recent import nothing
from deepseek_sdk.ledger.rotation import Rotation
from deepseek_sdk.resilience.checks import check_count, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo
    from typing import TextIO

    from deepseek_sdk._record import Record
    from deepseek_sdk.ledger.export import Format
    from deepseek_sdk.ledger.period import Instant
    from deepseek_sdk.ledger.question import Question
    from deepseek_sdk.ledger.report import UsageReport
    from deepseek_sdk.ledger.state import LedgerState
    from deepseek_sdk.ledger.writer import Writer

__all__ = ["Ledger", "default_path", "make_ledger"]

_MAX_BYTES = 256 * 2**20
_MAX_AGE_DAYS = 400.0


def default_path() -> Path:
    """
    Say where the ledger of a user is, unless he wants it elsewhere.

    Returns:
        The file.
    """
    import platformdirs  # noqa: PLC0415  not part of importing the library

    return Path(platformdirs.user_data_dir("deepseek-sdk", appauthor=False)) / "ledger.sqlite3"


class Ledger:
    """
    A file, SQLite's, with a row for every call and one for each of its attempts; what is said in calls is not in it.

        Ledger()                                    in the user's data directory
        Ledger("calls.sqlite3")                     there; several processes may write to it at the same time
        Ledger(max_bytes=50_000_000)                older calls go when it becomes larger
        Ledger(max_age_days=90)                     and when they become older

    A thread writes down what has ended, twice a second: a process that is killed loses half a second of calls, and
    `usage()` says that it was. Calls never wait for it, and never fail because of it: while the file cannot be written,
    `state()` says why, and the last calls are kept until it can be, or until the ledger is closed.

    Args:
        path: Where, on a disk of this machine; None for the user's data directory.
        max_bytes: How large it may become, or None. The journal beside it takes up to 4 MiB more.
        max_age_days: How old a call may become, or None.
        flush_s: How often it is written to, in seconds.
        max_waiting: How many calls are kept while it cannot be written; then the oldest go.
        wall: Tells the time, in seconds since 1970.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        max_bytes: int | None = _MAX_BYTES,
        max_age_days: float | None = _MAX_AGE_DAYS,
        flush_s: float = 0.5,
        max_waiting: int = 10_000,
        wall: Callable[[], float] = time.time,
    ) -> None:
        check_number("flush_s", flush_s, least=0.01)
        check_count("max_waiting", max_waiting, least=1)
        self.path = default_path() if path is None else Path(path).absolute()
        self._rotation = Rotation(max_bytes=max_bytes, max_age_days=max_age_days)
        self._flush_s = flush_s
        self._max_waiting = max_waiting
        self._wall = wall
        self._writers = PerProcess(self._make)
        # Now, and not in the first call: it takes imports.
        self._writers.get()
        _close_before_forks(self)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def __call__(self, record: Record) -> None:
        """
        Take the record of a call that is over; from any thread, the garbage collector's too.

        Args:
            record: The call.
        """
        self._writers.get().take(record)

    def state(self) -> LedgerState:
        """
        Say how the writing goes.

        Returns:
            The state of this process's part.
        """
        return self._writers.get().state()

    def flush(self) -> bool:
        """
        Write now what waits.

        Returns:
            Whether all of it was written.
        """
        return self._writers.get().flush()

    def close(self) -> None:
        """
        Write what waits, end the thread, and let go of the file; a call that ends later opens it again.

        Where the file cannot be written, what waits is lost: a warning says how much.
        """
        self._writers.get().close()

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
        Add up what calls used and cost, those of other processes and of earlier ones too.

            ledger.usage("7d", by="model")                      the last seven days
            ledger.usage("2026-11-01", "2026-11-30", by="day")  November, a row for each day
            ledger.usage(by="tag:feature", only={"tenant": "acme"})

        Args:
            since: When the period begins: "7d", "24h", "2026-11-01", a date, a datetime, seconds since 1970, or None.
            until: When it ends, likewise; a day is part of the period.
            by: What calls are told apart by: "model", "route" and "tier", for which attempts count one by one, or
                "user", "session", "tenant", "template", "day", "cache" (how the cache answered) or "tag:KEY".
            only: What calls must have in common, by the same names.
            tz: The clock by which days begin, or the name of its zone, such as "Europe/Berlin".

        Returns:
            The sums.

        Raises:
            ConfigurationError: An argument cannot be used.
            LedgerError: The file cannot be read.
        """
        question = ask(since=since, until=until, by=by, only=only, tz=tz, now=self._wall())
        return self._answer(question)

    def usage_noted(
        self,
        since: Instant = None,
        until: Instant = None,
        by: str | None = None,
        *,
        only: Mapping[str, str] | None = None,
        tz: tzinfo | str = BEIJING,
    ) -> UsageReport:
        """
        Add up as `usage()` does; where calls cannot be written to the file, and it cannot be read, a note says so.

        Clients answer so: a ledger that does not hurt calls does not hurt who asks what they cost.

        Args:
            since: As `usage()` has it.
            until: Likewise.
            by: Likewise.
            only: Likewise.
            tz: Likewise.

        Returns:
            The sums.

        Raises:
            ConfigurationError: An argument cannot be used.
            LedgerError: The file cannot be read, and nothing says that it cannot be written.
        """
        question = ask(since=since, until=until, by=by, only=only, tz=tz, now=self._wall())
        try:
            return self._answer(question)
        except LedgerError as error:
            state = self.state()
            if state.status == "ok" and os.path.isfile(self.path):  # noqa: PTH113  never an error of its own
                raise
            return _noted(nothing(question), state, Note("unreadable", {"error": error}))

    def export(
        self,
        target: TextIO,
        *,
        form: Format = "csv",
        attempts: bool = False,
        since: Instant = None,
        until: Instant = None,
        tz: tzinfo | str = BEIJING,
    ) -> int:
        """
        Write calls to a file of yours, one by one, in the order in which they ended.

        Args:
            target: Where to; a text file opened with `newline=""`.
            form: "csv", with an apostrophe before what a spreadsheet would take for a formula, or "jsonl".
            attempts: A row for each attempt, in place of one for each call.
            since: When the period begins, as `usage()` has it.
            until: When it ends, likewise.
            tz: The clock by which instants are written, or the name of its zone.

        Returns:
            How many rows were written.

        Raises:
            ConfigurationError: An argument cannot be used.
            LedgerError: The ledger cannot be read.
        """
        from deepseek_sdk.ledger.export import export  # noqa: PLC0415  SQLite is not part of importing the library

        question = ask(since=since, until=until, by=None, only=None, tz=tz, now=self._wall())
        self.flush()
        return export(self.path, question, target, form=form, attempts=attempts)

    def _answer(self, question: Question) -> UsageReport:
        from deepseek_sdk.ledger.reader import read_usage  # noqa: PLC0415  SQLite is not part of importing the library

        self.flush()
        # What waits now may be written while the file is read, and is not in the sums.
        state = self.state()
        return _noted(nothing(question) if _is_missing(self.path) else read_usage(self.path, question), state)

    def _make(self) -> Writer:
        from deepseek_sdk.ledger.file import LedgerFile  # noqa: PLC0415  SQLite is not part of importing the library
        from deepseek_sdk.ledger.writer import Writer  # noqa: PLC0415  likewise

        file = LedgerFile(self.path, self._rotation)
        me = weakref.ref(self)
        return Writer(file, self._flush_s, self._max_waiting, lambda: me() is not None, self._wall)


def _is_missing(path: Path) -> bool:
    """Tell whether nothing was written yet; a file that cannot be reached is not missing."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _noted(report: UsageReport, state: LedgerState, *more: Note) -> UsageReport:
    """Say with the sums what of this process is not in them."""
    found = [*report.findings, *more]
    # What the file could be told of is in it.
    if state.status == "degraded" and state.dropped and all(note.kind != "dropped" for note in found):
        found.append(Note("dropped", {"calls": state.dropped}))
    if state.waiting:
        found.append(Note("waiting", {"calls": state.waiting, "error": state.last_error or "-"}))
    return replace(report, findings=tuple(found))


def _close_before_forks(ledger: Ledger) -> None:
    """
    See to it that a child inherits nothing of SQLite.

    What a child has inherited makes SQLite believe, there, that locks of the parent are its own.
    """
    me = weakref.ref(ledger)

    def tell(what: str) -> None:
        found = me()
        writer = None if found is None else found._writers.made()  # noqa: SLF001  of this module
        if writer is not None:
            getattr(writer, what)()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: tell("pause"), after_in_parent=lambda: tell("resume"))


def make_ledger(given: Any) -> Ledger | None:
    """
    Make a ledger of an argument or a setting.

    Args:
        given: True or "on" for the usual place, a path, a `Ledger`, or None, False or "off" for none.

    Returns:
        The ledger, or None.

    Raises:
        ConfigurationError: It is something else.
    """
    if given is None or given is False or given == "off":
        return None
    if isinstance(given, Ledger):
        return given
    if given is True or given == "on":
        return Ledger()
    if isinstance(given, str | os.PathLike) and str(given).strip():
        return Ledger(given)
    raise ConfigurationError(f'ledger must be True, "on", "off", a path, a Ledger or None, not {given!r}')
