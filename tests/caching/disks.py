"""What tests of the cache on disk share: records that tell which key they belong to, and children."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.disk import DiskTier, Meta

if TYPE_CHECKING:
    import sqlite3

NOW_MS = 1_700_000_000_000
LARGE = 2**30
ROOT = Path(__file__).parents[2]


def key_of(number: int) -> str:
    """Give a key."""
    return hashlib.sha256(b"%d" % number).hexdigest()


def value_of(key: str, version: int = 0, length: int = 2_000) -> bytes:
    """Give bytes that belong to a key, and to one version of its record, from the first to the last."""
    return hashlib.shake_128(f"{key} {version}".encode()).digest(length)


def meta_of(**facts: Any) -> Meta:
    """Say what is known of a record."""
    known = {"asked": "deepseek-flash", "model": "deepseek-flash", "tenant": "acme", "tags": {}, "partition": "p"}
    return Meta(**{**known, "created_ms": NOW_MS, **facts})


def put(tier: DiskTier, number: int, **facts: Any) -> str:
    """Keep a record; give its key."""
    key = key_of(number)
    tier.put(key, value_of(key), meta_of(**facts), NOW_MS)
    return key


def is_sound(database: sqlite3.Connection) -> bool:
    """Tell whether a database is undamaged, and its tables say the same."""
    differ = (
        "SELECT count(*) FROM (SELECT id AS n, key AS k FROM entry EXCEPT SELECT rowid, key FROM Cache)"
        " UNION ALL SELECT count(*) FROM (SELECT rowid AS n, key AS k FROM Cache EXCEPT SELECT id, key FROM entry)"
        " UNION ALL SELECT (SELECT entries FROM tally) - (SELECT count(*) FROM entry)"
        " UNION ALL SELECT (SELECT small + main FROM tally) - (SELECT COALESCE(sum(size), 0) FROM entry)"
        " UNION ALL SELECT count(*) FROM vector WHERE key NOT IN (SELECT key FROM entry)"
        " UNION ALL SELECT (SELECT COALESCE(sum(rows), 0) FROM vector_place) - (SELECT count(*) FROM vector)"
    )
    checked = database.execute("PRAGMA integrity_check").fetchall()
    return checked == [("ok",)] and database.execute(differ).fetchall() == [(0,)] * 6


def run_child(code: str, *args: object) -> str:
    """Run a script in a process of its own; give what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=50)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout
