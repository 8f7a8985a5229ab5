"""`LedgerState`: how the writing of a ledger goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LedgerState"]


class LedgerState(NamedTuple):
    """
    How a ledger is.

    Attributes:
        status: "ok", or "degraded" while calls are not written: *last_error* says why.
        path: The file.
        written: How many calls this process has written.
        waiting: How many wait.
        dropped: How many it could not keep: while the file cannot be written, the oldest go when too many wait, and all
            that wait when the ledger is closed.
        last_error: Why the file could not be written the last time that this was so, or None.
        last_flush: When something was written last, in seconds since 1970, or None.
    """

    status: Literal["ok", "degraded"]
    path: Path
    written: int
    waiting: int
    dropped: int
    last_error: str | None
    last_flush: float | None
