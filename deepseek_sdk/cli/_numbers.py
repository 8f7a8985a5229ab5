"""Numbers: those of the command line, and times as they are shown."""

from __future__ import annotations

import math
from typing import Any

import click

__all__ = ["Numbers", "milliseconds"]


class Numbers(click.FloatRange):
    """A range of numbers; to click's own, nan and inf belong as well."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def milliseconds(seconds: float | None) -> int | None:
    """Round *seconds* to whole milliseconds; None, what did not happen, stays None."""
    return None if seconds is None else round(seconds * 1000)
