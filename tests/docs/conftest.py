"""Pages and docstrings as tests see them: their text, their blocks, and an emulator that their code finds by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sybil import Document
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from deepseek_sdk.caching.embedding.default import default_directory
from tests.caching.embedding.conftest import build_once

if TYPE_CHECKING:
    from tests.conftest import StartEmulator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = [*READMES, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))]


def name_of(path: Path) -> str:
    """Name a page for people."""
    return str(path.relative_to(ROOT))


def text_of(path: Path) -> str:
    """Read a page."""
    return path.read_text(encoding="utf-8")


def rows(path: Path, first: str) -> list[list[str]]:
    """Read the rows of the tables of a page whose first cell matches a pattern."""
    lines = [line for line in text_of(path).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [row for row in cells if re.fullmatch(first, row[0])]


def blocks(path: Path, language: str) -> list[str]:
    """Read the code blocks of a page in one language."""
    document = Document(text_of(path), str(path))
    return [region.lexemes["source"] for region in FencedCodeBlockLexer(language)(document)]


@pytest.fixture
def service(emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `Client()` find an emulator that repeats what it is asked."""
    monkeypatch.setenv("DEEPSEEK_BASE_URL", emulator().url)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "test-key")


@pytest.fixture
def model(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the cache find its model, built once for all tests, in the home of a user who has nothing else."""
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    built = build_once(tmp_path_factory).built().path
    place = default_directory()
    place.parent.mkdir(parents=True)
    place.symlink_to(built, target_is_directory=True)


@pytest.fixture(scope="session")
def installed_tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the tutorial's package with pip, as its page says, into a folder of its own."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, str(DOCS / "tutorial-backend")]
    subprocess.run(command, check=True, env={**os.environ, "PIP_CONFIG_FILE": os.devnull})
    return target


@pytest.fixture
def tutorial(installed_tutorial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python find the tutorial's package, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(installed_tutorial))
    monkeypatch.delitem(sys.modules, "deepseek_echo", raising=False)
