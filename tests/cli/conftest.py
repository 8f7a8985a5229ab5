"""The command line as its users meet it: real processes, pipes and terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

PROGRAM = (sys.executable, "-m", "deepseek_sdk")


def environment(**variables: str) -> dict[str, str]:
    """Give the environment of a process: this one's without keys, proxies and language, plus *variables*."""
    dropped = ("OPENAI_", "DEEPSEEK_", "LC_", "LANG")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped) and not k.lower().endswith("_proxy")}
    return {**kept, "PYTHONUTF8": "1", **variables}


def run_program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m deepseek_sdk` with *arguments* through pipes, and wait for its end."""
    return run([*PROGRAM, *arguments], **variables)


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run *command* through pipes, and wait for its end."""
    return subprocess.run(
        command, capture_output=True, check=False, encoding="utf-8", env=environment(**variables), timeout=50
    )


@pytest.fixture(scope="session")
def demo() -> subprocess.CompletedProcess[str]:
    """Give what `demo -o json` printed; it runs once for all tests."""
    return run_program("demo", "-o", "json")
