from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.text_disk import RefusedError, TextDisk, make_tables

if TYPE_CHECKING:
    from pathlib import Path

PICKLE = pickle.dumps(["harmless"])


@pytest.fixture
def disk(tmp_path: Path) -> TextDisk:
    """Make one."""
    return TextDisk(str(tmp_path))


def test_texts_and_bytes(disk: TextDisk) -> None:
    """A key and a value come back as they went in, and no file is made."""
    size, mode, filename, value = disk.store(b"value", read=False)

    assert ("key", b"value") == (disk.get(*disk.put("key")), disk.fetch(mode, filename, bytes(value), read=False))
    assert (0, None) == (size, filename)


@pytest.mark.parametrize("key", [b"key", 1, 1.5, None, ("key",), type("Text", (str,), {})("key")])
def test_other_keys_are_refused(disk: TextDisk, key: Any) -> None:
    """A key that is no text is not pickled."""
    with pytest.raises(TypeError, match="a key is a str, not"):
        disk.put(key)


@pytest.mark.parametrize("value", ["text", 1, None, ["list"], bytearray(b"x")])
def test_other_values_are_refused(disk: TextDisk, value: Any) -> None:
    """A value that is not bytes is not pickled."""
    with pytest.raises(TypeError, match="a value is bytes, not"):
        disk.store(value, read=False)


@pytest.mark.parametrize(
    ("mode", "filename", "value"),
    [(4, None, PICKLE), (2, "../secret", None), (3, "x.val", None), (1, "x.val", b"x"), (1, None, "x"), (1, None, 1)],
)
def test_nothing_else_is_read(disk: TextDisk, mode: int, filename: str | None, value: object) -> None:
    """Pickles, files and numbers in the table are refused."""
    with pytest.raises(RefusedError):
        disk.fetch(mode, filename, value, read=False)


def test_pickled_key_is_not_read(disk: TextDisk) -> None:
    """A key that was pickled is refused."""
    with pytest.raises(RefusedError):
        disk.get(PICKLE, raw=False)


def test_name_that_looks_like_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that diskcache would take for another one is refused."""
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "elsewhere"))
    with pytest.raises(StoreError, match="variable"):
        make_tables(tmp_path / "$ELSEWHERE", 1)

    assert [] == list(tmp_path.iterdir())
