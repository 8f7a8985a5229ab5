"""The default embedder: built once of what a wheel holds, kept, and the same everywhere."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deepseek_sdk.caching.embedding import default
from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.default import DefaultEmbedder, default_directory
from deepseek_sdk.caching.embedding.e5.build import MODEL, TOKENIZER, build, kept_in
from deepseek_sdk.caching.embedding.selftest import examined
from deepseek_sdk.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def cosine(embedder: DefaultEmbedder, one: str, other: str) -> float:
    """Compare two texts."""
    rows = embedder.embed([one, other])
    return float(rows[0] @ rows[1])


def test_same_questions_are_near(built: DefaultEmbedder) -> None:
    """The vectors are those of multilingual-e5-small in 4 bits, but for what rounding costs."""
    assert pytest.approx(0.9746, abs=0.004) == cosine(built, "如何退款", "退款流程是什么")
    assert pytest.approx(0.9764, abs=0.004) == cosine(built, "怎么开启自动续费", "怎么关闭自动续费")
    assert pytest.approx(0.8018, abs=0.004) == cosine(built, "今天天气", "如何退款")


def test_it_passes_the_self_test(built: DefaultEmbedder) -> None:
    """The default embedder passes the self-test by a wide margin."""
    test = examined(built)

    assert test.passed
    assert test.gap is not None
    assert test.gap > 0.1


def test_vector_does_not_depend_on_its_batch(built: DefaultEmbedder) -> None:
    """A text has the same vector alone and among longer ones."""
    alone = built.embed(["如何退款"])[0]
    among = built.embed(["如何退款", "怎么关闭自动续费功能，还能再打开吗？" * 3, "refund", "x " * 600])[0]

    assert float(alone @ among) > 0.9999


def test_every_text_has_a_vector(built: DefaultEmbedder) -> None:
    """Empty, broken and very long texts, in any script, have vectors of length 1."""
    rows = built.embed(["", " ", "\ud800", "🙂🙂", "長" * 9000, "как дела", "\x00"])

    assert (7, 384) == rows.shape
    assert np.allclose(1, np.linalg.norm(rows, axis=1), atol=1e-4)


def test_fingerprint_is_known_before(built: DefaultEmbedder, tmp_path: Path) -> None:
    """The fingerprint is the same wherever the model is kept, and known before it is loaded."""
    shutil.copytree(built.directory, tmp_path / "copy")
    copy = DefaultEmbedder(tmp_path / "copy")

    assert (built.fingerprint, 384) == (copy.fingerprint, copy.dimensions)
    assert copy._models.made() is None
    assert f"DefaultEmbedder({str(tmp_path / 'copy')!r})" == repr(copy)


def test_manifest_says_what_was_built(built: DefaultEmbedder) -> None:
    """The manifest holds the sha-256 of the source and of the files; nothing else is left in the directory."""
    manifest = json.loads((built.directory / "manifest.json").read_text())
    kept = kept_in(built.directory, is_thorough=True)

    assert kept is not None
    assert {name: facts["sha256"] for name, facts in manifest["files"].items()} == kept.digests
    assert {MODEL, TOKENIZER, "manifest.json"} == {path.name for path in built.directory.iterdir()}
    assert [] == list(built.directory.parent.glob("*.part"))


def test_kept_model_is_not_read_again(built: DefaultEmbedder, tmp_path: Path) -> None:
    """Files are trusted by size and date, read where the date differs, and refused where they are damaged."""
    path = tmp_path / "copy"
    shutil.copytree(built.directory, path)
    assert kept_in(path) is not None
    damaged = path / TOKENIZER
    date = damaged.stat().st_mtime_ns
    with damaged.open("r+b") as file:
        file.write(b"X")
    os.utime(damaged, ns=(date, date))

    assert kept_in(path) is not None
    assert kept_in(path, is_thorough=True) is None
    os.utime(damaged)
    assert kept_in(path) is None
    # What has another date may be whole, but that cannot be said without reading it.
    assert not DefaultEmbedder(path).is_sound


@pytest.mark.parametrize("damage", ["cut", "gone", "manifest", "builder"])
def test_damaged_model_is_no_model(built: DefaultEmbedder, tmp_path: Path, damage: str) -> None:
    """A file that is cut or gone, and a manifest that is none or another builder's, are seen without reading much."""
    path = tmp_path / "copy"
    shutil.copytree(built.directory, path)
    sound = DefaultEmbedder(path)
    assert sound.is_sound
    manifest = path / "manifest.json"
    if damage == "cut":
        os.truncate(path / MODEL, 1000)
    elif damage == "gone":
        (path / TOKENIZER).unlink()
    else:
        text = manifest.read_text()
        manifest.write_text("[]" if damage == "manifest" else text.replace('"builder": 2', '"builder": 0'))

    assert kept_in(path) is None
    assert not sound.is_sound


def test_damaged_model_is_built_anew(built: DefaultEmbedder) -> None:
    """What lies in the way is replaced, once, however many ask at the same time; what was left half done goes."""
    directory = built.directory
    told = [float(share) for share in (directory.parent / "steps").read_text().split()]

    assert kept_in(directory, is_thorough=True) is not None
    assert (1, 1.0, sorted(told)) == (told.count(1.0), told[-1], told)
    assert {"e5", "e5.lock", "steps"} == {found.name for found in directory.parent.iterdir()}


def test_other_source_is_refused(tmp_path: Path) -> None:
    """A file with another sha-256 is not built of, and nothing is left of the attempt."""
    other = tmp_path / "weights.bin"
    other.write_bytes(b"E5S1 but not really")

    with pytest.raises(EmbeddingError, match="its sha-256 is"):
        build(other, tmp_path / "kept" / "e5", lambda *_: None)
    assert ["e5.lock"] == [found.name for found in (tmp_path / "kept").iterdir()]


def test_without_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheel, and without a model that was built before, the missing extra is named."""
    monkeypatch.setattr(default, "_WHEEL", "no_such_wheel_here")

    with pytest.raises(MissingExtraError, match=r"The default embedder .*\[cache\]"):
        DefaultEmbedder(tmp_path)
    monkeypatch.setattr(default, "_WHEEL", "json")
    with pytest.raises(MissingExtraError):
        DefaultEmbedder(tmp_path)


@pytest.mark.parametrize(
    "where", [("win32", "AMD64"), ("darwin", "x86_64"), ("linux", "riscv64"), ("freebsd14", "amd64")]
)
def test_where_the_wheel_is_not_made(where: tuple[str, str]) -> None:
    """The extra does not bring it there: what can be done is said in place of the line that installs it."""
    said = str(default.lacking_source(*where))

    assert (True, True, False) == (where[0] in said, "SemanticCache(embedder=...)" in said, "pip install" in said)
    assert all("pip install" in str(default.lacking_source(*made)) for made in default._MADE_FOR)


def test_without_the_wheel_but_built(built: DefaultEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was built before needs no wheel."""
    monkeypatch.setattr(default, "_WHEEL", "no_such_wheel_here")

    assert kept_in(built.directory) == DefaultEmbedder(built.directory).built()


def test_where_it_is_kept() -> None:
    """The usual place is below the cache of the user; the number of threads is checked."""
    assert ("models", True) == (default_directory().parent.name, default_directory().name.startswith("e5-small-"))
    with pytest.raises(ConfigurationError, match="threads"):
        DefaultEmbedder(threads=0)
