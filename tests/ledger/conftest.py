"""Records of calls as the pipeline leaves them, and programs that write ledgers."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from deepseek_sdk import Usage
from deepseek_sdk._record import Record
from deepseek_sdk.pricing import PriceBook, bill
from deepseek_sdk.resilience.account import Account

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.pricing import Cost

AT = 1_796_004_000.0  # 2026-11-30 10:00 in Beijing: peak hours
DAY = 86_400.0
USAGE = Usage(hit=896, miss=104, output=50, reasoning=20)
URL = "https://api.deepseek.com"


@functools.cache
def book() -> PriceBook:
    """Read the prices once."""
    return PriceBook.builtin()


def price(record: Record) -> Cost | None:
    """Tell what a call costs, as clients do."""
    return bill(record, book())


def add_attempt(record: Record, model: str = "deepseek-flash", usage: Usage | None = USAGE, **more: Any) -> None:
    """Let a call ask a server once more."""
    account = Account(more.pop("base_url", URL), model, "sha256:9f86d081884c")
    route = more.pop("route", "primary")
    attempt = record.begin(route=route, model=model, now=float(len(record.attempts)), account=account)
    attempt.ended, attempt.first_token = attempt.started + 0.9, attempt.started + 0.2
    attempt.outcome, attempt.usage, attempt.finish_reason = "complete", usage, "stop"
    for name, value in more.items():
        setattr(attempt, name, value)


def ended(
    at: float = AT, *, attempts: int = 1, ending: Any = "complete", reason: str | None = None, **more: Any
) -> Record:
    """Make the record of a call that is over."""
    facts = {"path": "/chat/completions", "asked": "deepseek-flash", "price": price, **more}
    record = Record(started=0.0, at=at, **facts)
    for _ in range(attempts):
        add_attempt(record)
    record.ending, record.reason = ending, reason
    record.finish_reason = "stop" if attempts else None
    record.times.total = 1.5
    return record


BEGINNING = """
import gc, os, sys, threading, time, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from deepseek_sdk.ledger import Ledger
from tests.ledger.conftest import AT, ended

PATH = sys.argv[1]
"""


def command(program: str, path: Path, *arguments: str) -> list[str]:
    """Give the command that runs a program with a ledger at *path*."""
    return [sys.executable, "-c", BEGINNING + textwrap.dedent(program), str(path), *arguments]


def run(program: str, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with a ledger at *path*, and wait for its end."""
    return subprocess.run(command(program, path, *arguments), capture_output=True, text=True, check=False, timeout=50)
