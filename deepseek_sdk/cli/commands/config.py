"""`deepseek-sdk config`: where settings come from, what they are, and a file to begin with."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk._settings import CONFIG_VARIABLE, SETTINGS, mask
from deepseek_sdk._settings_files import FILE_NAME, user_file
from deepseek_sdk._validate import check_api_key
from deepseek_sdk.cli._config import template, write_privately
from deepseek_sdk.cli._doctor.settings import unknown_variables
from deepseek_sdk.cli._exits import Exit, hide_keys, redact_url
from deepseek_sdk.cli._language import Say, language_option, origin_in_words
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.config import Settings, SettingsFile, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["command"]


@click.group("config", cls=SuggestingGroup, short_help="Show settings and where they come from, or begin a file.")
def command() -> None:
    """
    Show settings and where they come from, or begin a file of them.

    Arguments win over environment variables, these over ./deepseek.toml or [tool.deepseek_sdk] in ./pyproject.toml,
    these over the user's deepseek.toml. DEEPSEEK_SDK_CONFIG names one file in place of all of them.
    """


@command.command("path", short_help="List the files that settings are read from.")
@language_option
@output_option
def path(*, lang: str, output: str) -> None:
    """List the files that settings are read from, the first wins."""
    say = Say(lang)
    rows = [file_row(file) for file in read_settings().files]
    if not rows:
        message = say(en="{} is empty: no file is read.", zh="{} 为空：不读取任何配置文件。")
        console_of(sys.stderr).print(message.format(CONFIG_VARIABLE), markup=False)
    headings = {
        "path": say(en="file", zh="文件"),
        "kind": say(en="kind", zh="类型"),
        "exists": say(en="exists", zh="存在"),
        "is_read": say(en="read", zh="已读取"),
        "problem": say(en="problem", zh="问题"),
    }
    show(rows, output=output, headings=headings, cells=[in_words(row, say) for row in rows])


def file_row(file: SettingsFile) -> dict[str, Any]:
    """Make the row of a file."""
    return {
        "path": str(file.path),
        "kind": file.kind,
        "exists": file.exists,
        "is_read": file.is_read,
        "problem": file.problem and hide_keys(file.problem),
    }


def in_words(row: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Say yes or no in place of true and false."""
    words = {True: say(en="yes", zh="是"), False: say(en="no", zh="否")}
    return {name: words[value] if isinstance(value, bool) else value for name, value in row.items()}


@command.command("show", short_help="Show every setting, its value and its origin.")
@language_option
@output_option
def show_settings(*, lang: str, output: str) -> None:
    """Show every setting, where its value comes from, and what it means; of a key at most the last four characters."""
    say = Say(lang)
    settings = read_settings()
    rows = [setting_row(name, settings, say) for name in SETTINGS]
    headings = {
        "name": say(en="setting", zh="配置项"),
        "value": say(en="value", zh="值"),
        "origin": say(en="from", zh="来源"),
        "meaning": say(en="meaning", zh="含义"),
    }
    show(rows, output=output, headings=headings, cells=[setting_in_words(row, settings, say) for row in rows])
    for problem in unknown_variables(os.environ, say):
        console_of(sys.stderr).print(problem, style="yellow", markup=False)
    for problem in settings.problems:
        console_of(sys.stderr).print(hide_keys(problem), style="red", markup=False)
    click.get_current_context().exit(Exit.CONFIGURATION if settings.problems else Exit.OK)


def setting_row(name: str, settings: Settings, say: Say) -> dict[str, Any]:
    """Make the row of a setting."""
    origin = settings.origin(name)
    return {
        "name": name,
        "value": shown(name, settings),
        "origin": origin.kind,
        "place": origin.place or None,
        "variable": SETTINGS[name].variable,
        "meaning": SETTINGS[name].meaning[say.lang],
    }


def shown(name: str, settings: Settings) -> Any:
    """Give what may be shown of the value of a setting."""
    value = settings[name]
    if value is None:
        return "off" if settings.is_given(name) else None
    if SETTINGS[name].is_secret:
        return mask(value)
    return redact_url(value) if isinstance(value, str) else value


def setting_in_words(row: Mapping[str, Any], settings: Settings, say: Say) -> dict[str, Any]:
    """Word the row of a setting for a table, values to the left."""
    value = None if row["value"] is None else str(row["value"])
    return {**row, "value": value, "origin": origin_in_words(settings.origin(row["name"]), say)}


@command.command("init", short_help="Write a file of settings to begin with.")
@click.option("--project", is_flag=True, help="Write ./deepseek.toml, not the user's own.")
@click.option("--force", is_flag=True, help="Where there is a file, keep it as deepseek.toml.bak and write a new one.")
@click.option("--with-key", is_flag=True, help="Ask for the API key, or read it from stdin, and write it too.")
@language_option
def init(*, project: bool, force: bool, with_key: bool, lang: str) -> None:
    """Write a file in which every setting stands as a comment; only its owner can read it."""
    say = Say(lang)
    target = target_file(is_project=project)
    if target.exists() and not force:
        # Before a key is asked for.
        write_privately(target, "", is_forced=False)
    api_key = ask_key(say) if with_key else None
    kept = write_privately(target, template(say, api_key=api_key), is_forced=force)
    click.echo(str(target))
    for line in advice(say, kept=kept, is_public=project and with_key):
        console_of(sys.stderr).print(line, markup=False)


def target_file(*, is_project: bool) -> Path:
    """Choose the file to write: the one that will be read."""
    if is_project:
        return Path(FILE_NAME).absolute()
    named = os.environ.get(CONFIG_VARIABLE)
    return Path(named).expanduser().absolute() if named else user_file()


def ask_key(say: Say) -> str:
    """Read a key from the terminal, which does not show it, or else from stdin."""
    if sys.stdin.isatty():
        prompt = say(en="API key (not shown)", zh="API key（输入时不显示）")
        key = str(click.prompt(prompt, hide_input=True, err=True)).strip()
    else:
        key = sys.stdin.readline().strip()
    if not key:
        raise click.UsageError(say(en="no key was given on stdin", zh="标准输入里没有 key"))
    check_api_key(key)
    return key


def advice(say: Say, *, kept: Path | None, is_public: bool) -> list[str]:
    """Say what to know about the file that was written."""
    lines = []
    if kept is not None:
        lines.append(say(en=f"The old file is now {kept}", zh=f"原文件已改名为 {kept}"))
    if is_public:
        lines.append(
            say(
                en="It holds your key: keep it out of version control (.gitignore).",
                zh="文件里有你的 key：请加入 .gitignore，不要提交到版本库。",
            )
        )
    if os.environ.get(CONFIG_VARIABLE) == "":
        lines.append(
            say(
                en=f"{CONFIG_VARIABLE} is empty: no file is read until it is unset.",
                zh=f"{CONFIG_VARIABLE} 为空：取消该变量后才会读取文件。",
            )
        )
    return lines
