"""What all commands share."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import openai
import pytest
from click.testing import CliRunner

from deepseek_sdk.cli._app import Commands, app
from deepseek_sdk.cli._exits import Exit, exit_code, redact, redact_url
from deepseek_sdk.cli._language import language_of
from deepseek_sdk.cli._output import show
from deepseek_sdk.errors import ConfigurationError
from tests.cli.conftest import PROGRAM, environment, run, run_program

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_help_does_without_extras() -> None:
    """Each file in `commands` is listed, those whose packages are missing included."""
    done = without("starlette", "--help")

    assert 0 == done.returncode
    names = ("balance", "completion", "config", "demo", "doctor", "emulate", "models")
    assert all(f"\n  {name} " in done.stdout for name in names)


@pytest.mark.slow
def test_script_is_installed() -> None:
    """The distribution installs `deepseek-sdk` beside the interpreter, and they agree on the version."""
    done = run([str(Path(sys.executable).parent / "deepseek-sdk"), "--version"])

    assert f"deepseek-sdk, version {version('deepseek-client-sdk')}\n" == done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["dance"], ["demo", "-o", "xml"]])
def test_usage_errors_end_with_2(arguments: list[str]) -> None:
    """Unknown commands, options and formats end with 2."""
    assert 2 == run_program(*arguments).returncode


@pytest.mark.slow
@pytest.mark.parametrize(("module", "extra"), [("click", "cli"), ("rich", "cli"), ("starlette", "testing")])
def test_missing_extra_gives_the_install_line(module: str, extra: str) -> None:
    """A package that is not installed ends the program with 3 and the line that installs it."""
    done = without(module, "demo")

    assert (3, "") == (done.returncode, done.stdout)
    assert f"python -m pip install 'deepseek-client-sdk[{extra}]'" in done.stderr


@pytest.mark.slow
def test_other_missing_packages_are_not_hidden() -> None:
    """A broken installation of something else shows its traceback."""
    done = without("deepseek_sdk.cli._exits", "demo")

    assert 1 == done.returncode
    assert "ModuleNotFoundError" in done.stderr


def without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program with *arguments* as if *module* were not installed."""
    program = f"import sys; sys.modules[{module!r}] = None; from deepseek_sdk.cli import main; main()"
    return run([sys.executable, "-c", program, *arguments])


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_language(environment: dict[str, str], expected: str) -> None:
    """The first variable of POSIX that is set decides."""
    assert expected == language_of(environment)


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        ((), {}, "file"),
        ((), {"LANG": "zh_CN.UTF-8"}, "文件"),
        ((), {"LANG": "zh_CN.UTF-8", "DEEPSEEK_SDK_LANG": "en"}, "file"),
        ((), {"DEEPSEEK_SDK_LANG": "zh"}, "文件"),
        ((), {"DEEPSEEK_SDK_LANG": "fr", "LANG": "zh_CN.UTF-8"}, "文件"),
        (("--lang", "en"), {"DEEPSEEK_SDK_LANG": "zh"}, "file"),
        (("--lang", "zh"), {}, "文件"),
    ],
)
def test_language_of_a_command(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], variables: dict[str, str], expected: str
) -> None:
    """What stands before the command wins over the setting, and this over the locale."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(app, [*arguments, "config", "path"], env=variables)

    assert expected in done.stdout
    assert "文件" in CliRunner().invoke(app, [*arguments, "config", "path", "--lang", "zh"], env=variables).stdout


@pytest.mark.parametrize(
    ("error", "expected"),
    [(ConfigurationError("no"), Exit.CONFIGURATION), (openai.OpenAIError("no"), Exit.FAILURE)],
)
def test_exit_codes(error: openai.OpenAIError, expected: Exit) -> None:
    """Errors map to the documented codes."""
    assert expected == exit_code(error)


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [(KeyboardInterrupt(), 130, "Ctrl-C\n"), (click.Abort(), 1, "Aborted!\n"), (ConfigurationError("no"), 3, "no\n")],
)
def test_ends(monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, told: str) -> None:
    """Whatever a command ends with is one line on stderr and a code."""

    @click.command
    def command() -> None:
        raise raised

    monkeypatch.setattr(Commands, "get_command", lambda *_: command)
    done = CliRunner().invoke(app, ["config"])

    assert (code, "") == (done.exit_code, done.stdout)
    assert done.stderr.endswith(told)
    assert 1 == done.stderr.count("\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes are those of POSIX")
@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_closed_pipe(output: str) -> None:
    """A reader that goes away, as `head` does, ends the program without a word."""
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as pipe:
        done = subprocess.run(
            [*PROGRAM, "config", "show", "-o", output],
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            encoding="utf-8",
            env=environment(),
            timeout=50,
        )

    assert (1, "") == (done.returncode, done.stderr)


def test_passwords_in_urls_are_hidden() -> None:
    """User and password of a URL are not shown, whatever they are made of."""
    assert "http://***@host:1/a@b" == redact_url("http://me:p@ss@host:1/a@b")
    assert "http://host/a@b" == redact_url("http://host/a@b")


@pytest.mark.parametrize("text", ["key sk-0123456789abcdef is bad", "Your api key: ****cdef is invalid"])
def test_keys_are_redacted(text: str) -> None:
    """Nothing of a key is left, not even the tail that servers quote."""
    assert "cdef" not in redact(text)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("json", '[\n  {\n    "name": "一",\n    "n": null\n  }\n]\n'),
        ("jsonl", '{"name": "一", "n": null}\n'),
        ("csv", "name,n\n一,\n"),
    ],
)
def test_formats(output: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Data is printed as it is; None is null, or nothing in CSV."""
    show([{"name": "一", "n": None}], output=output, headings={"name": "Name"})

    assert expected == capsys.readouterr().out


def test_table_cells_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A table shows the columns it has headings for; square brackets stay what they are."""
    show([{"name": "[bold]x", "n": None, "other": 1}], output="table", headings={"name": "Name", "n": "N"})

    shown = capsys.readouterr().out
    assert "[bold]x" in shown
    assert "other" not in shown


def test_table_outside_a_terminal_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """A file or a pipe gets whole cells, however long."""
    show([{"name": "x" * 300}], output="table", headings={"name": "Name"})

    assert "x" * 300 in capsys.readouterr().out


EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "service.py")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_offline(path: Path) -> None:
    """Each example runs without a key, prints something, and is short."""
    done = run([sys.executable, str(path)])

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.strip()
    assert len(path.read_text(encoding="utf-8").splitlines()) < 40
