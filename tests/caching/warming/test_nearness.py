"""How near questions are to what an hour asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepseek_sdk.caching.warming.nearness import nearness


def around(topic: list[float], count: int, seed: int) -> Any:
    """Make unit vectors of questions about a topic: as with many models, all vectors have most in common."""
    chance = np.random.default_rng(seed)
    rows = np.asarray([*topic, 3.0]) + chance.normal(scale=0.1, size=(count, len(topic) + 1))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


REFUND, INVOICE, WEATHER = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


def test_topics_of_an_hour() -> None:
    """What is about the things that an hour asks about is near, though nobody has asked it then."""
    rows = np.concatenate([around(REFUND, 6, 1), around(INVOICE, 6, 2), around(WEATHER, 6, 3)])
    then = [2, 1, 1, 0, 0, 0] + [1, 1, 3, 0, 0, 0] + [0] * 6
    near = nearness(rows, then, [max(one, 1) for one in then])

    assert min(near[:12]) > 0.85
    assert max(near[12:]) < 0.5
    assert all(0 <= one <= 1 for one in near)


def test_one_centre() -> None:
    """Where an hour asks about one thing, more centres than questions do no harm."""
    rows = np.concatenate([around(REFUND, 2, 1), around(WEATHER, 2, 3)])
    near = nearness(rows, [1, 0, 0, 0], [1, 1, 1, 1], centres=8)

    assert near[0] == pytest.approx(1, abs=1e-6)
    assert near[1] > 0.8
    assert max(near[2:]) < 0.5


def test_questions_that_are_repeated() -> None:
    """Questions with the same vector are one thing that an hour asks about."""
    rows = np.repeat(np.concatenate([around(REFUND, 1, 1), around(WEATHER, 1, 3)]), 3, axis=0)
    near = nearness(rows, [2, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 1])

    assert [1] * 6 == pytest.approx(near)


def test_nothing_is_known() -> None:
    """Where nothing was asked in an hour, or there is nothing to compare, everything is as near as can be."""
    rows = around(REFUND, 2, 1)

    assert [1, 1] == nearness(rows, [0, 0], [1, 1])
    assert [] == nearness(rows[:0], [], [])


def test_equal_vectors() -> None:
    """Vectors that are all the same tell nothing, and nothing breaks."""
    rows = np.tile(around(REFUND, 1, 1), (3, 1))

    assert [0.5] * 3 == pytest.approx(nearness(rows, [1, 1, 0], [1, 1, 1]), abs=0.5)
