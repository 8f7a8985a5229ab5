"""The examples for frameworks run without a key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.test_page import packages

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "frameworks").glob("*_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path) -> None:
    """Each runs against the emulator, prints what it is told, and is short."""
    source = path.read_text(encoding="utf-8")
    for package in packages(source):
        if package != "offline":
            pytest.importorskip(package)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert any(expected in done.stdout for expected in ("24", "hour=15", "Red light is scattered least."))
    assert len(source.splitlines()) < 50
