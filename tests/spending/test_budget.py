from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from deepseek_sdk._record import Record
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.spending import SpendBudget
from deepseek_sdk.spending.budget import MOST, told
from deepseek_sdk.spending.budgets import Budgets, budgets_of
from deepseek_sdk.spending.period import period_of
from tests.spending.prices import in_memory


@pytest.mark.parametrize("limit", [0.1, "0.1", Decimal("0.1")])
def test_limits_are_exact(limit: Any) -> None:
    """A tenth is a tenth, however it is written."""
    budget = SpendBudget(limit=limit)

    assert Decimal("0.1") == budget.limit
    assert 10**11 == budget.parts


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"limit": -1}, "limit"),
        ({"limit": "much"}, "limit"),
        ({"limit": float("nan")}, "limit"),
        ({"limit": "Infinity"}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": None}, "limit"),
        ({"limit": "1e30"}, "limit"),
        ({"limit": 1, "unit": "EUR"}, "unit"),
        ({"limit": 1, "per": "tag:"}, "per"),
        ({"limit": 1, "per": "model"}, "per"),
        ({"limit": 1, "period": "week"}, "period"),
        ({"limit": 1, "soft": 0}, "soft"),
        ({"limit": 1, "soft": 80}, "soft"),
        ({"limit": 1, "on_soft": "stop"}, "on_soft"),
        ({"limit": 1, "reserve": "all"}, "reserve"),
        ({"limit": 1, "unpriced": "warn"}, "unpriced"),
        ({"limit": 1, "utc_offset": 24}, "utc_offset"),
        ({"limit": 1, "utc_offset": "Asia/Shanghai"}, "utc_offset"),
        ({"limit": 1, "name": 3}, "name"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], named: str) -> None:
    """A budget that cannot be kept is told where it is made, by the name of the field."""
    with pytest.raises(ConfigurationError, match=named):
        SpendBudget(**given)


def test_names_are_made_of_the_rest() -> None:
    """A budget without a name is called by what it counts."""
    assert "all/ever/CNY" == SpendBudget(limit=1).name
    assert "tag:team/month/tokens" == SpendBudget(limit=1, per="tag:team", period="month", unit="tokens").name
    assert "夜间批处理" == SpendBudget(limit=1, name="夜间批处理").name


RECORD = Record(started=0, user="小明", session_id="s1", tenant="t1", tags={"team": "red", "empty": ""})


@pytest.mark.parametrize(
    ("per", "scope", "label"),
    [
        (None, "", "all"),
        ("user", "小明", "user 小明"),
        ("session", "s1", "session s1"),
        ("tenant", "t1", "tenant t1"),
        ("tag:team", "red", "tag:team red"),
        ("tag:other", None, "tag:other x"),
        ("tag:empty", None, "tag:empty x"),
    ],
)
def test_whose_call_it_is(per: str | None, scope: str | None, label: str) -> None:
    """The record of a call says whose it is, or nothing."""
    budget = SpendBudget(limit=1, per=per)

    assert scope == budget.scope_of(RECORD)
    assert label == budget.label("x" if scope is None else scope)


@pytest.mark.parametrize(
    ("at", "period", "offset", "expected"),
    [
        # 2026-11-29 16:00 UTC is midnight in Beijing.
        (1_795_968_000, "day", 8, (1_795_968_000, 1_796_054_400)),
        (1_795_967_999.9, "day", 8, (1_795_881_600, 1_795_968_000)),
        (1_795_968_000, "day", 0, (1_795_910_400, 1_795_996_800)),
        (1_795_968_000, "day", -5.5, (1_795_930_200, 1_796_016_600)),
        (0, "day", 8, (-28_800, 57_600)),
        # 2026-11-30 15:59:59 UTC is the last second of November there, and the next one the first of December.
        (1_796_054_399, "month", 8, (1_793_462_400, 1_796_054_400)),
        (1_796_054_400, "month", 8, (1_796_054_400, 1_798_732_800)),
        # February of a leap year.
        (1_835_000_000, "month", 8, (1_832_947_200, 1_835_452_800)),
        (1_795_968_000, None, 8, (0, None)),
    ],
)
def test_periods(at: float, period: Any, offset: float, expected: tuple[int, int | None]) -> None:
    """Days and months begin at midnight of a clock that is never put forward or back."""
    assert expected == period_of(at, period, offset)


def test_days_follow_each_other() -> None:
    """Each instant of a year lies in one day, and the days are all as long as the others."""
    at, seen = 1_767_196_800.0, set()
    for hour in range(365 * 24):
        start, end = period_of(at + hour * 3600, "day", 8)
        assert start <= at + hour * 3600 < (end or 0)
        seen.add((end or 0) - start)

    assert {86_400} == seen


@pytest.mark.parametrize(
    ("parts", "unit", "expected"),
    [(1, "CNY", "1E-12"), (10**12, "CNY", "1"), (5 * 10**13, "USD", "50"), (-3, "tokens", "-3"), (0, "CNY", "0")],
)
def test_amounts_are_told_exactly(parts: int, unit: str, expected: str) -> None:
    """What was counted in parts is told in the unit, and nothing is rounded."""
    assert expected == str(told(parts, unit))
    assert Decimal(f"{MOST}E-12") == told(MOST, "CNY")


def test_arguments_of_a_client() -> None:
    """A client takes one budget, several, or what another client has."""
    one = SpendBudget(limit=1)
    kept = in_memory(one)

    assert None is budgets_of(None)
    assert kept is budgets_of(kept)
    assert [one] == list(budgets_of(one) or ())
    assert 2 == len(budgets_of([one, SpendBudget(limit=2, per="user")]) or ())
    for wrong in ("5 CNY", 5, [5]):
        with pytest.raises(ConfigurationError):
            budgets_of(wrong)


def test_names_must_differ() -> None:
    """Budgets of the same name would be counted together without being the same."""
    with pytest.raises(ConfigurationError, match="all/ever/CNY"):
        Budgets([SpendBudget(limit=1), SpendBudget(limit=2)], path=":memory:")
    with pytest.raises(ConfigurationError, match="on_store_error"):
        in_memory(on_store_error="ignore")
