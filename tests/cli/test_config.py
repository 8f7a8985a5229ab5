"""`config`: where settings come from, what they are, and a file to begin with."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk._settings import SETTINGS
from deepseek_sdk._settings_files import user_file
from deepseek_sdk.cli._app import app
from deepseek_sdk.config import load_settings
from tests.cli.conftest import environment, run_program
from tests.cli.terminal import CTRL_C

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import StartTerminal

KEY = "sk-0123456789abcdef"

is_posix = pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")


def invoke(*arguments: str, **options: Any) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, list(arguments), **options)


def shown() -> dict[str, Any]:
    """Run `config show` and give its rows by name."""
    return {row["name"]: row for row in json.loads(invoke("config", "show", "-o", "json").stdout)}


def test_show_tells_value_and_origin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting has its value and who said so; a key is masked, and so is a password in a URL."""
    file = project / "deepseek.toml"
    file.write_text(f'api_key = "{KEY}"\ntimeout = "off"\n', encoding="utf-8")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "https://me:hunter2@host.example/v1")
    rows = shown()

    assert list(SETTINGS) == list(rows)
    assert ("sk-…cdef", "file", str(file)) == tuple(rows["api_key"][name] for name in ("value", "origin", "place"))
    assert ("https://***@host.example/v1", "environment", "DEEPSEEK_BASE_URL") == tuple(
        rows["base_url"][name] for name in ("value", "origin", "place")
    )
    assert ("off", 2, "default") == (rows["timeout"]["value"], rows["max_retries"]["value"], rows["plain"]["origin"])


def test_show_in_chinese(project: Path) -> None:
    """A table is worded in the language asked for, before or after the command; JSON keeps its keys."""
    (project / "deepseek.toml").write_text("timeout = 5\n", encoding="utf-8")
    before, after = invoke("--lang", "zh", "config", "show"), invoke("config", "show", "--lang", "zh")

    assert before.stdout == after.stdout
    assert all(word in before.stdout for word in ("配置项", "默认值", "服务地址"))
    assert "name" in json.loads(invoke("config", "show", "-o", "json", "--lang", "zh").stdout)[0]


def test_show_explains_what_is_broken(project: Path) -> None:
    """Mistakes do not keep settings from being shown; they are told on stderr, and the command ends with 3."""
    (project / "deepseek.toml").write_text(
        'timout = 5\nmax_retries = 1\nbase_url = "https://stranger.example"', encoding="utf-8"
    )
    done = invoke("config", "show", "-o", "jsonl", env={"DEEPSEEK_API_KEY": KEY})

    assert 3 == done.exit_code
    assert 1 == {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}["max_retries"]["value"]
    assert "did you mean 'timeout'?" in done.stderr
    assert "set DEEPSEEK_BASE_URL" in done.stderr
    assert KEY not in done.output


@pytest.mark.usefixtures("project")
def test_show_names_variables_that_mean_nothing() -> None:
    """A misspelt variable is told on stderr with the one that was meant; the command ends well."""
    done = invoke("config", "show", "-o", "json", env={"DEEPSEEK_SDK_MAX_RETIRES": "3"})

    assert (0, 2) == (done.exit_code, {row["name"]: row["value"] for row in json.loads(done.stdout)}["max_retries"])
    assert "DEEPSEEK_SDK_MAX_RETIRES is not known; did you mean DEEPSEEK_SDK_MAX_RETRIES?" in done.stderr


def test_path_lists_files_in_order(project: Path) -> None:
    """The files are listed in their order, with what is wrong with them; that is no failure of the command."""
    (project / "deepseek.toml").write_text("x = ", encoding="utf-8")
    (project / "pyproject.toml").write_text("[tool.deepseek_sdk]", encoding="utf-8")
    done = invoke("config", "path", "-o", "json")
    rows = json.loads(done.stdout)

    assert 0 == done.exit_code
    assert [("project", True, False), ("pyproject", True, False), ("user", False, False)] == [
        (row["kind"], row["exists"], row["is_read"]) for row in rows
    ]
    assert [str(project / "pyproject.toml"), str(user_file())] == [row["path"] for row in rows[1:]]
    assert "is not TOML" in rows[0]["problem"]


def test_path_without_files() -> None:
    """Where the environment wants no file, that is said."""
    done = invoke("config", "path", "-o", "csv")

    assert (0, "\n", True) == (done.exit_code, done.stdout, "DEEPSEEK_SDK_CONFIG is empty" in done.stderr)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_init_writes_every_setting_as_a_comment(lang: str) -> None:
    """The new file sets nothing, names everything, and is what will be read."""
    done = invoke("config", "init", "--lang", lang)
    text = user_file().read_text(encoding="utf-8")

    assert (0, f"{user_file()}\n") == (done.exit_code, done.stdout)
    assert {} == load_settings().values
    assert {"deadlines": {}} == tomllib.loads(text)
    assert all(setting.variable in text and setting.meaning[lang] in text for setting in SETTINGS.values())


def test_examples_of_the_new_file_are_good(project: Path) -> None:
    """Every example, its comment sign taken away, is a setting that can be used."""
    invoke("config", "init", "--project")
    file = project / "deepseek.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    is_example = [line.startswith("# ") and line[2:].partition(" = ")[0].replace("_", "").isalpha() for line in lines]
    pairs = zip(lines, is_example, strict=True)
    file.write_text("\n".join(line[2:] if bare else line for line, bare in pairs), encoding="utf-8")

    assert set(SETTINGS) == set(load_settings().values)


@is_posix
@pytest.mark.usefixtures("project")
def test_init_is_private_and_refuses_to_overwrite() -> None:
    """Only the owner can read the file; one that exists is left alone, or kept beside the new one by --force."""
    first = invoke("config", "init", "--with-key", input=f"{KEY}\n")
    user_file().chmod(0o644)
    refused = invoke("config", "init", "--with-key")
    kept = user_file().read_text(encoding="utf-8")
    forced = invoke("config", "init", "--force")
    backup = user_file().with_name("deepseek.toml.bak")

    assert (0, 1, 0) == (first.exit_code, refused.exit_code, forced.exit_code)
    assert "--force" in refused.stderr
    assert (KEY, kept) == (tomllib.loads(kept)["api_key"], backup.read_text(encoding="utf-8"))
    assert [0o600, 0o600, 0o700] == [
        stat.S_IMODE(path.stat().st_mode) for path in (user_file(), backup, user_file().parent)
    ]
    assert KEY not in first.output + refused.output + forced.output


def test_init_writes_the_file_that_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment names a file, that one is written."""
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(project / "mine.toml"))
    invoke("config", "init")

    assert (project / "mine.toml").exists()
    assert not user_file().exists()


@pytest.mark.parametrize(("given", "code"), [("", 2), ("sk-with space\n", 3)])
def test_init_checks_the_key(project: Path, given: str, code: int) -> None:
    """No key, or one that cannot be one, writes nothing and is not shown."""
    done = invoke("config", "init", "--project", "--with-key", input=given)

    assert (code, False) == (done.exit_code, (project / "deepseek.toml").exists())
    assert "with space" not in done.output


@pytest.mark.usefixtures("project")
def test_project_key_is_warned_about() -> None:
    """A key in a project is likely to be committed: that is said."""
    done = invoke("config", "init", "--project", "--with-key", input=f"{KEY}\n")

    assert ".gitignore" in done.stderr
    assert KEY == load_settings()["api_key"]


def test_file_that_cannot_be_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file can be, that is one line and 1; without tomlkit, the line that installs it and 3."""
    (project / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(project / "file" / "deepseek.toml"))
    blocked = invoke("config", "init")
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    bare = invoke("config", "init")

    assert (1, 3) == (blocked.exit_code, bare.exit_code)
    assert "cannot be written" in blocked.stderr
    assert "deepseek-client-sdk[cli]" in bare.stderr


@pytest.mark.usefixtures("project")
def test_file_that_will_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment wants no file, init writes one and says that it will not be read."""
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", "")
    done = invoke("config", "init")

    assert (0, True) == (done.exit_code, user_file().exists())
    assert "no file is read" in done.stderr


@pytest.mark.slow
def test_key_is_not_echoed(terminal: StartTerminal, tmp_path: Path) -> None:
    """In a terminal the key is asked for and not shown; what was typed is in the file."""
    file = tmp_path / "named.toml"
    window = terminal("config", "init", "--with-key", DEEPSEEK_SDK_CONFIG=str(file))
    window.read_until("not shown")
    window.enter(KEY)

    assert 0 == window.finish()
    assert KEY not in window.raw
    assert KEY == tomllib.loads(file.read_text(encoding="utf-8"))["api_key"]


@pytest.mark.slow
def test_question_can_be_left(terminal: StartTerminal, tmp_path: Path) -> None:
    """Ctrl-C at a question ends with 130; nothing was written, and no traceback is shown."""
    file = tmp_path / "named.toml"
    window = terminal("config", "init", "--with-key", DEEPSEEK_SDK_CONFIG=str(file))
    window.read_until("not shown")
    window.send(CTRL_C)

    assert (130, False) == (window.finish(), file.exists())
    assert "Traceback" not in window.text


@pytest.mark.slow
def test_process_through_a_pipe(tmp_path: Path) -> None:
    """A real process reads a real file; its table is plain text."""
    file = tmp_path / "named.toml"
    file.write_text('model = "deepseek-v4-pro"\nlang = "zh"\n', encoding="utf-8")
    done = run_program("config", "show", **{**environment(), "DEEPSEEK_SDK_CONFIG": str(file)})

    assert (0, "") == (done.returncode, done.stderr)
    assert all(word in done.stdout for word in ("deepseek-v4-pro", str(file), "命令行默认使用的模型。"))
    assert "\x1b" not in done.stdout
