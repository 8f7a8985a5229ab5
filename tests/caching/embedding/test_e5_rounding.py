"""Weights of a product in whole numbers, and how far the numbers reach that go into it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.embedding.e5.rounding import Spread, rounded


def product(weights: Any, inputs: Any, reach: Any) -> Any:
    """Multiply as onnxruntime does: the weights and what goes in are whole numbers of 8 bits, with a scale for each."""
    made = rounded(weights, reach)
    evened = inputs / made.divisor
    step = (max(evened.max(), 0) - min(evened.min(), 0)) / 255
    return np.rint(evened / step) * step @ (made.weights.astype(np.float64) * made.scales)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 40))
def test_weights_are_kept_to_half_a_step(seed: int, outputs: int, inputs: int) -> None:
    """What was divided out of the input and is in the weights comes to what there was, to half a step of 8 bits."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(outputs, inputs)).astype(np.float32)
    made = rounded(weights, np.exp(rng.normal(size=inputs, scale=2)))

    again = (made.weights * made.scales).T / made.divisor
    assert made.weights.dtype == np.int8
    # 255 of what goes in, twice, must fit into 16 bits.
    assert 2 * 255 * int(np.abs(made.weights.astype(int)).max()) < 2**15
    assert (np.abs(again - weights) <= 0.5001 * made.scales[:, None] / made.divisor + 1e-6).all()


def test_no_weights_are_no_trouble() -> None:
    """A row, a column and a place of zeros stay zeros."""
    weights = np.array([[0.0, 0.0], [0.0, 3.0]], np.float32)
    made = rounded(weights, np.zeros(2, np.float32))

    assert [[0, 0], [0, 64]] == made.weights.T.tolist()
    assert np.isfinite(made.divisor).all()


def test_places_far_out_cost_the_others_little() -> None:
    """Where one place reaches a hundred times farther than the others, the product is as near as if it did not."""
    rng = np.random.default_rng(3)
    weights, inputs = rng.normal(size=(64, 384)), rng.normal(size=(200, 384))
    inputs[:, 7] *= 100
    weights[:, 7] /= 100
    reach = np.abs(inputs).max(axis=0)
    exact = inputs @ weights.T

    evened = np.abs(product(weights, inputs, reach) - exact).mean()
    as_they_are = np.abs(product(weights, inputs, np.abs(weights).max(axis=0) ** (0.15 / 0.85)) - exact).mean()
    assert evened < as_they_are / 20


def test_spread_goes_through_a_product() -> None:
    """The middle and the deviation that follow from weights are those of numbers that went through."""
    rng = np.random.default_rng(5)
    spread = Spread(np.array([1.0, -2.0, 0.5]), np.array([0.1, 2.0, 1.0]))
    weights: Any = rng.normal(size=(4, 3))
    bias: Any = rng.normal(size=4)
    through = spread.through(weights, bias)

    drawn = (spread.middle + spread.deviation * rng.normal(size=(200_000, 3))) @ weights.T + bias
    assert pytest.approx(drawn.mean(axis=0), abs=0.05) == through.middle
    assert pytest.approx(drawn.std(axis=0), rel=0.02) == through.deviation
    assert pytest.approx([1.4, 10, 4.5]) == spread.reach(4.0)
