"""What the metadata of a distribution requires, and whether it is met here."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import platform
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Requirement", "extras", "here", "is_within", "requirements", "unmet"]

_OPERATORS = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """
    One line of `Requires-Dist`.

    Attributes:
        name: The distribution.
        versions: Such as ">=2.12,<3"; empty for any.
        marker: Where it is required; empty for everywhere.
    """

    name: str
    versions: str
    marker: str

    @classmethod
    def of(cls, line: str) -> Requirement:
        """Read a line such as `openai<4,>=3.0; extra == 'cli'`."""
        what, _, marker = line.partition(";")
        name, versions = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?\s*(.*)", what.strip()).groups()  # type: ignore[union-attr]  # PEP 508
        return cls(name=name, versions=versions.strip("()"), marker=marker.strip())

    def holds(self, variables: Mapping[str, str]) -> bool:
        """Tell whether it is required where *variables* describe the environment."""
        return not self.marker or _holds(ast.parse(self.marker, mode="eval").body, variables)


def _holds(node: ast.expr, variables: Mapping[str, str]) -> bool:
    # The grammar of markers is a part of Python's; only what the metadata of this library uses is known.
    if isinstance(node, ast.BoolOp):
        results = [_holds(part, variables) for part in node.values]
        return all(results) if isinstance(node.op, ast.And) else any(results)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        left, right = (_text(side, variables) for side in (node.left, node.comparators[0]))
        return (left == right) is isinstance(node.ops[0], ast.Eq)
    message = f"a marker that is not known: {ast.unparse(node)}"
    raise ValueError(message)


def _text(node: ast.expr, variables: Mapping[str, str]) -> str:
    return variables[node.id] if isinstance(node, ast.Name) else str(ast.literal_eval(node))


def here() -> dict[str, str]:
    """Describe the environment of this process, for markers."""
    return {
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "platform_system": platform.system(),
        "os_name": os.name,
        "implementation_name": sys.implementation.name,
        "extra": "",
    }


def requirements(distribution: str, *, extra: str = "") -> list[Requirement]:
    """List what *distribution* requires in this environment, with *extra* or without any."""
    lines = importlib.metadata.requires(distribution) or []
    variables = {**here(), "extra": extra}
    found = [Requirement.of(line) for line in lines]
    return [one for one in found if ("extra" in one.marker) == bool(extra) and one.holds(variables)]


def extras(distribution: str) -> list[str]:
    """List the extras of *distribution*."""
    return importlib.metadata.metadata(distribution).get_all("Provides-Extra") or []


def unmet(wanted: Iterable[Requirement]) -> list[str]:
    """Name what is missing or of the wrong version, such as `click>=8.2 (8.1 is installed)`."""
    missing = []
    for one in wanted:
        try:
            version = importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(one.name)
            continue
        if not is_within(version, one.versions):
            missing.append(f"{one.name}{one.versions} ({version})")
    return missing


def is_within(version: str, versions: str) -> bool:
    """
    Tell whether a version is in a range.

    Args:
        version: Such as "3.57.0".
        versions: Such as ">=3.0,<4".

    Returns:
        True also for operators that are not known: nobody is warned of what cannot be judged.
    """
    for part in filter(None, (part.strip() for part in versions.split(","))):
        operator, bound = re.fullmatch(r"([<>=!~]+)\s*(.+)", part).groups()  # type: ignore[union-attr]  # PEP 440
        ours, theirs = _padded(version, bound)
        if operator in _OPERATORS and not _OPERATORS[operator](ours, theirs):
            return False
    return True


def _padded(*versions: str) -> list[list[int]]:
    numbers = [[int(n) for n in re.match(r"[\d.]*", version)[0].split(".") if n] for version in versions]  # type: ignore[index]  # matches nothing at least
    longest = max(map(len, numbers))
    return [number + [0] * (longest - len(number)) for number in numbers]
