"""The code of docs/integrations.md, in both languages, with the real packages."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from tests.frameworks.battery import answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import StartEmulator

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "integrations.md", "zh": DOCS / "zh" / "integrations.md"}
OURS = {"deepseek_sdk", "openai"}


def sections(page: str) -> list[tuple[str, str]]:
    """Cut a page at its headings; give the title and the text of those with code in them."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)[1:]
    return [(title, text) for title, text in zip(parts[::2], parts[1::2], strict=True) if "```python" in text]


def steps(text: str) -> list[tuple[str, str]]:
    """Give the code of a section, each block with what it prints."""
    found = re.findall(r"^```(python|output)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [
        (code, found[i + 1][1] if i + 1 < len(found) and found[i + 1][0] == "output" else "")
        for i, (kind, code) in enumerate(found)
        if kind == "python"
    ]


def packages(code: str) -> Iterator[str]:
    """Name the packages that a piece of code needs besides ours."""
    for node in ast.walk(ast.parse(code)):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [module or ""]
        yield from (n for n in names if n and n.partition(".")[0] not in sys.stdlib_module_names | OURS)


CASES = [
    pytest.param(page, title, id=f"{language}-{title}")
    for language, page in PAGES.items()
    for title, _ in sections(page.read_text(encoding="utf-8"))
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "title"), CASES)
def test_code_runs(page: Path, title: str, emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a section runs as it stands, and prints what the page says."""
    parts = steps(dict(sections(page.read_text(encoding="utf-8")))[title])
    for package in (p for code, _ in parts for p in packages(code)):
        pytest.importorskip(package)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", emulator(replies=answer).url)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")

    with namespace() as names:
        printed = [output_of(code, names) for code, _ in parts]

    assert [expected for _, expected in parts] == printed


def output_of(code: str, names: dict[str, Any]) -> str:
    """Run a piece of code and give what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as screen:
        exec(compile(code, "page", "exec", dont_inherit=True), names)  # noqa: S102  the page is ours
    return screen.getvalue()


@contextlib.contextmanager
def namespace() -> Iterator[dict[str, Any]]:
    """Give a module's names, and close the clients left among them: sockets must not be left to the collector."""
    names: dict[str, Any] = {"__name__": "page"}
    try:
        yield names
    finally:
        for value in names.values():
            client = getattr(value, "client", value)
            if isinstance(client, openai.OpenAI):
                client.close()


def test_both_languages_show_the_same_code() -> None:
    """The Chinese page has the code of the English one."""
    english, chinese = (steps(page.read_text(encoding="utf-8")) for page in PAGES.values())

    assert english == chinese
