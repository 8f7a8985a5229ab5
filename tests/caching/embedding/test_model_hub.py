"""Models of a hub: fetched once, from the address that the environment names, and never where that is forbidden."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.caching.embedding.made_embedders import write_model, write_tokenizer
from tests.raw_server import RawServer

if TYPE_CHECKING:
    from tests.raw_server import Exchange

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
COMMIT = "1f2e3d4c5b6a79880123456789abcdef01234567"
CODE = """
import sys
from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
for _ in range(2):
    try:
        print(OnnxEmbedder("org/small-zh", normalize=False).embed(["a"]).tolist())
    except EmbeddingError as error:
        print("refused:", error)
"""


def hub(files: Path) -> RawServer:
    """Make a hub with one model; its files lie in a directory, with one that nobody needs."""
    names = sorted(str(path.relative_to(files)) for path in files.rglob("*") if path.is_file())

    def answer(exchange: Exchange) -> None:
        path = exchange.request.target.partition("?")[0]
        if "/tree/" in path:
            told: object = [{"type": "file", "path": name, "oid": name, "size": 1} for name in names]
            data, headers = json.dumps(told).encode(), dict[str, str]()
        elif path.startswith("/api/models/org/small-zh"):
            told = {"id": "org/small-zh", "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
            data, headers = json.dumps(told).encode(), {}
        else:
            data = (files / path.partition(f"/resolve/{COMMIT}/")[2]).read_bytes()
            headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        exchange.head(content_type="application/octet-stream", content_length=str(len(data)), **headers)
        if exchange.request.method != "HEAD":
            exchange.send(data)

    return RawServer(answer)


def asked(home: Path, url: str, **settings: str) -> str:
    """Make a vector in a process of its own: where the hub is, is read when its package is imported."""
    variables = {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **settings}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_model_is_fetched_once(tmp_path: Path) -> None:
    """Only what is needed is fetched, from the hub that the environment names; then the copy does, also offline."""
    files, home = tmp_path / "files", tmp_path / "home"
    (files / "onnx").mkdir(parents=True)
    write_tokenizer(files, ["a"])
    write_model(files / "onnx" / "model.onnx", np.ones((5, 2)))
    (files / "pytorch_model.bin").write_bytes(b"large")
    with hub(files) as server:
        offline = asked(home, server.url, HF_HUB_OFFLINE="1")
        assert [] == server.requests
        online = asked(home, server.url)

    assert 2 == offline.count("refused: org/small-zh cannot be fetched")
    assert ["[[1.0, 1.0]]"] * 2 == online.splitlines()
    targets = [request.target for request in server.requests if request.method == "GET"]
    assert 1 == len([target for target in targets if target.endswith("/model.onnx")])
    assert not any("pytorch_model" in target for target in targets)
