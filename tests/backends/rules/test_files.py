"""Files of rules, and what is wrong with them, line by line."""

from __future__ import annotations

import json
import random
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk._clock import UNSET
from deepseek_sdk.backends.rules import Rule
from deepseek_sdk.backends.rules.files import Book, parse_rules
from deepseek_sdk.backends.rules.places import find_places
from deepseek_sdk.errors import RuleFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD_TOML = """
default = "Sorry."  # where none matches

[[rules]]
name = "refund"
keywords = ["退款", ["refund", "order"]]
reply = '''
Three days.'''
priority = 2

[[rules]]
patterns = ['order (?P<id>\\d+)']
reply = "Order {id}."
"""
GOOD_RULES = (
    Rule("Three days.", name="refund", keywords=["退款", ["refund", "order"]], priority=2),
    Rule("Order {id}.", patterns=[r"order (?P<id>\d+)"]),
)
GOOD_JSON = json.dumps({**tomllib.loads(GOOD_TOML)}, ensure_ascii=False, indent=2)


@pytest.mark.parametrize(("text", "name"), [(GOOD_TOML, "a.toml"), (GOOD_JSON, "a.json"), (GOOD_JSON, "A.JSON")])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "with a mark"])
def test_both_formats(text: str, name: str, mark: str) -> None:
    """TOML and JSON say the same, with and without a byte order mark."""
    assert Book(GOOD_RULES, "Sorry.") == parse_rules((mark + text).encode(), name)


@pytest.mark.parametrize(
    ("text", "name", "default"),
    [
        ("", "a.toml", UNSET),
        ("default = false", "a.toml", None),
        ("{}", "a.json", UNSET),
        ('{"default": null}', "a.json", None),
        ('{"default": false}', "a.json", None),
    ],
)
def test_defaults(text: str, name: str, default: Any) -> None:
    """A default that is false, or null, means none; one that is not there leaves it open."""
    assert Book((), default) == parse_rules(text.encode(), name)


def problems(text: str | bytes, name: str = "phrases.toml") -> list[str]:
    """List what is wrong with a file."""
    with pytest.raises(RuleFileError) as caught:
        parse_rules(text.encode() if isinstance(text, str) else text, name)
    assert "\n".join(caught.value.problems) == str(caught.value)
    return list(caught.value.problems)


KNOWN = "known are {0}, {question}, {model}, {date}, {time}"
UNTERMINATED = "missing ), unterminated subpattern at position 1"
BAD_TOML = """\
defalt = "Sorry."

[[rules]]
name = "refund"
keyword = ["refund"]
phrases = [
  "退款",  # fine
  5,
]
reply = '''
[[rules]]
keywords = "not really"
'''

[[rules]]  # a comment with "quotes
reply = "Order {order}"
patterns = ["a", "b(", ""]
"priority" = "high"

[[rules]]
reply = "Never"
"""


def test_toml_problems() -> None:
    """Everything that is wrong is listed in the order of the lines, with the rule and the column."""
    assert [
        "phrases.toml:1:1: unknown key 'defalt' (did you mean 'default'?)",
        "phrases.toml:5:1: rule 'refund': unknown key 'keyword' (did you mean 'keywords'?)",
        "phrases.toml:8:3: rule 'refund': phrases[1] must be text, not 5",
        f"phrases.toml:16:1: rule 2: reply has an unknown placeholder {{order}}; {KNOWN}",
        f"phrases.toml:17:18: rule 2: patterns[1] is no regular expression: {UNTERMINATED}",
        "phrases.toml:17:24: rule 2: patterns[2] is empty",
        "phrases.toml:18:1: rule 2: priority must be a whole number, not 'high'",
        "phrases.toml:20:1: rule 3: it can never match: give it phrases, keywords or patterns",
    ] == problems(BAD_TOML)


BAD_JSON = """\
{
  "rules": [
    {"reply": "Hi, {\\"name\\"}", "phrases": ["hi"]},
    {
      "name": "later", "reply": "",
      "keywords": ["a", ["b",
        7]]
    },
    5
  ],
  "default": "{oops}"
}
"""


def test_json_problems() -> None:
    """The same holds for JSON."""
    assert [
        f'a.json:3:6: rule 1: reply has an unknown placeholder {{"name"}}; {KNOWN}',
        "a.json:5:24: rule 'later': there is no reply",
        "a.json:7:9: rule 'later': keywords[1][1] must be text, not 7",
        "a.json:9:5: rule 3: a rule is a table, not 5",
        "a.json:11:3: default has an unknown placeholder {oops}; known are {question}, {model}, {date}, {time}",
    ] == problems(BAD_JSON, "a.json")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("a = 1\nb = = 2", "a.toml", "a.toml:2:5: no TOML: Invalid value"),
        ("[[rules]]\nreply = '''", "a.toml", "a.toml:2:12: no TOML: Expected \"'''\""),
        ("[[rules]]\nreply = 'x'\nreply = 'y'\n", "a.toml", "a.toml:3:12: no TOML: Cannot overwrite a value"),
        ('{"rules": [\n  {"reply" "x"}]}', "a.json", "a.json:2:12: no JSON: Expecting ':' delimiter"),
        ("[1]", "a.json", "a.json:1:1: a file of rules is an object with default and rules"),
        ("rules = 5", "a.toml", "a.toml:1:1: rules must be a list of tables: write [[rules]] above each, not 5"),
        ("[rules]\nreply = 'x'", "a.toml", "a.toml:1:1: rules must be a list of tables"),
        ("rules = [5]", "a.toml", "a.toml:1:10: rule 1: a rule is a table, not 5"),
        ("default = true", "a.toml", "a.toml:1:1: default must be text, not True"),
        ("default = '{'", "a.toml", "a.toml:1:1: default has a single '{'"),
        ("default = ' '", "a.toml", "a.toml:1:1: default must be text, not ' '"),
        ("rule = 1", "a.toml", "a.toml:1:1: unknown key 'rule' (did you mean 'rules'?)"),
        ("zzz = 1", "a.toml", "a.toml:1:1: unknown key 'zzz' (keys are default, rules)"),
        (b"# ok\n\nname = 'ab\xff'", "a.toml", "a.toml:3:11: the file is not UTF-8"),
        ("[" * 100_000, "a.json", "a.json:1:1: the file is nested too deeply"),
        ("a = " + "[" * 100_000, "a.toml", "a.toml:1:1: the file is nested too deeply"),
    ],
)
def test_first_problems(text: str | bytes, name: str, expected: str) -> None:
    """What is no document, or no file of rules, is told with its line and column."""
    assert problems(text, name)[0].startswith(expected)


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


def test_places_in_toml() -> None:
    """Keys, items, tables and tables in lists are found, whatever strings and comments hold."""
    places = find_places(TRICKY, is_json=False)
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

    assert expected == {path: tuple(places[path]) for path in expected}


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
def test_places_in_any_json(document: Any, indent: int | None, is_ascii: bool) -> None:  # noqa: FBT001
    """In any JSON, what stands at a place is what the path leads to."""
    text = json.dumps(document, indent=indent, ensure_ascii=is_ascii)
    places, lines = find_places(text, is_json=True), text.split("\n")

    for path, value in paths(document):
        rest = "\n".join([lines[places[path].line - 1][places[path].column - 1 :], *lines[places[path].line :]])
        start, end = json.JSONDecoder().raw_decode(rest)
        is_key = bool(path) and isinstance(path[-1], str)
        assert (path[-1] if is_key else value) == start, (path, end)


def test_places_in_made_up_toml() -> None:
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
    places = find_places(text, is_json=False)

    assert 200 == len(tomllib.loads(text)["rules"])
    assert expected == {path: places[path].line for path in expected}
