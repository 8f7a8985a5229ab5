"""Replies with places to fill in."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules.template import Template, moment

VALUES = {"order": "A1", "0": "order A1", "question": 'say "hi" {model}\n', "model": "m"}


@pytest.mark.parametrize(
    ("source", "filled"),
    [
        ("Order {order}: {0}.", "Order A1: order A1."),
        ("{ order }{order}", "A1A1"),
        ("{{order}} {{{order}}}", "{order} {A1}"),
        ("{missing}.", "."),
        ("nothing", "nothing"),
        ("{question}", 'say "hi" {model}\n'),
        ('{"a": "{order}", "b": {"c": {}}}', '{"a": "A1", "b": {"c": {}}}'),
        ('{"a": "{{order}}"}', '{"a": "{order}"}'),
        ('{"a": "{question}"}', '{"a": "say \\"hi\\" {model}\\n"}'),
        ('{"a": "\\"{order}\\""}', '{"a": "\\"A1\\""}'),
    ],
)
def test_filling(source: str, filled: str) -> None:
    """Places are filled in once, doubled braces are braces, and in JSON only texts have places."""
    assert filled == Template(source).fill(VALUES)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{", "a single '{' at character 1: write '{{' for one"),
        ("ab}", "a single '}' at character 3: write '}}' for one"),
        ('{"a": {order}}', "a single '{' at character 1"),
    ],
)
def test_lonely_braces(source: str, message: str) -> None:
    """A brace that stands alone is refused, with its place."""
    with pytest.raises(ValueError, match=message):
        Template(source)


@pytest.mark.parametrize("trick", ["x.__class__", "x[0]", "x!r", "x:>99999999", "", "__init__.__globals__"])
def test_a_name_is_only_a_name(trick: str) -> None:
    """Attributes, items, conversions and formats are names that nothing has."""
    template = Template(f"a{{{trick}}}b")

    assert {trick} == template.names
    assert "ab" == template.fill({"x": "value"})


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_json_stays_json(value: str) -> None:
    """Whatever is filled into JSON, it is the same JSON with that text."""
    filled = Template('{"a": ["{order}"], "b": 1}').fill({"order": value})

    assert {"a": [value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")], "b": 1} == json.loads(filled)


def test_moments() -> None:
    """Date and time are written as numbers, with minutes."""
    assert {"date": "2026-03-01", "time": "08:05"} == moment(datetime(2026, 3, 1, 8, 5, 59, tzinfo=UTC))
