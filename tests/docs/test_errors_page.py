"""The tables of errors say what the code does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import errors
from deepseek_sdk._wire import stub_response
from tests.docs.conftest import DOCS, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

YES_NO = {"yes": True, "no": False, "是": True, "否": False}
STATUSES = {errors.ConcurrencyLimitError: 429, errors.InsufficientBalanceError: 402}

in_both_languages = pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])


def tree(error: type[Exception] = errors.DeepSeekError, depth: int = 0) -> Iterator[tuple[type[Exception], int]]:
    """Walk the errors in the order of the module, each after its parent."""
    yield error, depth
    order = list(vars(errors))
    for child in sorted(set(error.__subclasses__()), key=lambda kind: order.index(kind.__name__)):
        yield from tree(child, depth + 1)


def also(error: type) -> list[str]:
    """Name what else an error is: the bases that it and its parents have besides each other."""
    ours = [base for base in error.__bases__ if issubclass(base, errors.DeepSeekError)]
    others = [base for base in error.__bases__ if base not in ours and base is not Exception]
    names = [f"openai.{base.__name__}" if base.__module__.startswith("openai") else base.__name__ for base in others]
    return [name for base in ours for name in also(base)] + names


def is_retried(error: type[Exception]) -> bool:
    """Ask `classify()` about an error; what it looks at besides the type is filled in."""
    made: Any = error.__new__(error)
    made.type, made.status_code = None, STATUSES.get(error, 400)
    return errors.classify(made).retry


@in_both_languages
def test_every_error_has_its_row(folder: Path) -> None:
    """The table is the tree: names, depth, the types that each also is, and what is asked again."""
    expected = [("· " * depth + f"`{error.__name__}`", also(error), is_retried(error)) for error, depth in tree()]
    table = rows(folder / "errors.md", r"(· )*`\w+`")

    assert expected == [(row[0], re.findall(r"`([\w.]+)`", row[3]), YES_NO[row[4]]) for row in table]


@in_both_languages
def test_every_status_has_its_row(folder: Path) -> None:
    """For each status the table names the class that openai makes of it, and whether it is asked again."""
    client: Any = openai.OpenAI(api_key="any", base_url="http://test.invalid")
    responses = [stub_response(n, "http://test.invalid") for n in sorted(errors.__dict__["_STATUS"].keys() - {402})]
    made = [client._make_status_error("", body=None, response=response) for response in responses]
    client.close()
    table = rows(folder / "errors.md", r"`openai\.\w+`")

    assert [
        (f"`openai.{type(error).__name__}`", str(error.status_code), errors.classify(error).retry) for error in made
    ] == [(name, status, YES_NO[retried]) for name, status, retried in table]
