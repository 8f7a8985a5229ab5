"""A cut belongs to the budget that it was made for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.tokens.fitting import CutMemory, Fit, Fitter, TokenBudget, fit
from deepseek_sdk.tokens.fitting.room import Room
from tests.tokens.fitting.test_fit_policies import DOCUMENT, long_chat
from tests.tokens.fitting.world import SimpleCounter, assistant, chat, user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POLICIES = ("head_tail", "middle", "semantic", "history")
BODY = chat(user(DOCUMENT), assistant("Ready."), *long_chat(10)["messages"][1:], user("What is lucky?"))
LONGER = {**BODY, "messages": [*BODY["messages"], assistant("Seven."), user("What is lucky?")]}


class Model:
    """Has a method that embeds; two of its kind are not the same, though they have no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Give a vector for each."""
        return [[float(len(text)), 1.0] for text in texts]

    __call__ = encode


def made_anew(model: Model) -> Callable[[Sequence[str]], list[list[float]]]:
    """Make a function that goes by a model."""
    return lambda texts: [*model.encode(texts)]


def fitted(memory: CutMemory | None, body: dict[str, Any] = BODY, **options: Any) -> Fit:
    """Fit a conversation."""
    return fit(body, TokenBudget(**{"policy": "middle", "limit": 800, **options}), SimpleCounter(), memory=memory)


def short(_: Sequence[str], __: int) -> str:
    """Compress."""
    return "They are lucky."


ONE, OTHER = Model(), Model()
CHANGES: list[dict[str, Any]] = [
    {"marker": "<<<CUT>>>"},
    {"head": 10, "tail": 600_000},
    {"keep_turns": 3},
    {"low_water": 0.4},
    {"high_water": 0.9},
    {"policy": "head_tail"},
    {"policy": "semantic"},
    {"policy": "history"},
    {"compressor": short},
    {"embed": ONE},
    {"embed": OTHER.encode},
    {"embed": made_anew(ONE)},
    {"embed": made_anew(OTHER)},
    {"embed": partial(Model.encode, ONE)},
    {"limit": 400},
    {"limit": 1200},
]


@pytest.mark.parametrize("changed", CHANGES, ids=str)
def test_another_budget_makes_a_cut_of_its_own(changed: dict[str, Any]) -> None:
    """What another budget has left out is not left out again: the result is as if nothing was remembered."""
    for one, other in (({}, changed), (changed, {})):
        memory = CutMemory()
        fitted(memory, **one)
        result = fitted(memory, **other)

        assert not result.is_remembered
        assert fitted(None, **other).messages == result.messages


@pytest.mark.parametrize("first", CHANGES, ids=str)
def test_budgets_that_take_turns_keep_their_cuts(first: dict[str, Any]) -> None:
    """Budgets that are used by turns on one conversation find what each has cut, all along."""
    memory = CutMemory()
    budgets = (first, {"marker": "[cut]"}, {"marker": "[cut]", "limit": 2000})
    before = [fitted(memory, **options) for options in budgets]
    after = [fitted(memory, LONGER, **options) for options in budgets]

    assert [True] * 3 == [result.is_remembered for result in after]
    assert [list(result.messages) for result in before] == [
        list(result.messages[: len(old.messages)]) for old, result in zip(before, after, strict=True)
    ]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("limits", [(400, 1500), (1500, 400), (1500, 400, 1500, 400)])
def test_limit_of_an_earlier_call_is_forgotten(policy: Any, limits: tuple[int, ...]) -> None:
    """The result under a limit does not depend on the limits of other calls."""
    memory = CutMemory()
    for limit in limits:
        result = fitted(memory, policy=policy, limit=limit)
        assert fitted(None, policy=policy, limit=limit).messages == result.messages


@pytest.mark.parametrize(
    "make",
    [lambda: ONE.encode, lambda: ONE, lambda: made_anew(ONE), lambda: lambda texts: [[1.0] for _ in texts]],
    ids=["method", "object", "function", "lambda"],
)
def test_budget_made_anew_is_the_same(make: Callable[[], Any]) -> None:
    """Who writes the budget down in each call, functions and all, finds the cut of the turn before."""
    memory = CutMemory()
    for body in (BODY, LONGER):
        result = fitted(memory, body, embed=make(), policy="history", summarise_with=lambda _: "Luck.")

    assert result.is_remembered
    assert "Luck." == result.summary


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("limit", [1000, 1050, 1340])
def test_expected_answers_may_vary(policy: Any, limit: int) -> None:
    """Room in a window that varies with what an answer is expected to take does not make a cut forgotten."""
    memory, counter, budget = CutMemory(), SimpleCounter(), TokenBudget(policy=policy)
    rooms = [Room(room, 1400, 1400 - room) for room in (1000, limit)]
    first, second = (Fitter(BODY, budget, counter, room=room, memory=memory).fit() for room in rooms)

    assert first.is_changed
    assert second.is_remembered
    assert first.messages == second.messages


@pytest.mark.parametrize("limit", [400, 800, 1500])
@pytest.mark.parametrize("policy", POLICIES)
def test_compressor_tells_of_turns_that_go(policy: Any, limit: int) -> None:
    """Whatever policy drops turns, the compressor gets what they say, and there is room for what it makes of it."""
    asked: list[str] = []

    def compress(texts: Sequence[str], most: int) -> str:
        asked.extend(texts)
        return "word " * (most // 3)

    body, memory = long_chat(60), CutMemory()
    first = fitted(memory, body, policy=policy, limit=limit, compressor=compress)
    texts = [body["messages"][removed.message]["content"] for removed in first.removed if removed.is_whole]
    longer = {**body, "messages": [*body["messages"], assistant("Well."), user("And?")]}

    assert texts == asked[-len(texts) :]
    assert first.summary.startswith("word")
    assert first.summary in str(first.messages)
    assert first.total <= limit
    assert () == first.notes
    assert first.summary == fitted(memory, longer, policy=policy, limit=limit + 40, compressor=compress).summary
