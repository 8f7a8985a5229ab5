"""`deepseek-sdk balance`: what is left on the account."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.cli._account import BALANCE_PATH, base_url_option, fetch, money_of
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._terminal import console_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["command"]


@click.command("balance", short_help="Show what is left on the account, by currency.")
@base_url_option
@language_option
@output_option
def command(*, base_url: str | None, lang: str, output: str) -> None:
    """Show what is left on the account, by currency; granted money is spent before topped-up money."""
    say = Say(lang)
    what = say(en="a balance", zh="余额")
    is_available, infos = fetch(base_url, BALANCE_PATH, say, read=money_of, what=what)
    show([row_of(info, is_available=is_available) for info in infos], output=output, headings=headings(say))
    if not is_available:
        text = say(
            en="The balance is not enough to call the API: top up the account.", zh="余额不足，无法调用 API，请先充值。"
        )
        console_of(sys.stderr).print(text, style="yellow")


def headings(say: Say) -> dict[str, str]:
    """Name the columns."""
    return {
        "currency": say(en="currency", zh="币种"),
        "total": say(en="total", zh="总余额"),
        "granted": say(en="granted", zh="赠送余额"),
        "topped_up": say(en="topped up", zh="充值余额"),
    }


def row_of(info: Mapping[str, Any], *, is_available: bool) -> dict[str, Any]:
    """Make the row of a currency; amounts stay the decimal strings that the service sends."""
    return {
        "currency": info.get("currency"),
        "total": info.get("total_balance"),
        "granted": info.get("granted_balance"),
        "topped_up": info.get("topped_up_balance"),
        "is_available": is_available,
    }
