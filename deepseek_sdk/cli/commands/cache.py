"""`deepseek-sdk cache`: the answers that are kept on this machine."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.caching import exchange
from deepseek_sdk.caching.directory import DATABASE
from deepseek_sdk.caching.exact import default_path
from deepseek_sdk.caching.operations import key_of, opened, selected
from deepseek_sdk.cli._cache import (
    entry_facts,
    fact_headings,
    facts_in_words,
    flat,
    list_cells,
    list_headings,
    list_row,
    reason_in_words,
    said_in_words,
    shortened,
    totals,
)
from deepseek_sdk.cli._exits import Exit, hide_keys
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._service import default_model
from deepseek_sdk.cli._suggesting import SuggestingGroup
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.cli._warm import cache_with, embedder_of, read_pairs, read_ttl, warmed
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.caching.embedding.base import Embedder
    from deepseek_sdk.caching.exchange import Imported
    from deepseek_sdk.caching.warming.warm import Warmed

__all__ = ["command"]

# How much may be kept is for the programs to say that use the cache.
_NO_LIMIT = 2**62
_MAX_ENTRY_BYTES = 64 * 2**20
# Lines that are skipped for these reasons are as they should be.
_GOOD = frozenset({"duplicate", "expired", "flushed", "known", "tenant"})
# So many of the others are told one by one.
_TOLD = 20


class NoCacheError(click.ClickException):
    """There is nothing to look at, or it cannot be used."""

    exit_code = Exit.CONFIGURATION


class CacheCommands(SuggestingGroup):
    """Knows what people call these commands elsewhere."""

    other_names: Mapping[str, str] = {
        "add": "warm",
        "clear": "purge --all",
        "delete": "purge",
        "flush": "purge --all",
        "invalidate": "purge",
        "list": "ls",
        "prewarm": "warm",
        "remove": "purge",
        "rm": "purge",
        "show": "inspect",
    }


def read_age(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Read how old answers must be."""
    if value is not None:
        try:
            selected(older_than=value, now_ms=int(time.time() * 1000))
        except ConfigurationError:
            raise click.BadParameter(f"{value!r} is no age such as 7d, and no date.", param=parameter) from None
    return value


def read_id(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Read the beginning of a key, in small or capital letters."""
    if value is not None and (not value or set(value.lower()) - set("0123456789abcdef")):
        raise click.BadParameter(f"{value!r} is not the beginning of a key: hex digits.", param=parameter)
    return None if value is None else value.lower()


def read_path(_: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Read a directory; shells leave a ~ in --path=~/x to the program."""
    try:
        return None if value is None else value.expanduser().absolute()
    except RuntimeError:
        raise click.BadParameter(f"{str(value)!r} names the home of nobody.", param=parameter) from None


path_option = click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    callback=read_path,
    help="The directory; else the usual one of this user.",
)
secret_option = click.option(
    "--secret-file",
    type=click.File("rb"),
    metavar="FILE",
    help="A file with what records are signed with; a line end is not part of it.",
)
tag_option = click.option("--tag", metavar="NAME[=VALUE]", help="Only those with this tag.")
model_option = click.option("--model", metavar="MODEL", help="Only those asked of, or answered by, this model.")
tenant_option = click.option("--tenant", metavar="NAME", help="Only those of this tenant.")


@click.group("cache", cls=CacheCommands, short_help="Look at the answers that are kept, remove or move them.")
def command() -> None:
    """
    Look at the answers that programs keep on this machine, remove them, or move them to another.

    Clients keep answers where they are made with cache="exact" or cache="semantic", or where the
    setting `cache` is on (DEEPSEEK_SDK_CACHE).
    """


@command.command("stats", short_help="Show how much is kept.")
@path_option
@language_option
@output_option
def show_stats(*, path: Path | None, lang: str, output: str) -> None:
    """Show how much is kept; what the cache has saved stands in the ledger: `deepseek-sdk usage --by cache`."""
    say = Say(lang)
    with existing(path, say) as cache:
        told = totals(cache, int(time.time() * 1000))
    show_facts(told, output, say)


@command.command("ls", short_help="List answers, the newest first.")
@path_option
@tag_option
@model_option
@tenant_option
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many; 0: all.")
@language_option
@output_option
def list_answers(
    *, path: Path | None, tag: str | None, model: str | None, tenant: str | None, limit: int, lang: str, output: str
) -> None:
    """List answers, the newest first: when they were kept, of which model, whose, and with which tags."""
    say = Say(lang)
    with existing(path, say) as cache:
        found = cache.ls(tag=tag, model=model, tenant=tenant, limit=limit or None)
    rows, cells = [list_row(row) for row in found], [list_cells(row) for row in found]
    show(made_for(rows, output), output=output, headings=list_headings(say), cells=cells)


@command.command("inspect", short_help="Show what is known of one answer.")
@click.argument("name", metavar="ID", callback=read_id)
@click.option("--show-text", is_flag=True, help="Show what the user and the model said, too.")
@path_option
@secret_option
@language_option
@output_option
def inspect(*, name: str, show_text: bool, path: Path | None, secret_file: Any, lang: str, output: str) -> None:
    """Show what is known of the answer whose key begins with ID, such as what it cost; no texts unless asked for."""
    say = Say(lang)
    with existing(path, say, secret_of(secret_file)) as cache:
        entry = cache.inspect(name)
        is_there = entry is not None or cache.stats().errors.get("bad_record", 0) > 0
    if entry is None:
        raise click.ClickException(_unreadable(say) if is_there else _no_answer(say).format(name))
    is_table = output == "table"
    show_facts(entry_facts(entry, with_text=show_text and not is_table), output, say)
    if show_text and is_table:
        click.echo("\n" + said_in_words(entry, say))


def _no_answer(say: Say) -> str:
    return say(en="there is no answer whose key begins with {}", zh="没有键以 {} 开头的回答")


def _unreadable(say: Say) -> str:
    return say(
        en="the record cannot be read: it is damaged, or signed with a secret that --secret-file must name",
        zh="记录无法读取：已损坏，或带有签名，需要用 --secret-file 指定密钥文件",
    )


@command.command("purge", short_help="Remove answers.")
@path_option
@tag_option
@model_option
@tenant_option
@click.option("--id", "key", metavar="ID", callback=read_id, help="Only the one whose key begins with ID.")
@click.option(
    "--older-than", metavar="AGE", callback=read_age, help="Only those kept so long ago, 7d or 24h, or before a date."
)
@click.option("--all", "is_all", is_flag=True, help="All of them, at once for all programs.")
@click.option("--dry-run", is_flag=True, help="Only tell how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@language_option
@output_option
def purge(*, path: Path | None, is_all: bool, dry_run: bool, yes: bool, lang: str, output: str, **only: Any) -> None:
    """
    Remove answers, also from the memory of programs that run: those for which all that is given holds.

    It asks before it removes anything, unless --yes is given; where there is no terminal to ask, --yes is needed.
    """
    say = Say(lang)
    chosen = {name: value for name, value in only.items() if value is not None}
    if is_all == bool(chosen):
        text = say(
            en="give --id, --tag, --model, --tenant or --older-than, or --all alone",
            zh="请指定 --id、--tag、--model、--tenant 或 --older-than，或者单独使用 --all",
        )
        raise click.UsageError(text)
    if not (yes or dry_run):
        check_terminal(say)
    with existing(path, say) as cache:
        if "key" in chosen:
            chosen["key"] = whole_key(cache, chosen["key"], say)
        count, size = counted(cache, chosen)
        if count and not dry_run and (yes or is_agreed(count, say)):
            removed = cache.invalidate(**chosen) if chosen else cache.flush()
            count, size = removed.count, removed.bytes
    row = {"count": count, "bytes": size, "is_dry_run": dry_run}
    headings = {
        "count": say(en="would be removed", zh="将删除") if dry_run else say(en="removed", zh="已删除"),
        "bytes": say(en="bytes", zh="字节"),
    }
    show([row], output=output, headings=headings)


def check_terminal(say: Say) -> None:
    """See to it that there is somebody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        text = say(
            en="there is no terminal to ask before anything is removed: give --yes",
            zh="没有终端可供确认，删除需要加上 --yes",
        )
        raise click.UsageError(text)


def whole_key(cache: ExactCache, name: str, say: Say) -> str:
    """Find the one answer whose key begins like that."""
    with opened(cache) as tier:
        key = key_of(cache, tier, name)
    if key is None:
        raise click.ClickException(_no_answer(say).format(name))
    return key


def counted(cache: ExactCache, chosen: Mapping[str, Any]) -> tuple[int, int]:
    """Count what would be removed."""
    if chosen:
        found = cache.invalidate(**chosen, dry_run=True)
        return found.count, found.bytes
    held = cache.stats()
    return held.entries or 0, held.bytes or 0


def is_agreed(count: int, say: Say) -> bool:
    """Ask; whoever says no ends the program."""
    text = say(en="Remove {:,} answers?", zh="确定删除 {:,} 条回答？")
    return click.confirm(text.format(count), abort=True, err=True)


@command.command("export", short_help="Write answers to a file, a line of JSON each.")
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@path_option
@tag_option
@model_option
@secret_option
@language_option
def export(*, file: str, path: Path | None, tag: str | None, model: str | None, secret_file: Any, lang: str) -> None:
    """
    Write answers to FILE, or to stdout, a line of JSON each.

    The lines hold what users and models said, and whose it is: a word, or a hash of the API key; never the key.
    """
    say = Say(lang)
    with existing(path, say, secret_of(secret_file)) as cache, files_named(file, say):
        target: Any = sys.stdout.buffer if file == "-" else file
        count = cache.export(target, tag=tag, model=model)
    say_aside(say(en="{:,} answers", zh="共 {:,} 条回答").format(count))


@command.command("import", short_help="Keep answers that were exported.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@path_option
@tenant_option
@secret_option
@language_option
@output_option
def import_answers(
    *, file: str, path: Path | None, tenant: str | None, secret_file: Any, lang: str, output: str
) -> None:
    """
    Keep the answers of FILE, or of stdin where it is -, but for those that have ended or are known.

    Lines that cannot be used are skipped and counted; where there are no others, it ends with 1.
    """
    say = Say(lang)
    skipped: Counter[str] = Counter()
    with used(path or default_path(), say, secret_of(secret_file)) as cache, files_named(file, say):
        source: Any = sys.stdin.buffer if file == "-" else file
        done = exchange.bring_in(cache, source, tenant=tenant, skip=teller(skipped, say))
    show_kept(done, output, say)


@command.command("warm", short_help="Keep answers from a list of questions.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-m", "--model", default=default_model, show_default="from the settings", help="That calls will ask.")
@click.option("--system", metavar="TEXT", help="The system message that calls will have; none by default.")
@click.option("--tag", "tags", metavar="NAME=VALUE", multiple=True, callback=read_pairs, help="A tag of the answers.")
@click.option("--ttl", metavar="AGE", default="1d", show_default=True, callback=read_ttl, help="Such as 7d; or never.")
@click.option("--tenant", metavar="NAME", help="Of the calls to come; default: those with your API key.")
@click.option("--semantic/--exact", "is_semantic", default=True, help="Keep vectors, too; default: --semantic.")
@path_option
@secret_option
@language_option
@output_option
def warm(
    *,
    file: str,
    path: Path | None,
    secret_file: Any,
    is_semantic: bool,
    ttl: float | None,
    lang: str,
    output: str,
    **how: Any,
) -> None:
    """
    Keep the answers of FILE, a list of frequent questions, as if the model had given them; nothing is sent.

    FILE is CSV or TSV with the columns "question" and "answer", or JSON lines; - is stdin, JSON lines. Calls find an
    answer that say the same of everything but the question; in other words, if they use the semantic cache.
    """
    say = Say(lang)
    if file != "-":
        with files_named(file, say):
            # Before a model is built, and a cache made.
            Path(file).stat()
    embedder = embedder_of(say) if is_semantic else None
    with (
        used(path or default_path(), say, secret_of(secret_file), embedder=embedder, ttl_s=ttl) as cache,
        files_named(file, say),
    ):
        done, whose = warmed(cache, sys.stdin.buffer if file == "-" else file, say, **how)
    show_kept(done, output, say, tenant=whose)


def show_kept(done: Imported | Warmed, output: str, say: Say, **more: Any) -> None:
    """Show how many answers were kept, and why others were not; it is a failure where none could be."""
    row = {"kept": done.kept, "skipped": sum(done.skipped.values()), "reasons": dict(done.skipped), **more}
    headings = {
        "kept": say(en="kept", zh="已写入"),
        "skipped": say(en="skipped", zh="已跳过"),
        "tenant": say(en="tenant", zh="租户"),
        "reasons": say(en="reasons", zh="原因"),
    }
    headings = {name: heading for name, heading in headings.items() if name in row}
    reasons = ", ".join(f"{reason_in_words(name, say)}: {count}" for name, count in done.skipped.items()) or None
    cells = {**row, "reasons": reasons, "tenant": shortened(row["tenant"]) if row.get("tenant") else None}
    show(made_for([row], output), output=output, headings=headings, cells=[cells])
    if done.skipped and not (done.kept or _GOOD & done.skipped.keys()):
        click.get_current_context().exit(Exit.FAILURE)


def teller(skipped: Counter[str], say: Say) -> Callable[[int, str], None]:
    """Make what tells of the first bad lines; how many there are of each kind is counted in the end."""

    def tell(number: int, reason: str) -> None:
        if reason not in _GOOD and skipped.total() < _TOLD:
            skipped[reason] += 1
            text = say(en="line {:,} was skipped: {}", zh="第 {:,} 行已跳过：{}")
            say_aside(text.format(number, reason_in_words(reason, say)))

    return tell


@contextmanager
def used(
    path: Path, say: Say, secret: bytes | None = None, *, embedder: Embedder | None = None, ttl_s: float | None = None
) -> Iterator[ExactCache]:
    """Open a cache, whatever the programs that use it allow, and close it; tell what is wrong with it."""
    check_directory(path, say)
    try:
        with _opened(path, secret, embedder, ttl_s) as cache:
            yield cache
    except ConfigurationError as error:
        raise NoCacheError(hide_keys(str(error))) from error


def check_directory(path: Path, say: Say) -> None:
    """Refuse what is no directory."""
    try:
        # The second is for directories that may not be looked into.
        is_file, _ = path.is_file(), (path / DATABASE).exists()
    except OSError as error:
        text = say(en="{} cannot be used: {}", zh="无法使用 {}：{}")
        raise NoCacheError(text.format(path, error.strerror or error)) from error
    if is_file:
        raise NoCacheError(say(en="{} is a file, not a directory", zh="{} 是文件，不是目录").format(path))


@contextmanager
def _opened(path: Path, secret: bytes | None, embedder: Embedder | None, ttl_s: float | None) -> Iterator[ExactCache]:
    cache = cache_with(embedder)(
        path,
        ttl_s=ttl_s,
        max_bytes=_NO_LIMIT,
        memory_bytes=0,
        max_entry_bytes=_MAX_ENTRY_BYTES,
        negative_ttl_s=None,
        claim_s=None,
        secret=secret,
    )
    try:
        yield cache
    finally:
        cache.close()


@contextmanager
def existing(path: Path | None, say: Say, secret: bytes | None = None) -> Iterator[ExactCache]:
    """Open a cache that is there; who looks for one does not make it."""
    found = path or default_path()
    check_directory(found, say)
    if not (found / DATABASE).exists():
        text = say(
            en='there is no cache in {}. Clients keep answers where they are made with cache="exact" or "semantic", or'
            " where the setting `cache` is on: DEEPSEEK_SDK_CACHE=exact, or semantic. --path names another directory.",
            zh='{} 处没有缓存。创建客户端时传入 cache="exact" 或 "semantic"，或设置 cache'
            "（DEEPSEEK_SDK_CACHE=exact 或 semantic），回答就会写入缓存。可用 --path 指定其他目录。",
        )
        raise NoCacheError(text.format(found))
    with used(found, say, secret) as cache:
        yield cache


@contextmanager
def files_named(file: str, say: Say) -> Iterator[None]:
    """Tell what is wrong with a file that was named."""
    try:
        yield
    except OSError as error:
        if file == "-":
            raise
        text = say(en="{} cannot be used: {}", zh="无法使用 {}：{}")
        raise click.ClickException(text.format(file, error.strerror or error)) from error


def secret_of(file: Any) -> bytes | None:
    """Read what records are signed with."""
    return None if file is None else file.read().rstrip(b"\r\n")


def show_facts(facts: Mapping[str, Any], output: str, say: Say) -> None:
    """Print what is known of one thing: as a table each fact on a line, else one row."""
    show(made_for([facts], output), output=output, headings=fact_headings(say), cells=facts_in_words(facts, say))


def made_for(rows: Sequence[Mapping[str, Any]], output: str) -> Sequence[Mapping[str, Any]]:
    """Give rows the form that a format needs."""
    return flat(rows) if output == "csv" else rows


def say_aside(text: str) -> None:
    """Say something that is no data."""
    console_of(sys.stderr).print(text, style="dim", markup=False)
