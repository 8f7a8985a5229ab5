"""The directory of the cache on disk: whether it may be used, and what lies in it."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from deepseek_sdk.caching.failure import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "APPLICATION_ID",
    "DATABASE",
    "FLUSHES",
    "LOCK",
    "bump",
    "fs_type",
    "generation",
    "is_network",
    "mark",
    "prepare",
    "quarantine",
]

DATABASE = "cache.db"
FLUSHES = "flushes"
LOCK = "lock.db"
# Says that a database is one of ours: "dskc".
APPLICATION_ID = 0x64736B63
_HEADER = b"SQLite format 3\0"
_PLACE = 68

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SUFFIXES = ("", "-wal", "-shm")

# What mounts call themselves whose files another machine may change, or whose locks and shared memory do not hold.
_NETWORK = frozenset({
    "9p", "acfs", "afp", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fhgfs", "glusterfs", "gpfs",
    "kafs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "openafs", "orangefs", "osxfs", "panfs", "prl_fs", "pvfs2",
    "smb", "smb2", "smb3", "smbfs", "vboxsf", "vmhgfs", "webdav", "wekafs",
})  # fmt: skip
_NETWORK_FUSE = frozenset({
    "afp", "azure", "blobfuse", "blobfuse2", "ceph", "ceph-fuse", "curlftpfs", "davfs", "davfs2", "gcsfuse",
    "glusterfs", "goofys", "grpcfuse", "gvfsd-fuse", "juicefs", "lizardfs", "mfs", "moosefs", "mountpoint-s3", "nfs",
    "osxfs", "rclone", "s3fs", "seaweedfs", "smb", "smbnetfs", "sshfs", "vmhgfs-fuse",
})  # fmt: skip


def is_network(fs_type: str) -> bool:
    """
    Tell whether files lie on another machine, where locks and shared memory of SQLite do not hold.

    Args:
        fs_type: The kind of file system, as the mount table has it.

    Returns:
        Whether they do; False for kinds nobody knows.
    """
    kind = fs_type.lower()
    return kind in _NETWORK or kind.removeprefix("fuse.").removeprefix("fuseblk.") in _NETWORK_FUSE


def fs_type(path: PurePath, mounts: str) -> str | None:
    """
    Find the kind of file system that a path lies on.

    Args:
        path: Absolute, without symbolic links.
        mounts: The text of Linux's `/proc/self/mountinfo`.

    Returns:
        The kind, or None where the table does not tell.
    """
    found: tuple[int, str] | None = None
    for point, kind in _mounts(mounts):
        # Of two mounts in one place, the later one lies on top.
        if path.is_relative_to(point) and (found is None or len(point.parts) >= found[0]):
            found = len(point.parts), kind
    return None if found is None else found[1]


def _mounts(text: str) -> Iterator[tuple[Path, str]]:
    """Read lines like `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`."""
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if dash and len(fields) > 4 and kinds[0]:  # noqa: PLR2004  the mount point is the fifth
            yield Path(re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), fields[4])), kinds[0]


def prepare(path: Path) -> None:
    """
    See to it that a directory is there, belongs to a cache, lies on this machine, and is closed to others.

    Args:
        path: Where.

    Raises:
        StoreError: It may not be used; nothing in it was touched.
        OSError: It cannot be made or read.
    """
    _refuse_network(path)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_foreign(path)
    if os.name == "posix":
        _close_to_others(path)


def mark(directory: Path) -> bool:
    """
    Leave the mark of a cache in a directory, which shows that one can write to it.

    Args:
        directory: Where.

    Returns:
        Whether it was there before.

    Raises:
        OSError: Nothing can be written.
    """
    try:
        os.close(os.open(directory / FLUSHES, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        os.close(os.open(directory / FLUSHES, os.O_WRONLY))
        return True
    return False


def _refuse_network(path: Path) -> None:
    kind = _kind(Path(os.path.realpath(path)))
    if kind is not None:
        raise StoreError(
            "network_fs",
            f"{path} lies on a network file system ({kind}), where the locks of SQLite do not hold; "
            "name a directory on a disk of this machine",
        )


def _kind(path: PurePath) -> str | None:
    """Name the network file system that a path lies on, as far as this system tells."""
    if path.drive.startswith("\\\\"):
        return path.drive
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    kind = fs_type(path, mounts)
    return kind if kind is not None and is_network(kind) else None


def _refuse_foreign(path: Path) -> None:
    names = {entry.name for entry in os.scandir(path)}
    if DATABASE in names:
        if FLUSHES not in names:
            _refuse_stranger(path / DATABASE)
        return
    if others := sorted(name for name in names if not _is_ours(name)):
        raise StoreError("foreign", f"{path} holds other files ({_some(others)}); name an empty or a new directory")


def _refuse_stranger(path: Path) -> None:
    """Look whose database it is before anything is put beside it: one of ours says so from its first page on."""
    with path.open("rb") as file:
        begin = file.read(_PLACE + 4)
    # https://www.sqlite.org/fileformat.html: the application id is at offset 68 of the header.
    if begin and not (begin.startswith(_HEADER) and begin[_PLACE:] == APPLICATION_ID.to_bytes(4, "big")):
        raise StoreError("foreign", f"{path} is a file of another program; name another directory")


def _is_ours(name: str) -> bool:
    # What is hidden was put there by file managers and the like.
    return name.startswith((".", DATABASE, LOCK)) or name == FLUSHES


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if names[3:] else "")


def _close_to_others(path: Path) -> None:
    found = path.stat()
    if found.st_uid == os.geteuid():
        if stat.S_IMODE(found.st_mode) != stat.S_IRWXU:
            path.chmod(stat.S_IRWXU)
    elif found.st_mode & _OTHERS_MAY_WRITE:
        raise StoreError("permission", f"{path} belongs to another user, and others may write to it")


def quarantine(directory: Path) -> Path:
    """
    Put a damaged database aside, with what belongs to it; the caller holds the lock of the directory.

    Args:
        directory: Where.

    Returns:
        What it is called now.

    Raises:
        OSError: It cannot be renamed.
    """
    aside = directory / f"{DATABASE}.bad-{time.time_ns()}"
    # The journal first: a new database would take it for its own.
    for suffix in reversed(_SUFFIXES):
        with contextlib.suppress(FileNotFoundError):
            (directory / (DATABASE + suffix)).replace(aside.with_name(aside.name + suffix))
    return aside


def generation(directory: Path) -> int:
    """
    Say which flush of the cache was the last; another process may have done it.

    Args:
        directory: Where.

    Returns:
        A number that differs from the one before, or 0 where the directory is not there.
    """
    try:
        found = os.stat(directory / FLUSHES)  # noqa: PTH116  half the price, on every lookup
    except OSError:
        return 0
    return _joined((found.st_ino, found.st_size, found.st_mtime_ns))


def _joined(numbers: Iterable[int]) -> int:
    whole = 0
    for number in numbers:
        whole = whole << 64 | number
    return whole


def bump(directory: Path) -> None:
    """
    Tell all processes that what they have in RAM may be gone from the disk.

    Args:
        directory: Where.

    Raises:
        OSError: It cannot be told.
    """
    path = directory / FLUSHES
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, b".")
        finally:
            os.close(descriptor)
    except OSError:
        # A full disk has room for another date.
        os.utime(path)
