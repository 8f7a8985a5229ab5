"""Models of users: whatever inputs and outputs they have, their vectors are made, or the reason why not is told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.model import grouped
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import run_child
from tests.caching.embedding.made_embedders import write_model, write_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Of [PAD], [CLS], [SEP], [UNK], a, b, query.
TABLE = np.array([[9, 9], [1, 0], [0, 0], [0, 5], [2, 3], [6, 1], [0, 8]], np.float32)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Give a directory with a tokenizer."""
    write_tokenizer(tmp_path, ["a", "b", "query"])
    return tmp_path


def raw(directory: Path | str, *texts: str, **settings: Any) -> list[list[float]]:
    """Make vectors that are not brought to length 1."""
    rows: list[list[float]] = OnnxEmbedder(directory, normalize=False, **settings).embed(texts).tolist()
    return rows


@pytest.mark.parametrize(("pooling", "alone", "longer"), [("mean", [1, 1], [25 / 6, 4 / 6]), ("cls", [1, 0], [1, 0])])
def test_pooling(directory: Path, pooling: Any, alone: list[float], longer: list[float]) -> None:
    """Vectors of tokens become one: their mean, without the padding of shorter texts, or the first."""
    write_model(directory / "model.onnx", TABLE)

    assert np.allclose([alone, longer], raw(directory, "a", "b b b b", pooling=pooling))


@pytest.mark.parametrize("name", ["sentence_embedding", "embedding"])
def test_models_that_pool_by_themselves(directory: Path, name: str) -> None:
    """What a model gives for the text is taken as it is."""
    write_model(directory / "model.onnx", TABLE, output=name)

    assert [[3.0, 3.0]] == raw(directory, "a")


def test_model_with_token_types(directory: Path) -> None:
    """A model that takes the types of tokens gets them, all of the first."""
    write_model(directory / "model.onnx", TABLE, inputs=("input_ids", "attention_mask", "token_type_ids"))

    assert np.allclose([[1, 1]], raw(directory, "a"))


def test_model_without_a_mask(directory: Path) -> None:
    """A model that takes nothing but tokens gets nothing else."""
    write_model(directory / "model.onnx", TABLE, inputs=("input_ids",))

    assert np.allclose([[1, 1]], raw(directory, "a"))


def test_manner_of_use(directory: Path) -> None:
    """A prefix stands before every text, long texts are cut, and vectors have length 1 unless that is not wanted."""
    write_model(directory / "model.onnx", TABLE)

    assert np.allclose([[3 / 4, 11 / 4]], raw(directory, "a", prefix="query "))
    assert np.allclose(raw(directory, "a a"), raw(directory, "a a a a a a", max_tokens=4))
    assert np.allclose([[0.5**0.5] * 2], OnnxEmbedder(directory).embed(["a"]))


def test_any_text(directory: Path) -> None:
    """Chinese, empty and broken texts have vectors; order is kept among texts of all lengths."""
    write_model(directory / "model.onnx", TABLE)
    texts = ["你好，世界", "", "\ud800a", "b " * 700, "a", "a\x00b"]
    together = raw(directory, *texts)

    assert all(np.allclose(raw(directory, text)[0], row) for text, row in zip(texts, together, strict=True))


@pytest.mark.parametrize("name", ["onnx/model.onnx", "other.onnx"])
def test_where_the_model_lies(directory: Path, name: str) -> None:
    """A model may lie in the usual place below its directory, or under a name that is given; and be named itself."""
    (directory / "onnx").mkdir()
    write_model(directory / name, TABLE)
    file = None if name.startswith("onnx") else name

    assert np.allclose([[1, 1]], raw(directory, "a", file=file))
    assert np.allclose([[1, 1]], raw(str(directory / name), "a"))


def test_fingerprint_tells_what_makes_vectors(directory: Path) -> None:
    """The fingerprint changes with the model, the tokenizer, and how they are used, and with nothing else."""
    write_model(directory / "model.onnx", TABLE)
    ways: list[dict[str, Any]] = [{}, {"pooling": "cls"}, {"prefix": "a"}, {"max_tokens": 9}, {"normalize": False}]
    seen = [OnnxEmbedder(directory, **way).fingerprint for way in ways]
    again = OnnxEmbedder(str(directory), threads=1).fingerprint
    write_model(directory / "model.onnx", TABLE + 1)
    seen.append(OnnxEmbedder(directory).fingerprint)
    (directory / "model.onnx.data").write_bytes(b"weights")
    seen.append(OnnxEmbedder(directory).fingerprint)
    write_tokenizer(directory, ["b", "a", "query"])
    seen.append(OnnxEmbedder(directory).fingerprint)

    assert (seen[0], 8) == (again, len(set(seen)))


@pytest.mark.parametrize(
    ("inputs", "said"), [(("input_ids", "pixel_values"), "pixel_values"), (("input_ids", "bbox"), "bbox")]
)
def test_unknown_inputs(directory: Path, inputs: tuple[str, ...], said: str) -> None:
    """A model that wants something else is refused with its name."""
    write_model(directory / "model.onnx", TABLE, inputs=inputs)

    with pytest.raises(EmbeddingError, match=said):
        OnnxEmbedder(directory).load()


def test_output_of_another_shape(directory: Path) -> None:
    """A model whose output is neither of a text nor of its tokens is refused."""
    write_model(directory / "model.onnx", np.ones((7, 2, 2)), inputs=("input_ids",), output="last_hidden_state")

    with pytest.raises(EmbeddingError, match="shape"):
        OnnxEmbedder(directory).load()


@pytest.mark.parametrize(
    ("name", "said"),
    [("model.onnx", "model.onnx is no model"), ("tokenizer.json", "tokenizer.json is no tokenizer")],
)
def test_damaged_files(directory: Path, name: str, said: str) -> None:
    """A file that is none is named."""
    write_model(directory / "model.onnx", TABLE)
    (directory / name).write_bytes(b"{]\x00")

    with pytest.raises(EmbeddingError, match=said):
        OnnxEmbedder(directory).load()


BAD_MODELS: dict[str, Callable[[Path], object]] = {
    "is no model": lambda path: path.write_bytes(b""),
    "no model that can be run": lambda path: path.write_bytes(b"text" * 100),
    "bbox": lambda path: write_model(path, TABLE, inputs=("input_ids", "bbox")),
    "shape": lambda path: write_model(path, np.ones((7, 2, 2)), inputs=("input_ids",)),
    # A number for each token, under the name of the vector of a text.
    "goes with the text": lambda path: write_model(path, TABLE, output="sentence_embedding", summed=2),
}


@pytest.mark.parametrize("said", BAD_MODELS)
def test_model_is_tried_before_its_tokenizer(directory: Path, said: str) -> None:
    """A model that is no good is refused before the tokenizer is read, which takes longer; here that is none either."""
    BAD_MODELS[said](directory / "model.onnx")
    (directory / "tokenizer.json").write_bytes(b"{]")

    with pytest.raises(EmbeddingError, match=said):
        OnnxEmbedder(directory).load()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_files(directory: Path, name: str) -> None:
    """A directory without a model or tokenizer is refused with what it lacks."""
    write_model(directory / "model.onnx", TABLE)
    (directory / name).unlink()

    with pytest.raises(EmbeddingError, match=f"holds no {name}"):
        OnnxEmbedder(directory).load()


@pytest.mark.parametrize(
    ("said", "settings", "named"),
    [
        ("", {}, "path_or_hub_id"),
        (5, {}, "path_or_hub_id"),
        ("./nowhere", {}, "there is no"),
        ("~nobody-at-all/x/y", {}, "there is no"),
        ("model.onnx", {}, "there is no"),
        ("org/name", {"pooling": "max"}, "pooling"),
        ("org/name", {"prefix": None}, "prefix"),
        ("org/name", {"max_tokens": 1}, "max_tokens"),
        ("org/name", {"threads": 0}, "threads"),
    ],
)
def test_arguments_are_checked(said: Any, settings: dict[str, Any], named: str) -> None:
    """An argument that cannot be used is named before anything is read."""
    with pytest.raises(ConfigurationError, match=named):
        OnnxEmbedder(said, **settings)


def test_names_of_the_hub_are_not_read_at_once() -> None:
    """A name on the hub is taken without asking for it."""
    assert "OnnxEmbedder('BAAI/bge-small-zh-v1.5')" == repr(OnnxEmbedder("BAAI/bge-small-zh-v1.5"))


def test_batches_are_of_similar_length() -> None:
    """Texts of similar length run together, no more than fit, and each runs once."""
    lengths = [512, 3, 3, 512, 512, 512, 512, 4, 600, 5000, 30]
    groups = list(grouped(lengths))

    assert [[1, 2, 7], [10], [0, 3], [4, 5], [6], [8], [9]] == [sorted(group) for group in groups]
    assert [] == list(grouped([]))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_child_has_a_model_of_its_own(directory: Path) -> None:
    """A forked child makes vectors, though its parent's threads are not there."""
    write_model(directory / "model.onnx", TABLE)
    code = """
import os, sys, warnings
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
warnings.simplefilter("ignore", DeprecationWarning)
embedder = OnnxEmbedder(sys.argv[1])
before = embedder.embed(["a b"] * 40).tolist()
child = os.fork()
if child == 0:
    os._exit(0 if embedder.embed(["a b"] * 40).tolist() == before else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run_child(code, directory)
