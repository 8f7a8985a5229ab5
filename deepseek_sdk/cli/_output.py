"""How commands print: rows of data on stdout, everything else on stderr."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Rows", "output_option", "screen", "show"]

Rows = "Sequence[Mapping[str, Any]]"

# Wide enough that no cell of a table is cut or wrapped on its way into a file or a pipe.
_UNBOUNDED = 400

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="Format of the data on stdout.",
)


def screen() -> Console:
    """Give the console for everything that is not data: stderr, plain unless it is a terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def show(
    rows: Sequence[Mapping[str, Any]],
    *,
    output: str,
    headings: Mapping[str, str],
    cells: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """
    Print *rows* on stdout.

    Args:
        rows: The data; every row has the same keys.
        output: "table", "json", "jsonl" or "csv".
        headings: What a table calls each key, in the order of its columns. The other formats print all keys.
        cells: The rows as a table words them, where that is not as the other formats do; a `Text` keeps its style.
    """
    if output == "table":
        _show_table(rows if cells is None else cells, headings)
    else:
        _WRITERS[output](rows)


def _show_table(rows: Sequence[Mapping[str, Any]], headings: Mapping[str, str]) -> None:
    table = Table(box=box.SIMPLE)
    for key, heading in headings.items():
        table.add_column(heading, justify="right" if any(isinstance(row[key], int) for row in rows) else "left")
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in headings))
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _UNBOUNDED).print(table)


def _cell(value: object) -> str | Text:
    if isinstance(value, Text):
        return value
    return "-" if value is None else str(value)


def _write_json(rows: Sequence[Mapping[str, Any]]) -> None:
    click.echo(json.dumps(rows, ensure_ascii=False, indent=2))


def _write_jsonl(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        click.echo(json.dumps(row, ensure_ascii=False))


def _write_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    # At once: a pipe that is closed is noticed here, and not when the interpreter ends.
    click.echo(text.getvalue(), nl=False)


_WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], None]] = {
    "json": _write_json,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
}
