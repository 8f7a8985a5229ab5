"""What a file of rules says, and everything that is wrong with it."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.backends.rules.positions import Position, find_positions
from deepseek_sdk.backends.rules.rule import Problem, Rule, pattern_problems, problems_of, unknown_key
from deepseek_sdk.backends.rules.template import default_problem
from deepseek_sdk.backends.rules.text import shown
from deepseek_sdk.errors import RuleFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deepseek_sdk.backends.rules.positions import Path
    from deepseek_sdk.backends.rules.text import Normalizer

__all__ = ["RuleSet", "parse_rules"]

_KEYS = ("default", "rules")

_NUMBER = r"(?<![\w.])\d[\d_]*"


class RuleSet(NamedTuple):
    """
    Rules, and what holds where none matches.

    Attributes:
        rules: The rules, in order.
        default: The reply where none matches; None for none, UNSET for the one that is built in.
    """

    rules: tuple[Rule, ...]
    default: str | Unset | None = UNSET


def parse_rules(data: bytes, path: str, normalize: Normalizer) -> RuleSet:
    """
    Read what a file says.

    Args:
        data: Its content.
        path: What messages call it; where it ends in ".json" the content is JSON, otherwise TOML.
        normalize: Brings text into the form in which it is compared; patterns must be usable in it.

    Returns:
        Its rules.

    Raises:
        RuleFileError: It cannot be used; all that is wrong is listed.
    """
    is_json = path.lower().endswith(".json")
    text = _decoded(data, path)
    repeated: list[str] = []
    document = _json(text, path, repeated) if is_json else _toml(text, path)
    problems = list(_problems(document, normalize))
    if problems or repeated:
        raise RuleFileError([_at(path, *located) for located in _located(text, problems, repeated, is_json=is_json)])
    default = document.get("default", UNSET)
    rules = tuple(Rule(**{"reply": "", **given}) for given in document.get("rules", ()))
    # TOML has no null.
    return RuleSet(rules, None if default is False else default)


def _located(
    text: str, problems: Iterable[tuple[Path, str]], repeated: Iterable[str], *, is_json: bool
) -> list[tuple[Position, str]]:
    """Find the positions of problems, and put them in order."""
    layout = find_positions(text, is_json=is_json)
    located = [(_position(layout.positions, where), problem) for where, problem in problems]
    # What cannot be found is said of the beginning.
    again = [(at, str(where[-1])) for where, at in layout.repeated] or [(Position(1, 1), name) for name in repeated]
    located += [(at, f"key {shown(name)} is given more than once") for at, name in again]
    return sorted(located, key=lambda item: item[0])


def _decoded(data: bytes, path: str) -> str:
    try:
        # Windows' editors begin a file with a mark.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode("utf-8", "replace")) + 1
        position = Position(data.count(b"\n", 0, error.start) + 1, column)
        raise RuleFileError([_at(path, position, "the file is not UTF-8")]) from None


def _json(text: str, path: str, repeated: list[str]) -> Mapping[str, Any]:
    """Read JSON, and note keys that an object has twice."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated.extend(name for name, count in counts.items() if count > 1)
        return made

    try:
        document = json.loads(text, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        raise RuleFileError([_at(path, Position(error.lineno, error.colno), f"no JSON: {error.msg}")]) from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(text, path, error) from None
    if not isinstance(document, dict):
        raise RuleFileError([_at(path, Position(1, 1), f"a file of rules is an object with {' and '.join(_KEYS)}")])
    return document


def _toml(text: str, path: str) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  files of JSON do without

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, position = _toml_mistake(str(error), text)
        raise RuleFileError([_at(path, position, f"no TOML: {what}")]) from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(text, path, error) from None


def _unreadable(text: str, path: str, error: Exception) -> RuleFileError:
    """Describe what is beyond Python, not against the rules of the language."""
    if isinstance(error, RecursionError):
        return RuleFileError([_at(path, Position(1, 1), "the file is nested too deeply")])
    limit = sys.get_int_max_str_digits()
    for number in re.finditer(_NUMBER, text):
        if (digits := len(number[0].replace("_", ""))) > limit > 0:
            line, column = text.count("\n", 0, number.start()) + 1, number.start() - text.rfind("\n", 0, number.start())
            return RuleFileError([_at(path, Position(line, column), f"a number of {digits} digits is too long")])
    return RuleFileError([_at(path, Position(1, 1), f"the file cannot be read: {error}")])


def _toml_mistake(message: str, text: str) -> tuple[str, Position]:
    """Take a message of tomllib apart; it ends in "(at line 3, column 7)" or "(at end of document)"."""
    what, _, where = message.removesuffix(")").rpartition(" (at ")
    numbers = [int(word) for word in where.replace(",", " ").split() if word.isdigit()]
    lines = text.split("\n")
    return what or message, Position(*numbers) if len(numbers) > 1 else Position(len(lines), len(lines[-1]) + 1)


def _problems(document: Mapping[str, Any], normalize: Normalizer) -> Iterator[tuple[Path, str]]:
    """Find everything that is wrong, with the path to it."""
    for key in document:
        if key not in _KEYS:
            yield (key,), unknown_key(key, _KEYS)
    default = document.get("default")
    if default is not None and default is not False and (problem := default_problem(default)):
        yield ("default",), problem
    rules = document.get("rules", [])
    if not isinstance(rules, list):
        yield ("rules",), f"rules must be a list of tables: write [[rules]] above each, not {shown(rules)}"
        return
    for index, given in enumerate(rules):
        yield from ((("rules", index, *path), text) for path, text in _rule_problems(given, index, normalize))


def _rule_problems(given: object, index: int, normalize: Normalizer) -> Iterator[Problem]:
    if not isinstance(given, dict):
        yield Problem((), f"rule {index + 1}: a rule is a table, not {shown(given)}")
        return
    name = given.get("name")
    label = shown(name) if isinstance(name, str) and name.strip() else str(index + 1)
    problems = [*problems_of(given), *pattern_problems(given.get("patterns"), normalize)]
    yield from (Problem(path, f"rule {label}: {text}") for path, text in problems)


def _position(positions: Mapping[Path, Position], path: Path) -> Position:
    """Find a position, or that of what should have held it."""
    while path not in positions:
        path = path[:-1]
    return positions[path]


def _at(path: str, position: Position, text: str) -> str:
    return f"{path}:{position.line}:{position.column}: {text}"
