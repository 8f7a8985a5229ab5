"""What the pages name exists, what exists is named, and both languages say the same."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

import deepseek_sdk
from deepseek_sdk._settings import SETTINGS
from deepseek_sdk.cli._app import app
from deepseek_sdk.config import read_settings
from deepseek_sdk.stages import default_stages
from deepseek_sdk.testing import Fault
from tests.conftest import FACES
from tests.docs.conftest import DOCS, PAGES, READMES, ROOT, blocks, name_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(deepseek_sdk.__file__).parent

# Read with the code beside it, or made of it.
ENGLISH_ONLY = {"architecture.md", "changelog.md", "performance.md", "reference.md"}
GUIDES = sorted({path.name for path in DOCS.glob("*.md")} - ENGLISH_ONLY)

in_both_languages = pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])


# --- both languages


class _Untold(ast.NodeTransformer):
    """Takes out what is translated: texts. Comments are no part of the tree."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return ast.JoinedStr([self.visit(value) for value in node.values if isinstance(value, ast.FormattedValue)])


def untold(block: str) -> str:
    """Reduce code to what must be equal in every language."""
    return ast.unparse(_Untold().visit(ast.parse(block)))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [READMES, *((DOCS / name, DOCS / "zh" / name) for name in GUIDES)],
    ids=["README", *GUIDES],
)
def test_both_languages_show_the_same_code(english: Path, chinese: Path) -> None:
    """Every guide has a Chinese page whose Python differs in comments and texts only, and whose commands do not."""
    assert [untold(block) for block in blocks(english, "python")] == [untold(b) for b in blocks(chinese, "python")]
    assert len(blocks(english, "bash")) == len(blocks(chinese, "bash"))
    assert blocks(english, "toml") == blocks(chinese, "toml")


@pytest.mark.parametrize("name", GUIDES)
def test_guides_lead_to_the_other_language(name: str) -> None:
    """Below its heading each guide has a link to the same page in the other language."""
    heads = [text_of(page).split("\n\n")[1] for page in (DOCS / name, DOCS / "zh" / name)]

    assert [f"[中文](zh/{name})", f"[English](../{name})"] == heads


# --- names


@cache
def documented() -> dict[str, Any]:
    """Find what the reference documents, by the name that it gives."""
    names = re.findall(r"^\.\. auto\w+:: (deepseek_sdk\.[\w.]+)$", text_of(DOCS / "reference.md"), re.MULTILINE)
    return {name: getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in names}


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_is_in_the_reference(face: str) -> None:
    """The reference has an entry for everything that can be imported, under that name or another one."""
    module, objects = importlib.import_module(face), list(documented().values())
    missing = [name for name in module.__all__ if not any(getattr(module, name) is thing for thing in objects)]
    named = re.findall(r"^`(deepseek_sdk\.\w+)`$", text_of(DOCS / "reference.md"), re.MULTILINE)

    assert [] == [name for name in missing if f"{face}.{name}" not in named]


@in_both_languages
def test_every_setting_is_on_its_page(folder: Path) -> None:
    """The table of settings has each by its name, with its environment variable."""
    row = re.compile(r"^\| `([\w.]+)` \| `(DEEPSEEK_\w+)` \|", re.MULTILINE)
    listed = row.findall(text_of(folder / "configuration.md"))

    assert [(setting.name, setting.variable) for setting in SETTINGS.values()] == listed


@pytest.mark.parametrize("number", range(2))
def test_files_of_settings_can_be_used(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page on configuration shows of files is read without a complaint."""
    name = ("deepseek.toml", "pyproject.toml")[number]
    (tmp_path / name).write_text(blocks(DOCS / "configuration.md", "toml")[number], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEEPSEEK_SDK_CONFIG", raising=False)
    for variable in ("APPDATA", "HOME", "LOCALAPPDATA", "XDG_CONFIG_HOME"):  # where the user's own file would be
        monkeypatch.setenv(variable, str(tmp_path))
    settings = read_settings()

    assert ((), 4, 5) == (settings.problems, settings["max_retries"], settings["deadlines.connect"])


def test_every_module_is_in_the_architecture() -> None:
    """The tree of the package has each file and folder at its top, and no other."""
    drawn = re.findall(r"^  (\w+(?:\.py|/)) ", text_of(DOCS / "architecture.md"), re.MULTILINE)
    children = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]

    assert sorted(path.name + "/" * path.is_dir() for path in children) == sorted(drawn)


def test_order_of_the_stages() -> None:
    """The drawing of the architecture shows the stages in the order in which calls pass them."""
    drawn = re.findall(r"stages/([a-z]\w*)\.py$", text_of(DOCS / "architecture.md"), re.MULTILINE)

    assert [type(stage).__module__ for stage in default_stages()] == [f"deepseek_sdk.stages.{name}" for name in drawn]


@in_both_languages
def test_every_fault_is_on_its_page(folder: Path) -> None:
    """The table of faults has each once, with the arguments that hold where none is given."""
    table = sections(folder / "testing.md")[{"docs": "What goes wrong", "zh": "模拟故障"}[folder.name]]
    cells = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    shown = [fault for cell in cells for fault in re.findall(r"`([^`]+)`", cell)]

    # Those of statuses are the same for all, and said below the table.
    expected = {name: () if name.startswith("status_") else Fault.named(name).parameters for name in Fault.menu()}
    assert expected == {f.partition("(")[0]: Fault.named(f).parameters if "(" in f else () for f in shown}
    assert len(expected) == len(shown)


@pytest.mark.parametrize("path", READMES, ids=name_of)
def test_number_of_faults(path: Path) -> None:
    """README counts the faults of the emulator rightly."""
    assert f" {len(Fault.menu())} " in text_of(path)


# --- commands


def commands(group: click.Group = app, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Walk all commands, groups included, with what is typed for each."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def sections(path: Path) -> dict[str, str]:
    """Cut a page at its headings."""
    parts = re.split(r"^##+ ", text_of(path), flags=re.MULTILINE)
    return {part.partition("\n")[0].strip("` "): part for part in parts}


@in_both_languages
def test_every_command_is_on_its_page(folder: Path) -> None:
    """Each command has a heading, and what is below it names all of its options and no other."""
    found = sections(folder / "command-line.md")
    everywhere = {"--help", "--version", "--lang", "--output"}
    for path, command in commands():
        section = found.get(" ".join(path), "")
        options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        known = {name for name in options if name.startswith("--")}
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub(r"```.*?```", "", section, flags=re.DOTALL)))

        assert section, path
        assert (set(), set()) == (known - everywhere - named, named - known - everywhere), path


def typed(path: Path) -> list[list[str]]:
    """Find what a page tells its readers to type after `deepseek-sdk`."""
    lines = "\n".join(blocks(path, "bash")).splitlines()
    shown = [part for line in lines for part in re.split(r"&&|\|", line.partition("  #")[0])]
    shown += re.findall(r"`([^`\n]+)`", text_of(path))
    return [shlex.split(line)[1:] for line in shown if line.strip().startswith("deepseek-sdk ")]


@pytest.mark.parametrize("path", [path for path in PAGES if typed(path)], ids=name_of)
def test_commands_in_pages_can_be_typed(path: Path) -> None:
    """Whatever a page says to type, the command line understands."""
    for arguments in typed(path):
        with contextlib.suppress(click.exceptions.Exit):  # --help and --version end there
            understand(app, arguments)


def understand(command: click.Command, arguments: list[str]) -> None:
    """Parse arguments as the program would, without doing anything."""
    context = command.make_context(command.name, arguments)
    if isinstance(command, click.Group):
        typed = [*context._protected_args, *context.args]
        if not typed and command.invoke_without_command:
            return
        name, *rest = typed
        subcommand = command.get_command(context, name)
        assert subcommand is not None, name
        understand(subcommand, rest)


# --- links


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file of the repository; Sphinx checks the headings behind it."""
    prose = re.sub(r"^:.*$", "", text_of(path), flags=re.MULTILINE)  # options of directives quote other pages
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)
    base = ROOT if path.name == "changelog.md" else path.parent

    assert [] == [link for link in links if "://" not in link and not (base / link).exists()]
