"""The language of what commands say: Chinese or English, as the environment asks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from deepseek_sdk.config import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.config import Origin

__all__ = ["Say", "chosen_language", "language_of", "language_option", "origin_in_words", "program_language_option"]

_CHOICE = click.Choice(["zh", "en"])
_KEY = "deepseek_sdk.language"


class Say:
    """
    Choose between two wordings: `say(en="no key", zh="没有 key")`.

    Attributes:
        lang: "en" or "zh".
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def __call__(self, *, en: str, zh: str) -> str:
        """Give the wording of the chosen language."""
        return zh if self.lang == "zh" else en


def language_of(environment: Mapping[str, str]) -> str:
    """
    Choose "zh" or "en" as POSIX does: the first of LC_ALL, LC_MESSAGES and LANG that is set decides.

    Args:
        environment: The variables of the process.

    Returns:
        "zh" for any Chinese locale, otherwise "en".
    """
    locale = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def chosen_language() -> str:
    """
    Choose the language of a command that was given none of its own.

    Returns:
        What stands before the command, else what the settings say, else the language of the locale.
    """
    context = click.get_current_context(silent=True)
    given = context.meta.get(_KEY) if context else None
    return given or read_settings()["lang"] or language_of(os.environ)


def origin_in_words(origin: Origin, say: Say) -> str:
    """
    Say where a setting comes from.

    Args:
        origin: Where.
        say: Chooses the language.

    Returns:
        The kind of place and its name; for a file its path alone.
    """
    words = {
        "argument": say(en="argument", zh="命令行参数"),
        "environment": say(en="environment variable {}", zh="环境变量 {}"),
        "default": say(en="default", zh="默认值"),
    }
    return words.get(origin.kind, "{}").format(origin.place)


def _remember(context: click.Context, _: click.Parameter, value: str | None) -> None:
    context.meta[_KEY] = value


program_language_option = click.option(
    "--lang", type=_CHOICE, expose_value=False, callback=_remember, help="Language of what commands print."
)

language_option = click.option(
    "--lang",
    type=_CHOICE,
    default=chosen_language,
    show_default="from DEEPSEEK_SDK_LANG or LANG",
    help="Language of what is printed.",
)
