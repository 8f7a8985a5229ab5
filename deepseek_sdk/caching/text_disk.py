"""What is taken of diskcache: its tables, and its `Disk`, which keeps texts and bytes here and never a pickle."""

from __future__ import annotations

import contextlib
import os.path
import sqlite3
from typing import TYPE_CHECKING, Any

import diskcache

from deepseek_sdk.caching.failure import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CACHE_KIB", "RefusedError", "TextDisk", "make_tables"]

# diskcache's word for a value that stands in the table as it is.
_RAW = 1
# What SQLite may keep of the file in memory, for each connection.
CACHE_KIB = 16_384
_SETTINGS = {
    "cull_limit": 0,
    # Nothing becomes a file of its own, which could be left behind.
    "disk_min_file_size": 2**31,
    "eviction_policy": "none",
    "size_limit": 2**62,
    "sqlite_auto_vacuum": 2,
    "sqlite_cache_size": -CACHE_KIB,
    # A file that is cut while it is mapped ends the process.
    "sqlite_mmap_size": 0,
    "statistics": 0,
    "tag_index": 0,
}


class RefusedError(ValueError):
    """A row of the table is none of ours: a pickle, a file, or not bytes."""


class TextDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Keys are texts and values are bytes; nothing is pickled, and no pickle is ever loaded."""

    def put(self, key: Any) -> tuple[str, bool]:
        """
        Take a key.

        Args:
            key: A text.

        Returns:
            It, as it stands in the table.

        Raises:
            TypeError: It is something else.
        """
        if type(key) is not str:
            raise TypeError(f"a key is a str, not {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: Any) -> str:
        """
        Read a key.

        Args:
            key: What stands in the table.
            raw: Whether it is what it looks like.

        Returns:
            The key.

        Raises:
            RefusedError: It is a pickle.
        """
        if type(key) is not str or not raw:
            raise RefusedError("a key that is no text")
        return key

    def store(self, value: Any, read: Any, key: Any = None) -> tuple[int, int, None, memoryview]:  # noqa: ARG002  diskcache's
        """
        Take a value.

        Args:
            value: Bytes.
            read: diskcache's word for a file; there are none.
            key: Its key.

        Returns:
            Columns of the table: size, mode, name of the file, value.

        Raises:
            TypeError: It is something else.
        """
        if type(value) is not bytes or read:
            raise TypeError(f"a value is bytes, not {type(value).__name__}")
        return 0, _RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: Any, filename: Any, value: Any, read: Any) -> bytes:
        """
        Read a value.

        Args:
            mode: diskcache's word for what it is.
            filename: diskcache's name of a file, which is never opened.
            value: What stands in the table.
            read: diskcache's word for a file.

        Returns:
            The value.

        Raises:
            RefusedError: It is a pickle, a file or a number.
        """
        if mode != _RAW or filename is not None or type(value) is not bytes or read:
            raise RefusedError("a value that is not bytes")
        return value


class _Tables(diskcache.Cache):  # type: ignore[misc]  # diskcache has no types
    """A cache of diskcache's that closes its file where it could not be set up."""

    def __init__(self, directory: str, timeout: float, **settings: Any) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._close)
            super().__init__(directory, timeout=timeout, disk=TextDisk, **settings)

    def _close(self) -> None:
        if hasattr(self, "_local"):
            self.close()


def make_tables(directory: Path, lock_s: float) -> None:
    """
    Make the tables of diskcache, or what is missing of them.

    Args:
        directory: Where; an absolute path.
        lock_s: How long to wait for others, in seconds.

    Raises:
        StoreError: diskcache would take the name for another one.
        sqlite3.Error: They cannot be made.
    """
    name = str(directory)
    if os.path.expandvars(name) != name:
        raise StoreError(
            "io", f"{name} looks as if it named a variable; name a directory without a dollar or percent sign"
        )
    _Tables(name, lock_s, **_SETTINGS)
