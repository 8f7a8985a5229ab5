"""What can be wrong with a rule."""

from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.backends.rules import Rule
from deepseek_sdk.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reply": ""}, "there is no reply"),
        ({"reply": 5}, "reply must be text, not 5"),
        ({"reply": " \u200b"}, "reply must be text"),
        ({"phrases": []}, "it can never match: give it phrases, keywords or patterns"),
        ({"phrases": 5}, "phrases must be a list of texts, not 5"),
        ({"phrases": ["a", 5]}, r"phrases\[1\] must be text, not 5"),
        ({"phrases": ["a", " \ufe0f"]}, r"phrases\[1\] is empty"),
        ({"keywords": [["a", ""]]}, r"keywords\[0\]\[1\] is empty"),
        ({"keywords": ["a", []]}, r"keywords\[1\] is empty"),
        ({"keywords": [[["a"]]]}, r"keywords\[0\]\[0\] must be text"),
        ({"patterns": [["a"]]}, r"patterns\[0\] must be text"),
        ({"patterns": ["(a"]}, r"patterns\[0\] is no regular expression: missing \), .* position 0"),
        ({"patterns": ["a{99999999999}"]}, r"patterns\[0\] is no regular expression"),
        ({"patterns": ["(?P<date>a)"]}, r"patterns\[0\] has a group 'date'"),
        ({"priority": True}, "priority must be a whole number, not True"),
        ({"priority": 1.5}, "priority must be a whole number, not 1.5"),
        ({"name": ""}, "name must be text, not ''"),
        ({"reply": "Order {order}"}, r"reply has an unknown placeholder \{order\}; known are \{0\}, \{question\}"),
        ({"reply": "{x.__class__}"}, r"unknown placeholder \{x.__class__\}"),
        ({"reply": "{"}, "reply has a single"),
    ],
)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    """A rule that cannot be used is refused where it is made, by its name and with the reason."""
    with pytest.raises(ConfigurationError, match=message):
        Rule(**{"reply": "Hello", "phrases": ["hi"], **given})


def test_all_mistakes_are_told() -> None:
    """Everything that is wrong is said at once."""
    with pytest.raises(ConfigurationError) as caught:
        Rule("{a}", keywords=["", "x"], priority="high", name="refund")  # type: ignore[arg-type]

    known = "{0}, {question}, {model}, {date}, {time}"
    problems = [
        f"reply has an unknown placeholder {{a}}; known are {known}",
        "keywords[0] is empty",
        "priority must be a whole number, not 'high'",
    ]
    assert f"rule 'refund': {'; '.join(problems)}" == str(caught.value)


def test_single_texts() -> None:
    """A single text stands for a list of one, and a keyword for a group of one."""
    rule = Rule("Hi", phrases="hello", keywords=["退款", ["a", "b"]], patterns="x")

    assert (("hello",), (("退款",), ("a", "b")), ("x",)) == (rule.phrases, rule.keywords, rule.patterns)
    assert rule == Rule("Hi", phrases=["hello"], keywords=[["退款"], ["a", "b"]], patterns=["x"])


def test_rules_stay_as_they_are() -> None:
    """A rule cannot be changed, and can be a key."""
    rule = Rule("Hi", phrases="hello")

    assert {rule: 1} == {Rule("Hi", phrases="hello"): 1}
    with pytest.raises(AttributeError):
        rule.reply = "Bye"  # type: ignore[misc]
