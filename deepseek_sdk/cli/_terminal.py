"""The terminal as commands write on it: whether it wants colours, and what may be shown on it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

__all__ = ["console_of", "is_lively", "printable"]

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
