"""The time model and the concurrency gate, on numbers."""

from __future__ import annotations

import pytest

from deepseek_sdk.testing.time_model import ConcurrencyGate, TimeModel


def test_times_follow_from_the_speeds() -> None:
    """Reading takes uncached tokens over prefill speed, writing tokens over writing speed."""
    model = TimeModel(prefill_tokens_per_s=10_000, tokens_per_s=50)

    assert (0.5, 0.02, 2.0) == (model.prefill_s(5000), model.writing_s(1), model.writing_s(100))


def test_without_speeds_nothing_takes_time() -> None:
    """None means no delay."""
    assert (0.0, 0.0) == (TimeModel().prefill_s(10**6), TimeModel().writing_s(10**6))


@pytest.mark.parametrize("options", [{"tokens_per_s": 0}, {"prefill_tokens_per_s": -1}])
def test_speeds_are_positive(options: dict[str, float]) -> None:
    """A speed of nothing or less is refused."""
    with pytest.raises(ValueError, match="more than 0"):
        TimeModel(**options)


def test_the_gate_counts_who_is_inside() -> None:
    """One more than the limit is too many, until somebody leaves."""
    gate = ConcurrencyGate(1)

    entered = [gate.enter(), gate.enter()]
    gate.leave()
    gate.leave()

    assert [True, False] == entered
    assert gate.enter()
    assert 1 == gate.highest


def test_a_gate_without_limit_lets_everyone_in() -> None:
    """None means no limit."""
    gate = ConcurrencyGate(None)

    assert all(gate.enter() for _ in range(5000))
