"""The alarm goes off when it should, and not before."""

from __future__ import annotations

import random

from deepseek_sdk.caching.deciding.drift import Drift


def test_three_wrong_in_a_row_alarm() -> None:
    """At a target of one in a hundred, three wrong answers in a row say enough."""
    states = [Drift()]
    for _ in range(3):
        states.append(states[-1].after(is_wrong=True))

    assert [0, 0, 0, 1] == [state.level for state in states]
    assert 0.0 == states[-1].total


def test_a_wrong_answer_now_and_then_is_what_was_promised() -> None:
    """One wrong hit in a hundred raises nothing."""
    state = Drift()
    for number in range(2_000):
        state = state.after(is_wrong=number % 100 == 0)

    assert 0 == state.level


def test_drift_is_noticed_soon() -> None:
    """One wrong hit in ten alarms within a hundred, in nearly all of 200 runs; one in a hundred hardly ever."""
    chance = random.Random(3)  # noqa: S311  not a secret
    noticed = sum(first_alarm(chance, 0.10, 100) for _ in range(200))
    false = sum(first_alarm(chance, 0.01, 100) for _ in range(200))

    assert noticed > 180
    assert false < 12


def first_alarm(chance: random.Random, share: float, count: int) -> bool:
    """Tell whether there is an alarm among *count* verdicts."""
    state = Drift()
    for _ in range(count):
        state = state.after(is_wrong=chance.random() < share)
        if state.level:
            return True
    return False


def test_calm_takes_a_step_back() -> None:
    """Enough right hits in a row undo one step each; recalibration undoes all."""
    state = Drift(calm=10)
    for _ in range(6):
        state = state.after(is_wrong=True)
    assert 2 == state.level

    raised = state
    for _ in range(10):
        state = state.after(is_wrong=False)
    assert 1 == state.level
    assert 0 == raised.recalibrated().level


def test_steps_are_few() -> None:
    """However wrong everything is, the threshold is raised so many times and no more."""
    state = Drift(most=2)
    for _ in range(100):
        state = state.after(is_wrong=True)

    assert 2 == state.level
