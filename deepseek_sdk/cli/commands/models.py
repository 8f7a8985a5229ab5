"""`deepseek-sdk models`: what the endpoint serves, and the model that compares questions on this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.cli._account import MODELS_PATH, base_url_option, fetch, models_of
from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._models import Teller, built_row, check_headings, check_in_words, checked_row, named_embedder
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["command"]


class ModelCommands(SuggestingGroup):
    """Knows what people call these commands elsewhere."""

    other_names: Mapping[str, str] = {"download": "build", "fetch": "build", "pull": "build", "test": "check"}


path_option = click.option(
    "--path", type=click.Path(path_type=Path), metavar="DIR", help="The directory; else the usual one of this user."
)


@click.group(
    "models",
    cls=ModelCommands,
    invoke_without_command=True,
    short_help="List the models of the endpoint; build or check the local one.",
)
@base_url_option
@language_option
@output_option
@click.pass_context
def command(ctx: click.Context, *, base_url: str | None, lang: str, output: str) -> None:
    """
    List the models that the endpoint serves.

    The two commands are for the model by which the cache compares questions; it runs on this machine.
    """
    if ctx.invoked_subcommand is not None:
        return
    say = Say(lang)
    models = fetch(base_url, MODELS_PATH, say, read=models_of, what=say(en="models", zh="模型列表"))
    rows = [{"id": model.get("id"), "owned_by": model.get("owned_by")} for model in models]
    show(rows, output=output, headings={"id": say(en="model", zh="模型"), "owned_by": say(en="owner", zh="所有者")})


@command.command("build", short_help="Build the model that compares questions, where there is none.")
@path_option
@language_option
@output_option
def build(*, path: Path | None, lang: str, output: str) -> None:
    """
    Build the model that compares questions, of the weights of an installed package, without network.

    Programs do so by themselves when they first need it. Where it is there, its files are read, and it is built anew
    if they are damaged.
    """
    say, begun = Say(lang), time.monotonic()
    told = Teller(console_of(sys.stderr), say)
    row = built_row(DefaultEmbedder(path, progress=told), begun, is_new=lambda: told.is_used, say=say)
    headings = {
        "path": say(en="path", zh="路径"),
        "sha256": "SHA-256",
        "bytes": say(en="bytes", zh="字节"),
        "seconds": say(en="seconds", zh="秒"),
    }
    show([row], output=output, headings=headings)


@command.command("check", short_help="Look whether a model can compare questions, and how fast.")
@click.argument("model", required=False)
@click.option("--pooling", type=click.Choice(["mean", "cls"]), default="mean", show_default=True, help="Of tokens.")
@click.option("--prefix", default="", metavar="TEXT", help="What the model wants before every text.")
@click.option("--file", metavar="NAME", help="The file of the model, in its directory or on the hub.")
@click.option("--revision", metavar="NAME", help="A version on the hub.")
@path_option
@language_option
@output_option
def check(*, model: str | None, path: Path | None, lang: str, output: str, **manner: Any) -> None:
    """
    Load a model, see whether it can tell questions apart, in Chinese and English, and how long a text takes.

    MODEL is a directory with model.onnx and tokenizer.json, or a name on a model hub; default: the one that is built
    in, and built where it is not there.
    """
    say = Say(lang)
    told = Teller(console_of(sys.stderr), say)
    row = checked_row(lambda: named_embedder(model, path, manner, told), model or "default")
    show([row], output=output, headings=check_headings(say), cells=check_in_words(row, say))
    if not row["passed"]:
        click.get_current_context().exit(Exit.CHECK)
