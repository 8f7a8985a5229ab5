"""When the model of a semantic cache is loaded, and which one a call waits for."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deepseek_sdk.caching import OnnxEmbedder, SemanticCache
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.embedding.e5.build import BUILDER, MODEL, SOURCE_SHA256, TOKENIZER
from deepseek_sdk.caching.similar import is_patient
from tests.caching.embedding.conftest import found_source
from tests.caching.embedding.made_embedders import write_model, write_tokenizer
from tests.caching.wordings import AGAIN, ASKED, SAME, Meanings, ask, decided, semantic, settled

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Keep a small model as if it were the default one."""
    path = tmp_path / "e5"
    path.mkdir()
    write_tokenizer(path)
    write_model(path / MODEL, np.eye(4, 384))
    files = {name: path / name for name in (MODEL, TOKENIZER)}
    facts = {
        name: {"sha256": "0" * 64, "bytes": file.stat().st_size, "mtime_ns": file.stat().st_mtime_ns}
        for name, file in files.items()
    }
    manifest = {"builder": BUILDER, "source": {"sha256": SOURCE_SHA256}, "files": facts}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def damage(path: Path, how: str) -> None:
    """Do something to a model that is kept."""
    if how == "cut":
        os.truncate(path / MODEL, 100)
    elif how == "dated":
        os.utime(path / TOKENIZER)
    else:
        (path / "manifest.json").unlink()


def test_model_that_is_built_is_loaded_at_once(kept: Path) -> None:
    """The default model is read as soon as a cache is made, in the background, where it is there and as it was left."""
    cache = SemanticCache(max_bytes=0, embedder=DefaultEmbedder(kept))

    assert "idle" != cache.service.state
    # It is examined as any other: this one tells nothing apart.
    assert cache.service.ready.result(60) is False


@pytest.mark.parametrize("how", ["cut", "dated", "gone"])
def test_model_that_is_not_as_it_was_left(kept: Path, how: str) -> None:
    """Of one that may have to be built anew nothing is read before there is a call, and no call waits for it."""
    found_source()
    damage(kept, how)
    cache = SemanticCache(max_bytes=0, embedder=DefaultEmbedder(kept))

    assert ("idle", False) == (cache.service.state, is_patient(cache.service.embedder))


def test_other_models_are_not_loaded_at_once(kept: Path) -> None:
    """A model of somebody else may fetch, cost or hang: nothing is asked of it before there is a call."""
    for embedder in (OnnxEmbedder(kept), Meanings(), lambda texts: texts):
        cache = SemanticCache(max_bytes=0, embedder=embedder)
        assert ("idle", False) == (cache.service.state, is_patient(cache.service.embedder))


class Held(OnnxEmbedder):
    """Is read when a test says so."""

    gate: threading.Event

    def load(self) -> None:
        """Wait for that, and read it."""
        assert self.gate.wait(20)
        super().load()


@pytest.mark.parametrize("text", ["", "not a model"])
def test_file_that_is_no_model(driver: Driver, emulator: StartEmulator, kept: Path, tmp_path: Path, text: str) -> None:
    """However long a model of somebody else is read, a call goes on without it, and so it does where it is none."""
    server, path = emulator(replies="好"), tmp_path / "cache"
    before = semantic(path)
    ask(driver, driver.client(base_url=server.url, cache=before), ASKED)
    settled(before)
    (kept / MODEL).write_text(text)
    embedder = Held(kept)
    embedder.gate = threading.Event()
    client = driver.client(base_url=server.url, cache=semantic(path, embedder=embedder, embed_s=0.05, load_s=60))
    try:
        # Had it waited longer, the gate would have given up, and the tier been off.
        reason = decided(driver, client, SAME).reason
    finally:
        embedder.gate.set()

    assert "loading" == reason
    assert driver.call(client.cache.wait_until_ready, 60) is False
    assert "off" == decided(driver, client, AGAIN).reason
