"""A ledger becomes neither larger nor older than it may."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.ledger import Ledger
from deepseek_sdk.ledger.rotation import used_bytes
from tests.ledger.conftest import AT, DAY, ended

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_size(tmp_path: Path) -> None:
    """The oldest calls go when the file becomes too large; the disk gets its pages back, and readers are told."""
    path = tmp_path / "ledger.sqlite3"
    ledger = Ledger(path, max_bytes=1_000_000, max_waiting=1000, flush_s=60, wall=lambda: AT + 9000)
    for n in range(8000):
        ledger(ended(AT + n))
        if n % 500 == 499:
            ledger.flush()
    for _ in range(5):
        ledger(ended(AT + 8000))
        ledger.flush()
    report = ledger.usage(by="day")
    ledger.close()

    with closing(sqlite3.connect(path)) as database:
        oldest, attempts, calls = database.execute(
            "SELECT MIN(at), (SELECT COUNT(*) FROM attempts), COUNT(*) FROM calls"
        ).fetchone()
        assert used_bytes(database) <= 1_000_000
    assert path.stat().st_size < 1_500_000
    assert calls == attempts == report.total.calls < 8005
    assert [f"{8005 - calls} calls before"] == [" ".join(note.split()[:3]) for note in report.notes]
    assert Ledger(path).usage(oldest / 1e6, "2027-01-01").is_complete


def test_age(tmp_path: Path) -> None:
    """Calls that become too old go, and younger ones stay."""
    now = AT
    ledger = Ledger(tmp_path / "ledger.sqlite3", max_age_days=30, wall=lambda: now, flush_s=60)
    for n in range(60):
        ledger(ended(AT - (59 - n) * DAY))
    ledger.flush()
    report = ledger.usage()
    ledger.close()

    assert (31, False) == (report.total.calls, report.is_complete)
    assert report.notes[0].startswith("29 calls before 2026-10-30")


def test_no_bounds(tmp_path: Path) -> None:
    """Without bounds everything stays."""
    ledger = Ledger(tmp_path / "ledger.sqlite3", max_bytes=None, max_age_days=None, wall=lambda: AT)
    ledger(ended(0.0))
    ledger(ended())

    assert 2 == ledger.usage().total.calls
    ledger.close()
