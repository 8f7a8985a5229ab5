"""What the outage of the demo shows on a terminal: a line for each call, and the table of breakers."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.cells import set_cell_size
from rich.console import Group
from rich.table import Table

from deepseek_sdk import report
from deepseek_sdk.cli._exits import error_line
from deepseek_sdk.cli._numbers import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk import CallReport, Health, RouteHealth
    from deepseek_sdk.cli._demo.acts import Words

__all__ = ["breakers", "call_line", "line", "quiet"]

_WIDTHS = (18, 6, 7)
_NUMBERS = ("calls", "failures")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what the library logs off the terminal: the lines of the demo say the same."""
    log, handler = logging.getLogger("deepseek_sdk"), logging.NullHandler()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def line(*cells: str) -> str:
    """
    Set cells below those of other lines.

    Args:
        *cells: Their texts, of which wide characters take two places.

    Returns:
        The line.
    """
    *first, last = cells
    return f"  {''.join(set_cell_size(cell, width) for cell, width in zip(first, _WIDTHS, strict=True))}{last}".rstrip()


def call_line(answer: object, words: Words) -> str:
    """
    Say who answered a call, after how long, in how many attempts, and what happened on the way.

    Args:
        answer: What the call gave: a completion, a stream, or the error it raised.
        words: Word it.

    Returns:
        The line.
    """
    told = report(answer)
    notes = _notes(told, words)
    if isinstance(answer, BaseException):
        notes.append(error_line(answer))
    route = words.degraded.format(told.route) if told.degradation else str(told.route)
    return line(route, str(milliseconds(told.times.total)), str(len(told.attempts)), words.between.join(notes))


def _notes(told: CallReport, words: Words) -> list[str]:
    failed = Counter((attempt.route, attempt.reason) for attempt in told.attempts if attempt.reason)
    asked = {route for route, _ in failed}
    return [
        *(words.left_alone.format(route) for route, _ in told.skipped if route not in asked),
        *(_failure(route, reason, count, words) for (route, reason), count in failed.items()),
    ]


def _failure(route: str, reason: str | None, count: int, words: Words) -> str:
    return words.failure.format(route, words.word(reason)) + (words.times.format(count) if count > 1 else "")


def breakers(health: Health, words: Words) -> Group:
    """
    Show every circuit, what was counted, and when its route is asked again.

    Args:
        health: What the client knows of its routes.
        words: Word it.

    Returns:
        An empty line and a table.
    """
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for key, heading in words.circuits.items():
        table.add_column(heading, justify="right" if key in _NUMBERS else "left", no_wrap=True)
    for route in health.routes:
        table.add_row(*_cells(route, words))
    return Group("", table)


def _cells(route: RouteHealth, words: Words) -> list[str]:
    cells = {
        "route": route.route,
        "state": words.word(route.state),
        "calls": route.calls,
        "failures": route.failures,
        "retry_in": _again(route.retry_in, words),
        "reason": words.word(route.reason),
    }
    return ["-" if cells[key] is None else str(cells[key]) for key in words.circuits]


def _again(seconds: float | None, words: Words) -> str | None:
    if seconds is None:
        return None
    return words.again_in.format(seconds) if seconds else words.now
