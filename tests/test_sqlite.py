from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk._sqlite import is_broken, is_busy

if TYPE_CHECKING:
    from pathlib import Path


def test_broken_and_busy(tmp_path: Path) -> None:
    """A file that is no database is broken; one that somebody holds is busy."""
    (tmp_path / "text").write_text("text " * 1000)
    with pytest.raises(sqlite3.DatabaseError) as no_database:
        sqlite3.connect(tmp_path / "text").execute("SELECT 1 FROM sqlite_master")
    one, other = (sqlite3.connect(tmp_path / "held", timeout=0, isolation_level=None) for _ in range(2))
    one.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError) as held:
        other.execute("BEGIN EXCLUSIVE")
    one.close()
    other.close()

    assert (True, False) == (is_broken(no_database.value), is_busy(no_database.value))
    assert (False, True) == (is_broken(held.value), is_busy(held.value))
