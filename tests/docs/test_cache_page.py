"""The tables of the pages on the cache name what the code has."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_args

import pytest

from deepseek_sdk import CacheStats, ExactCache, SemanticCache
from deepseek_sdk._cache import CacheDecision, CacheOutcome, CacheStatus
from deepseek_sdk.caching.deciding.calibrated import COLLISION
from deepseek_sdk.caching.handle import AsyncCache, Cache
from deepseek_sdk.caching.matching.guards import GUARDS
from tests.docs.conftest import DOCS, text_of

if TYPE_CHECKING:
    from pathlib import Path

in_both_languages = pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])

# What the pages leave out: how a price is found, and what follows from the status.
UNTOLD = {"price", "is_free"}


def table(folder: Path, heading: str, page: str = "cache.md") -> list[list[str]]:
    """Read the table below a row that begins with *heading*."""
    lines = text_of(folder / page).splitlines()
    heads = [place for place, line in enumerate(lines) if line.startswith("|---")]
    start = next(place for place in heads if lines[place - 1].startswith(f"| {heading} |")) - 1
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines[start + 2 : end]]


def names(folder: Path, heading: str, page: str = "cache.md") -> list[str]:
    """Read what the first column of a table names in code."""
    return [name for row in table(folder, heading, page) for name in row[0].split("`")[1::2]]


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


@in_both_languages
def test_every_method_is_on_the_page(folder: Path) -> None:
    """The table of `client.cache` has what both colours have."""
    named = {name.partition("(")[0] for name in names(folder, "`client.cache`")}

    for face in (Cache, AsyncCache):
        assert {name for name in vars(face) if not name.startswith("_")} | {"store"} == named


@in_both_languages
def test_every_argument_of_the_semantic_cache_is_on_its_page(folder: Path) -> None:
    """The table of `SemanticCache` has its own arguments in their order, with their defaults."""
    arguments = [each for each in inspect.signature(SemanticCache).parameters.values() if each.kind != each.VAR_KEYWORD]

    assert [[f"`{each.name}`", f"`{each.default!r}`".replace("'", '"')] for each in arguments] == [
        row[:2] for row in table(folder, "`SemanticCache`", "semantic-cache.md")
    ]


@in_both_languages
def test_every_guard_is_on_its_page(folder: Path) -> None:
    """The table of guards has them in the order in which they are asked, and what the policy adds."""
    heading = {"docs": "guard", "zh": "守卫"}[folder.name]

    assert [*GUARDS, COLLISION] == names(folder, heading, "semantic-cache.md")


@in_both_languages
def test_what_a_decision_tells_is_on_its_page(folder: Path) -> None:
    """The table of `decision` has every field."""
    assert sorted(CacheDecision.__slots__) == sorted(names(folder, "`decision`", "semantic-cache.md"))
