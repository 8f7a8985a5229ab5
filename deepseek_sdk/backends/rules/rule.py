"""`Rule`: what to answer to what, and everything that can be wrong with one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.backends.rules.patterns import problem_in_pattern
from deepseek_sdk.backends.rules.template import RESERVED, Template
from deepseek_sdk.backends.rules.text import is_blank, shown
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepseek_sdk.backends.rules.text import Normalizer

__all__ = ["FIELDS", "Problem", "Rule", "pattern_problems", "problems_of", "unknown_key"]

FIELDS = ("reply", "phrases", "keywords", "patterns", "priority", "name")
_WAYS = ("phrases", "keywords", "patterns")


class Problem(NamedTuple):
    """
    Something wrong with a rule.

    Attributes:
        path: The field, and the place in it.
        text: What is wrong, a sentence without its end.
    """

    path: tuple[str | int, ...]
    text: str


@dataclass(frozen=True, slots=True, init=False)
class Rule:
    r"""
    What to answer to what.

        Rule("Hello!", phrases=["hi", "good morning"])                 the whole question
        Rule("退款将在三天内到账。", keywords=["退款", "refund"])          any of these words in it
        Rule("See our refund page.", keywords=[["refund", "order"]])   all of the words of an inner list
        Rule("Order {id} is on its way.", patterns=[r"order (?P<id>\d+)"])
        Rule("Call 110.", keywords="emergency", priority=10)           before all rules of a lower priority

    Upper and lower case, full and half width, simplified and traditional Chinese are the same. Words of scripts that
    are written with blanks match whole: "refund" is not found in "refundable". A reply may hold `{question}`,
    `{model}`, `{date}`, `{time}`, `{0}` for what matched, and the names of groups of its patterns; `{{` is a brace.

    Attributes:
        reply: The answer.
        phrases: Whole questions; punctuation at their ends does not count.
        keywords: Words, each by itself or in groups of which all must occur.
        patterns: Regular expressions, as in `re`, found anywhere in the question.
        priority: The highest wins; then phrases, keywords, patterns in this order, then what matches more.
        name: What messages call it.

    Raises:
        ConfigurationError: Something cannot be used; the message names it.
    """

    reply: str
    phrases: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    patterns: tuple[str, ...]
    priority: int
    name: str | None

    def __init__(
        self,
        reply: str,
        *,
        phrases: str | Sequence[str] = (),
        keywords: str | Sequence[str | Sequence[str]] = (),
        patterns: str | Sequence[str] = (),
        priority: int = 0,
        name: str | None = None,
    ) -> None:
        given = dict(zip(FIELDS, (reply, phrases, keywords, patterns, priority, name), strict=True))
        if problems := [problem.text for problem in problems_of(given)]:
            raise ConfigurationError(f"rule {shown(name or reply)}: {'; '.join(problems)}")
        ways = {"phrases": _listed(phrases), "patterns": _listed(patterns)}
        groups = tuple(_listed(group) for group in _listed(keywords))
        for field, value in {**given, **ways, "keywords": groups}.items():
            object.__setattr__(self, field, value)


def problems_of(given: Mapping[str, object]) -> Iterator[Problem]:
    """
    Find everything that is wrong with a rule.

    Args:
        given: Its fields.

    Yields:
        What is wrong.
    """
    yield from (Problem((name,), unknown_key(name, FIELDS)) for name in given if name not in FIELDS)
    yield from _reply_problems(given)
    for way in _WAYS:
        yield from _way_problems(way, given.get(way, ()))
    priority, name = given.get("priority", 0), given.get("name")
    if not isinstance(priority, int) or isinstance(priority, bool):
        yield Problem(("priority",), f"priority must be a whole number, not {shown(priority)}")
    if name is not None and not _is_text(name):
        yield Problem(("name",), f"name must be text, not {shown(name)}")
    if not any(given.get(way) for way in _WAYS):
        yield Problem((), "it can never match: give it phrases, keywords or patterns")


def pattern_problems(patterns: object, normalize: Normalizer) -> Iterator[Problem]:
    """
    Find what keeps patterns from being used on normal text. That takes the tables of an engine, which a rule has not.

    Args:
        patterns: The patterns of a rule; those that are no regular expressions have been told.
        normalize: Brings text into the form in which it is compared.

    Yields:
        What is wrong.
    """
    for index, pattern in enumerate(_listed(patterns)):
        if not _is_text(pattern) or not isinstance(_compiled(pattern), re.Pattern):
            continue
        if (problem := problem_in_pattern(pattern, normalize)) is not None:
            yield Problem(("patterns", index), f"patterns[{index}] {problem}")


def unknown_key(name: str, known: Sequence[str]) -> str:
    """
    Say that there is no such key, and what may have been meant.

    Args:
        name: The key.
        known: Those that exist.

    Returns:
        A sentence without its end.
    """
    import difflib  # noqa: PLC0415  wanted in errors only

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"keys are {', '.join(known)}"
    return f"unknown key {name!r} ({hint})"


def _reply_problems(given: Mapping[str, object]) -> Iterator[Problem]:
    reply = given.get("reply")
    if not isinstance(reply, str) or is_blank(reply):
        yield Problem(
            ("reply",), "there is no reply" if reply in (None, "") else f"reply must be text, not {shown(reply)}"
        )
        return
    groups = _groups(given.get("patterns", ()))
    try:
        names = Template(reply).names
    except ValueError as error:
        yield Problem(("reply",), f"reply has {error}")
        return
    for name in sorted(names - {"0", *RESERVED, *groups}):
        yield Problem(("reply",), f"reply has an unknown placeholder {{{name}}}; known are {_known(groups)}")


def _known(groups: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in ("0", *RESERVED, *groups))


def _groups(patterns: object) -> list[str]:
    """Name the groups of all patterns that can be used."""
    compiled = [_compiled(pattern) for pattern in _listed(patterns)]
    return [name for pattern in compiled if isinstance(pattern, re.Pattern) for name in pattern.groupindex]


def _way_problems(way: str, given: object) -> Iterator[Problem]:
    if not isinstance(given, str | list | tuple):
        yield Problem((way,), f"{way} must be a list of texts, not {shown(given)}")
        return
    for index, item in enumerate(_listed(given)):
        is_group = way == "keywords" and isinstance(item, list | tuple)
        for place, text in enumerate(item) if is_group else [(None, item)]:
            path = (way, index) if place is None else (way, index, place)
            if (problem := _text_problem(way, text)) is not None:
                yield Problem(path, f"{_spelled(path)} {problem}")
        if is_group and not item:
            yield Problem((way, index), f"{way}[{index}] is empty")


def _spelled(path: tuple[str | int, ...]) -> str:
    return f"{path[0]}{''.join(f'[{index}]' for index in path[1:])}"


def _text_problem(way: str, text: object) -> str | None:
    if not _is_text(text):
        return "is empty" if isinstance(text, str) else f"must be text, not {shown(text)}"
    if way != "patterns":
        return None
    compiled = _compiled(text)
    if isinstance(compiled, re.Pattern):
        taken = [name for name in compiled.groupindex if name in RESERVED]
        return f"has a group {taken[0]!r}, which is what replies call something else" if taken else None
    return f"is no regular expression: {compiled}"


def _compiled(pattern: object) -> re.Pattern[str] | Exception:
    try:
        return re.compile(str(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        return error


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not is_blank(value)


def _listed(given: Any) -> tuple[Any, ...]:
    """Take a single text for a list of one."""
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list | tuple) else ()
