from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from deepseek_sdk.caching.deciding.decision import Decision
from deepseek_sdk.caching.learning.nearness import is_near_miss, is_rechecked


class Found(NamedTuple):
    """A candidate."""

    key: str = "k"
    text: str = "如何退款"
    cosine: float = 0.95
    vector: Any = None


def decided(**known: Any) -> Decision:
    """Give the decision about a near miss, unless something else is said."""
    return Decision(**{"serve": False, "reason": "below", "candidate": Found(), "score": -1.0, "p": 0.4, **known})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, True),
        ({"serve": True}, False),
        ({"candidate": None, "p": None}, False),
        ({"p": 0.3}, True),
        ({"p": 0.2999}, False),
        ({"guard": "number"}, False),
        ({"guard": "antonym", "p": 0.99}, False),
        ({"guard": "name"}, True),
        ({"p": None}, False),
    ],
)
def test_which_misses_are_near(known: dict[str, Any], *, expected: bool) -> None:
    """A miss is near where its answer may well be right, and no guard that is nearly always right forbade it."""
    assert expected == is_near_miss(decided(**known))


def test_policies_without_probabilities() -> None:
    """Where nobody knows a probability, the cosine says it, if it is said which one."""
    near = [is_near_miss(decided(p=None), least_cosine=least) for least in (0.95, 0.951)]

    assert [True, False] == near
    assert not is_near_miss(decided(guard="name"), doubted=())
    assert is_near_miss(decided(p=0.1), least_p=0.1)


@pytest.mark.parametrize(
    ("share", "drawn", "expected"),
    [(0.01, 0.0099, True), (0.01, 0.01, False), (0.0, 0.0, False), (1.0, 0.999, True)],
)
def test_which_hits_are_asked_again(share: float, drawn: float, *, expected: bool) -> None:
    """Chance decides, by the share."""
    assert expected == is_rechecked(share, lambda: drawn)


def test_no_chance_is_drawn_in_vain() -> None:
    """Where no hit is to be asked again, nothing is drawn."""
    assert not is_rechecked(0.0, lambda: pytest.fail("drawn"))


def test_what_a_policy_explores() -> None:
    """A miss that a policy wants to learn from is worth a judge, however unlikely; a hit is not, and not a guard's."""
    known: list[dict[str, Any]] = [
        {"p": None}, {"p": 0.01}, {"serve": True}, {"candidate": None}, {"guard": "number"},
    ]  # fmt: skip

    assert [True, True, False, False, False] == [is_near_miss(decided(is_explored=True, **one)) for one in known]
