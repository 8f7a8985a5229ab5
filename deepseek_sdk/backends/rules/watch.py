"""`WatchedFile`: a file of rules that is read again when it has changed, by whoever comes by."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.errors import RuleFileError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from deepseek_sdk.backends.rules.files import RuleSet

__all__ = ["WatchedFile"]

# How long nobody looks after somebody did, in seconds.
_PAUSE_S = 1.0


class WatchedFile:
    """
    A file of rules that may change. It has no thread: it is looked at when it is used, at most once a second.

    Args:
        path: Where it is.
        parse: Reads its content, given that and what messages call the file.
        is_watched: It is read again at all.
    """

    def __init__(
        self, path: str | os.PathLike[str], parse: Callable[[bytes, str], RuleSet], *, is_watched: bool = True
    ) -> None:
        self._path = Path(path)
        self._parse = parse
        self._seen: tuple[int, int, int] | None = None
        self._next_look = -inf if is_watched else inf
        # Who wants to look, in order; the first may. No lock: one that an interrupt or a fork leaves taken stays so.
        self._claims: PerProcess[dict[object, None]] = PerProcess(dict)

    def is_due(self, now: float) -> bool:
        """
        Tell whether somebody should look.

        Args:
            now: The instant, in seconds of a monotonic clock.

        Returns:
            Whether the last look was a second ago.
        """
        return now >= self._next_look

    def refresh(self, now: float, install: Callable[[RuleSet], None]) -> None:
        """
        Read the file if it has changed and nobody else is doing that.

        Args:
            now: The instant, in seconds of a monotonic clock.
            install: Takes what it says now over; called before anybody else may look.

        Raises:
            RuleFileError: It has changed, and cannot be used; it is not read again before the next change.
        """
        claims, claim = self._claims.get(), object()
        try:
            claims[claim] = None
            # Of a copy: others may come and go.
            first, *_ = list(claims)
            if first is claim and self.is_due(now):
                self._next_look = now + _PAUSE_S
                if _stamp(self._path) != self._seen:
                    self.load(install)
        finally:
            claims.pop(claim, None)

    def load(self, install: Callable[[RuleSet], None]) -> None:
        """
        Read the file, changed or not.

        Args:
            install: Takes what it says over.

        Raises:
            RuleFileError: It cannot be used.
        """
        # Before the content: what is written in between is a change.
        stamp = _stamp(self._path)
        try:
            install(self._parse(self._content(), str(self._path)))
        except Exception:
            self._seen = stamp
            raise
        # An interrupt leaves the file unseen.
        self._seen = stamp

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except (OSError, ValueError) as error:  # what is no path at all is a ValueError
            why = getattr(error, "strerror", None) or error
            raise RuleFileError([f"{self._path}: the file cannot be read: {why}"]) from error


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
