"""The demo, as its users see it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import PROGRAM, environment, run_program

if TYPE_CHECKING:
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"

pytestmark = pytest.mark.slow


def test_succeeds(demo: subprocess.CompletedProcess[str]) -> None:
    """The demo ends with 0: every call went as it should."""
    assert (0, "") == (demo.returncode, demo.stderr if demo.returncode else "")


def test_json_is_all_there_is_on_stdout(demo: subprocess.CompletedProcess[str]) -> None:
    """Stdout is one JSON document with a row per call, in both colours, plain and streamed."""
    rows: list[dict[str, Any]] = json.loads(demo.stdout)

    assert {(c, s) for c in ("sync", "async") for s in (False, True)} == {(r["colour"], r["streamed"]) for r in rows}
    assert all(row["is_expected"] and row["model"] == "deepseek-flash" for row in rows)


def test_cut_answer_is_reported(demo: subprocess.CompletedProcess[str]) -> None:
    """The answer that the server cuts is told as cut, with what had arrived."""
    last = json.loads(demo.stdout)[-1]

    assert "StreamInterruptedError" == last["outcome"]
    assert "error.partial.text: Our ticket job" in demo.stderr


def test_times_and_tokens_are_measured(demo: subprocess.CompletedProcess[str]) -> None:
    """Complete calls have counts; streamed ones have a first token before their end."""
    complete = [row for row in json.loads(demo.stdout) if row["outcome"] == "complete"]

    assert all(row["output"] > 0 and row["hit"] + row["miss"] > 0 for row in complete)
    assert all(0 < row["first_token_ms"] < row["total_ms"] for row in complete if row["streamed"])


def test_pipes_get_no_escape_codes(demo: subprocess.CompletedProcess[str]) -> None:
    """What is not a terminal gets plain text."""
    assert "\x1b" not in demo.stdout + demo.stderr


def test_terminal_in_chinese() -> None:
    """A terminal gets colours, reasoning dim; a Chinese locale gets a Chinese conversation and table."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    variables = environment(TERM="xterm-256color", COLUMNS="160", LANG="zh_CN.UTF-8")
    with subprocess.Popen([*PROGRAM, "demo"], stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        shown = read_terminal(ours)

    assert 0 == process.returncode
    assert "\x1b[2m北京" in shown
    assert "流式调用，被服务端切断" in shown


def read_terminal(descriptor: int) -> str:
    """Read what a process writes to its terminal until it ends."""
    pieces = []
    with os.fdopen(descriptor, "rb", buffering=0) as terminal:
        while piece := read_piece(terminal.fileno()):
            pieces.append(piece)
    return b"".join(pieces).decode()


def read_piece(descriptor: int) -> bytes:
    """Read a piece; Linux ends a terminal whose other side is gone with an error."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_live_needs_a_key() -> None:
    """Without a key, `--live` says what is missing and ends with 3."""
    done = run_program("demo", "--live")

    assert (3, "") == (done.returncode, done.stdout)
    assert "DEEPSEEK_API_KEY" in done.stderr


def test_live_asks_the_endpoint_of_the_environment(emulator: StartEmulator) -> None:
    """`--live` holds the conversation with the service, without the cut, and never shows the key."""
    server = emulator(api_key=KEY)
    done = run_program("demo", "--live", "-o", "jsonl", DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url)

    assert (0, 4, 4) == (done.returncode, len(done.stdout.splitlines()), len(server.requests))
    assert KEY not in done.stdout + done.stderr


def test_wrong_key_ends_with_3(emulator: StartEmulator) -> None:
    """A key that the service refuses is an error of configuration; nothing of it is shown."""
    server = emulator(api_key="another")
    done = run_program("demo", "--live", DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url)

    assert 3 == done.returncode
    assert "AuthenticationError" in done.stdout
    assert "cdef" not in done.stdout + done.stderr
