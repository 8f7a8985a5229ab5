"""The demo, as its users see it; the part with the cache is in `test_demo_cached`."""

from __future__ import annotations

import io
import json
import re
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Client
from deepseek_sdk.cli._demo.acts import ACTS, WORDS
from deepseek_sdk.cli._demo.outage import Tried, play_outage
from deepseek_sdk.cli._demo.shown import call_line
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.testing.vocabulary import choose_vocabulary
from tests.cli.conftest import run_program
from tests.cli.terminal import CTRL_C

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import StartTerminal
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"
BREAKERS = ("primary", "fallback")

pytestmark = pytest.mark.slow


def talked(demo: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Give the rows of the conversation."""
    return [row for row in json.loads(demo.stdout) if row["primary_circuit"] is None and row["cache"] is None]


def suffered(demo: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Give the rows of the outage."""
    return [row for row in json.loads(demo.stdout) if row["primary_circuit"] is not None]


def test_succeeds(demo: subprocess.CompletedProcess[str]) -> None:
    """The demo ends with 0: every call went as it should."""
    assert (0, "") == (demo.returncode, demo.stderr if demo.returncode else "")


def test_json_is_all_there_is_on_stdout(demo: subprocess.CompletedProcess[str]) -> None:
    """Stdout is one JSON document with a row per call: with both clients, plain and streamed."""
    rows = talked(demo)

    assert {(c, s) for c in ("sync", "async") for s in (False, True)} == {(r["client"], r["streamed"]) for r in rows}
    assert all(row["is_expected"] and row["model"] == "deepseek-flash" for row in rows)


def test_cut_answer_is_reported(demo: subprocess.CompletedProcess[str]) -> None:
    """The answer that the server cuts is told as cut, with what had arrived."""
    last = talked(demo)[-1]

    assert "StreamInterruptedError" == last["outcome"]
    assert "error.partial.text: Our ticket job" in demo.stderr


def test_times_and_tokens_are_measured(demo: subprocess.CompletedProcess[str]) -> None:
    """Complete calls have counts; streamed ones have a first token before their end."""
    complete = [row for row in talked(demo) if row["outcome"] == "complete"]

    assert all(row["output"] > 0 and row["hit"] + row["miss"] > 0 for row in complete)
    assert all(0 < row["first_token_ms"] < row["total_ms"] for row in complete if row["streamed"])


def test_outage_is_answered(demo: subprocess.CompletedProcess[str]) -> None:
    """While the primary is down the fallback answers, while both are the rule engine does, and the primary returns."""
    rows = suffered(demo)

    assert ["primary", "fallback", "rules", "primary"] == [route for route, _ in groupby(row["route"] for row in rows)]
    assert {"rule-engine"} == {row["model"] for row in rows if row["outcome"] == "degraded"}
    assert {"complete"} == {row["outcome"] for row in rows if row["route"] != "rules"}
    assert all(row["is_expected"] for row in rows)


def test_circuits_open_and_close(demo: subprocess.CompletedProcess[str]) -> None:
    """Both circuits open, then a call has fewer attempts; that of the primary closes when it has returned."""
    rows = suffered(demo)
    # Where the machine is slow, an open circuit becomes half open before its time in the play.
    told = {name: [row[f"{name}_circuit"] for row in rows] for name in BREAKERS}
    states = {name: [state for state, _ in groupby(s for s in told[name] if s != "half_open")] for name in BREAKERS}
    attempts = [[row["attempts"] for row in rows if row["route"] == route] for route in ("fallback", "rules")]

    assert ["closed", "open", "closed"] == states["primary"]
    assert ["closed", "open"] == states["fallback"]
    assert [(2, 1), (3, 1)] == [(first, last) for first, *_, last in attempts]


def test_calls_of_conversation_and_outage_have_the_same_fields(demo: subprocess.CompletedProcess[str]) -> None:
    """Every row has the same keys, in the same order."""
    assert 1 == len({tuple(row) for row in json.loads(demo.stdout)})


def test_breakers_are_shown_as_the_outage_goes_on(demo: subprocess.CompletedProcess[str]) -> None:
    """Tables tell what became of each circuit, after each part of the outage and before the primary is asked."""
    told = re.findall(r"^primary +(closed|open|half open) +(\d+) +(\d+) +(\S+)", demo.stderr, re.MULTILINE)

    assert ["closed", "open", "open", "half open", "closed"] == [state for state, *_ in told]
    assert ("open", "7", "5") == told[1][:3]
    assert "now" == told[3][3]


def test_lines_tell_what_a_call_went_through(demo: subprocess.CompletedProcess[str]) -> None:
    """A line for each call of the outage says who answered and why others did not."""
    shown = re.sub(" +", " ", demo.stderr)

    assert re.search(r"^ fallback \d+ 2 primary: overloaded$", shown, re.MULTILINE)
    assert re.search(r"^ fallback \d+ 1 primary left alone$", shown, re.MULTILINE)
    assert re.search(r"^ rules \(degraded\) \d+ 1 primary left alone; fallback left alone$", shown, re.MULTILINE)
    assert "is left alone for" not in demo.stderr, "the log is not shown besides"


def test_no_rule_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of the rule engine a line says so, and the outage goes on without it."""
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    shown = io.StringIO()
    tries = play_outage("zh", choose_vocabulary(), console_of(shown))

    assert {"primary", "fallback"} == {tried.row(WORDS["zh"])["route"] for tried in tries}
    assert all(tried.is_expected for tried in tries)
    assert 1 == shown.getvalue().count("请运行：python -m pip install 'deepseek-client-sdk[rules]'")


def test_what_should_not_happen_is_told() -> None:
    """A call that nobody answers is shown with its error, and fails the demo."""
    client = Client(base_url="http://127.0.0.1:9", api_key="any", backend=None, max_retries=0)
    with pytest.raises(openai.APIConnectionError) as caught:
        client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}])
    tried = Tried(act=ACTS[0], is_streamed=False, answer=caught.value, text="", circuits={})

    assert (False, 1, "APIConnectionError") == (tried.is_expected, tried.code, tried.row(WORDS["en"])["outcome"])
    assert call_line(caught.value, WORDS["en"]).endswith("cut off; APIConnectionError: Connection error.")


def test_pipes_get_no_escape_codes(demo: subprocess.CompletedProcess[str]) -> None:
    """What is not a terminal gets plain text."""
    assert "\x1b" not in demo.stdout + demo.stderr


def test_terminal_in_chinese(terminal: StartTerminal, model_home: dict[str, str]) -> None:
    """A terminal gets colours, reasoning dim; a Chinese locale gets a Chinese conversation and table."""
    shown = terminal("demo", columns=160, LANG="zh_CN.UTF-8", **model_home)

    assert 0 == shown.finish(timeout_s=50)
    assert "\x1b[2m北京" in shown.raw
    words = ("流式调用，被服务端切断（同步）", "普通调用（异步）", "客户端", "完整", "中断（StreamInterruptedError）")
    assert [] == [word for word in words if word not in shown.text]
    outage = ("一切正常", "primary 故障", "全部故障", "断开", "半开", "闭合", "降级", "过载", "连续失败")
    assert [] == [word for word in outage if word not in shown.text]
    cached = ("缓存（精确）", "缓存（语义）", "意思相同（如何退款）", "词义相反", "节省（元）") if model_home else ()
    assert [] == [word for word in cached if word not in shown.text]
    assert not re.search(r"\b(a?sync|complete|streamed|degraded|open|closed|overloaded|failures)\b", shown.text)


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
    """`--live` holds the conversation with the service, without the cut and the outage, and never shows the key."""
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
