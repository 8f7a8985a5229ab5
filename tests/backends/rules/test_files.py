"""Files of rules, and what is wrong with them, line by line."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from deepseek_sdk._clock import UNSET
from deepseek_sdk.backends.rules import Rule
from deepseek_sdk.backends.rules.files import RuleSet, parse_rules
from deepseek_sdk.backends.rules.text import Normalizer
from deepseek_sdk.errors import RuleFileError

NORMALIZE = Normalizer()
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
    assert RuleSet(GOOD_RULES, "Sorry.") == parse_rules((mark + text).encode(), name, NORMALIZE)


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
    assert RuleSet((), default) == parse_rules(text.encode(), name, NORMALIZE)


def problems(text: str | bytes, name: str = "phrases.toml") -> list[str]:
    """List what is wrong with a file."""
    with pytest.raises(RuleFileError) as caught:
        parse_rules(text.encode() if isinstance(text, str) else text, name, NORMALIZE)
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
        ("priority = 1\ndefault = " + "9" * 5000, "a.toml", "a.toml:2:11: a number of 5000 digits is too long"),
        ("# " + "9" * 50 + "\nx = -" + "9_9" * 3000, "a.toml", "a.toml:2:6: a number of 6000 digits is too long"),
        ('{\n "default":' + "9" * 5000 + "}", "a.json", "a.json:2:12: a number of 5000 digits is too long"),
        ("default = 0x" + "f" * 5000, "a.toml", "a.toml:1:1: default must be text, not this int"),
        ("default = '" + "{" * 500 + "x", "a.toml", "a.toml:1:"),
        (
            "rules = '" + "x" * 500 + "'",
            "a.toml",
            f"a.toml:1:1: rules must be a list of tables: write [[rules]] above each, not '{'x' * 99}...",
        ),
        ("[" * 100_000, "a.json", "a.json:1:1: the file is nested too deeply"),
        ("a = " + "[" * 100_000, "a.toml", "a.toml:1:1: the file is nested too deeply"),
    ],
)
def test_first_problems(text: str | bytes, name: str, expected: str) -> None:
    """What is no document, or no file of rules, is told with its line and column."""
    assert problems(text, name)[0].startswith(expected)


def test_patterns_that_cannot_be_used() -> None:
    """A pattern that `re` accepts and normal text has no equal of is told with its place, and an invalid one once."""
    text = "[[rules]]\nname = 'odd'\nreply = 'x'\npatterns = ['a', '(',\n '[…]', '(?<=ß|a)', '{①}']\n"

    told = problems(text)
    assert told[0].startswith("phrases.toml:4:18: rule 'odd': patterns[1] is no regular expression")
    assert told[1].startswith("phrases.toml:5:2: rule 'odd': patterns[2] has '…' in brackets")
    assert told[2].startswith("phrases.toml:5:9: rule 'odd': patterns[3] cannot be used on normalised text")
    assert 3 == len(told)


def test_keys_that_stand_twice() -> None:
    """A key that stands twice in JSON, where the later one would win, is told, among everything else."""
    text = '{"rules": [{"reply": "a", "reply": "b",\n "phrases": ["x"], "zzz": 1}],\n "default": "a", "default": "b"}'

    assert [
        "a.json:1:27: key 'reply' is given more than once",
        "a.json:2:20: rule 1: unknown key 'zzz' (keys are reply, phrases, keywords, patterns, priority, name)",
        "a.json:3:18: key 'default' is given more than once",
    ] == problems(text, "a.json")


@pytest.mark.parametrize("depth", [100, 300, 600, 900, 3000, 100_000])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{{"bogus": {}}}', "a.json"),
        ('{{"default": {}}}', "a.json"),
        ('{{"rules": [{{"reply": {0}, "phrases": {0}, "keywords": [{0}], "name": {0}, "priority": {0}}}]}}', "a.json"),
        ('{{"a": 1, "a": {}}}', "a.json"),
        ("bogus = {}", "a.toml"),
        ("default = {}", "a.toml"),
    ],
)
def test_any_depth(text: str, name: str, depth: int) -> None:
    """However deep a file is nested, what is wrong with it is told as with any other."""
    assert all(problem.startswith(f"{name}:1:") for problem in problems(text.format("[" * depth + "]" * depth), name))
