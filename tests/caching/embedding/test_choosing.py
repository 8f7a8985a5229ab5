"""What may be said to name an embedder."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.embedding.choosing import embedder_of
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
from deepseek_sdk.errors import ConfigurationError
from tests.caching.embedding.made_embedders import Words

if TYPE_CHECKING:
    from pathlib import Path


def lengths(texts: Any) -> Any:
    """Make vectors."""
    return [[1.0, len(text)] for text in texts]


@pytest.mark.usefixtures("source")
def test_default_is_shared() -> None:
    """Whoever says nothing gets the default embedder, all of them the same, as long as one is in use."""
    embedder = embedder_of()

    assert isinstance(embedder, DefaultEmbedder)
    assert embedder is embedder_of("default")


def test_names_are_models(tmp_path: Path) -> None:
    """A path, or a name on the hub, is a model; the same name is the same model."""
    named = embedder_of(str(tmp_path))

    assert isinstance(named, OnnxEmbedder)
    assert named is embedder_of(tmp_path)
    assert isinstance(embedder_of("org/name"), OnnxEmbedder)


def test_functions_and_objects() -> None:
    """A function makes vectors, the same function in one embedder; an embedder is what it is."""
    embedder, words = embedder_of(lengths), Words()

    assert (embedder_of(lengths), words) == (embedder, embedder_of(words))
    assert 2 == embedder.dimensions


def test_objects_that_cannot_be_told_apart_quickly() -> None:
    """Functions that cannot be kept in a table have an embedder each."""

    class Callable(list[int]):
        def __call__(self, texts: Any) -> Any:
            return lengths(texts)

    assert 2 == embedder_of(Callable()).dimensions


def test_nothing_is_kept() -> None:
    """An embedder that nobody uses any more is forgotten."""
    embedder: Any = embedder_of(lengths)
    embedder.mark = 1
    del embedder
    gc.collect()

    assert not hasattr(embedder_of(lengths), "mark")


@pytest.mark.parametrize("said", [5, Words, object()])
def test_other_things(said: Any) -> None:
    """What names no embedder is refused."""
    with pytest.raises(ConfigurationError, match="embedder must be"):
        embedder_of(said)
