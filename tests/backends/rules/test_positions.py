"""Where things stand in files of TOML and JSON."""

from __future__ import annotations

import json
import random
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules.positions import find_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

TRICKY = '''\
title = "a # b [c] \\" = 1" # comment = "x"
"quoted key" . 'second' = [ # one
  "]", """
  multi ] \\""" " line""", # two
  { a = 1, b.c = [ '}' ] }, 1979-05-27 07:32:00Z,
]

[ table . "x.y" ]
  key = \'\'\'
[[rules]]\'\'\'

[[rules]]
deep = [[1, 2], [3]]
[rules.inner]
z = true
[[rules.list]]
[[rules.list]]
y = -1.5e3
[[rules]]
'''


def test_positions_in_toml() -> None:
    """Keys, items, tables and tables in lists are found, whatever strings and comments hold."""
    positions = find_positions(TRICKY, is_json=False).positions
    expected = {
        ("title",): (1, 1),
        ("quoted key",): (2, 1),
        ("quoted key", "second"): (2, 1),
        ("quoted key", "second", 0): (3, 3),
        ("quoted key", "second", 1): (3, 8),
        ("quoted key", "second", 2): (5, 3),
        ("quoted key", "second", 2, "b", "c", 0): (5, 20),
        ("quoted key", "second", 3): (5, 29),
        ("table", "x.y"): (8, 1),
        ("table", "x.y", "key"): (9, 3),
        ("rules",): (12, 1),
        ("rules", 0): (12, 1),
        ("rules", 0, "deep", 1, 0): (13, 18),
        ("rules", 0, "inner"): (14, 1),
        ("rules", 0, "inner", "z"): (15, 1),
        ("rules", 0, "list", 1): (17, 1),
        ("rules", 0, "list", 1, "y"): (18, 1),
        ("rules", 1): (19, 1),
    }

    assert expected == {path: tuple(positions[path]) for path in expected}


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Walk a document."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(deadline=None)
@given(JSON, st.sampled_from([None, 0, 2]), st.booleans())
def test_positions_in_any_json(document: Any, indent: int | None, is_ascii: bool) -> None:  # noqa: FBT001
    """In any JSON, what stands at a position is what the path leads to."""
    text = json.dumps(document, indent=indent, ensure_ascii=is_ascii)
    positions, lines = find_positions(text, is_json=True).positions, text.split("\n")

    for path, value in paths(document):
        rest = "\n".join(
            [lines[positions[path].line - 1][positions[path].column - 1 :], *lines[positions[path].line :]]
        )
        start, end = json.JSONDecoder().raw_decode(rest)
        is_key = bool(path) and isinstance(path[-1], str)
        assert (path[-1] if is_key else value) == start, (path, end)


def test_positions_in_made_up_toml() -> None:
    """In long files of rules every rule and every keyword is found on its line."""
    chance = random.Random(7)  # noqa: S311  repeatable
    lines: list[str] = []
    expected: dict[tuple[str | int, ...], int] = {}
    for number in range(200):
        lines += ["# [[rules]]"] * chance.randint(0, 2)
        lines.append("[[rules]]")
        expected["rules", number] = len(lines)
        lines += ['reply = """', "[[rules]]", '# """'] if chance.random() < 0.5 else ["reply = 'a # b'  # c"]
        lines.append("keywords = [" + "\n".join(["'x',"] * chance.randint(1, 3)) + "]")
        lines = "\n".join(lines).split("\n")
        expected["rules", number, "keywords"] = max(i for i, line in enumerate(lines, 1) if line.startswith("keywords"))
    text = "\r\n".join(lines)
    positions = find_positions(text, is_json=False).positions

    assert 200 == len(tomllib.loads(text)["rules"])
    assert expected == {path: positions[path].line for path in expected}


def test_keys_that_stand_twice() -> None:
    """Keys that an object of JSON has twice are found, and keys of different objects are no matter."""
    text = '{"a": {"x": 1, "x": 2},\n "b": [{"x": 1}, {"x": 2}],\n  "a": {"x": 1}, "a": 1}'

    repeated = [(("a", "x"), (1, 16)), (("a",), (3, 3)), (("a",), (3, 18))]
    assert repeated == [(path, tuple(position)) for path, position in find_positions(text, is_json=True).repeated]


@pytest.mark.parametrize("is_json", [True, False])
def test_depths(is_json: bool) -> None:  # noqa: FBT001
    """In a document that is too deep to be walked over, what stands before the depth is found."""
    deep = "[" * 5000 + "]" * 5000
    text = f'{{"a": 1,\n"b": {deep}}}' if is_json else f"a = 1\nb = {deep}"
    positions = find_positions(text, is_json=is_json).positions

    assert (2, 1) == tuple(positions["b",])
