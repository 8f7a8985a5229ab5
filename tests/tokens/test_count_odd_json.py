"""Requests that the encoder cannot take are counted all the same: a token budget must not fail where no call does."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk import TokenBudget
from deepseek_sdk.errors import ContextOverflowError
from deepseek_sdk.stages.fit import WindowFit
from deepseek_sdk.tokens import Counter
from deepseek_sdk.tokens.own_rendering import OwnRenderer
from tests.stages.test_fit import fit_call
from tests.tokens.fitting.world import user

COUNTERS = (Counter(), Counter(renderer=OwnRenderer()))


def nested(depth: int, *, is_list: bool = False) -> Any:
    """Make a value of that depth."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value


ODD = {
    "64 bits": 2**64 - 1,
    "65 bits": 2**64,
    "minus 65 bits": -(2**64),
    "minus 64 bits": -(2**63) - 1,
    "1300 bits": 10**400,
    "NaN": math.nan,
    "infinity": -math.inf,
    "largest": 1.7e308,
    "smallest": 5e-324,
    "half a character": "\ud800",
    "half a character of a name": {"\udfff": 1},
    "NUL": "\0",
    "127 deep": nested(127),
    "130 deep": nested(130),
    "800 deep": nested(800),
    "lists, 800 deep": nested(800, is_list=True),
}
PLACES = ("tool", "choice", "format", "message", "part", "arguments")


def with_value(place: str, value: Any) -> dict[str, Any]:
    """Put a value into a request."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "default": value}}}]
    format_ = {"type": "json_schema", "json_schema": {"name": "f", "schema": {"default": value}}}
    called = {"id": "a", "type": "function", "function": {"name": "f", "arguments": value}}
    answered = [{"role": "assistant", "content": None, "tool_calls": [called]}, user("So?")]
    fields: dict[str, dict[str, Any]] = {
        "tool": {"tools": tools},
        "choice": {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"f": value}},
        "format": {"response_format": format_},
        "message": {"messages": [{**user("Hi"), "odd": value}]},
        "part": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "odd": value}]}]},
        "arguments": {"messages": [user("Hi"), *answered]},
    }
    return {"model": "deepseek-flash", "messages": [user("Hi")], **fields[place]}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("counter", COUNTERS, ids=["recipe", "own"])
@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_values_are_counted(value: Any, counter: Counter, place: str) -> None:
    """What the encoder refuses, or cannot hold, makes an estimate; asked again, it is the same."""
    body = with_value(place, value)
    count = counter.count(body)

    assert count == counter.count(body)
    assert 0 <= count.low <= count.total <= count.high
    assert counter.fits(body, 1) in (False, None)
    assert count.exact or count.why


def json_values() -> st.SearchStrategy[Any]:
    """Make values as a request may hold them, and some that it had better not."""
    texts = st.text(st.characters(), max_size=5)
    leaves = st.none() | st.booleans() | st.integers() | st.integers(2**62, 2**70) | st.floats() | texts
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@pytest.mark.slow
@given(st.sampled_from(PLACES), json_values())
@settings(max_examples=300, deadline=None)
def test_any_value_is_counted(place: str, value: Any) -> None:
    """No JSON value anywhere in a request makes counting fail."""
    for counter in COUNTERS:
        counter.count(with_value(place, value))


@pytest.mark.parametrize("value", [2**64, 10**400, nested(130)], ids=["65 bits", "1300 bits", "130 deep"])
def test_calls_with_a_budget_go_through(value: Any) -> None:
    """A call with such a schema is sent with a token budget as it is without one; one that is too long is refused."""
    body, counter = with_value("tool", value), COUNTERS[0]
    total, stage = counter.count(body).total, WindowFit(lambda: counter)
    for budget in (None, TokenBudget(limit=total), TokenBudget(policy="history", limit=total)):
        backend, call = fit_call(body, budget, stage=stage)
        assert (body, None) == (backend.calls[0].body, call.record.counted)

    with pytest.raises(ContextOverflowError):
        fit_call(body, TokenBudget(limit=total - 1), stage=stage)
