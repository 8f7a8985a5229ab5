"""Labelled pairs, as people give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepseek_sdk.caching.calibrating import labelled
from deepseek_sdk.errors import ConfigurationError

RIGHT: list[tuple[str, str, Any]] = [(f"怎么退第{number}件", f"如何退第{number}件", 1) for number in range(10)]
WRONG: list[tuple[str, str, Any]] = [(f"怎么买第{number}件", f"怎么卖第{number}件", 0) for number in range(10)]


@pytest.mark.parametrize("kind", [bool, int, float, np.bool_, np.int64])
def test_labels_of_any_kind(kind: Any) -> None:
    """A label is a truth value, by Python or by numpy, or a number."""
    told = labelled((one, other, kind(label)) for one, other, label in RIGHT + WRONG)

    assert [True] * 10 + [False] * 10 == [pair.is_same for pair in told]


def test_mappings_are_pairs_too() -> None:
    """A row of a table will do."""
    told = labelled({"a": one, "b": other, "label": label} for one, other, label in RIGHT + WRONG)

    assert 20 == len(told)


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        "ab",
        ("a", "b"),
        ("a", "b", 2),
        ("a", "b", "1"),
        ("a", "", 1),
        (1, "b", 1),
        ("a", "b", np.array([1, 0])),
    ],
    ids=str,
)
def test_what_is_no_pair_is_named(bad: Any) -> None:
    """The message says which pair it is."""
    with pytest.raises(ConfigurationError, match=r"pairs\[20\]"):
        labelled([*RIGHT, *WRONG, bad])


@pytest.mark.parametrize("pairs", [None, 5, "pairs.tsv", {"a": "b"}], ids=str)
def test_what_holds_no_pairs(pairs: Any) -> None:
    """What cannot be gone through is refused."""
    with pytest.raises(ConfigurationError, match="pairs must be an iterable"):
        labelled(pairs)


@pytest.mark.parametrize("pairs", [RIGHT * 20, WRONG * 20, [RIGHT[0]] * 200, RIGHT + WRONG[:1] * 50])
def test_one_label_sets_no_threshold(pairs: list[tuple[str, str, Any]]) -> None:
    """It takes different pairs of both labels, and saying one twice makes no two of it."""
    with pytest.raises(ConfigurationError, match="10 different ones of each label"):
        labelled(pairs)
