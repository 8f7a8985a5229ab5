"""What an embedder is, and what its vectors have to be."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from deepseek_sdk.caching.embedding.base import (
    CallableEmbedder,
    EmbeddingError,
    check_words,
    checked,
    fingerprint_of,
    is_embedder,
    need,
)
from deepseek_sdk.errors import ConfigurationError, MissingExtraError
from tests.caching.embedding.made_embedders import Words


@pytest.mark.parametrize(
    "vectors",
    [
        [[3, 4], [0, 2]],
        np.array([[3, 4], [0, 2]], np.float64),
        np.asfortranarray([[3e30, 4e30], [0, 2e-5]], np.float32),
    ],
    ids=["lists", "doubles", "columns"],
)
def test_vectors_get_length_1(vectors: Any) -> None:
    """Whatever an embedder gives, its rows are of float32, one after another, and of length 1."""
    rows = checked(vectors, 2, 2)

    assert ("float32", True) == (str(rows.dtype), rows.flags.c_contiguous)
    assert np.allclose(np.array([[0.6, 0.8], [0, 1]]), rows)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1, 2]], r"\(1, 2\), not \(2, 2\)"),
        ([[1, 2, 3]] * 2, r"\(2, 3\), not \(2, 2\)"),
        ([1, 2], "shape"),
        ([[1, 2], [3]], "no array"),
        ([["a", "b"]] * 2, "no array"),
        (None, "no array|shape"),
        ([[1, math.nan], [1, 2]], "not finite"),
        ([[1, math.inf], [1, 2]], "not finite"),
        ([[0, 0], [1, 2]], "zero"),
    ],
)
def test_what_cannot_be_compared_is_refused(vectors: Any, said: str) -> None:
    """Vectors of another shape, without a direction, or with numbers that are none, are refused in words."""
    with pytest.raises(EmbeddingError, match=said):
        checked(vectors, 2, 2)


def test_one_number_is_no_vector() -> None:
    """Vectors of one number have two directions at most, and are refused."""
    with pytest.raises(EmbeddingError, match="shape"):
        checked([[1.0]], 1, 1)


def both(texts: Any) -> Any:
    """Make vectors of two numbers."""
    return [[1.0, len(text)] for text in texts]


def others(texts: Any) -> Any:
    """Make others."""
    return [[len(text), 1.0] for text in texts]


def test_function_as_an_embedder() -> None:
    """A function is an embedder; its name and its vectors are its fingerprint."""
    embedder = CallableEmbedder(both)

    assert (2, [[1.0, 2]]) == (embedder.dimensions, embedder.embed(["你好"]))
    assert embedder.fingerprint == CallableEmbedder(both).fingerprint
    assert embedder.fingerprint != CallableEmbedder(others).fingerprint


class Turned:
    """Gives the words' vectors with their numbers in another order, and a little noise."""

    def __init__(self, seed: int, noise: float = 0.0) -> None:
        self.order = np.random.default_rng(seed).permutation(Words.dimensions)
        self.noise = noise

    def encode(self, texts: Any) -> Any:
        """Make them."""
        rows = Words().embed(texts)[:, self.order]
        return rows + self.noise * np.random.default_rng(7).standard_normal(rows.shape)


ONE_NAME: dict[str, Any] = {
    "methods": lambda model: model.encode,
    "partials": lambda model: partial(model.encode),
    "lambdas": lambda model: lambda texts: model.encode([*texts]),
    "objects": lambda model: type("Model", (), {"__call__": lambda _, texts: model.encode(texts)})(),
}


@pytest.mark.parametrize("name", ONE_NAME)
def test_functions_of_one_name(name: str) -> None:
    """Where the names are the same, functions are told apart by their vectors, and by nothing that rounding makes."""
    one, same, other = (
        CallableEmbedder(ONE_NAME[name](model)).fingerprint for model in (Turned(1), Turned(1, 1e-7), Turned(2))
    )

    assert (True, False) == (one == same, one == other)


def test_object_that_is_called() -> None:
    """Objects that can be called have the name of their class."""

    class Model:
        def __call__(self, texts: Any) -> Any:
            return both(texts)

    assert CallableEmbedder(Model()).fingerprint == CallableEmbedder(Model()).fingerprint


@pytest.mark.parametrize("answer", [None, [], [1.0], 5])
def test_function_that_gives_no_rows(answer: Any) -> None:
    """A function that gives no rows cannot be loaded."""
    with pytest.raises(EmbeddingError, match="not a row for each text"):
        CallableEmbedder(lambda _: answer).load()


def test_embedder_is_told_without_loading() -> None:
    """An object is an embedder by its attributes, none of which is asked for its value."""

    class Heavy:
        fingerprint = dimensions = property(pytest.fail)

        def embed(self) -> None: ...

    assert [True, True, False, False] == [is_embedder(value) for value in (Heavy(), Words(), both, "name")]


def test_fingerprints_differ_in_anything() -> None:
    """A fingerprint depends on every part, in any language, and not on their order."""
    one = fingerprint_of(name="模型", size=1)

    assert one == fingerprint_of(size=1, name="模型")
    assert 4 == len({one, fingerprint_of(name="模型", size=2), fingerprint_of(name="\ud800", size=1), fingerprint_of()})


def test_missing_packages() -> None:
    """A package that is not installed is missed with the line that installs it; none is imported."""
    need("numpy", "onnx")

    with pytest.raises(MissingExtraError, match=r"The semantic cache .*\[cache\]"):
        need("numpy", "no_such_package_here")


def test_words_are_checked() -> None:
    """What has to be a text is named where it is none."""
    check_words("prefix", "")

    with pytest.raises(ConfigurationError, match="prefix must be a text, not 5"):
        check_words("prefix", 5)
    with pytest.raises(ConfigurationError, match="model"):
        check_words("model", "", may_be_empty=False)
