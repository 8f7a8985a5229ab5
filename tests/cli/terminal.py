"""
A program in a terminal, for tests: keys go in, what it shows comes out.

    with Terminal("chat", "--emulator", LANG="zh_CN.UTF-8") as terminal:    python -m deepseek_sdk chat --emulator
        terminal.read_until(">")                  waits until a pattern is shown, and gives what came up to its end
        terminal.enter("Hello")                   types a line
        terminal.send(CTRL_C)                     presses a key
        assert 0 == terminal.finish()             waits for the end, and gives the exit code
        terminal.raw                              all that came, escape codes included
        terminal.text                             all that came, without them
        terminal.lines                            the window and what has scrolled off it, as a person sees it

The fixture `terminal` starts terminals and ends them with the test. Where there are none, its tests are skipped.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from tests.cli.conftest import environment

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

CTRL_C, CTRL_D, CTRL_U, UP, TAB = "\x03", "\x04", "\x15", "\x1b[A", "\t"

# A process gets Ctrl-C only from the terminal that controls it.
_LAUNCH = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("deepseek_sdk", run_name="__main__", alter_sys=True)
"""
_ESCAPE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>78])")


class Terminal:
    """
    Runs `python -m deepseek_sdk` with *arguments* in a terminal of its own.

    Args:
        *arguments: The command line.
        columns: How wide the window is.
        rows: How high it is.
        **variables: Environment variables, on top of `environment()`.
    """

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 24, **variables: str) -> None:
        pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
        self.raw = ""
        self.columns, self.rows = columns, rows
        self._read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(**{"TERM": "xterm-256color", **variables}),
            start_new_session=True,
        )
        os.close(theirs)

    @property
    def text(self) -> str:
        """All that was shown, without escape codes."""
        return _ESCAPE.sub("", self.raw)

    @property
    def lines(self) -> list[str]:
        """What a person can scroll through: every line as it stands after all that was shown."""
        return Paper(self.columns, self.rows).write(self.raw)

    def send(self, keys: str) -> None:
        """Press *keys*."""
        os.write(self._ours, keys.encode())

    def enter(self, line: str) -> None:
        """Type *line*, and Enter."""
        self.send(f"{line}\r")

    def read_until(self, pattern: str, *, timeout_s: float = 20.0) -> str:
        """
        Wait until the program shows something, after what earlier waits have found.

        Args:
            pattern: A regular expression, for the text without escape codes.
            timeout_s: The longest to wait, in seconds.

        Returns:
            The text from the end of the wait before up to the end of *pattern*.

        Raises:
            AssertionError: It was not shown in time, or the program ended.
        """
        ends = time.monotonic() + timeout_s
        while not (found := re.compile(pattern, re.DOTALL).search(self.text, self._read)):
            if not self._receive(ends - time.monotonic()):
                raise AssertionError(f"{pattern!r} was not shown after: {self.text[self._read :]!r}")
        seen = self.text[self._read : found.end()]
        self._read = found.end()
        return seen

    def wait(self, seconds: float) -> None:
        """Read what comes within *seconds*."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self._receive(ends - time.monotonic()):
            pass

    def finish(self, *, timeout_s: float = 20.0) -> int:
        """Read to the end, wait at most *timeout_s* seconds for it, and give the exit code."""
        ends = time.monotonic() + timeout_s
        while self._receive(ends - time.monotonic()):
            pass
        return self._process.wait(max(0.1, ends - time.monotonic()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _receive(self, timeout_s: float) -> bool:
        """Take what the program shows next; tell whether there was something."""
        ready, _, _ = select.select([self._ours], [], [], max(0.0, timeout_s))
        piece = _piece(self._ours) if ready else b""
        self.raw += self._decoder.decode(piece)
        return bool(piece)


def _piece(descriptor: int) -> bytes:
    """Read a piece; Linux ends a terminal whose other side is gone with an error."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


class Paper:
    """
    What a terminal shows, and what has scrolled off: enough of one for what rich and readline send.

    A wide character fills two cells, the second of which is empty. The cursor cannot reach what has scrolled off.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._grid: list[list[str]] = [[]]
        self._top = self._row = self._column = 0

    def write(self, raw: str) -> list[str]:
        """Show *raw*, and give all lines."""
        position = 0
        while position < len(raw):
            if code := _ESCAPE.match(raw, position):
                self._obey(code[2], code[1] or "")
                position = code.end()
            else:
                self._put(raw[position])
                position += 1
        return ["".join(line).rstrip() for line in self._grid]

    def _obey(self, command: str | None, argument: str) -> None:
        count = max(1, int(argument)) if argument.isdigit() else 1
        line = self._grid[self._row]
        match command:
            case "A":
                self._move(self._row - count, self._column)
            case "B":
                self._move(self._row + count, self._column)
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "K" if argument == "2":
                line.clear()
            case "K" if argument in {"", "0"}:
                del line[self._column :]
            case "J" if argument in {"", "0"}:
                del line[self._column :]
                del self._grid[self._row + 1 :]

    def _put(self, character: str) -> None:
        width = cell_len(character)
        if character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)
        elif character == "\n":
            self._move(self._row + 1, self._column)
        elif character >= " ":
            if self._column + width > self._columns:
                self._move(self._row + 1, 0)
            line = self._grid[self._row]
            line.extend(" " * (self._column + width - len(line)))
            line[self._column : self._column + width] = [character, *[""] * (width - 1)]
            self._column += width

    def _move(self, row: int, column: int) -> None:
        self._row, self._column = max(self._top, row), column
        self._grid.extend([] for _ in range(self._row + 1 - len(self._grid)))
        self._top = max(self._top, self._row - self._rows + 1)
