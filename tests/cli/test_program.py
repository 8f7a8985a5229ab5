"""What all commands share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click
import openai
import pytest
from click.testing import CliRunner

import deepseek_sdk.cli
from deepseek_sdk._settings import SETTINGS
from deepseek_sdk.cli import main
from deepseek_sdk.cli._app import Commands, app
from deepseek_sdk.cli._exits import Exit, exit_code, hide_keys, redact_url
from deepseek_sdk.cli._language import language_of
from deepseek_sdk.cli._output import show
from deepseek_sdk.errors import ConfigurationError
from tests.cli.conftest import PROGRAM, environment, run, run_program

if TYPE_CHECKING:
    from tests.cli.conftest import StartTerminal
    from tests.conftest import StartEmulator

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_help_does_without_extras() -> None:
    """Each file in `commands` is listed, those whose packages are missing included."""
    done = without("starlette", "--help")

    assert 0 == done.returncode
    names = (
        "balance",
        "cache",
        "completion",
        "config",
        "demo",
        "doctor",
        "emulate",
        "models",
        "price",
        "tokens",
        "usage",
    )
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
@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [
        ("click", "demo", "cli"),
        ("rich", "demo", "cli"),
        ("packaging.requirements", "doctor", "cli"),
        ("starlette", "demo", "testing"),
    ],
)
def test_missing_extra_gives_the_install_line(module: str, command: str, extra: str) -> None:
    """A package that is not installed ends the program with 3 and the line that installs it."""
    done = without(module, command)

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


def shell(redirections: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program with its streams redirected as a shell does it."""
    return run(["sh", "-c", f'exec "$@" {redirections}', "sh", *PROGRAM, *arguments], **variables)


needs_shell = pytest.mark.skipif(shutil.which("sh") is None, reason="there is no sh")
WRITERS = [
    ["--help"],
    ["--version"],
    ["completion", "bash"],
    ["config", "show"],
    ["config", "path", "-o", "csv"],
    ["doctor", "--offline", "-o", "json"],
    ["emulate"],
    ["emulate", "--list-faults"],
    ["chat", "--emulator", "Hello"],
    ["models"],
    ["balance", "-o", "jsonl"],
]


@needs_shell
@pytest.mark.slow
@pytest.mark.parametrize("arguments", WRITERS, ids=" ".join)
def test_output_that_cannot_be_written(emulator: StartEmulator, arguments: list[str]) -> None:
    """A closed stdout ends every command with 1 and one line, and no traceback."""
    done = shell(">&-", *arguments, DEEPSEEK_BASE_URL=emulator().url, DEEPSEEK_API_KEY="any")

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.splitlines()[-1].startswith("Error: the output cannot be written: ")
    assert "Traceback" not in done.stderr


@needs_shell
@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("redirections", [">/dev/full", ">/dev/full 2>/dev/full", ">/dev/full 2>&-"])
def test_full_disk(redirections: str, unbuffered: str) -> None:
    """A disk that is full ends a command with 1, and the interpreter does not complain again at its end."""
    done = shell(redirections, "config", "show", PYTHONUNBUFFERED=unbuffered)

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr == ("" if "2>" in redirections else f"Error: the output cannot be written: {os.strerror(28)}\n")


@needs_shell
@pytest.mark.slow
@pytest.mark.parametrize("redirections", ["<&-", "2>&-", "<&- 2>&-"])
def test_other_closed_streams(redirections: str) -> None:
    """Without stdin there is no input, without stderr nothing but data is lost."""
    done = shell(redirections, "chat", "--emulator", "Hello")

    assert (0, "You said: Hello\n", "") == (done.returncode, done.stdout, done.stderr)


def test_errors_of_files_are_no_errors_of_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """An OSError that names a file is not taken for one of a stream."""

    @click.command
    def command() -> None:
        Path("/nowhere/at/all").read_bytes()

    monkeypatch.setattr(Commands, "get_command", lambda *_: command)
    monkeypatch.setattr(sys, "argv", ["deepseek-sdk", "config"])
    with pytest.raises(FileNotFoundError):
        main()


@pytest.mark.parametrize("arguments", [[], ["config"]])
def test_short_descriptions_are_not_cut(arguments: list[str]) -> None:
    """In a window of 80 columns each command has its description on one line, whole."""
    help_text = CliRunner().invoke(app, [*arguments, "--help"], terminal_width=80).stdout
    listed = [line for line in help_text.partition("Commands:\n")[2].splitlines() if line.strip()]

    assert [] == [line for line in listed if not re.fullmatch(r"  [a-z]+ +[A-Z].*[^.]\.", line)]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["chta"], "Did you mean 'chat'?"),
        (["config", "sow"], "Did you mean 'show'?"),
        (
            ["zzz"],
            "Commands are: balance, cache, chat, completion, config, demo, doctor, emulate, models, price, tokens,",
        ),
        (["config", "zzz"], "Commands are: init, path, show."),
    ],
)
def test_misspelt_commands_have_a_hint(arguments: list[str], hint: str) -> None:
    """A name that does not exist ends with 2 and what was probably meant."""
    done = CliRunner().invoke(app, arguments)

    assert 2 == done.exit_code
    assert hint in done.stderr


def test_ctrl_c_while_the_command_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing the commands takes a moment; Ctrl-C then ends with 130, without a word."""

    def interrupt(*_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Commands, "list_commands", interrupt)
    done = CliRunner().invoke(app, ["--help"])

    assert (130, "") == (done.exit_code, done.output)


@pytest.mark.parametrize(
    "arguments",
    [
        ["emulate", "--fault-rate", "nan"],
        ["emulate", "--tokens-per-s", "inf"],
        ["chat", "--temperature", "nan", "q"],
        ["doctor", "--timeout", "inf"],
    ],
)
def test_numbers_are_finite(arguments: list[str]) -> None:
    """What is no number to count with ends with 2."""
    done = CliRunner().invoke(app, arguments)

    assert (2, True) == (done.exit_code, "no finite number" in done.stderr)


def test_one_design_of_consoles() -> None:
    """Only `_terminal` makes consoles, so that NO_COLOR and pipes mean the same everywhere."""
    sources = {path: path.read_text(encoding="utf-8") for path in Path(deepseek_sdk.cli.__file__).parent.rglob("*.py")}

    assert ["_terminal.py"] == [path.name for path, text in sources.items() if re.search(r"\bConsole\(", text)]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["config", "show"], ["models"], ["balance"], ["chat", "-m", "none", "q"]])
def test_no_color_sends_no_escape_codes(terminal: StartTerminal, emulator: StartEmulator, arguments: list[str]) -> None:
    """Under NO_COLOR a terminal gets neither colours, nor bold, nor dim."""
    variables = {"DEEPSEEK_BASE_URL": emulator().url, "DEEPSEEK_API_KEY": "any", "NO_COLOR": "1"}
    window = terminal(*arguments, **variables)
    window.finish()

    assert window.text.strip()
    assert "\x1b" not in window.raw


def test_passwords_in_urls_are_hidden() -> None:
    """User and password of a URL are not shown, whatever they are made of."""
    assert "http://***@host:1/a@b" == redact_url("http://me:p@ss@host:1/a@b")
    assert "http://host/a@b" == redact_url("http://host/a@b")


@pytest.mark.parametrize("text", ["key sk-0123456789abcdef is bad", "Your api key: ****cdef is invalid"])
def test_keys_are_redacted(text: str) -> None:
    """Nothing of a key is left, not even the tail that servers quote."""
    assert "cdef" not in hide_keys(text)


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


def test_table_is_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe or a file gets no empty lines around a table, and no spaces at the ends of its lines."""
    show(
        [{"name": "x", "n": None}, {"name": "longer\nlines", "n": 5}], output="table", headings={"name": "N", "n": "M"}
    )

    assert ["N        M", "──────────", "x        -", "longer   5", "lines"] == capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_table_in_a_narrow_window(terminal: StartTerminal, lang: str) -> None:
    """Where a window has no room for a table, each row is a list of its cells, and nothing is cut."""
    window = terminal("config", "show", "--lang", lang, columns=60, DEEPSEEK_SDK_MODEL="a-model-with-a-name")
    window.finish()
    shown = "".join("".join(window.lines).split())

    assert "…" not in shown
    assert all("".join(setting.meaning[lang].split()) in shown for setting in SETTINGS.values())
    assert "a-model-with-a-name" in window.text


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
