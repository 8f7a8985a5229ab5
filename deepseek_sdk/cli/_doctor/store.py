"""Check of the directory where answers are kept."""

from __future__ import annotations

import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from deepseek_sdk.cli._doctor.finding import ok, warning

if TYPE_CHECKING:
    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say

__all__ = ["Store", "check_store", "file_system_of", "is_remote", "judge_store"]

_LEAST_FREE = 512 * 1024**2
_MOUNTS = Path("/proc/self/mounts")
_VIRTUAL = ("proc", "sysfs")  # where even root makes no file
_REMOTE = re.compile(
    r"nfs\d*|cifs|smb\w*|afs|ceph|glusterfs|lustre|beegfs|gpfs|9p|virtiofs|fuse\.(sshfs|s3fs|rclone|gcsfuse)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """
    What is known of the directory.

    Attributes:
        path: Where it is, or will be.
        place: The nearest directory that exists.
        is_writable: Files can be made in *place*.
        is_open: Others can read it.
        kind: The file system, or None where that is not known.
        free: Bytes that are free there.
    """

    path: Path
    place: Path
    is_writable: bool
    is_open: bool
    kind: str | None
    free: int


def check_store(say: Say) -> Finding:
    """Look at the user's cache directory, or at where it would be made."""
    path = Path(platformdirs.user_cache_dir("deepseek-sdk"))
    place = _nearest_existing(path)
    kind = file_system_of(place, _MOUNTS.read_text(encoding="utf-8")) if _MOUNTS.exists() else None
    store = Store(
        path=path,
        place=place,
        is_writable=place.is_dir() and os.access(place, os.W_OK | os.X_OK) and kind not in _VIRTUAL,
        is_open=place == path and _is_open_to_others(path),
        kind=kind,
        free=shutil.disk_usage(place).free,
    )
    return judge_store(store, say)


def judge_store(store: Store, say: Say) -> Finding:
    """
    Say whether answers can be kept there.

    Args:
        store: The directory.
        say: Chooses the language.

    Returns:
        What was found.
    """
    detail = _described(store, say)
    # No call fails for want of a store: what is kept there comes with a later release.
    if not store.is_writable:
        advice = say(en="Make {} a directory that you can write to.", zh="请让 {} 成为可写的目录。")
        return warning("store", say(en="{}: not writable", zh="{}：不可写").format(detail), advice.format(store.place))
    if is_remote(store.kind, store.place):
        advice = say(
            en="Locks of SQLite are not reliable on network file systems: set XDG_CACHE_HOME to a local directory.",
            zh="网络文件系统上 SQLite 的锁不可靠：请把 XDG_CACHE_HOME 设为本地目录。",
        )
        return warning("store", detail, advice)
    if store.free < _LEAST_FREE:
        return warning("store", detail, say(en="Free some space there.", zh="请清理出一些空间。"))
    if store.is_open:
        advice = say(en="Others can read it. Run: ", zh="其他用户可以读取。请运行：")
        return warning("store", detail, f"{advice}chmod 700 '{store.path}'")
    return ok("store", detail)


def _described(store: Store, say: Say) -> str:
    is_there = store.place == store.path
    state = say(en="exists", zh="已存在") if is_there else say(en="will be made when needed", zh="需要时创建")
    kind = store.kind or say(en="file system unknown", zh="文件系统未知")
    text = say(en="{} ({}), {:.1f} GB free, {}", zh="{}（{}），可用 {:.1f} GB，{}")
    return text.format(store.path, state, store.free / 1024**3, kind)


def _nearest_existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if os.access(place, os.F_OK))


def _is_open_to_others(path: Path) -> bool:
    return os.name != "nt" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def file_system_of(path: Path, mounts: str) -> str | None:
    """
    Find the kind of file system a path lies on.

    Args:
        path: The file or directory.
        mounts: The text of /proc/self/mounts.

    Returns:
        Such as "ext4", or None where no line fits.
    """
    found = None
    longest = -1
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split(" ")
        # Blanks in names are written as \\040.
        place = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), point))
        # Of two mounts at one place the later one hides the other.
        if path.is_relative_to(place) and len(place.parts) >= longest:
            found, longest = kind, len(place.parts)
    return found


def is_remote(kind: str | None, path: Path) -> bool:
    """Tell whether a file system of *kind* at *path* is on another machine."""
    return bool(kind and _REMOTE.fullmatch(kind)) or str(path).startswith("\\\\")
