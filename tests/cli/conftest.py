"""The command line as its users meet it: real processes, pipes and terminals."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.embedding.default import default_directory, default_source
from tests.caching.embedding.conftest import build_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from tests.cli.terminal import Terminal

    Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
    StartTerminal: TypeAlias = Callable[..., Terminal]

PROGRAM = (sys.executable, "-m", "deepseek_sdk")


def environment(**variables: str) -> dict[str, str]:
    """Give the environment of a process: this one's without keys, proxies, language and files, plus *variables*."""
    dropped = ("OPENAI_", "DEEPSEEK_", "LC_", "LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped) and not k.lower().endswith("_proxy")}
    return {**kept, "PYTHONUTF8": "1", "DEEPSEEK_SDK_CONFIG": "", **variables}


def run_program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m deepseek_sdk` with *arguments* through pipes, and wait for its end."""
    return run([*PROGRAM, *arguments], **variables)


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run *command* through pipes, and wait for its end."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(**variables),
        timeout=50,
    )


@pytest.fixture(scope="session")
def model_home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the variables of a user whose model that compares questions is built, where it can be."""
    if default_source() is None:
        return {}
    home, built = tmp_path_factory.mktemp("home"), build_once(tmp_path_factory).directory
    for caches in (home, home / "Library" / "Caches"):  # the latter on macOS
        link_model(caches / "deepseek-sdk", built)
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home)}


def link_model(caches: Path, built: Path) -> None:
    """Let a directory of caches have the model that is built elsewhere."""
    (caches / "models").mkdir(parents=True)
    (caches / "models" / default_directory().name).symlink_to(built)


@pytest.fixture(scope="session")
def demo(model_home: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Give what `demo -o json` printed; it runs once for all tests."""
    return run_program("demo", "-o", "json", **model_home)


@pytest.fixture
def terminal() -> Iterator[StartTerminal]:
    """Start programs in terminals by calling this as `Terminal`; they end with the test."""
    from tests.cli.terminal import Terminal  # noqa: PLC0415  it needs what stands above

    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(Terminal(*arguments, **options))
