"""The emulator in the foreground."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import openai
import pytest

from deepseek_sdk import Client
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


def test_unknown_fault_is_a_usage_error() -> None:
    """A fault that is not on the menu ends with 2 and shows the menu."""
    done = run_program("emulate", "--fault", "gremlins")

    assert 2 == done.returncode
    assert "gremlins" in done.stderr


def test_menu_of_faults() -> None:
    """`--list-faults` prints each fault with what it means."""
    done = run_program("emulate", "--list-faults")

    assert 0 == done.returncode
    assert all(name in done.stdout for name in Fault.menu())


def test_faults_befall_every_request() -> None:
    """`--fault` alone makes every request fail that way."""
    with emulating("--fault", "status_503") as (url, _), pytest.raises(openai.InternalServerError):
        ask(url)


def test_taken_port(emulator: StartEmulator) -> None:
    """A port that is taken ends with 1 and one line."""
    done = run_program("emulate", "--port", str(emulator().port))

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Error: ")
