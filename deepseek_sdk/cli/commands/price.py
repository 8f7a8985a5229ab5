"""`deepseek-sdk price`: what models cost, what tokens cost, and whether the prices can still be relied on."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from deepseek_sdk._usage import Usage
from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._price.book import book_of, file_of
from deepseek_sdk.cli._price.checks import judged
from deepseek_sdk.cli._price.rows import (
    card_headings,
    card_rows,
    cost_headings,
    cost_rows,
    current_cards,
    in_words,
    meter_headings,
    meter_rows,
)
from deepseek_sdk.cli._price.words import no_price, read_instant, tariff_in_words, tier_in_words
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.pricing.billing import cost_of
from deepseek_sdk.routing.models import DEFAULT_MODEL

__all__ = ["command"]

_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_COUNT = click.IntRange(min=0)

prices_option = click.option(
    "--prices", type=_FILE, metavar="FILE", help="A file of prices, laid over those that came with the program."
)
at_option = click.option(
    "--at", callback=read_instant, metavar="INSTANT", help="When; without an offset by the Beijing clock. Default: now."
)


@click.group("price", cls=SuggestingGroup, short_help="Show prices, count what tokens cost, check how old prices are.")
def command() -> None:
    """
    Show prices, count what tokens cost, and check how old prices are.

    Prices are of DeepSeek's two lists, in CNY and in USD; neither is converted. They depend on the hour in Beijing.
    Where no file is named, the one of the settings counts (DEEPSEEK_SDK_PRICES), if there is one.
    """


@command.command("show", short_help="Show the prices of models, per 1,000,000 tokens.")
@click.option("-m", "--model", help="Only those of this model.")
@at_option
@click.option("--history", is_flag=True, help="All prices there were, not only those at one instant.")
@click.option("--meters", is_flag=True, help="Prices of what is not counted in tokens, such as searches.")
@prices_option
@language_option
@output_option
def show_prices(
    *, model: str | None, at: float | None, history: bool, meters: bool, prices: Path | None, lang: str, output: str
) -> None:
    """Show the prices of models, per 1,000,000 tokens, and which of them hold."""
    say = Say(lang)
    book, now = book_of(file_of(prices)), time.time() if at is None else at
    if meters:
        show(meter_rows(book), output=output, headings=meter_headings(say))
        return
    cards = list(book.cards if history else current_cards(book, now))
    if model is not None:
        cards = [card for card in cards if card.model == model or card in book.cards_of(model)]
    if model is not None and not cards:
        raise click.ClickException(no_price(book, model, now, say))
    rows = [row for card in cards for row in card_rows(card, book, now)]
    show(rows, output=output, headings=card_headings(say), cells=[in_words(row, say) for row in rows])
    console_of(sys.stderr).print(tariff_in_words(book, now, say), style="dim", markup=False)


@command.command("calc", short_help="Count what tokens cost.")
@click.option("--prompt", type=_COUNT, required=True, help="Tokens of the prompt, in all.")
@click.option("--hit", type=_COUNT, default=0, show_default=True, help="Of these, read from the cache.")
@click.option("--completion", type=_COUNT, default=0, show_default=True, help="Tokens generated, reasoning included.")
@click.option("--reasoning", type=_COUNT, default=0, show_default=True, help="Of these, reasoning; it costs the same.")
@click.option("-m", "--model", default=DEFAULT_MODEL, show_default=True, help="The model that answered.")
@at_option
@prices_option
@language_option
@output_option
def calc(
    *,
    prompt: int,
    hit: int,
    completion: int,
    reasoning: int,
    model: str,
    at: float | None,
    prices: Path | None,
    lang: str,
    output: str,
) -> None:
    """Count what tokens cost: the numbers are those of the usage block of an answer."""
    say = Say(lang)
    if hit > prompt:
        raise click.UsageError(say(en="--hit is a part of --prompt", zh="--hit 不能大于 --prompt"))
    if reasoning > completion:
        raise click.UsageError(say(en="--reasoning is a part of --completion", zh="--reasoning 不能大于 --completion"))
    book, when = book_of(file_of(prices)), time.time() if at is None else at
    usage = Usage(hit=hit, miss=prompt - hit, output=completion, reasoning=reasoning)
    cost = cost_of(usage, model, when, when, book)
    if cost is None:
        raise click.ClickException(no_price(book, model, when, say))
    rows = list(cost_rows(cost, when))
    cells = [{**row, "tier": tier_in_words(row["tier"], say)} for row in rows]
    show(rows, output=output, headings=cost_headings(say), cells=cells)


@command.command("check", short_help="Check whether prices can be used, and how old they are.")
@click.argument("file", type=_FILE, required=False)
@click.option("--holidays", is_flag=True, help="Fail where the holidays that prices need are not known.")
@at_option
@language_option
@output_option
def check(*, file: Path | None, holidays: bool, at: float | None, lang: str, output: str) -> None:
    """Check the prices of FILE, or those that came with the program; ends with 5 where they are broken or too old."""
    say = Say(lang)
    now = time.time() if at is None else at
    findings = list(judged(file_of(file), now, say, needs_holidays=holidays))
    rows = [finding.row(str) for finding in findings]
    headings = {
        "check": say(en="check", zh="检查项"),
        "status": say(en="status", zh="状态"),
        "detail": say(en="detail", zh="说明"),
    }
    show(rows, output=output, headings=headings, cells=[finding_in_words(row, say) for row in rows])
    has_failed = any(finding.status == "failed" for finding in findings)
    click.get_current_context().exit(Exit.CHECK if has_failed else Exit.OK)


def finding_in_words(row: dict[str, str | None], say: Say) -> dict[str, Any]:
    """Word a finding for a table, with the advice below the detail."""
    words = {
        "ok": say(en="ok", zh="正常"),
        "warning": say(en="warning", zh="警告"),
        "failed": say(en="failed", zh="失败"),
    }
    status = str(row["status"])
    advice = f"\n→ {row['advice']}" if row["advice"] else ""
    return {**row, "status": Text(words[status], style=_STYLES[status]), "detail": f"{row['detail']}{advice}"}
