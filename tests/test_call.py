from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from deepseek_sdk._call import CallOptions, checked_options, current_options, options
from deepseek_sdk._clock import UNSET, Deadlines
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.router import Router
from deepseek_sdk.testing.scripted import make_call
from deepseek_sdk.tokens.fitting import TokenBudget


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"plain": "whole"}, "plain must be one of 'auto', 'stream', 'direct', not 'whole'"),
        ({"plain": None}, "plain must be one of"),
        ({"priority": "high"}, "priority must be one of None, 'realtime', 'batch', not 'high'"),
        ({"session_id": 5}, "session_id must be a string or None, not 5"),
        ({"deadlines": 5}, "deadlines must be a Deadlines, not 5"),
        ({"deadlines": None}, "deadlines must be a Deadlines"),
        ({"routes": "deepseek-flash"}, "routes must be a list of routes, not 'deepseek-flash'"),
        ({"user": 5}, "user must be a string or None, not 5"),
        ({"tenant": b"a"}, "tenant must be a string or None"),
        ({"template": 5}, "template must be a string or None"),
        ({"tags": ["a"]}, "tags must be a mapping of strings to strings, not ['a']"),
        ({"tags": {"a": 1}}, "tags must be a mapping of strings to strings"),
        ({"tags": None}, "tags must be a mapping"),
        ({"lint": "warn"}, "lint must be one of 'strict', 'repair', 'off', not 'warn'"),
        ({"token_budget": 5}, "token_budget must be a TokenBudget or None, not 5"),
        ({"token_budget": TokenBudget}, "token_budget must be a TokenBudget or None, not <class"),
        ({"token_budget": Router()}, "token_budget must be a TokenBudget or None, not <"),
        ({"token_budget": {"policy": "history"}}, "token_budget must be a TokenBudget or None, not {"),
        ({"on_empty": "retry"}, "on_empty must be one of 'error', 'accept', not 'retry'"),
        (
            {"timeout": 5},
            "unknown option 'timeout'; options are cache, deadlines, lint, on_empty, plain",
        ),
    ],
)
def test_options_are_checked(given: dict[str, Any], text: str) -> None:
    """An option that does not exist, or cannot be used, is refused with what there is."""
    with pytest.raises(ConfigurationError) as caught:
        checked_options(given)

    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (CallOptions(), CallOptions(plain="direct"), CallOptions(plain="direct")),
        (CallOptions(plain="stream"), CallOptions(plain="direct"), CallOptions(plain="stream")),
        (CallOptions(session_id=None), CallOptions(session_id="a"), CallOptions(session_id=None)),
        (CallOptions(tags={"a": "1"}), CallOptions(tags={"a": "0", "b": "2"}), CallOptions(tags={"a": "1", "b": "2"})),
        (CallOptions(user="u"), CallOptions(user="v", tenant="t"), CallOptions(user="u", tenant="t")),
        (CallOptions(priority=None), CallOptions(priority="batch"), CallOptions(priority=None)),
        (
            CallOptions(deadlines=Deadlines(total=1)),
            CallOptions(deadlines=Deadlines(total=2, stall=3), session_id="a"),
            CallOptions(deadlines=Deadlines(total=1, stall=3), session_id="a"),
        ),
    ],
)
def test_options_are_laid_over_others(ours: CallOptions, theirs: CallOptions, expected: CallOptions) -> None:
    """What is given wins, None included, and deadlines are laid over one by one."""
    assert expected == ours.over(theirs)


@pytest.mark.parametrize("budget", [TokenBudget(), None, UNSET])
def test_budgets_that_can_be_used(budget: Any) -> None:
    """A budget is taken as it is, and so is the word that there is none."""
    assert budget is checked_options({"token_budget": budget}).token_budget


def test_options_of_a_block_end_with_it() -> None:
    """Inside the block its options hold, the inner over the outer; outside there are none."""
    seen = [current_options()]
    with options(session_id="a", plain="direct"):
        with options(plain="stream", deadlines=Deadlines(total=1)):
            seen.append(current_options())
        seen.append(current_options())
    seen.append(current_options())

    outer = CallOptions(session_id="a", plain="direct")
    inner = CallOptions(session_id="a", plain="stream", deadlines=Deadlines(total=1))
    assert [None, inner, outer, None] == seen


def test_options_of_a_block_end_with_an_exception() -> None:
    """A block that is left by an exception leaves nothing behind."""
    with pytest.raises(KeyError), options(session_id="a"):
        raise KeyError

    assert current_options() is None


def test_options_of_a_block_are_refused_before_it() -> None:
    """A block with an option that cannot be used is not entered."""
    with pytest.raises(ConfigurationError, match="unknown option"), options(colour="red"):
        pytest.fail("the block was entered")


def test_options_of_a_block_stay_in_their_thread() -> None:
    """Another thread does not see them."""
    seen: list[object] = []
    with options(session_id="a"):
        thread = threading.Thread(target=lambda: seen.append(current_options()))
        thread.start()
        thread.join()

    assert [None] == seen


@pytest.mark.parametrize(
    ("body", "expected"), [({"model": "m"}, "m"), ({}, ""), ({"model": None}, ""), ({"model": 5}, "")]
)
def test_a_call_knows_its_model(body: dict[str, Any], expected: str) -> None:
    """The model is the body's, or empty where the body has none."""
    assert expected == make_call(body=body).model


def test_a_call_is_changed_by_copy() -> None:
    """`replace()` makes another call and leaves the first as it is."""
    call = make_call(max_retries=1)
    other = call.replace(max_retries=2)

    assert (1, 2) == (call.max_retries, other.max_retries)
    assert (call.record, call.io) == (other.record, other.io)
    with pytest.raises(FrozenInstanceError):
        call.max_retries = 3  # type: ignore[misc]


def test_nothing_is_given_by_default() -> None:
    """Options start without a word."""
    assert (Deadlines(), UNSET, UNSET, UNSET) == tuple(
        getattr(CallOptions(), name) for name in ("deadlines", "plain", "session_id", "priority")
    )
