"""`deepseek-sdk doctor`: what keeps calls from working, and what to do about it."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from deepseek_sdk._validate import check_base_url
from deepseek_sdk.cli._account import base_url_option
from deepseek_sdk.cli._doctor.finding import found_by, skipped, softened
from deepseek_sdk.cli._doctor.machine import check_engine, check_extras, check_python, check_versions
from deepseek_sdk.cli._doctor.network import (
    judge_balance,
    judge_clock,
    judge_endpoint,
    judge_models,
    judge_proxy,
    judge_tls,
)
from deepseek_sdk.cli._doctor.semantic import check_semantic
from deepseek_sdk.cli._doctor.settings import check_backend, check_settings, judge_key
from deepseek_sdk.cli._doctor.store import check_store
from deepseek_sdk.cli._doctor.visit import visit_endpoint
from deepseek_sdk.cli._exits import Exit, hide_keys
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._numbers import Numbers
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.config import read_settings
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._doctor.visit import Visit
    from deepseek_sdk.config import Settings

    Check: TypeAlias = tuple[str, Callable[[], Finding | list[Finding]]]

__all__ = ["command"]

_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_STEP_S = 5.0
# A shorter key may be a part of any word; no service gives such out.
_SHORTEST_FOUND = 8


@click.command("doctor", short_help="Look for what keeps calls from working.")
@click.option("--offline", is_flag=True, help="Skip whatever opens a socket.")
@base_url_option
@click.option(
    "--timeout",
    type=Numbers(min=0, min_open=True),
    default=_STEP_S,
    show_default=True,
    help="The longest for each step on the network, in seconds.",
)
@language_option
@output_option
def command(*, offline: bool, base_url: str | None, timeout: float, lang: str, output: str) -> None:
    """
    Look for what keeps calls from working; each line that is not ok says what to do.

    Ends with 5 when a check failed; warnings do not count. No key is ever shown.
    """
    say = Say(lang)
    if base_url is not None:
        check_base_url(base_url)
    settings = read_settings(**({} if base_url is None else {"base_url": base_url}))
    with console_of(sys.stderr).status(say(en="checking", zh="检查中")):
        visit = visit_of(settings, timeout_s=timeout, is_offline=offline)
        findings = [one for name, run in checks(settings, visit, say) for one in found_by(name, run, say)]
    if settings["backend"]:
        findings = [softened(finding, say) for finding in findings]
    rows = [finding.row(partial(hidden, key=settings["api_key"])) for finding in findings]
    headings = {
        "check": say(en="check", zh="检查项"),
        "status": say(en="status", zh="状态"),
        "detail": say(en="detail", zh="说明"),
    }
    show(rows, output=output, headings=headings, cells=[in_words(row, say) for row in rows])
    has_failed = any(finding.status == "failed" for finding in findings)
    click.get_current_context().exit(Exit.CHECK if has_failed else Exit.OK)


def visit_of(settings: Settings, *, timeout_s: float, is_offline: bool) -> Visit | None:
    """Visit the endpoint, unless the key may not be sent there, or nothing is asked there."""
    if is_idle(settings):
        return None
    try:
        url = settings.trusted_base_url(has_own_key=False)
    except ConfigurationError:
        return None
    return visit_endpoint(url, settings["api_key"], timeout_s=timeout_s, is_offline=is_offline)


def is_idle(settings: Settings) -> bool:
    """Tell whether no command needs the endpoint: a backend answers, and there is no key to ask for account data."""
    is_named = settings.origin("base_url").kind == "argument"
    return bool(settings["backend"]) and not settings["api_key"] and not is_named


def checks(settings: Settings, visit: Visit | None, say: Say) -> tuple[Check, ...]:
    """List the checks, each with its name, in the order of their lines."""

    def over(name: str, judge: Callable[[Visit, Say], Finding]) -> Check:
        return name, partial(judged, name, judge, visit, unasked(settings, say), say)

    return (
        ("python", partial(check_python, say)),
        ("versions", partial(check_versions, say)),
        ("settings", partial(check_settings, settings, say)),
        ("backend", partial(check_backend, settings, say)),
        ("key", partial(judge_key, settings, visit.status if visit else None, say)),
        over("proxy", judge_proxy),
        over("endpoint", judge_endpoint),
        over("tls", judge_tls),
        over("clock", judge_clock),
        over("balance", judge_balance),
        over("models", partial(judge_models, model=settings["model"])),
        ("extras", partial(check_extras, say)),
        ("store", partial(check_store, say)),
        ("semantic", partial(check_semantic, settings, say)),
        ("engine", partial(check_engine, say)),
    )


def unasked(settings: Settings, say: Say) -> str:
    """Say why there was no visit."""
    if is_idle(settings):
        return say(en="not asked: the backend answers", zh="未访问：由后端作答")
    return say(en="not asked: see settings", zh="未访问：见 settings 一项")


def judged(name: str, judge: Callable[[Visit, Say], Finding], visit: Visit | None, absence: str, say: Say) -> Finding:
    """Judge a visit, where there was one; *absence* says why there was none."""
    if visit is None:
        return skipped(name, absence)
    if visit.is_offline and name != "proxy":
        return skipped(name, say(en="not asked: --offline", zh="未访问：--offline"))
    return judge(visit, say)


def hidden(text: str, *, key: str | None) -> str:
    """Take out of *text* whatever may not be shown."""
    is_findable = key is not None and len(key) >= _SHORTEST_FOUND
    return hide_keys(text.replace(key, "sk-…") if key and is_findable else text)


def in_words(row: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Word a row for a table: the status in colour, the advice under the detail."""
    words = {
        "ok": say(en="ok", zh="正常"),
        "warning": say(en="warning", zh="警告"),
        "failed": say(en="failed", zh="失败"),
        "skipped": say(en="skipped", zh="跳过"),
    }
    status = Text(words[row["status"]], style=_STYLES[row["status"]])
    detail = row["detail"] + (f"\n→ {row['advice']}" if row["advice"] else "")
    return {"check": row["check"], "status": status, "detail": detail}
