"""Whether another process is still there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["born", "is_alive"]

# A process that holds something says so every few seconds.
SILENT_S = 60.0


def born(pid: int) -> str:
    """
    Say when a process was started, so that another one with the same number is not taken for it.

    Args:
        pid: Its number.

    Returns:
        A text that is its own, or "" where the system does not tell.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is a name in parentheses, which may hold anything; the twenty-second is the start.
    return stat.rpartition(")")[2].split()[19]


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
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
