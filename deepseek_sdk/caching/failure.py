"""`StoreError`: why the cache on disk cannot be used, in one word; what SQLite and the system say is mapped here."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sqlite3
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from deepseek_sdk._sqlite import primary_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["StoreError", "contained", "mapped", "stated"]

# By the low byte of the code; SQLite's own words for the rest are "io".
_BY_CODE: Mapping[int, str] = {
    sqlite3.SQLITE_AUTH: "permission",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_PERM: "permission",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_READONLY: "read_only",
}
_BY_ERRNO: Mapping[int, str] = {
    errno.EACCES: "permission",
    errno.EDQUOT: "full",
    errno.EEXIST: "foreign",
    errno.EFBIG: "full",
    errno.EISDIR: "foreign",
    errno.ENOSPC: "full",
    errno.ENOTDIR: "foreign",
    errno.EPERM: "permission",
    errno.EROFS: "read_only",
}


class StoreError(Exception):
    """
    The cache on disk cannot be used; calls go on without it.

    Attributes:
        reason: "closed", "corrupt", "foreign", "forked", "full", "io", "locked", "network_fs", "permission",
            "read_only" or "version".
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@contextlib.contextmanager
def mapped() -> Iterator[None]:
    """
    Map what goes wrong with files and with SQLite.

    Raises:
        StoreError: It did.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise stated(error) from error


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """
    Make an error like any other of what code of the caller's raises, though it would end a program or a task.

    Raises:
        RuntimeError: It has raised such a thing; what is an error already goes through, and so does Ctrl-C.
    """
    try:
        yield
    except (SystemExit, GeneratorExit, asyncio.CancelledError, CancelledError) as error:
        raise RuntimeError(repr(error)) from error


def stated(error: sqlite3.Error | OSError) -> StoreError:
    """
    Say in one word what went wrong.

    Args:
        error: What SQLite or the system says.

    Returns:
        It, as an error of the cache.
    """
    return StoreError(_reason(error), str(error) or type(error).__name__)


def _reason(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, "io")
    return _BY_CODE.get(primary_code(error), "io")
