"""Budgets: arguments that cannot be used are named as they were given, and so is a call that can never have room."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from deepseek_sdk import Client
from deepseek_sdk.errors import BudgetExceededError, ConfigurationError
from deepseek_sdk.spending import Budgets, SpendBudget

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator

ONE = SpendBudget(limit=1)
WRONG: list[Any] = [{"limit": 20}, {}, {ONE: ONE}, "5 CNY", b"5 CNY", 5, 0.5, object]


@pytest.mark.parametrize("given", WRONG)
def test_what_is_no_budget_is_named_whole(given: Any) -> None:
    """A mapping is no budget, and its keys are none; the message has what was given."""
    with pytest.raises(ConfigurationError) as caught:
        Budgets(given, path=":memory:")
    assert f"budgets must be a SpendBudget or several of them, not {given!r}" == str(caught.value)

    with pytest.raises(ConfigurationError) as caught:
        Client(api_key="k", spend_budget=given)
    assert str(caught.value).startswith("spend_budget must be a SpendBudget")
    assert str(caught.value).endswith(f"not {given!r}")


def test_no_budgets_at_all_are_none() -> None:
    """`Budgets` needs budgets: None is what a client takes for none."""
    with pytest.raises(ConfigurationError, match="not None"):
        Budgets(None, path=":memory:")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [ONE, [ONE], (ONE,), {ONE}, iter([ONE]), Budgets(ONE, path=":memory:")])
def test_one_budget_or_several(given: Any) -> None:
    """One budget may stand alone, as it may for a client."""
    assert [ONE] == list(Budgets(given, path=":memory:"))


@pytest.mark.parametrize("path", [5, True, 0.5, b"budgets.sqlite3", ["budgets.sqlite3"], object()])
def test_paths_that_are_none(path: Any) -> None:
    """What is no path is named."""
    with pytest.raises(ConfigurationError) as caught:
        Budgets(ONE, path=path)

    assert f'path must be a path, ":memory:" or None, not {path!r}' == str(caught.value)


@pytest.mark.parametrize("kind", [str, Path])
def test_paths(tmp_path: Path, kind: Any) -> None:
    """A path is a string, or an object."""
    assert tmp_path / "b.sqlite3" == Budgets(ONE, path=kind(tmp_path / "b.sqlite3")).path


@pytest.mark.parametrize(
    ("requested", "limit", "words"),
    [
        ("1008", "10", "The call may need more than the whole budget 'b' of all: 1008 tokens, and the limit is 10; "),
        ("1", "0", "The call may need more than the whole budget 'b' of all: 1 tokens, and the limit is 0; "),
        ("10", "10", "The budget 'b' of all is used up until 2026-11-30 16:00 UTC: 3 tokens of 10 are spent, "),
    ],
)
def test_calls_that_are_larger_than_a_budget(requested: str, limit: str, words: str) -> None:
    """Where the call alone may need more than the limit, nobody is told to wait."""
    error = BudgetExceededError(
        response=httpx2.Response(429, request=httpx2.Request("POST", "https://x.example")),
        budget="b",
        scope="all",
        unit="tokens",
        limit=Decimal(limit),
        spent=Decimal(3),
        reserved=Decimal(0),
        requested=Decimal(requested),
        until=1_796_054_400,
    )

    assert str(error).startswith(words)
    assert (Decimal(limit), Decimal(3), Decimal(requested)) == (error.limit, error.spent, error.requested)
    assert 1_796_054_400 == error.until


@pytest.mark.parametrize("period", ["day", "month", None])
@pytest.mark.parametrize("per", ["user", None])
def test_budgets_too_small_for_a_call(driver: Driver, emulator: StartEmulator, period: Any, per: Any) -> None:
    """A client says so in whatever period, whoever calls, and sends nothing."""
    service = emulator()
    budgets = Budgets(SpendBudget(limit=10, unit="tokens", period=period, per=per), path=":memory:")
    client = driver.client(base_url=service.url, spend_budget=budgets)
    with pytest.raises(BudgetExceededError, match=r"more than the whole budget .* the limit is 10; 0 are spent"):
        driver.create(client, user="小明")

    assert [] == service.requests
