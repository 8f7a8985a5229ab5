"""Check of the directory where answers are kept."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk.caching.directory import fs_type, is_network
from deepseek_sdk.caching.exact import default_path
from deepseek_sdk.cli._doctor.finding import ok, warning

if TYPE_CHECKING:
    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say

__all__ = ["Store", "check_store", "is_remote", "judge_store"]

_LEAST_FREE = 512 * 1024**2
_MOUNTS = Path("/proc/self/mountinfo")
_VIRTUAL = ("proc", "sysfs")  # where even root makes no file


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
    path = default_path()
    place = _nearest_existing(path)
    mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace") if _MOUNTS.exists() else ""
    kind = fs_type(Path(os.path.realpath(place)), mounts)
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
    # No call fails for want of a store.
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


def is_remote(kind: str | None, path: Path) -> bool:
    """Tell whether a file system of *kind* at *path* is on another machine."""
    return (kind is not None and is_network(kind)) or str(path).startswith("\\\\")
