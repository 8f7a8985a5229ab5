"""Files that change while the engine is in use."""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._finish import finish
from deepseek_sdk.backends.rules import RuleEngine
from deepseek_sdk.backends.rules.watch import WatchedFile
from deepseek_sdk.errors import NoRuleError, RuleFileError
from deepseek_sdk.testing import VirtualIO, make_call

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a file of one rule."""
    path = tmp_path / "phrases.toml"
    path.write_text(rule("one"), encoding="utf-8")
    return path


def rule(reply: str) -> str:
    """Write a rule that answers "Hello"."""
    return f'[[rules]]\nphrases = ["hello"]\nreply = "{reply}"\n'


def replace(path: Path, text: str) -> None:
    """Change a file as careful programs do: all at once."""
    other = path.with_suffix(".new")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def ask(engine: RuleEngine, io: VirtualIO) -> str:
    """Ask "Hello" at the moment of *io*."""
    reply = finish(engine(make_call(io=io, is_stream=False)))
    answer: Any = json.loads(finish(reply.gather()))
    return str(answer["choices"][0]["message"]["content"])


def test_changes_are_seen(file: Path) -> None:
    """A call takes over what the file says now, but nobody looks twice in a second."""
    engine, io = RuleEngine.from_file(file), VirtualIO()
    answers = [ask(engine, io)]
    replace(file, rule("two"))
    answers += [ask(engine, io)]
    finish(io.sleep(1))
    answers += [ask(engine, io)]

    assert ["one", "one", "two"] == answers


def test_in_both_colours(driver: Driver, file: Path) -> None:
    """A client's calls see the change; the file is looked at off the event loop."""
    client = driver.client(api_key=None, backend=RuleEngine.from_file(file))
    replace(file, rule("two"))

    assert "two" == driver.create(client).choices[0].message.content


def test_looking_can_be_switched_off(file: Path) -> None:
    """Without reloading, the rules stay what they were at the beginning."""
    engine = RuleEngine.from_file(file, reload=False)
    replace(file, rule("two"))

    assert "one" == ask(engine, VirtualIO())


@pytest.mark.parametrize("is_deleted", [False, True], ids=["broken", "deleted"])
def test_a_file_that_breaks(file: Path, caplog: pytest.LogCaptureFixture, is_deleted: bool) -> None:  # noqa: FBT001
    """A file that cannot be used any more is logged once, and the rules stay until it can be used again."""
    engine, io, answers = RuleEngine.from_file(file), VirtualIO(), []
    replace(file, rule("two") + "[[rules]]\nkeyword = 1\n")
    if is_deleted:
        file.unlink()
    for _ in range(3):
        answers.append(ask(engine, io))
        finish(io.sleep(1))
    messages = [record.getMessage() for record in caplog.records]
    replace(file, rule("three"))

    assert ["one"] * 3 == answers
    assert ["WARNING"] == [record.levelname for record in caplog.records]
    assert ("the file cannot be read" if is_deleted else f"{file}:5:1: rule 2: unknown key 'keyword'") in messages[0]
    assert "three" == ask(engine, io)


def test_a_default_that_comes_and_goes(file: Path) -> None:
    """The default of the file wins over that of the argument, which holds again without it."""
    engine, io, answers = RuleEngine.from_file(file, default="argument"), VirtualIO(), []
    for text in ("", 'default = "file"', ""):
        replace(file, text)
        answers.append(ask(engine, io))
        finish(io.sleep(1))
    replace(file, "default = false")

    assert ["argument", "file", "argument"] == answers
    with pytest.raises(NoRuleError):
        ask(engine, io)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there from the beginning is an error that names it."""
    with pytest.raises(RuleFileError, match=r"phrases\.toml: the file cannot be read: No such file"):
        RuleEngine.from_file(tmp_path / "phrases.toml")


def test_one_thread_looks(file: Path) -> None:
    """While one thread reads the file, the others go on without waiting, and it is read once."""
    watched, taken, entered, leave = WatchedFile(file), [], threading.Event(), threading.Event()

    def take(book: Any) -> None:
        taken.append(book)
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(watched.look, 0.0, take)
        entered.wait()
        for now in (0.0, 5.0):  # the second time it would be due again
            watched.look(now, take)
        leave.set()
        slow.result()

    assert 1 == len(taken)


@pytest.mark.slow
def test_many_threads_and_many_changes(file: Path) -> None:
    """While the file changes again and again, every call gets one of its answers, and the last change wins."""
    engine, stop, seen = RuleEngine.from_file(file), threading.Event(), set()

    def use(start: float) -> None:
        now = start
        while not stop.is_set():
            now += 1.0
            io = VirtualIO()
            finish(io.sleep(now))
            seen.add(ask(engine, io))

    with ThreadPoolExecutor(4) as pool:
        users = [pool.submit(use, float(number)) for number in range(4)]
        for number in range(100):
            replace(file, rule(f"number {number}"))
        stop.set()
    io = VirtualIO()
    finish(io.sleep(1e9))

    assert [None] * 4 == [user.result() for user in users]
    assert seen <= {"one", *(f"number {number}" for number in range(100))}
    assert "number 99" == ask(engine, io)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_looks_for_itself(file: Path) -> None:
    """A process that is forked while a thread reads the file can read it all the same."""
    watched, entered, leave = WatchedFile(file), threading.Event(), threading.Event()

    def take(_: Any) -> None:
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(watched.look, 0.0, take)
        entered.wait()
        if (child := os.fork()) == 0:
            taken: list[Any] = []
            replace(file, rule("two"))
            watched.look(5.0, taken.append)
            os._exit(0 if taken else 1)
        status = os.waitpid(child, 0)[1]
        leave.set()
        slow.result()

    assert 0 == status
