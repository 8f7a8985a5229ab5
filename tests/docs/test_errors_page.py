"""The tables of errors say what the code does."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import errors
from deepseek_sdk._wire import stub_request, stub_response
from deepseek_sdk.resilience import Account
from deepseek_sdk.routing.moves import may_move
from tests.docs.conftest import DOCS, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = {
    "docs": {"yes": "yes", "no": "no", "key": "another key", "window": "a larger window", "rules": "a rule engine"},
    "zh": {"yes": "是", "no": "否", "key": "换 API key", "window": "更大的窗口", "rules": "规则引擎"},
}
STATUSES = {errors.ConcurrencyLimitError: 429, errors.InsufficientBalanceError: 402, errors.LimiterTimeoutError: 429}

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


def bare(error: type[Exception]) -> Any:
    """Make an error of a type alone; what `classify()` and `may_move()` look at besides is filled in."""
    made: Any = error.__new__(error)
    made.type, made.status_code, made.limit, made.requested = None, STATUSES.get(error, 400), 100, 120
    return made


@in_both_languages
def test_every_error_has_its_row(folder: Path) -> None:
    """The table is the tree: names, depth, the types that each also is, and its reason."""
    expected = [
        ("· " * depth + f"`{error.__name__}`", also(error), errors.classify(bare(error)).reason)
        for error, depth in tree()
    ]
    table = rows(folder / "errors.md", r"(· )*`[A-Z]\w+`")

    assert expected == [(row[0], re.findall(r"`([\w.]+)`", row[3]), row[4].strip("`")) for row in table]


def made_of(status: int) -> openai.APIStatusError:
    """Let openai make its error of a status."""
    client: Any = openai.OpenAI(api_key="any", base_url="http://test.invalid")
    error: openai.APIStatusError = client._make_status_error(
        "", body=None, response=stub_response(status, "http://test.invalid")
    )
    client.close()
    return error


@in_both_languages
def test_every_status_has_its_row(folder: Path) -> None:
    """For each status the table names the class that openai makes of it, and its reason."""
    made = [made_of(status) for status in sorted(errors.__dict__["_STATUS"].keys() - {402})]
    table = rows(folder / "errors.md", r"`openai\.\w+`")

    assert [
        (f"`openai.{type(error).__name__}`", str(error.status_code), f"`{errors.classify(error).reason}`")
        for error in made
    ] == [tuple(row) for row in table]


def timed_out(cause: str) -> openai.APITimeoutError:
    """Make what openai makes of a time-out that is none of the server's."""
    error = openai.APITimeoutError(stub_request("http://test.invalid"))
    error.__cause__ = type(cause, (Exception,), {})()
    return error


def one_of_each() -> dict[str, Exception]:
    """Find an error for each reason that `classify()` may give."""
    waiting = [timed_out("ConnectTimeout"), timed_out("PoolTimeout")]
    plain = [openai.APITimeoutError(stub_request("http://test.invalid")), *waiting, OSError()]
    plain += [openai.APIConnectionError(request=stub_request("http://test.invalid"))]
    found = [made_of(status) for status in errors.__dict__["_STATUS"]] + plain + [bare(kind) for kind, _ in tree()]
    return {errors.classify(error).reason: error for error in reversed(found)}


def target(key: str, model: str = "m", window: int = 100, *, is_last_resort: bool = False) -> Any:
    """Make what an error may go on to."""
    account = None if is_last_resort else Account("http://test.invalid", model, key)
    return SimpleNamespace(route=None, account=account, context_window=window, is_last_resort=is_last_resort)


def moves(error: Exception) -> str:
    """Try where an error may go on to, and name that as the table does."""
    targets = {
        "model": target("key", "other"),
        "key": target("other"),
        "window": target("key", "other", 1000),
        "rules": target("", is_last_resort=True),
    }
    found = {name for name, there in targets.items() if may_move(error, target("key"), there)}
    names = {("key", "rules"): "key", ("window",): "window", ("rules",): "rules", (): "no"}
    return names.get(tuple(sorted(found)), "yes" if found == set(targets) else str(found))


@in_both_languages
def test_every_reason_has_its_row(folder: Path) -> None:
    """The table says of each reason whether the same route is asked again, which other one is, and what counts."""
    say, table = WORDS[folder.name], rows(folder / "errors.md", r"`[a-z_]+`")
    found = {reason: (errors.classify(error), moves(error)) for reason, error in one_of_each().items()}

    assert errors.REASONS == found.keys()
    assert {
        f"`{reason}`": [say["yes" if row.retry else "no"], say[move], say["yes" if row.trips else "no"]]
        for reason, (row, move) in found.items()
    } == {row[0]: row[2:] for row in table}


@in_both_languages
def test_reasons_name_their_errors(folder: Path) -> None:
    """A class of this library that the table of reasons names has that reason."""
    table = rows(folder / "errors.md", r"`[a-z_]+`")
    named = [(row[0], name) for row in table for name in re.findall(r"`([A-Z]\w+)`", row[1])]

    assert named
    assert [(f"`{errors.classify(bare(getattr(errors, name))).reason}`", name) for _, name in named] == named
