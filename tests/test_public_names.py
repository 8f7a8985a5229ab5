"""Public names stand in one place, and the error tree is what its drawing says."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import deepseek_sdk
from deepseek_sdk import errors
from tests.conftest import FACES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = Path(deepseek_sdk.__file__).parent  # beside the tests, or installed


def defined(path: Path) -> Iterator[str]:
    """Name what a module defines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name


def statements(path: Path) -> Iterator[ast.stmt]:
    """Give what a module says; where it imports names when they are asked for, type checkers are told of them."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    is_lazy = any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__getattr__" for node in body)
    for node in body:
        yield from node.body if is_lazy and isinstance(node, ast.If) else [node]


def gathered(path: Path) -> Iterator[str]:
    """Name what a module takes from others of the package."""
    for node in statements(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deepseek_sdk"):
            yield from (alias.asname or alias.name for alias in node.names)


def public(path: Path) -> set[str]:
    """Name what users may take from a module; a package offers all that it gathers, a module what it says."""
    offered = set(gathered(path)) if path.name == "__init__.py" else set(gathered(path)) & set(exported(path))
    names = {*defined(path), *offered}
    return {name for name in names if not name.startswith("_") or name == "__version__"}


def exported(path: Path) -> list[str]:
    """Read the names in `__all__`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def alphabet(name: str) -> tuple[bool, bool, str]:
    """Sort as ruff does: constants, classes, functions."""
    return (not name.isupper(), not name[0].isupper(), name)


@pytest.mark.parametrize("face", FACES)
def test_public_names_are_exported(face: str) -> None:
    """Where users import from, `__all__` holds exactly the public names."""
    path = Path(importlib.import_module(face).__file__ or "")

    assert sorted(public(path), key=alphabet) == exported(path)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_exported_names_exist(path: Path) -> None:
    """Every `__all__` is alphabetical, and holds nothing private and nothing that is not there."""
    listed = exported(path)

    assert sorted(set(listed), key=alphabet) == listed
    assert set() == set(listed) - public(path) - set(gathered(path))


def drawing(text: str) -> dict[str, list[str]]:
    """Read the indented drawing of the errors: each class with its bases, the parent first."""
    tree: dict[str, list[str]] = {}
    parents: list[tuple[int, str]] = [(-1, "")]
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent < 4 or not line.strip():
            continue
        name, _, others = line.strip().partition(" ")
        parents = [p for p in parents if p[0] < indent]
        tree[name] = [parents[-1][1], *filter(None, (o.strip() for o in others.split(",")))]
        parents.append((indent, name))
    return tree


def base_name(base: type) -> str:
    """Name a base class as the drawing does."""
    return f"openai.{base.__name__}" if base.__module__.startswith("openai") else base.__name__


def test_error_tree_is_drawn() -> None:
    """The drawing at the top of `errors` equals the real hierarchy."""
    real = {
        value.__name__: [base_name(base) for base in value.__bases__]
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.DeepSeekError)
    }

    assert {**real, "DeepSeekError": [""]} == drawing(errors.__doc__ or "")
