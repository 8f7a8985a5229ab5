"""A model that looks as if it were built, and is none."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from deepseek_sdk.caching.embedding.e5.build import BUILDER, MODEL, SOURCE_SHA256, TOKENIZER

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_damaged"]


def write_damaged(path: Path) -> None:
    """Write files into a directory to be made, with the manifest of a model that is whole."""
    path.mkdir(parents=True)
    for name in (MODEL, TOKENIZER):
        (path / name).write_text("no model", encoding="utf-8")
    digest = hashlib.sha256(b"no model").hexdigest()
    files = {
        name: {"bytes": 8, "mtime_ns": (path / name).stat().st_mtime_ns, "sha256": digest}
        for name in (MODEL, TOKENIZER)
    }
    manifest = {"builder": BUILDER, "source": {"sha256": SOURCE_SHA256}, "files": files}
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
