"""The tables of the page on resilience name every field of every policy, and its default."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import BreakerPolicy, LimiterPolicy, RetryBudget, RetryPolicy, Route
from deepseek_sdk._clock import UNSET
from tests.docs.conftest import DOCS, text_of

if TYPE_CHECKING:
    from pathlib import Path

POLICIES = [Route, RetryPolicy, RetryBudget, BreakerPolicy, LimiterPolicy]
WORDS = {"docs": {"required": "required", UNSET: "not given"}, "zh": {"required": "必填", UNSET: "未给出"}}


def table(path: Path, policy: type) -> list[tuple[str, str]]:
    """Read the table whose heading is the name of a policy: each field, and what stands as its default."""
    lines = text_of(path).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| `{policy.__name__}` |"))
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[start + 2 : end]]
    return [(row[0].strip("`"), row[1]) for row in cells]


def default(field: dataclasses.Field[Any], words: dict[Any, str]) -> str:
    """Write a default as the page does: in words where there is none, else as it would be typed."""
    if field.default_factory is not dataclasses.MISSING:
        return f"`{getattr(field.default_factory, '__name__', '')}()`"
    value = "required" if field.default is dataclasses.MISSING else field.default
    return words[value] if value in words else f"`{value!r}`".replace("'", '"')


@pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
def test_every_field_is_on_the_page(policy: type[Any], folder: Path) -> None:
    """Each policy has a table of its fields in their order, with the defaults that the code has."""
    expected = [(field.name, default(field, WORDS[folder.name])) for field in dataclasses.fields(policy)]

    assert expected == table(folder / "resilience.md", policy)
