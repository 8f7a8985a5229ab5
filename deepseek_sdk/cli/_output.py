"""How commands print rows of data on stdout; what is not data goes to stderr, through `console_of()`."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from deepseek_sdk.cli._terminal import console_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import JustifyMethod

__all__ = ["Rows", "output_option", "show"]

Rows = "Sequence[Mapping[str, Any]]"

# Wide enough that no cell of a table is cut or wrapped on its way into a file or a pipe.
_UNBOUNDED = 10_000
# The line below the headings need not be as wide as that.
_LONGEST_RULE = 100
_BETWEEN = 3  # cells, from one column of a table to the next
# A last column with less room would be one of syllables.
_NARROWEST = 24

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="Format of the data on stdout.",
)


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
    console = console_of(sys.stdout, soft_wrap=False, width=None if sys.stdout.isatty() else _UNBOUNDED)
    shape = _table if _fits(rows, headings, console.width) else _records
    with console.capture() as shown:
        console.print(shape(rows, headings))
    # rich fills every line up to the width of the table.
    lines = (line.rstrip(" ") for line in shown.get().split("\n"))
    click.echo("\n".join(line[:_LONGEST_RULE] if _is_rule(line) else line for line in lines), nl=False)


def _is_rule(line: str) -> bool:
    return set(line.strip(" ")) in ({"─"}, {"-"})


def _fits(rows: Sequence[Mapping[str, Any]], headings: Mapping[str, str], width: int) -> bool:
    """Tell whether there is room for all columns but the last, which may go on in further lines."""
    *others, last = (
        max(cell_len(line) for text in (heading, *(_cell(row[key]).plain for row in rows)) for line in text.split("\n"))
        for key, heading in headings.items()
    )
    return sum(others) + _BETWEEN * len(others) + min(last, _NARROWEST) <= width


def _table(rows: Sequence[Mapping[str, Any]], headings: Mapping[str, str]) -> Table:
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for index, (key, heading) in enumerate(headings.items(), start=1):
        is_number = any(isinstance(row[key], int) for row in rows)
        justify: JustifyMethod = "right" if is_number else "left"
        table.add_column(heading, justify=justify, no_wrap=index < len(headings), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in headings))
    return table


def _records(rows: Sequence[Mapping[str, Any]], headings: Mapping[str, str]) -> Table:
    """Set the cells of each row below each other, for a window that is too narrow for a table."""
    records = Table.grid(Column(style="bold", no_wrap=True), Column(overflow="fold"), padding=(0, _BETWEEN, 0, 0))
    for index, row in enumerate(rows):
        if index:
            records.add_row()
        for key, heading in headings.items():
            records.add_row(heading, _cell(row[key]))
    return records


def _cell(value: object) -> Text:
    return value if isinstance(value, Text) else Text("-" if value is None else str(value))


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
