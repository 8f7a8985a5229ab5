"""Files that change while the engine is in use."""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._finish import finish
from deepseek_sdk.backends.rules import RuleEngine
from deepseek_sdk.backends.rules.files import parse_rules
from deepseek_sdk.backends.rules.text import Normalizer
from deepseek_sdk.backends.rules.watch import WatchedFile
from deepseek_sdk.errors import NoRuleError, RuleFileError
from deepseek_sdk.testing import VirtualIO, make_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Driver

PARSE = partial(parse_rules, normalize=Normalizer())


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


TWO = '{"rules": [{"phrases": ["hello"], "reply": "two"}], '
BROKEN = {
    "syntax": ("broken [", "no "),
    "problem": ('{"rules": [{"keyword": 1}]}', "rule 1: "),
    "twice": (TWO + '"default": "a", "default": "b"}', "given more than once"),
    "pattern": (TWO[:-3] + ', {"reply": "x", "patterns": ["(?<=a|ß)"]}]}', "rule 2: patterns[0] cannot be used"),
    "brackets": (TWO[:-3] + ', {"reply": "x", "patterns": ["[…]"]}]}', "rule 2: patterns[0] has '…' in brackets"),
    "number": (TWO + '"default": ' + "9" * 5000 + "}", "a number of 5000 digits"),
    "deep": (TWO + '"x": ' + "[" * 800 + "]" * 800 + "}", "unknown key 'x'"),
    "too deep": (TWO + '"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "encoding": ('"\udcff"', "not UTF-8"),
}


def break_by_text(text: str, path: Path) -> None:
    """Write a file that is no file of rules."""
    path.write_bytes(text.encode(errors="surrogateescape"))


def make_a_folder_of(path: Path) -> None:
    """Put a folder where the file was."""
    path.unlink()
    path.mkdir()


def make_a_circle_of(path: Path) -> None:
    """Put a link to itself where the file was."""
    path.unlink()
    path.symlink_to(path)


BREAKING: dict[str, tuple[Callable[[Path], None], str]] = {
    **{name: (partial(break_by_text, text), message) for name, (text, message) in BROKEN.items()},
    "deleted": (lambda path: path.unlink(), "the file cannot be read"),
    "folder": (make_a_folder_of, "the file cannot be read"),
    "circle": (make_a_circle_of, "the file cannot be read"),
}


@pytest.mark.parametrize("kind", BREAKING)
def test_a_file_that_breaks(tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    """A file that cannot be used any more is logged once, and the rules stay until it can be used again."""
    file = tmp_path / "phrases.json"
    file.write_text(TWO.replace("two", "one")[:-2] + "}", encoding="utf-8")
    engine, io, answers = RuleEngine.from_file(file), VirtualIO(), []
    destroy, message = BREAKING[kind]
    destroy(file)
    for _ in range(3):
        answers.append(ask(engine, io))
        finish(io.sleep(1))
    logged = [(record.levelname, message in record.getMessage()) for record in caplog.records]
    if file.is_dir():
        file.rmdir()
    replace(file, TWO[:-2] + "}")

    assert ["one"] * 3 == answers
    assert [("WARNING", True)] == logged
    assert "two" == ask(engine, io)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError(), RecursionError()])
def test_looking_fails(file: Path, caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    """Where the file cannot even be looked at, that is logged, and the call is answered."""

    class Exhausted(VirtualIO):
        """Cannot do anything aside."""

        async def offload(self, work: Any, *args: Any) -> Any:  # noqa: ARG002  as it is called
            raise error

    assert "one" == ask(RuleEngine.from_file(file), Exhausted())
    assert ["WARNING"] == [record.levelname for record in caplog.records]
    assert caplog.records[0].exc_info


def test_anything_may_go_wrong_while_loading(file: Path) -> None:
    """An error that nobody thought of comes once for each change of the file."""
    errors: list[Exception] = []

    def parse(_: bytes, name: str) -> Any:
        raise KeyError(name)

    watched = WatchedFile(file, parse)
    for now in (0.0, 1.0, 2.0):
        try:
            watched.refresh(now, print)
        except KeyError as error:
            errors.append(error)

    assert 1 == len(errors)


def test_an_interrupt(file: Path) -> None:
    """Whoever is interrupted while the rules change leaves the change to the next one, a second later."""
    watched = WatchedFile(file, PARSE)
    taken: list[Any] = []

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched.refresh(0.0, interrupt)
    for now in (0.5, 1.5, 3.0):
        watched.refresh(now, taken.append)

    assert 1 == len(taken)


def test_files_of_two_engines(tmp_path: Path) -> None:
    """Two engines see the changes of their own files only."""
    files = [tmp_path / "a.toml", tmp_path / "b.toml"]
    for path in files:
        path.write_text(rule("one"), encoding="utf-8")
    engines, io = [RuleEngine.from_file(path) for path in files], VirtualIO()
    replace(files[0], rule("two"))

    assert ["two", "one"] == [ask(engine, io) for engine in engines]


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
    with pytest.raises(RuleFileError, match="the file cannot be read: embedded null byte"):
        RuleEngine.from_file("a\0b")


def test_one_thread_looks(file: Path) -> None:
    """While one thread reads the file, the others go on without waiting, and it is read once."""
    watched, taken, entered, leave = WatchedFile(file, PARSE), [], threading.Event(), threading.Event()

    def take(rules: Any) -> None:
        taken.append(rules)
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(watched.refresh, 0.0, take)
        entered.wait()
        for now in (0.0, 5.0):  # the second time it would be due again
            watched.refresh(now, take)
        leave.set()
        slow.result()

    assert 1 == len(taken)


@pytest.mark.slow
def test_many_threads_and_many_changes(file: Path) -> None:
    """While the file changes again and again, every call gets one of its answers, and the last change wins."""
    engine, stop, seen = RuleEngine.from_file(file), threading.Event(), set()

    def use(start: float) -> None:
        now = start
        # Who waits a moment lets the one that changes the file go on: nobody gets there where four never rest.
        while not stop.wait(0.0005):
            now += 1.0
            io = VirtualIO()
            finish(io.sleep(now))
            seen.add(ask(engine, io))

    with ThreadPoolExecutor(4) as pool:
        users = [pool.submit(use, float(number)) for number in range(4)]
        try:
            for number in range(100):
                replace(file, rule(f"number {number}"))
        finally:
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
    watched, entered, leave = WatchedFile(file, PARSE), threading.Event(), threading.Event()

    def take(_: Any) -> None:
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(watched.refresh, 0.0, take)
        entered.wait()
        if (child := os.fork()) == 0:
            taken: list[Any] = []
            replace(file, rule("two"))
            watched.refresh(5.0, taken.append)
            os._exit(0 if taken else 1)
        status = os.waitpid(child, 0)[1]
        leave.set()
        slow.result()

    assert 0 == status
