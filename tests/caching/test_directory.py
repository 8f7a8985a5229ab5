from __future__ import annotations

import os
import stat
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from deepseek_sdk.caching.directory import _kind, bump, fs_type, generation, is_network, mark, prepare, quarantine
from deepseek_sdk.caching.failure import StoreError

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:30 / /data rw,relatime shared:4 master:2 - nfs4 server:/data rw
31 30 0:31 / /data/ann/local rw - xfs /dev/vdb rw
32 27 0:32 / /mnt/two\040words rw - fuse.sshfs server: rw
33 27 0:33 / /over rw - ext4 /dev/vdc rw
34 27 0:34 / /over rw - cifs //server/share rw
a line that is no mount
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        *(
            (kind, True)
            for kind in ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "afs")
        ),
        *((kind, True) for kind in ("beegfs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "NFS", "fuse.rclone")),
        *(
            (kind, False)
            for kind in ("ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "ntfs", "f2fs", "bcachefs")
        ),
        *((kind, False) for kind in ("fuse.ntfs-3g", "fuseblk", "fuse.mergerfs", "", "fuse.")),
    ],
)
def test_network_file_systems(kind: str, expected: bool) -> None:  # noqa: FBT001  a table
    """File systems whose files another machine may change are known by their names."""
    assert expected is is_network(kind)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tmp/cache", "ext4"),  # noqa: S108  no file is made
        ("/data/ann/cache", "nfs4"),
        ("/data/ann/local/cache", "xfs"),
        ("/data/ann/local", "xfs"),
        ("/data/ann/locally", "nfs4"),
        ("/datas", "ext4"),
        ("/mnt/two words/cache", "fuse.sshfs"),
        ("/over/cache", "cifs"),
    ],
)
def test_kind_of_file_system(path: str, expected: str) -> None:
    """The longest mount point above a path tells what it lies on; of two in one place, the later one."""
    assert expected == fs_type(Path(path), MOUNTS)


def test_no_mount_is_known() -> None:
    """An empty table tells nothing."""
    assert fs_type(Path("/cache"), "") is None


def test_network_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory on a network file system is named, with its kind, and not made."""
    directory = tmp_path / "cache"
    table = f"1 0 0:1 / {os.path.realpath(tmp_path)} rw - nfs4 server:/x rw"
    read_text = Path.read_text

    def read(path: Path, **options: Any) -> str:
        return table if path == Path("/proc/self/mountinfo") else read_text(path, **options)

    monkeypatch.setattr(Path, "read_text", read)
    with pytest.raises(StoreError, match=r"cache lies on a network file system \(nfs4\)") as caught:
        prepare(directory)

    assert ("network_fs", False) == (caught.value.reason, directory.exists())


def test_systems_without_a_table_of_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system tells nothing, a directory is taken for a local one; a share of Windows tells by its name."""

    def refuse(path: Path, **_: Any) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", refuse)
    prepare(tmp_path / "cache")

    assert (tmp_path / "cache").is_dir()
    assert r"\\server\share" == _kind(PureWindowsPath(r"\\server\share\cache"))


@pytest.mark.skipif(os.name != "posix", reason="rights are POSIX's")
def test_directory_is_closed_to_others(tmp_path: Path) -> None:
    """A new directory, and one of ours that others may read or write to, is ours alone afterwards."""
    old = tmp_path / "old"
    old.mkdir()
    old.chmod(0o777)
    prepare(old)
    prepare(tmp_path / "new" / "er")

    assert [0o700] * 2 == [stat.S_IMODE(path.stat().st_mode) for path in (old, tmp_path / "new" / "er")]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_directory_of_another_user(tmp_path: Path) -> None:
    """A directory of another user is refused where others may write to it."""
    directory = tmp_path / "cache"
    directory.mkdir()
    os.chown(directory, 12_345, 12_345)
    directory.chmod(0o755)
    prepare(directory)
    directory.chmod(0o777)
    with pytest.raises(StoreError) as caught:
        prepare(directory)

    assert ("permission", 0o777) == (caught.value.reason, stat.S_IMODE(directory.stat().st_mode))


def test_directory_with_other_files_is_not_touched(tmp_path: Path) -> None:
    """A directory that somebody keeps other things in is refused, with some of their names."""
    for name in ("thesis.tex", "photo.jpg", ".DS_Store", "a", "b"):
        (tmp_path / name).write_text("mine")
    mode = tmp_path.stat().st_mode
    with pytest.raises(StoreError, match=r"holds other files \(a, b, photo.jpg, ...\)") as caught:
        prepare(tmp_path)

    assert ("foreign", mode, 5) == (caught.value.reason, tmp_path.stat().st_mode, len(list(tmp_path.iterdir())))


def test_hidden_files_do_no_harm(tmp_path: Path) -> None:
    """What file managers leave in an empty directory does not make it somebody's."""
    (tmp_path / ".DS_Store").write_text("x")

    prepare(tmp_path)


def test_path_below_a_file(tmp_path: Path) -> None:
    """A path that leads through a file cannot be made."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        prepare(tmp_path / "file" / "cache")
    with pytest.raises(FileExistsError):
        prepare(tmp_path / "file")


def test_mark(tmp_path: Path) -> None:
    """The mark is left once, and known again."""
    assert [False, True] == [mark(tmp_path), mark(tmp_path)]


def test_generation_changes_with_each_flush(tmp_path: Path) -> None:
    """Each flush gives another number, which stays until the next one."""
    none = generation(tmp_path)
    seen = []
    for _ in range(5):
        bump(tmp_path)
        seen.append(generation(tmp_path))
        assert seen[-1] == generation(tmp_path)

    assert (0, 5) == (none, len({*seen}))


def test_generation_changes_where_nothing_can_be_appended(tmp_path: Path) -> None:
    """A flush of a full disk is told by the date alone."""
    path = tmp_path / "flushes"
    path.symlink_to("/dev/full")
    if not Path("/dev/full").exists() or os.geteuid() != 0:
        pytest.skip("needs a device that is full, and whose date may be set")
    before = generation(tmp_path)
    bump(tmp_path)

    assert before != generation(tmp_path)


def test_quarantine_takes_the_journal_along(tmp_path: Path) -> None:
    """A damaged database is renamed with what belongs to it."""
    for name in ("cache.db", "cache.db-wal", "cache.db-shm", "flushes"):
        (tmp_path / name).write_text(name)
    aside = quarantine(tmp_path)

    assert aside.name.startswith("cache.db.bad-")
    assert {aside.name, f"{aside.name}-wal", f"{aside.name}-shm", "flushes"} == {p.name for p in tmp_path.iterdir()}
    assert "cache.db-wal" == aside.with_name(f"{aside.name}-wal").read_text()
