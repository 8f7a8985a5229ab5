"""The file that `config init` writes: every setting as a comment, and its meaning above it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from deepseek_sdk._settings import SETTINGS
from deepseek_sdk.errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk._settings import Setting
    from deepseek_sdk.cli._language import Say

__all__ = ["template", "write_privately"]

# What stands for a setting that has no default, to show its form.
_EXAMPLES = {
    "api_key": "sk-...",
    "deadlines": 30,
    "backend": "name",
    "lang": "zh",
    "local_model": "/models/one",
    "prices": "/etc/prices.toml",
}


def template(say: Say, *, api_key: str | None) -> str:
    """
    Write a file of settings in which nothing is set yet.

    Args:
        say: Chooses the language of the comments.
        api_key: The key to set, or None.

    Returns:
        TOML.
    """
    try:
        import tomlkit  # noqa: PLC0415  the other subcommands do without
    except ModuleNotFoundError as error:
        raise MissingExtraError("config init", "cli") from error
    document = tomlkit.document()
    document.add(tomlkit.comment(_title(say)))
    for setting in (s for s in SETTINGS.values() if "." not in s.name):
        document.add(tomlkit.nl())
        document.add(tomlkit.comment(_meaning(setting, say)))
        if setting.is_secret and api_key is not None:
            document.add(setting.name, tomlkit.item(api_key))
        else:
            document.add(tomlkit.comment(_example(setting)))
    clocks = tomlkit.table()
    for setting in (s for s in SETTINGS.values() if "." in s.name):
        clocks.add(tomlkit.comment(_meaning(setting, say)))
        clocks.add(tomlkit.comment(_example(setting)))
    document.add(tomlkit.nl())
    document.add("deadlines", clocks)
    return tomlkit.dumps(document)


def _title(say: Say) -> str:
    return say(
        en="Settings of deepseek-sdk. Arguments and environment variables win over this file.",
        zh="deepseek-sdk 的配置。代码里的参数和环境变量优先于本文件。",
    )


def _meaning(setting: Setting, say: Say) -> str:
    meaning = setting.meaning[say.lang]
    return say(en=f"{meaning} Or {setting.variable}.", zh=f"{meaning}也可用环境变量 {setting.variable}。")


def _example(setting: Setting) -> str:
    value = _EXAMPLES.get(setting.name.partition(".")[0], setting.default)
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return f"{setting.name.rpartition('.')[2]} = {text}"


def write_privately(path: Path, text: str, *, is_forced: bool) -> Path | None:
    """
    Write a file that only its owner can read, and keep the one that was there.

    Args:
        path: Where.
        text: What.
        is_forced: A file that exists is moved aside first.

    Returns:
        Where the file went that was there before, or None where there was none.

    Raises:
        click.ClickException: There is a file, or none can be written.
    """
    kept = path.with_name(f"{path.name}.bak") if is_forced and path.exists() else None
    try:
        _make_room(path, kept)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        if not path.exists():  # it is the directory that cannot be made
            raise click.ClickException(f"{path} cannot be written: {path.parent} is no directory") from error
        message = f"{path} exists; --force writes it anew and keeps the old one as {path.name}.bak"
        raise click.ClickException(message) from error
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise click.ClickException(message) from error
    return kept


def _make_room(path: Path, kept: Path | None) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if kept is not None:
        path.replace(kept)
        with suppress(OSError):
            kept.chmod(0o600)
