"""`deepseek-sdk models`: what the endpoint serves."""

from __future__ import annotations

import click

from deepseek_sdk.cli._account import MODELS_PATH, base_url_option, fetch, models_of
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show

__all__ = ["command"]


@click.command("models", short_help="List the models that the endpoint serves.")
@base_url_option
@language_option
@output_option
def command(*, base_url: str | None, lang: str, output: str) -> None:
    """List the models that the endpoint serves."""
    say = Say(lang)
    models = fetch(base_url, MODELS_PATH, say, read=models_of, what=say(en="models", zh="模型列表"))
    rows = [{"id": model.get("id"), "owned_by": model.get("owned_by")} for model in models]
    show(rows, output=output, headings={"id": say(en="model", zh="模型"), "owned_by": say(en="owner", zh="所有者")})
