"""Whether another process is still there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["born", "is_alive"]

# A process that holds something says so every few seconds.
SILENT_S = 60.0
# What the system calls a process that has ended: one nobody has waited for yet, and one that is just taken away.
_ENDED = ("Z", "X", "x")


def born(pid: int) -> str:
    """
    Say when a process was started, so that another one with the same number is not taken for it.

    Args:
        pid: Its number.

    Returns:
        A text that is its own, or "" where it has ended or the system does not tell.
    """
    fields = _stat(pid)
    return "" if not fields or _has_ended(fields) else fields[19]


def _stat(pid: int) -> list[str]:
    """Read what the system tells of a process, from its state on: the state is 0, its threads 17, its start 19."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The second field is a name in parentheses, which may hold anything.
    return stat.rpartition(")")[2].split()


def _has_ended(fields: list[str]) -> bool:
    # Where only its main thread has ended, the others may still spend.
    return fields[0] in _ENDED and int(fields[17]) <= 1


def is_alive(pid: int, birth: str, silent_s: float) -> bool:
    """
    Say whether a process may still spend what it holds; a wrong answer costs nothing that is not made good.

    Args:
        pid: Its number.
        birth: When it was started, in the words of `born()`.
        silent_s: For how long it has not been heard of, in seconds.

    Returns:
        False where it has ended, or said nothing for a minute.
    """
    if silent_s > SILENT_S:
        return False
    if birth:
        return born(pid) == birth
    return True if sys.platform == "win32" else _answers(pid)


def _answers(pid: int) -> bool:
    fields = _stat(pid)
    if fields and _has_ended(fields):
        # The number answers until somebody has waited for it.
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
