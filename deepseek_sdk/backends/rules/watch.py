"""`WatchedFile`: a file of rules that is read again when it has changed, by whoever comes by."""

from __future__ import annotations

import threading
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.backends.rules.files import parse_rules
from deepseek_sdk.errors import RuleFileError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from deepseek_sdk.backends.rules.files import Book

__all__ = ["WatchedFile"]

# How long nobody looks after somebody did, in seconds.
_PAUSE_S = 1.0


class WatchedFile:
    """
    A file of rules that may change. It has no thread: it is looked at when it is used, at most once a second.

    Args:
        path: Where it is.
        is_watched: It is read again at all.
    """

    def __init__(self, path: str | os.PathLike[str], *, is_watched: bool = True) -> None:
        self._path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._next_look = -inf if is_watched else inf
        # A lock that a thread of the parent held when it forked would never be free in the child.
        self._turn = PerProcess(threading.Lock)

    def is_due(self, now: float) -> bool:
        """
        Tell whether somebody should look.

        Args:
            now: The instant, in seconds of a monotonic clock.

        Returns:
            Whether the last look was a second ago.
        """
        return now >= self._next_look

    def look(self, now: float, take: Callable[[Book], None]) -> None:
        """
        Read the file if it has changed and nobody else is doing that.

        Args:
            now: The instant, in seconds of a monotonic clock.
            take: Takes what it says now over; called before anybody else may look.

        Raises:
            RuleFileError: It has changed, and cannot be used; it is not read again before the next change.
        """
        turn = self._turn.get()
        if not turn.acquire(blocking=False):
            return
        try:
            if self.is_due(now):
                self._next_look = now + _PAUSE_S
                if _stamp(self._path) != self._seen:
                    take(self.read())
        finally:
            turn.release()

    def read(self) -> Book:
        """
        Read the file, changed or not.

        Returns:
            What it says.

        Raises:
            RuleFileError: It cannot be used.
        """
        # Before the content: what is written in between is a change.
        self._seen = _stamp(self._path)
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise RuleFileError([f"{self._path}: the file cannot be read: {error.strerror or error}"]) from error
        return parse_rules(data, str(self._path))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
