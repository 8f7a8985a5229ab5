"""The default model, built once for all tests that need it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.embedding.default import DefaultEmbedder, default_source

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def source() -> Path:
    """Give the file of the wheel."""
    return found_source()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> DefaultEmbedder:
    """Build the default model, unless another test has."""
    return build_once(tmp_path_factory)


def found_source() -> Path:
    """Find the file of the wheel, or skip the test."""
    return default_source() or pytest.skip("the wheel with the model is not made for this platform")


def build_once(factory: pytest.TempPathFactory) -> DefaultEmbedder:
    """
    Build the default model in the directory of the session; two ask for it at once, and a damaged one is in the way.

    Args:
        factory: Of directories.

    Returns:
        Its embedder.
    """
    found_source()
    path = factory.getbasetemp() / "default-model" / "e5"
    if not path.exists():
        path.mkdir(parents=True)
        (path / "model.onnx").write_text("damaged")
        (path.parent / ".e5.abc.part").mkdir()
        steps = path.parent / "steps"
        _build_twice(path, steps)
    return DefaultEmbedder(path)


def _build_twice(path: Path, steps: Path) -> None:
    told: list[float] = []
    embedders = [DefaultEmbedder(path, progress=lambda _, share: told.append(share)) for _ in range(2)]
    threads = [threading.Thread(target=embedder.built) for embedder in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    steps.write_text(" ".join(map(str, told)))
