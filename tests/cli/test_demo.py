"""The demo, as its users see it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import run_program
from tests.cli.terminal import CTRL_C

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import StartTerminal
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"

pytestmark = pytest.mark.slow


def test_succeeds(demo: subprocess.CompletedProcess[str]) -> None:
    """The demo ends with 0: every call went as it should."""
    assert (0, "") == (demo.returncode, demo.stderr if demo.returncode else "")


def test_json_is_all_there_is_on_stdout(demo: subprocess.CompletedProcess[str]) -> None:
    """Stdout is one JSON document with a row per call: with both clients, plain and streamed."""
    rows: list[dict[str, Any]] = json.loads(demo.stdout)

    assert {(c, s) for c in ("sync", "async") for s in (False, True)} == {(r["client"], r["streamed"]) for r in rows}
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


def test_terminal_in_chinese(terminal: StartTerminal) -> None:
    """A terminal gets colours, reasoning dim; a Chinese locale gets a Chinese conversation and table."""
    shown = terminal("demo", columns=160, LANG="zh_CN.UTF-8")

    assert 0 == shown.finish(timeout_s=50)
    assert "\x1b[2m北京" in shown.raw
    words = ("流式调用，被服务端切断（同步）", "普通调用（异步）", "客户端", "完整", "中断（StreamInterruptedError）")
    assert [] == [word for word in words if word not in shown.text]
    assert not re.search(r"\b(a?sync|complete|streamed)\b", shown.text)


def test_ctrl_c_ends_it_quietly(terminal: StartTerminal) -> None:
    """Ctrl-C ends the demo with 130 and one line, in the middle of an answer as elsewhere."""
    shown = terminal("demo")
    shown.read_until("Beijing is UTC")
    shown.send(CTRL_C)
    code = shown.finish()

    assert 130 == code
    assert re.search(r"Ctrl-C\r\n\Z", shown.text)
    assert not re.search("Aborted|Traceback|Error", shown.text)


def test_live_needs_a_key() -> None:
    """Without a key, `--live` says what is missing, in the user's language, and ends with 3."""
    done = run_program("demo", "--live", "--lang", "zh")

    assert (3, "") == (done.returncode, done.stdout)
    assert "请先把 DEEPSEEK_API_KEY 设为你的 key" in done.stderr


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
