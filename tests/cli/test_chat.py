"""`chat`, as its users meet it: one question through pipes, and conversations in a terminal."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import pytest
from click.testing import CliRunner
from rich.console import Console

from deepseek_sdk import Client
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli._chat.errors import explain
from deepseek_sdk.cli._chat.keys import Interrupts
from deepseek_sdk.cli._chat.lines import History, is_open, without_quotes
from deepseek_sdk.cli._chat.markdown import Block, split_blocks
from deepseek_sdk.cli._chat.stdin import piped_text, readable
from deepseek_sdk.cli._chat.talk import Answer, QuestionOptions, Talk
from deepseek_sdk.cli._chat.view import MarkdownChannel
from deepseek_sdk.cli._chat.words import WORDS
from deepseek_sdk.cli._chat.wrap import break_offsets
from deepseek_sdk.cli._terminal import is_lively, printable
from deepseek_sdk.errors import UnknownModelError
from deepseek_sdk.testing import Reply
from tests.cli.conftest import PROGRAM, environment, run_program
from tests.cli.terminal import CTRL_C, CTRL_D, UP

if TYPE_CHECKING:
    from click.testing import Result

    from deepseek_sdk.testing import Emulator
    from tests.cli.conftest import StartTerminal
    from tests.cli.terminal import Terminal
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"
PROMPT = r"\n> "
SLOW = Reply(content="one two three four five six seven eight nine ten " * 20, reasoning="")


def connection(server: Emulator) -> dict[str, str]:
    """Give the variables that lead a process to *server*."""
    return {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": server.url}


def invoke(server: Emulator, *arguments: str, stdin: str = "") -> Result:
    """Run `chat` in this process, through what it takes for pipes."""
    variables = {**connection(server), "LANG": "en_US.UTF-8", "DEEPSEEK_SDK_CONFIG": ""}
    return CliRunner().invoke(app, ["chat", *arguments], input=stdin, env=variables)


def outcome(server: Emulator, number: int = -1) -> str:
    """Wait until the server knows how a request ended, at most a second."""
    server.wait_until_idle(1.0)
    return server.requests[number].outcome


# One question.


@pytest.mark.slow
def test_answer_is_all_there_is_on_stdout(emulator: StartEmulator) -> None:
    """A pipe gets the text of the answer and no escape code; reasoning is not shown."""
    server = emulator(replies=[Reply(content="**四**。", reasoning="二加二")])
    done = run_program("chat", "二加二？", **connection(server))

    assert (0, "**四**。\n", "") == (done.returncode, done.stdout, done.stderr)
    assert [{"role": "user", "content": "二加二？"}] == server.requests[0].body["messages"]


def test_options_are_sent(emulator: StartEmulator) -> None:
    """Each option of the request arrives where the service reads it."""
    server = emulator(replies=["yes"])
    done = invoke(
        server, "-m", "deepseek-v4-pro", "--system", "Be brief.", "--thinking", "--effort", "low",
        "--max-tokens", "500", "--temperature", "0.5", "Really?",
    )  # fmt: skip
    body = server.requests[0].body

    assert (0, "yes\n") == (done.exit_code, done.stdout)
    assert [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Really?"}] == body["messages"]
    assert ("deepseek-v4-pro", {"type": "enabled"}, "low") == (
        body["model"], body["thinking"], body["reasoning_effort"],
    )  # fmt: skip
    assert (500, 0.5) == (body["max_tokens"], body["temperature"])


def test_json_row(emulator: StartEmulator) -> None:
    """`-o json` prints one row, with what was asked of stdin, what was answered, and what it took."""
    server = emulator(replies=[Reply(content="四", reasoning="想一想")])
    done = invoke(server, "-o", "json", "-", stdin="二加二？\n")
    (row,) = json.loads(done.stdout)

    assert ("二加二？", "想一想", "四", "stop", None) == tuple(
        row[name] for name in ("question", "reasoning", "answer", "finish_reason", "error")
    )
    assert ("deepseek-flash", 1, server.requests[0].completion_tokens) == (row["model"], row["attempts"], row["output"])
    assert 0 <= row["first_token_ms"] <= row["total_ms"]


def test_csv_row(emulator: StartEmulator) -> None:
    """`-o csv` prints a heading and the row."""
    done = invoke(emulator(replies=['a "b"\nc']), "-o", "csv", "q")
    (row,) = csv.DictReader(io.StringIO(done.stdout))

    assert ("q", 'a "b"\nc') == (row["question"], row["answer"])


def test_reasoning_is_shown_on_request(emulator: StartEmulator) -> None:
    """`--show-reasoning` prints the reasoning on stderr, plain where that is no terminal."""
    server = emulator(replies=[Reply(content="Four.\n", reasoning="Two and two.")])
    done = invoke(server, "--show-reasoning", stdin="2+2?")

    assert ("Four.\n", "Two and two.\n\n") == (done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("status_401", 3, "The key was refused"),
        ("status_402", 4, "no balance left"),
        ("status_429", 4, "too many requests"),
        ("status_400", 1, "refused the request"),
        ("cut_by_eof(after_events=3)", 1, "cut off before its end"),
    ],
)
def test_errors_are_one_line_and_a_code(emulator: StartEmulator, fault: str, code: int, says: str) -> None:
    """A question that fails ends with the code of its kind and one line, without the key."""
    done = invoke(emulator(replies=[SLOW] * 3, faults=[fault] * 3), "q")

    assert (code, 1) == (done.exit_code, len(done.stderr.splitlines()))
    assert says in done.stderr
    assert "cdef" not in done.stderr
    assert SLOW.content.startswith(done.stdout.rstrip())


def test_cut_answer_in_json(emulator: StartEmulator) -> None:
    """What had come of a cut answer is not lost, and is told as what it is."""
    done = invoke(emulator(replies=[SLOW], faults=["cut_by_eof(after_events=5)"]), "-o", "jsonl", "q")
    row = json.loads(done.stdout)

    assert (1, "StreamInterruptedError") == (done.exit_code, row["error"])
    assert row["answer"]
    assert SLOW.content.startswith(row["answer"])


def test_unreachable_server(emulator: StartEmulator) -> None:
    """An endpoint where nothing listens is one line, in the language asked for."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = invoke(
            emulator(), "--base-url", f"http://127.0.0.1:{taken.getsockname()[1]}", "--lang", "zh", "q"
        )  # fmt: skip

    assert (1, 1) == (done.exit_code, len(done.stderr.splitlines()))
    assert "无法连接 http://127.0.0.1:" in done.stderr


@pytest.mark.parametrize(
    ("lang", "is_conversation", "says"),
    [
        ("en", False, "choose another with -m, --model. It has deepseek-flash, deepseek-v4-pro."),
        ("en", True, "choose another with /model. It has deepseek-flash, deepseek-v4-pro."),
        ("zh", False, "可用 -m, --model 更换。可用的模型：deepseek-flash, deepseek-v4-pro。"),
        ("zh", True, "可用 /model 更换。可用的模型：deepseek-flash, deepseek-v4-pro。"),
    ],
)
def test_unknown_model(emulator: StartEmulator, lang: str, is_conversation: bool, says: str) -> None:  # noqa: FBT001  a column of the table
    """The models that there are are named, and the hint is one that can be followed where it is given."""
    with Client(base_url=emulator().url, api_key="any") as client:
        with pytest.raises(UnknownModelError) as caught:
            client.chat.completions.create(model="gpt-4", messages=[{"role": "user", "content": "q"}])
        told = explain(caught.value, WORDS[lang], client, is_conversation=is_conversation)

    assert says in told


def test_hints_for_one_question_name_no_command() -> None:
    """A command such as /model is advised in conversations only, and there where one helps."""
    for words in WORDS.values():
        assert [] == [text for text in words.errors.values() if re.search(r"(?<!\w)/[a-z]", text)]
        assert set(words.in_conversation) <= set(words.errors)
        assert all("/" in text for text in words.in_conversation.values())


def test_piped_text_is_put_below_the_question(emulator: StartEmulator) -> None:
    """With a question as well, what comes on stdin is what the question is about; blank lines are nothing."""
    server = emulator(replies=["a", "b"])
    invoke(server, "Summarise:", stdin="line one\nline two\n")
    invoke(server, "Summarise:", stdin="\n \n")

    assert ["Summarise:\n\nline one\nline two", "Summarise:"] == [r.last_user_text for r in server.requests]


def test_file_on_stdin(tmp_path: Path) -> None:
    """A file is read from its beginning; one that another program is in the middle of is left alone."""
    path = tmp_path / "lines"
    path.write_text("one\ntwo\n", encoding="utf-8")
    with path.open(encoding="utf-8") as whole, path.open(encoding="utf-8") as begun:
        os.lseek(begun.fileno(), 4, os.SEEK_SET)

        assert ("one\ntwo", "") == (piped_text(whole, patience_s=0.0), piped_text(begun, patience_s=0.0))
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        assert "" == piped_text(nothing, patience_s=0.0)
    assert "" == piped_text(Screen("typed"), patience_s=0.0)


@pytest.mark.skipif(os.name == "nt", reason="there only sockets can be waited for")
def test_pipe_on_stdin() -> None:
    """A pipe is read to its end, also where it takes a while to begin; one that says nothing in time is not."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, encoding="utf-8") as reader:
        silent = piped_text(reader, patience_s=0.01)
        threading.Timer(0.05, speak, (theirs,)).start()

        assert (None, "late") == (silent, piped_text(reader, patience_s=20.0))


def speak(pipe: int) -> None:
    """Write a line into *pipe*, and end it."""
    os.write(pipe, b"late\n")
    os.close(pipe)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there only sockets can be waited for")
def test_silent_pipe_is_told(emulator: StartEmulator) -> None:
    """A pipe that stays open and silent neither hangs the program nor is passed over without a word."""
    with subprocess.Popen(
        [*PROGRAM, "chat", "q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**connection(emulator(replies=["yes"]))),
    ) as process:
        answer = process.stdout.read() if process.stdout else b""
        told = process.stderr.read() if process.stderr else b""

    assert (0, b"yes\n") == (process.returncode, answer)
    assert b"Nothing came on stdin within 3 s" in told


def test_arguments_of_a_locale_without_characters() -> None:
    """What the locale C makes of an argument is read as UTF-8 all the same."""
    assert "你好" == readable("你好".encode().decode("ascii", "surrogateescape"))
    assert ("plain", "half ?") == (readable("plain"), readable("half \ud83d"))


@pytest.mark.slow
def test_history_of_a_locale_without_characters(
    emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path
) -> None:
    """In the locale C a history with Chinese lines is no obstacle, and what is typed is read as UTF-8."""
    path = tmp_path / "deepseek-sdk" / "chat_history"
    path.parent.mkdir()
    path.write_text('"以前的问题"\n', encoding="utf-8")
    server = emulator(replies=["yes"])
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    chat = terminal("chat", HOME=str(tmp_path), **{**connection(server), **states(tmp_path), **locale})
    chat.read_until(PROMPT)
    chat.enter("plain 你好")
    chat.read_until("yes")
    chat.read_until(PROMPT)
    chat.send(CTRL_D)

    assert (0, "plain 你好") == (chat.finish(), server.requests[0].last_user_text)


@pytest.mark.slow
def test_paste_of_many_lines_is_one_question(emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path) -> None:
    """The terminal is asked to mark what is pasted, and its lines are one text."""
    server = emulator(replies=["yes"])
    chat = terminal("chat", HOME=str(tmp_path), **connection(server), **states(tmp_path))
    chat.read_until(PROMPT)
    asked = "\x1b[?2004h" in chat.raw
    chat.send("\x1b[200~one\n\ntwo\x1b[201~\r")
    chat.read_until("yes")
    chat.read_until(PROMPT)
    chat.send(CTRL_D)
    chat.finish()

    assert (True, ["one\n\ntwo"]) == (asked, [request.last_user_text for request in server.requests])


def test_limit_of_tokens_is_told(emulator: StartEmulator) -> None:
    """An answer that ends at the limit of tokens is followed by a line that says so."""
    done = invoke(emulator(replies=[SLOW]), "--max-tokens", "5", "--no-thinking", "q")

    assert (0, WORDS["en"].endings["length"]) == (done.exit_code, done.stderr.strip())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-"], "the question is empty"),
        ([" "], "the question is empty"),
        (["--emulator", "--base-url", "http://127.0.0.1:1", "q"], "exclude each other"),
        (["--temperature", "3", "q"], "--temperature"),
    ],
)
def test_usage_errors(emulator: StartEmulator, arguments: list[str], says: str) -> None:
    """What cannot be asked ends with 2 and a reason, and is not sent."""
    server = emulator()
    done = invoke(server, *arguments)

    assert (2, []) == (done.exit_code, server.requests)
    assert says in done.stderr


@pytest.mark.slow
def test_closed_pipe_ends_quietly(emulator: StartEmulator) -> None:
    """A pipe gets the answer as it comes; when its reader leaves, so does the program, and the server hears of it."""
    server = emulator(replies=[Reply(content=f"first line\n{SLOW.content}", reasoning="")], tokens_per_s=50)
    with subprocess.Popen(
        [*PROGRAM, "chat", "q"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**connection(server)),
    ) as process:
        first = process.stdout.readline() if process.stdout else b""
        seen = server.requests[0].outcome
        process.stdout.close() if process.stdout else None
        errors = process.stderr.read() if process.stderr else b""

    assert (b"first line\n", "in progress", b"") == (first, seen, errors)
    assert "aborted by client" == outcome(server)


@pytest.mark.slow
def test_interrupted_question_ends_with_130(emulator: StartEmulator) -> None:
    """Ctrl-C ends a single question with 130 and a quiet line; what had come stands on stdout."""
    server = emulator(replies=[SLOW], tokens_per_s=50)
    with subprocess.Popen(
        [*PROGRAM, "chat", "q"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**connection(server)),
    ) as process:
        first = process.stdout.read(3) if process.stdout else b""
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)

    assert (130, b"Interrupted.\n") == (process.returncode, errors)
    assert SLOW.content.startswith((first + rest).decode().rstrip())
    assert "aborted by client" == outcome(server)


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [None, "socks5://127.0.0.1:9", "http://127.0.0.1:9"])
def test_emulator_needs_no_key(monkeypatch: pytest.MonkeyPatch, proxy: str | None) -> None:
    """`--emulator` answers without a key or a network, past any proxy, and leaves the environment as it is."""
    if proxy is not None:
        monkeypatch.setenv("all_proxy", proxy)
    before = dict(os.environ)
    done = CliRunner().invoke(app, ["chat", "--emulator", "Good morning"])

    assert (0, "You said: Good morning\n") == (done.exit_code, done.stdout)
    assert before == dict(os.environ)


# Conversations.


@pytest.mark.slow
def test_conversation(emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path) -> None:
    """A terminal gets reasoning dimmed and Markdown rendered, as they come; the next question brings what was said."""
    reasoning = "  Think \n\n of *blue*.\n"
    server = emulator(
        replies=[Reply(content="**Blue** light\nis scattered.", reasoning=reasoning), "Less.", "Least.", "New."],
        tokens_per_s=20,
    )
    chat = terminal("chat", "--system", "Be brief.", HOME=str(tmp_path), **connection(server), **states(tmp_path))
    chat.read_until(PROMPT)
    chat.enter("Why is the sky blue?")
    chat.read_until("Blue")
    seen = server.requests[0].outcome
    chat.read_until(r"deepseek-flash · tokens: hit \d+, miss \d+, out \d+ · first [\d.]+ s, total [\d.]+ s")
    chat.read_until(PROMPT)
    chat.enter("And at \\")
    chat.read_until(r"\.\.\. ")
    chat.enter("dusk?")
    chat.read_until("Less.")
    chat.read_until(PROMPT)
    for line in ("/thinking off", "/model deepseek-v4-pro", "/system", "/thinking", "/nonsense x", "/retry"):
        chat.enter(line)
        chat.read_until(PROMPT)
    for line in (f"/save {tmp_path / 'talk.json'}", f"/save {tmp_path / 'talk.md'}", "/clear", "/retry", "Anew?"):
        chat.enter(line)
        chat.read_until(PROMPT)
    chat.send(CTRL_D)
    code = chat.finish()
    first, second, third, last = (request.body for request in server.requests)

    assert (0, "in progress") == (code, seen)
    assert re.search(r"\x1b\[2m\s*of", chat.raw)
    assert "\x1b[1mBlue\x1b[0m light" in chat.raw
    assert ["Blue light", "is scattered."] == [line for line in chat.lines if "light" in line or "scatt" in line]
    assert [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why is the sky blue?"},
        {"role": "assistant", "content": "**Blue** light\nis scattered.", "reasoning_content": reasoning},
        {"role": "user", "content": "And at \ndusk?"},
    ] == second["messages"]
    assert second["messages"][1:] == third["messages"]
    assert ("deepseek-v4-pro", {"type": "disabled"}) == (third["model"], third["thinking"])
    assert "thinking" not in first
    assert [{"role": "user", "content": "Anew?"}] == last["messages"]
    assert all(words in chat.text for words in ("Thinking: off.", "no command /nonsense", "no question to ask again"))
    saved = json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))
    assert [*third["messages"], {"role": "assistant", "content": "Least."}] == saved
    assert (tmp_path / "talk.md").read_text(encoding="utf-8").startswith("## Question\n\nWhy is the sky blue?\n\n## An")


def states(folder: Path) -> dict[str, str]:
    """Give the variables that keep what a program remembers in *folder*."""
    return {"XDG_STATE_HOME": str(folder), "LANG": "en_US.UTF-8"}


@pytest.mark.slow
def test_ctrl_c_ends_the_answer_and_not_the_program(
    emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path
) -> None:
    """Ctrl-C ends one answer, and the server hears of it; what had come of it is part of the conversation."""
    server = emulator(replies=[SLOW, Reply(content="late", wait_s=30), "Here I am."], tokens_per_s=30)
    chat = terminal("chat", "--no-history", HOME=str(tmp_path), **connection(server), **states(tmp_path))
    chat.read_until(PROMPT)
    chat.enter("Count.")
    chat.read_until("three")
    chat.send(CTRL_C)
    chat.read_until("What had come stays in the conversation")
    first = outcome(server)
    chat.read_until(PROMPT)
    chat.enter("Too late.")
    while len(server.requests) < 2:
        chat.wait(0.02)
    chat.send(CTRL_C)
    chat.read_until("Interrupted before there was an answer")
    second = outcome(server)
    chat.read_until(PROMPT)
    chat.send("dropped")
    chat.read_until("dropped")
    press(chat, CTRL_C, r"leaves\.\s+> ")
    chat.enter("Still there?")
    chat.read_until("Here I am.")
    chat.read_until(PROMPT)
    press(chat, CTRL_C, r"leaves\.\s+> ")
    press(chat, CTRL_C, r"\n")
    code = chat.finish()
    question, answer, *rest = server.requests[2].body["messages"]

    assert (0, "aborted by client", "aborted by client") == (code, first, second)
    assert ("Count.", [{"role": "user", "content": "Still there?"}]) == (question["content"], rest)
    assert SLOW.content.startswith(answer["content"])
    assert "three" in answer["content"]
    assert [] == [*tmp_path.rglob("*")]


def press(chat: Terminal, key: str, pattern: str) -> None:
    """Press *key* until *pattern* is shown: readline does not notice one in the instant after it has drawn a prompt."""
    for _ in range(3):
        chat.send(key)
        with contextlib.suppress(AssertionError):
            chat.read_until(pattern, timeout_s=4)
            return
    pytest.fail(f"{pattern!r} was not shown")


@pytest.mark.slow
def test_errors_take_the_turn_back(emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path) -> None:
    """A failed turn is one line; the conversation goes on without it, `/retry` asks again. NO_COLOR gets plain text."""
    server = emulator(
        replies=["开头已经到了，后面还有很多内容", "这是完整的回答。"],
        faults=["status_401", "cut_by_eof(after_events=8)", None],
    )
    (tmp_path / "file").touch()
    variables = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "file"),
        "LANG": "zh_CN.UTF-8",
        "NO_COLOR": "1",
    }
    chat = terminal("chat", "--no-thinking", **connection(server), **variables)
    chat.read_until(PROMPT)
    chat.enter("天为什么是蓝的？")
    chat.read_until(r"API key 被拒绝[^\n]*/retry 可重新提问")
    chat.read_until(PROMPT)
    chat.enter("/retry")
    chat.read_until(r"开头.*回答没有传完就断开了[^\n]*/retry 可重新提问")
    chat.read_until(PROMPT)
    chat.enter("/retry")
    chat.read_until(r"这是完整的回答。\r?\n[^\n]*token：命中 \d+")
    chat.read_until(PROMPT)
    chat.enter("/quit")

    assert 0 == chat.finish()
    assert [[{"role": "user", "content": "天为什么是蓝的？"}]] * 3 == [r.body["messages"] for r in server.requests]
    assert KEY not in chat.text
    assert "无法保存输入历史" in chat.text
    assert not re.search(r"\x1b\[[\d;]*[mAKJ]", chat.raw)


@pytest.mark.slow
def test_history_outlives_the_program(
    emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed in earlier runs comes back with the arrow keys; only its owner may read the file."""
    for name, value in {"HOME": str(tmp_path), **states(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    path = Path(platformdirs.user_state_dir("deepseek-sdk", appauthor=False)) / "chat_history"
    path.parent.mkdir(parents=True)
    path.write_text('"以前的问题"\n', encoding="utf-8")
    server = emulator(replies=["好"] * 2)
    chat = terminal("chat", HOME=str(tmp_path), **connection(server), **states(tmp_path))
    chat.read_until(PROMPT)
    chat.send(f"{UP}\r")
    chat.read_until(PROMPT)
    chat.enter('"""第一行')
    chat.read_until(r"\.\.\. ")
    chat.enter('第二行"""')
    chat.read_until(PROMPT)
    chat.enter("/quit")
    chat.finish()
    typed = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    assert ["以前的问题", "第一行\n第二行"] == [request.last_user_text for request in server.requests]
    assert ["以前的问题", "以前的问题", '"""第一行\n第二行"""', "/quit"] == typed
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


LONG = "\n\n".join(
    [
        "# 标题",
        "第一段，" + "很长的中文内容" * 20 + "。\n第二行",
        "\n".join(f"- item {number}" for number in range(30)),
        "```python\n" + "\n\n".join(f"x{number} = {number}" for number in range(20)) + "\n```",
        "| a | 列 |\n|---|---|\n| 1 | 中文 |",
        "The **end**.",
    ]
)


@pytest.mark.slow
def test_long_answer_stands_once_in_the_scrollback(
    emulator: StartEmulator, terminal: StartTerminal, tmp_path: Path
) -> None:
    """An answer higher than the window is drawn as it comes, and in the end stands there once, whole and in order."""
    server = emulator(replies=[Reply(content=LONG, reasoning="")], tokens_per_s=300)
    chat = terminal("chat", rows=12, columns=60, HOME=str(tmp_path), **connection(server), **states(tmp_path))
    chat.read_until(PROMPT)
    chat.enter("q")
    chat.read_until(r"The end\.")
    chat.read_until(PROMPT)
    chat.send(CTRL_D)
    chat.finish()
    lines = chat.lines
    after = lines[lines.index("> q") + 1 :]
    shown = after[: next(number for number, line in enumerate(after) if line.startswith("deepseek-flash ·"))]

    assert 20 < chat.raw.count("\x1b[1A")
    assert rendered(LONG, columns=60) == [line for line in shown if line]


def rendered(text: str, *, columns: int) -> list[str]:
    """Render the blocks of *text*, each at once, and give the lines that are not empty."""
    finished, rest = split_blocks(text)
    console = Console(width=columns, file=io.StringIO(), color_system=None, force_terminal=True)
    for block in (*finished, rest):
        console.print(Block(block, is_first=True))
    return [line for line in console.file.getvalue().splitlines() if line]  # type: ignore[attr-defined]


# Parts.


@pytest.mark.parametrize(
    ("text", "finished", "rest"),
    [
        ("", [], ""),
        ("para\n\nx", [], "para\n\nx"),
        ("para\n\nx\n", ["para\n\n"], "x\n"),
        ("para\n#", [], "para\n#"),
        ("para\n# h\n", ["para\n"], "# h\n"),
        ("x\n\n```py\na\n\nb\n", ["x\n\n"], "```py\na\n\nb\n"),
        ("x\n\n```py\na\n```\ny\n", ["x\n\n", "```py\na\n```\n"], "y\n"),
        ("- a\n\n  b\n- c\n\nx\n", ["- a\n\n  b\n- c\n\n"], "x\n"),
        ("| a |\n|---|\n| 1 |\n", [], "| a |\n|---|\n| 1 |\n"),
        ("\n\na\u2028b\n\nc\n", ["\n\n", "a\u2028b\n\n"], "c\n"),
    ],
)
def test_blocks(text: str, finished: list[str], rest: str) -> None:
    """A block is finished once a whole line of the next one is there; fences, lists and tables stay in one piece."""
    assert (finished, rest) == split_blocks(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Use <div>, not <span class="x"> or Vec<String>.', ['Use <div>, not <span class="x"> or Vec<String>.']),
        ("<details>\n  secret\n</details>", ["<details>", "  secret", "</details>"]),
        ("<!-- note -->", ["<!-- note -->"]),
        ("a\n\n<p>b</p>\n\nc", ["a", "", "<p>b</p>", "", "c"]),
    ],
)
def test_html_is_shown(text: str, shown: list[str]) -> None:
    """What looks like HTML is text, and nothing of it vanishes."""
    assert shown == lines_of(text, columns=60)


def test_table_of_a_narrow_window_is_not_cut() -> None:
    """Cells that are too long go on in the next line."""
    text = "| 原地排序 | 只适合小数组的算法 |\n|---|---|\n| 很长的中文单元格内容 | averyveryverylongwordwithoutspaces |"
    shown = "".join("".join(lines_of(text, columns=30)).split())

    assert "…" not in shown
    assert all(character in shown for character in "很长的中文单元格内容只适合小数组的算法")


def lines_of(text: str, *, columns: int) -> list[str]:
    """Render *text* as one block, and give its lines."""
    console = Console(width=columns, file=io.StringIO(), color_system=None, force_terminal=True)
    console.print(Block(text, is_first=True))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b c", ["a b c"]),
        ("一二三四五六七", ["一二三四五", "六七"]),
        ("一二三四五。六", ["一二三四", "五。六"]),
        ("一二三四“五”", ["一二三四", "“五”"]),
        ("看 requests 库", ["看 ", "requests ", "库"]),
        ("xxxxxxxxxxxxx", ["xxxxxxxxxx", "xxx"]),
        ("aaaa bbbbb ccc", ["aaaa bbbbb ", "ccc"]),
    ],
)
def test_wrapping(text: str, parts: list[str]) -> None:
    """Chinese may be broken between characters, but no line begins with its closing punctuation."""
    ends = [0, *break_offsets(text, 10), len(text)]

    assert parts == [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("one", False), ("one \\", True), ('"""', True), ('"""one', True), ('"""one\ntwo"""', False), ('""', False)],
)
def test_texts_of_many_lines(text: str, expected: bool) -> None:  # noqa: FBT001  a column of the table
    """A text goes on after a backslash, and inside triple quotes."""
    assert expected == is_open(text)
    assert expected or '"""' not in without_quotes(text)


def test_history_is_bounded_and_survives_nonsense(tmp_path: Path) -> None:
    """The file is shortened to the latest entries when it is read; lines that are none are passed over."""
    path = tmp_path / "chat_history"
    path.write_text("".join(f'"entry {number}"\n' for number in range(1500)) + "nonsense\n[1]\n", encoding="utf-8")
    entries = History(path, pytest.fail).read()  # type: ignore[arg-type]  # it takes any reason

    assert ("entry 502", "entry 1499", 998) == (entries[0], entries[-1], len(entries))
    assert 1000 == len(path.read_text(encoding="utf-8").splitlines())
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_unreadable_history_is_told_once(tmp_path: Path) -> None:
    """A history that cannot be read or written is one warning."""
    told: list[OSError] = []
    history = History(tmp_path, told.append)

    assert [] == history.read()
    history.add("x")
    assert 1 == len(told)


def test_effort_is_not_sent_without_thinking() -> None:
    """Calls that do not think carry no effort."""
    request = QuestionOptions(model="m", is_thinking=False, effort="max").request([])

    assert "reasoning_effort" not in request
    assert {"thinking": {"type": "disabled"}} == request["extra_body"]


class StuckScreen(io.StringIO):
    """A terminal that takes "first" only when it is let: a frame that takes long."""

    def __init__(self) -> None:
        super().__init__()
        self.is_drawing, self.may_go_on = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        """Take *text*."""
        if "first" in text:
            self.is_drawing.set()
            self.may_go_on.wait(20)
        return super().write(text)


def test_nothing_waits_for_a_drawing() -> None:
    """A piece of an answer is taken while earlier ones are still being drawn, and is drawn after them."""
    screen = StuckScreen()
    channel = MarkdownChannel(Console(file=screen, width=40))
    channel.add("first\n\nsecond\n")
    was_drawing = screen.is_drawing.wait(20)
    adding = threading.Thread(target=channel.add, args=("third",))
    adding.start()
    adding.join(5)
    is_waiting = adding.is_alive()
    screen.may_go_on.set()
    adding.join()
    channel.close()

    assert (True, False) == (was_drawing, is_waiting)
    assert "first\n\nsecond\nthird" == screen.getvalue().strip()


@pytest.mark.parametrize(("is_kept", "left"), [(True, 0), (False, 2)])
def test_retry_takes_back_what_was_kept(is_kept: bool, left: int) -> None:  # noqa: FBT001  a column of the table
    """Asking again replaces an answer that was kept, and leaves earlier turns alone when the last one failed."""
    talk = Talk(QuestionOptions(model="m"))
    talk.ask("the same")
    talk.settle(Answer(message={"role": "assistant", "content": "fine"}))
    if not is_kept:
        talk.ask("the same")
        talk.settle(Answer(is_interrupted=True))

    assert "the same" == talk.retry()
    assert left == len(talk.messages)


def test_interrupts_end_waits_only() -> None:
    """A key pressed outside a wait ends the next one, unless it is forgotten."""
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.wait_for(lambda: None)
        signal.raise_signal(signal.SIGINT)
        interrupts.forget()
        assert 1 == interrupts.wait_for(lambda: 1)
        with pytest.raises(KeyboardInterrupt):
            interrupts.wait_for(interrupted_wait)


def interrupted_wait() -> None:
    """Press Ctrl-C in the middle of a wait."""
    threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Event().wait(20)


def test_answers_cannot_drive_the_terminal() -> None:
    """Control characters of an answer are not shown, but for tabs and line feeds."""
    assert "a\tb\nc]52;c" == printable("a\tb\nc\x1b]52;c\x07\x9b\r")


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_lively_terminals(variables: dict[str, str], expected: bool) -> None:  # noqa: FBT001  a column of the table
    """A terminal is plain where the environment says so; what is no terminal always is."""
    assert expected == is_lively(Screen(), variables)
    assert not is_lively(io.StringIO(), variables)


def test_both_languages_say_the_same_things() -> None:
    """Each table of words has the same entries in both languages, with the same blanks to fill in."""
    english, chinese = WORDS["en"], WORDS["zh"]
    for name in english.__slots__:
        left, right = tables(getattr(english, name)), tables(getattr(chinese, name))
        assert left.keys() == right.keys()
        assert {k: blanks(v) for k, v in left.items()} == {k: blanks(v) for k, v in right.items()}


def tables(words: Any) -> dict[str, str]:
    """Give *words* as a table."""
    return {"": words} if isinstance(words, str) else dict(words)


def blanks(text: str) -> list[str]:
    """List the blanks of *text*."""
    return sorted(re.findall(r"\{\w+\}", text))
