"""The language of what commands say: Chinese or English, as the environment asks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["language_of", "language_option"]


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


language_option = click.option(
    "--lang",
    type=click.Choice(["zh", "en"]),
    default=lambda: language_of(os.environ),
    show_default="from LANG",
    help="Language of what is printed.",
)
