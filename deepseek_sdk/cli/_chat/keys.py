"""The keys of the terminal while an answer comes: Ctrl-C, and what is typed meanwhile."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType
    from typing import Self

__all__ = ["Interrupts", "silent_keys"]

T = TypeVar("T")


class Interrupts:
    """
    Makes Ctrl-C end a wait, and nothing but a wait: what is being printed or written down is finished.

        with Interrupts() as interrupts:
            interrupts.wait_for(function)      raises KeyboardInterrupt on Ctrl-C during it, or since the last wait
            interrupts.forget()                the key that was pressed meant something else
    """

    def __init__(self) -> None:
        self._is_waiting = self._is_asked = False
        self._before: Any = None

    def wait_for(self, function: Callable[[], T]) -> T:
        """Give what *function* returns."""
        self._is_waiting = True
        try:
            if self._is_asked:
                raise KeyboardInterrupt
            return function()
        finally:
            self._is_waiting = self._is_asked = False

    def forget(self) -> None:
        """Forget that Ctrl-C was pressed."""
        self._is_asked = False

    def __enter__(self) -> Self:
        self._before = signal.getsignal(signal.SIGINT)
        # A shell makes its background jobs ignore Ctrl-C, and means it.
        if self._before != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  the signature of handlers
        self._is_asked = True
        if self._is_waiting:
            raise KeyboardInterrupt


@contextmanager
def silent_keys() -> Iterator[None]:
    """Keep what is typed meanwhile for the next line, without showing it in the middle of something else."""
    try:
        import termios  # noqa: PLC0415  not everywhere
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    modes = termios.tcgetattr(sys.stdin)
    silent = [*modes]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, modes)
