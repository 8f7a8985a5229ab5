"""Types, as a type checker sees them in a user's program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
API = ROOT / "tests" / "typing" / "api.py"

# A wrong or unknown argument, and the name that the complaint says.
MISTAKES = {
    "Client(plain='sometimes')": "plain",
    "Client(max_retries='2')": "max_retries",
    "Client(colour='blue')": "colour",
    "Client().with_options(priority='urgent')": "priority",
    "AsyncClient().copy(timeout='5')": "timeout",
    "Deadlines(first_token='8')": "first_token",
}

pytest.importorskip("mypy")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    """Run mypy in its strict mode, with the project's settings."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)


def test_api() -> None:
    """Calls as users write them have the types that openai gives them."""
    done = check(API)

    assert 0 == done.returncode, done.stdout + done.stderr


def test_mistakes_are_seen(tmp_path: Path) -> None:
    """A wrong or unknown argument is an error before the program runs."""
    program = tmp_path / "program.py"
    lines = ["from deepseek_sdk import AsyncClient, Client, Deadlines", *MISTAKES]
    program.write_text("\n".join(lines), encoding="utf-8")
    complaints = check(program).stdout.splitlines()

    for number, word in enumerate(MISTAKES.values(), 2):
        assert any(f"program.py:{number}: error" in line and word in line for line in complaints), (number, complaints)
