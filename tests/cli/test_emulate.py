"""The emulator in the foreground."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import openai
import pytest
from click.testing import CliRunner

from deepseek_sdk import Client
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli.commands.emulate import arguments_of
from deepseek_sdk.testing import Fault
from tests.cli.conftest import PROGRAM, environment, run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import StartEmulator

pytestmark = pytest.mark.slow


@contextmanager
def emulating(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start `emulate`, and give its URL and the process."""
    with subprocess.Popen(
        [*PROGRAM, "emulate", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    ) as process:
        try:
            yield next(iter(process.stdout or ())).strip(), process
        finally:
            process.kill()


def ask(url: str, *, api_key: str = "any") -> str | None:
    """Ask the emulator at *url*, once."""
    with Client(base_url=url, api_key=api_key, max_retries=0) as client:
        answer = client.chat.completions.create(
            model="deepseek-flash", messages=[{"role": "user", "content": "Good morning"}]
        )
    return answer.choices[0].message.content


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_answers_until_stopped(number: signal.Signals) -> None:
    """The URL on stdout answers; a signal ends the program with 0."""
    with emulating() as (url, process):
        answer = ask(url)
        process.send_signal(number)
        rest, hints = process.communicate(timeout=20)

    assert "Good morning" in (answer or "")
    assert (0, "") == (process.returncode, rest)
    assert f'base_url="{url}"' in hints


def test_only_the_given_key_is_accepted() -> None:
    """`--api-key` refuses every other key, and is not printed."""
    with emulating("--api-key", "sk-secret-of-mine") as (url, process):
        with pytest.raises(openai.AuthenticationError):
            ask(url)
        answer = ask(url, api_key="sk-secret-of-mine")
        process.send_signal(signal.SIGINT)
        _, hints = process.communicate(timeout=20)

    assert answer
    assert "secret" not in hints


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("gremlins", "no fault is named 'gremlins'; see Fault.menu(); --list-faults shows them all"),
        ("cut_by_oef", "perhaps cut_by_eof, cut_by_close or cut_by_reset;"),
        ("cut_by_eof(after=3)", "cut_by_eof takes after_events, not 'after';"),
        ("cut_by_eof(after_events=x)", "after_events must be a whole number, 0 or more, not 'x';"),
        ("stall(seconds=-1)", "seconds must be a number of seconds, 0 or more, not -1;"),
    ],
)
def test_faults_that_cannot_be_are_usage_errors(fault: str, told: str) -> None:
    """A fault that is not on the menu, or with arguments it does not take, ends with 2 before anything listens."""
    done = CliRunner().invoke(app, ["emulate", "--fault", fault])

    assert (2, "") == (done.exit_code, done.stdout)
    assert told in done.stderr


def test_menu_of_faults() -> None:
    """`--list-faults` prints each fault with its arguments and what it means."""
    done = CliRunner().invoke(app, ["emulate", "--list-faults", "-o", "json"])
    rows = {row["fault"]: row for row in json.loads(done.stdout)}

    assert (0, list(Fault.menu())) == (done.exit_code, list(rows))
    assert [
        "after_events=3, seconds=None",
        "retry_after_s=1.0, form=milliseconds, message=None",
        None,
    ] == [rows[name]["arguments"] for name in ("stall", "status_429_retry_after_ms", "gzip")]
    assert all(name in CliRunner().invoke(app, ["emulate", "--list-faults"]).stdout for name in Fault.menu())


@pytest.mark.parametrize("name", Fault.menu())
def test_arguments_of_the_menu_can_be_typed(name: str) -> None:
    """What the list shows behind a name is what `--fault` takes, and means the same."""
    assert Fault.named(name) == Fault.named(f"{name}({arguments_of(name) or ''})")


def test_url_as_data() -> None:
    """`-o json` prints the URL as a row."""
    with emulating("-o", "jsonl") as (line, process):
        url = json.loads(line)["url"]
        assert "Good morning" in (ask(url) or "")
        process.send_signal(signal.SIGINT)


def test_faults_befall_every_request() -> None:
    """`--fault` alone makes every request fail that way."""
    with emulating("--fault", "status_503") as (url, _), pytest.raises(openai.InternalServerError):
        ask(url)


def test_taken_port(emulator: StartEmulator) -> None:
    """A port that is taken ends with 1 and one line."""
    done = run_program("emulate", "--port", str(emulator().port))

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Error: ")
