"""`deepseek-sdk usage`: what calls used and cost, from the ledger."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.cli._language import Say, chosen_language, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of, printable
from deepseek_sdk.config import read_settings
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.amounts import plain
from deepseek_sdk.ledger.export import export, safe_cell
from deepseek_sdk.ledger.ledger import default_path
from deepseek_sdk.ledger.period import BEIJING, clock_of
from deepseek_sdk.ledger.question import ask
from deepseek_sdk.ledger.reader import read_usage
from deepseek_sdk.ledger.report import UsageRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo
    from typing import TextIO

    from deepseek_sdk.ledger.export import Format
    from deepseek_sdk.ledger.question import Question
    from deepseek_sdk.ledger.report import UsageReport

__all__ = ["command"]

# Tables round: a millionth of a yuan is less than any bill shows. The other formats do not.
_SHOWN = Decimal("0.000001")
_COUNTS = ("calls", "failed", "abandoned", "attempts", "hit", "miss", "output", "reasoning", "cached")
_AMOUNTS = ("cny", "cny_low", "cny_high", "usd", "usd_low", "usd_high")


class NoLedgerError(click.ClickException):
    """There is nothing to read."""

    exit_code = Exit.CONFIGURATION


def read_clock(_: click.Context, parameter: click.Parameter, value: str | None) -> tzinfo:
    """Read the name of a clock."""
    if value is None:
        return BEIJING
    try:
        return clock_of(value)
    except ConfigurationError:
        raise click.BadParameter(f"{value!r} is no time zone such as Europe/Berlin.", param=parameter) from None


def read_only(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read what calls must have in common."""
    pairs = [value.partition("=") for value in values]
    if wrong := next((name for name, equals, _ in pairs if not equals), None):
        raise click.BadParameter(f"{wrong!r} is not NAME=VALUE, such as user=42.", param=parameter)
    return {name: value for name, _, value in pairs}


ledger_option = click.option(
    "--ledger", type=click.Path(path_type=Path), metavar="FILE", help="The ledger; else that of the settings."
)
since_option = click.option(
    "--since", metavar="INSTANT", help="The first instant: 7d, 24h, 2026-11-01, 2026-11-01T10:00. Default: all."
)
until_option = click.option("--until", metavar="INSTANT", help="The last, likewise; a day is a whole day.")
clock_option = click.option(
    "--tz", callback=read_clock, metavar="NAME", help="The clock by which days begin. Default: Beijing's."
)


@click.group(
    "usage", cls=SuggestingGroup, invoke_without_command=True, short_help="Show what calls used and cost, or export it."
)
@click.option(
    "--by",
    metavar="WHAT",
    help="A row for each model, route, tier, user, session, tenant, template, day, cache or tag:KEY.",
)
@since_option
@until_option
@click.option("--only", multiple=True, callback=read_only, metavar="NAME=VALUE", help="Only such calls: user=42.")
@clock_option
@ledger_option
@language_option
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    by: str | None,
    since: str | None,
    until: str | None,
    only: dict[str, str],
    tz: tzinfo,
    ledger: Path | None,
    lang: str,
    output: str,
) -> None:
    """
    Show what calls used and cost: those that programs wrote to the ledger, one file for all of them.

    Clients write to it where they are made with ledger=True, or where the setting `ledger` is on (DEEPSEEK_SDK_LEDGER).
    """
    if ctx.invoked_subcommand is not None:
        return
    say = Say(lang)
    question = asked(since=since, until=until, by=by, only=only, tz=tz)
    report = read_usage(found(ledger, say), question)
    rows = [row_of(row) for row in report.rows]
    if output == "csv":
        rows = [{name: safe_cell(value) for name, value in row.items()} for row in rows]
    show(rows, output=output, headings=headings(say, report), cells=list(cells_of(report, say)))
    tell(report, say)


def _form_of(file: str) -> str:
    return "jsonl" if file.endswith((".jsonl", ".ndjson")) else "csv"


@command.command("export", short_help="Write calls, one by one, as CSV or JSON lines.")
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--format", "form", type=click.Choice(["csv", "jsonl"]), help="The format; default: by the name of FILE.")
@click.option("--attempts", is_flag=True, help="A row for each attempt, in place of one for each call.")
@click.option("--bom", is_flag=True, help="Begin with a mark by which Excel knows UTF-8.")
@since_option
@until_option
@clock_option
@ledger_option
@click.pass_context
def export_calls(
    ctx: click.Context,
    *,
    file: str,
    form: str | None,
    attempts: bool,
    bom: bool,
    since: str | None,
    until: str | None,
    tz: tzinfo,
    ledger: Path | None,
) -> None:
    """
    Write calls to FILE, or to stdout, in the order in which they ended.

    In CSV a text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    say = Say(chosen_language())
    outer: Mapping[str, Any] = {} if ctx.parent is None else ctx.parent.params
    if outer.get("by") or outer.get("only"):
        raise click.UsageError(say(en="--by and --only are not for export", zh="export 不支持 --by 和 --only"))
    clock = outer.get("tz", tz) if tz is BEIJING else tz
    question = asked(since=since or outer.get("since"), until=until or outer.get("until"), by=None, only={}, tz=clock)
    path = found(ledger or outer.get("ledger"), say)
    with written(file, path, say) as target:
        if bom:
            target.write("\ufeff")
        count = export(path, question, target, form=cast("Format", form or _form_of(file)), attempts=attempts)
    text = say(en="{:,} rows", zh="共 {:,} 行")
    console_of(sys.stderr).print(text.format(count), style="dim", markup=False)


def asked(*, since: str | None, until: str | None, by: str | None, only: Mapping[str, str], tz: tzinfo) -> Question:
    """Make a question of a command line."""
    try:
        return ask(since=since, until=until, by=by, only=only, tz=tz, now=time.time())
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from None


def found(given: Path | None, say: Say) -> Path:
    """Find the ledger: the one that is named, else that of the settings, else the usual one."""
    said = read_settings()["ledger"]
    path = given or (default_path() if said in ("on", "off", None) else Path(said))
    if path.exists():
        return path
    text = say(
        en="there is no ledger at {}. Calls are written to one where clients are made with ledger=True, or where the"
        " setting `ledger` is on: DEEPSEEK_SDK_LEDGER=on, or a path. --ledger names another file.",
        zh="{} 处没有账本。创建客户端时传入 ledger=True，或将设置项 ledger 设为 on（DEEPSEEK_SDK_LEDGER=on，"
        "也可以填路径），调用就会写入账本。可用 --ledger 指定其他文件。",
    )
    raise NoLedgerError(text.format(path))


@contextmanager
def written(file: str, ledger: Path, say: Say) -> Iterator[TextIO]:
    """Open a file to write to, or stdout; never the ledger, which would be gone."""
    if file == "-":
        yield sys.stdout
        return
    if Path(file).exists() and ledger.samefile(file):
        text = say(
            en="{} is the ledger itself: give another file to write to, and --ledger for the one to read",
            zh="{} 就是账本本身：请指定其他输出文件，并用 --ledger 指定要读取的账本",
        )
        raise click.UsageError(text.format(file))
    try:
        with Path(file).open("w", encoding="utf-8", newline="") as target:
            yield target
    except OSError as error:
        text = say(en="{} cannot be written: {}", zh="无法写入 {}：{}")
        raise click.ClickException(text.format(file, error.strerror or error)) from error


def row_of(row: UsageRow) -> dict[str, Any]:
    """Make of a row what programs read; amounts are exact decimals."""
    values = {name: getattr(row, name) for name in UsageRow.__dataclass_fields__}
    return {name: plain(value) if isinstance(value, Decimal) else value for name, value in values.items()}


def cells_of(report: UsageReport, say: Say) -> Iterator[dict[str, Any]]:
    """Word the rows for a table, with the total below them."""
    for row in report.rows if report.by else ():
        yield {**_cells(row), "key": None if row.key is None else printable(row.key)}
    yield {**_cells(report.total), "key": say(en="total", zh="合计")}


def _cells(row: UsageRow) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in _COUNTS}
    amounts = {
        "cny": _amount(row.cny, row.cny_low, row.cny_high),
        "usd": _amount(row.usd, row.usd_low, row.usd_high),
        "saved_cny": _amount(row.saved_cny, row.saved_cny, row.saved_cny),
        "saved_usd": _amount(row.saved_usd, row.saved_usd, row.saved_usd),
    }
    return {**counts, **amounts}


def _amount(amount: Decimal | None, low: Decimal | None, high: Decimal | None) -> str | None:
    shown, least, most = (None if each is None else plain(each.quantize(_SHOWN)) for each in (amount, low, high))
    return shown if least == most else f"{shown} ({least}-{most})"


def headings(say: Say, report: UsageReport) -> dict[str, str]:
    """Name the columns; those of the cache where it answered anything."""
    named = {
        "key": report.by or "",
        "calls": say(en="calls", zh="调用"),
        "failed": say(en="failed", zh="失败"),
        "attempts": say(en="attempts", zh="请求"),
        "hit": say(en="cache hit", zh="缓存命中"),
        "miss": say(en="cache miss", zh="缓存未命中"),
        "output": say(en="output", zh="输出"),
        "cny": "CNY",
        "usd": "USD",
    }
    if not report.total.cached:
        return named
    return named | {
        "cached": say(en="from cache", zh="本地缓存"),
        "saved_cny": say(en="saved CNY", zh="节省 CNY"),
        "saved_usd": say(en="saved USD", zh="节省 USD"),
    }


def tell(report: UsageReport, say: Say) -> None:
    """Say beside the numbers what they do not hold."""
    console = console_of(sys.stderr)
    total = report.total
    if total.unpriced_calls:
        text = say(en="{:,} calls have no known price.", zh="有 {:,} 次调用没有已知价格。")
        console.print(text.format(total.unpriced_calls), style="yellow", markup=False)
    if total.estimated_calls:
        text = say(
            en="Of {:,} calls some tokens are estimates: the server did not tell.",
            zh="有 {:,} 次调用的部分 token 数为估算：服务端未返回用量。",
        )
        console.print(text.format(total.estimated_calls), style="dim", markup=False)
    for note in report.findings:
        console.print(note.text(say.lang), style="yellow", markup=False)
