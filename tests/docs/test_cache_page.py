"""The tables of the page on the cache name what the code has."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_args

import pytest

from deepseek_sdk import CacheStats, ExactCache
from deepseek_sdk._cache import CacheOutcome, CacheStatus
from tests.docs.conftest import DOCS, text_of

if TYPE_CHECKING:
    from pathlib import Path

in_both_languages = pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])

# What the page leaves out: nothing ends with the one, and nothing decides for the others in an exact cache.
UNTOLD = {"guard", "price", "is_free"}


def table(folder: Path, heading: str) -> list[list[str]]:
    """Read the table below a row that begins with *heading*."""
    lines = text_of(folder / "cache.md").splitlines()
    heads = [place for place, line in enumerate(lines) if line.startswith("|---")]
    start = next(place for place in heads if lines[place - 1].startswith(f"| {heading} |")) - 1
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines[start + 2 : end]]


def names(folder: Path, heading: str) -> list[str]:
    """Read what the first column of a table names in code."""
    return [name for row in table(folder, heading) for name in row[0].split("`")[1::2]]


def shown(default: Any) -> str:
    """Write a default as the page does."""
    if callable(default):
        return f"`{default.__module__ or 'random'}.{default.__name__}`"
    if type(default) is int and default >= 2**20:
        return f"{default // 2**30} GiB" if default >= 2**30 else f"{default // 2**20} MiB"
    return f"`{default!r}`".replace("'", '"')


@in_both_languages
def test_every_argument_is_on_the_page(folder: Path) -> None:
    """The table of `ExactCache` has its arguments in their order, with their defaults."""
    arguments = inspect.signature(ExactCache).parameters.values()

    assert [[f"`{each.name}`", shown(each.default)] for each in arguments] == [
        row[:2] for row in table(folder, "`ExactCache`")
    ]


@in_both_languages
def test_every_status_is_on_the_page(folder: Path) -> None:
    """The table of statuses has each that a call can end with."""
    heading = {"docs": "status", "zh": "状态"}[folder.name]

    assert sorted(set(get_args(CacheStatus)) - UNTOLD) == sorted(names(folder, heading))


@in_both_languages
def test_what_a_report_tells_is_on_the_page(folder: Path) -> None:
    """The table of `report().cache` has every field."""
    fields = {*CacheOutcome.__slots__, "hit", "saved"}

    assert sorted(fields - UNTOLD) == sorted(names(folder, "`report(answer).cache`"))


@in_both_languages
def test_every_number_is_on_the_page(folder: Path) -> None:
    """The table of `stats()` has every field, and the rate made of them."""
    assert sorted([*CacheStats.__slots__, "hit_rate"]) == sorted(names(folder, "`stats()`"))
