"""The terminal as commands meet it: whether it wants colours, what may be shown on it, its keys and its Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType, TracebackType
    from typing import Self, TextIO

__all__ = ["Interrupts", "console_of", "is_lively", "printable", "silent_keys"]

T = TypeVar("T")

# All control characters but tab and line feed: an answer must not move the cursor, or write to the clipboard.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# On the terminal's own background, which rich's black boxes would break.
_THEME = Theme({"markdown.code": "bold cyan", "markdown.code_block": "cyan"})


def is_lively(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether *stream* is a terminal that wants colours and a moving cursor."""
    is_plain = bool(environment.get("NO_COLOR")) or environment.get("TERM", "").lower() in {"dumb", "unknown"}
    return stream.isatty() and not is_plain


def console_of(stream: TextIO, *, soft_wrap: bool = True, width: int | None = None) -> Console:
    """
    Give a console on *stream* that sends no escape code unless the stream is lively.

    Args:
        stream: Stdout or stderr.
        soft_wrap: The terminal breaks long lines, and rich does not.
        width: In cells; None for that of the terminal.

    Returns:
        The console; every command prints through one of these, or through `click.echo()`.
    """
    options: dict[str, Any] = {"file": stream, "highlight": False, "soft_wrap": soft_wrap, "width": width}
    if is_lively(stream, os.environ):
        return Console(**options, theme=_THEME)
    return Console(**options, color_system=None, force_terminal=False)


def printable(text: str) -> str:
    """Drop the control characters of *text* that a terminal would obey."""
    return _CONTROL.sub("", text)


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
