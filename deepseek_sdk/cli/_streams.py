"""Stdin, stdout and stderr: any of them may be closed, full, or of an encoding that lacks most characters."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

__all__ = ["prepare", "tell_broken"]


def prepare() -> None:
    """Make of a closed stream one that can be used: nothing comes from stdin, stderr is lost, stdout fails."""
    # In this order each takes the descriptor that is its own, which no socket can have then.
    if sys.stdin is None:
        sys.stdin = _nowhere(os.O_RDONLY, "r")
    if sys.stdout is None:
        # A write fails as one to a full disk does: with an OSError, and not wherever None is not expected.
        sys.stdout = _nowhere(os.O_RDONLY, "w")
    if sys.stderr is None:
        sys.stderr = _nowhere(os.O_WRONLY, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a legacy code page must not end the program


def _nowhere(flags: int, mode: Literal["r", "w"]) -> TextIOWrapper:
    return os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8")


def tell_broken(error: OSError) -> None:
    """Say in one line that output cannot be written, and keep the interpreter from trying again when it ends."""
    with suppress(OSError):
        sys.stderr.write(f"Error: the output cannot be written: {error.strerror or error}\n")
        sys.stderr.flush()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
