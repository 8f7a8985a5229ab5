"""What is asked: an argument, and what comes on stdin, which is the question itself or the text that it is about."""

from __future__ import annotations

import io
import os
import select
import stat
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["PATIENCE_S", "piped_text", "read_all", "readable"]

# So long a pipe may take to say something: whoever starts this program may have left it one that never will.
PATIENCE_S = 3.0


def readable(text: str) -> str:
    """Read *text*, an argument or a line, as UTF-8 where the locale, such as C, made nothing of its bytes."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()  # half of a character, on Windows


def read_all(stream: TextIO) -> str:
    """Read *stream*, stdin, to its end."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="surrogateescape")
    return readable(stream.read().rstrip("\n"))


def piped_text(stream: TextIO, *, patience_s: float) -> str | None:
    """
    Read what was piped to a program that was given a question as well.

    Args:
        stream: Stdin.
        patience_s: How long a pipe may take to say something, in seconds.

    Returns:
        It, or "" where there is nothing; None where a pipe stayed silent, and was not read.
    """
    if stream.isatty() or _is_empty(stream):
        return ""
    return read_all(stream) if _speaks(stream, patience_s) else None


def _is_empty(stream: TextIO) -> bool:
    """Tell whether *stream* is nothing to read from: a device, or a file that another program is reading."""
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, io.UnsupportedOperation):
        return False
    if stat.S_ISREG(mode):
        # A shell's `while read` loop has its place in the file, and what follows is not about this question.
        return os.lseek(descriptor, 0, os.SEEK_CUR) > 0
    return stat.S_ISCHR(mode)


def _speaks(stream: TextIO, patience_s: float) -> bool:
    """Wait until *stream* has something, or has ended; tell whether it does so in time."""
    try:
        return bool(select.select([stream], [], [], patience_s)[0])
    except (OSError, ValueError):  # in memory; or Windows, where only sockets can be waited for
        return True
