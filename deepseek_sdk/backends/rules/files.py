"""What a file of rules says, and everything that is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.backends.rules.places import Place, find_places
from deepseek_sdk.backends.rules.rule import Problem, Rule, problems_of, unknown_key
from deepseek_sdk.backends.rules.template import default_problem
from deepseek_sdk.errors import RuleFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deepseek_sdk.backends.rules.places import Path

__all__ = ["Book", "parse_rules"]

_KEYS = ("default", "rules")


class Book(NamedTuple):
    """
    Rules, and what holds where none matches.

    Attributes:
        rules: The rules, in order.
        default: The reply where none matches; None for none, UNSET for the one that is built in.
    """

    rules: tuple[Rule, ...]
    default: str | Unset | None = UNSET


def parse_rules(data: bytes, path: str) -> Book:
    """
    Read what a file says.

    Args:
        data: Its content.
        path: What messages call it; where it ends in ".json" the content is JSON, otherwise TOML.

    Returns:
        Its rules.

    Raises:
        RuleFileError: It cannot be used; all that is wrong is listed.
    """
    is_json = path.lower().endswith(".json")
    text = _decoded(data, path)
    document = _json(text, path) if is_json else _toml(text, path)
    if problems := list(_problems(document)):
        places = find_places(text, is_json=is_json)
        raise RuleFileError([_told(path, places, problem) for problem in _sorted(problems, places)])
    default = document.get("default", UNSET)
    rules = tuple(Rule(**{"reply": "", **given}) for given in document.get("rules", ()))
    # TOML has no null.
    return Book(rules, None if default is False else default)


def _decoded(data: bytes, path: str) -> str:
    try:
        # Windows' editors begin a file with a mark.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode("utf-8", "replace")) + 1
        place = Place(data.count(b"\n", 0, error.start) + 1, column)
        raise RuleFileError([_at(path, place, "the file is not UTF-8")]) from None


def _json(text: str, path: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except RecursionError:
        raise RuleFileError([_at(path, Place(1, 1), "the file is nested too deeply")]) from None
    except json.JSONDecodeError as error:
        raise RuleFileError([_at(path, Place(error.lineno, error.colno), f"no JSON: {error.msg}")]) from None
    if not isinstance(document, dict):
        raise RuleFileError([_at(path, Place(1, 1), f"a file of rules is an object with {' and '.join(_KEYS)}")])
    return document


def _toml(text: str, path: str) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  files of JSON do without

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RuleFileError([_at(path, Place(1, 1), "the file is nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        what, place = _toml_mistake(str(error), text)
        raise RuleFileError([_at(path, place, f"no TOML: {what}")]) from None


def _toml_mistake(message: str, text: str) -> tuple[str, Place]:
    """Take a message of tomllib apart; it ends in "(at line 3, column 7)" or "(at end of document)"."""
    what, _, where = message.removesuffix(")").rpartition(" (at ")
    numbers = [int(word) for word in where.replace(",", " ").split() if word.isdigit()]
    lines = text.split("\n")
    return what or message, Place(*numbers) if len(numbers) > 1 else Place(len(lines), len(lines[-1]) + 1)


def _problems(document: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Find everything that is wrong, with the path to it."""
    for key in document:
        if key not in _KEYS:
            yield (key,), unknown_key(key, _KEYS)
    default = document.get("default")
    if default is not None and default is not False and (problem := default_problem(default)):
        yield ("default",), problem
    rules = document.get("rules", [])
    if not isinstance(rules, list):
        yield ("rules",), f"rules must be a list of tables: write [[rules]] above each, not {rules!r}"
        return
    for index, given in enumerate(rules):
        yield from ((("rules", index, *path), text) for path, text in _rule_problems(given, index))


def _rule_problems(given: object, index: int) -> Iterator[Problem]:
    if not isinstance(given, dict):
        yield Problem((), f"rule {index + 1}: a rule is a table, not {given!r}")
        return
    name = given.get("name")
    label = repr(name) if isinstance(name, str) and name.strip() else str(index + 1)
    yield from (Problem(path, f"rule {label}: {text}") for path, text in problems_of(given))


def _sorted(problems: Iterable[tuple[Path, str]], places: Mapping[Path, Place]) -> list[tuple[Path, str]]:
    return sorted(problems, key=lambda problem: _place(places, problem[0]))


def _told(path: str, places: Mapping[Path, Place], problem: tuple[Path, str]) -> str:
    return _at(path, _place(places, problem[0]), problem[1])


def _place(places: Mapping[Path, Place], path: Path) -> Place:
    """Find a place, or that of what should have held it."""
    while path not in places:
        path = path[:-1]
    return places[path]


def _at(path: str, place: Place, text: str) -> str:
    return f"{path}:{place.line}:{place.column}: {text}"
