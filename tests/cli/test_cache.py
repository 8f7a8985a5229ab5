"""`cache`: the answers that are kept on this machine, as people look at them, remove and move them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from deepseek_sdk.caching import ExactCache
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli._cache import _REASONS, reason_in_words
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli.commands.cache import files_named
from tests.caching.kept_answers import answer_of, entry_of, found, keep, key_of
from tests.cli.conftest import run_program
from tests.cli.terminal import CTRL_D

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import StartTerminal

    Run = Callable[..., Result]

KEY = "sk-0123456789abcdef"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Keep three answers; one says a key and what moves the cursor."""
    path = tmp_path / "cache"
    cache = ExactCache(path, ttl_s=None)
    now_ms = cache.now_ms()
    answer = json.dumps(answer_of(f"你好 \x1b[31m{KEY}")).encode()
    keep(
        cache,
        entry_of("new", created_ms=now_ms - 1000, answer=answer, text=f"{KEY} 你好？", is_stream=True, pieces=None),
        entry_of("old", created_ms=now_ms - 8 * 86_400_000, tags=(("feature", "=1+1"),), expires_ms=now_ms - 1),
        entry_of("hers", created_ms=now_ms - 2000, tenant="tenant:acme", model="deepseek-v4-pro"),
    )
    cache.close()
    return path


@pytest.fixture
def run(directory: Path) -> Run:
    """Run `cache` in this process, in English, with that directory."""

    def run(name: str, *arguments: str, lang: str = "en", text: str | bytes | None = None) -> Result:
        command = ["--lang", lang, "cache", name, *arguments, "--path", str(directory)]
        return CliRunner().invoke(app, command, input=text)

    return run


def rows(done: Result) -> list[dict[str, Any]]:
    """Read rows in JSON."""
    assert 0 == done.exit_code, done.output
    told: list[dict[str, Any]] = json.loads(done.stdout)
    return told


def left(directory: Path) -> set[str]:
    """Name the answers that are kept."""
    cache = ExactCache(directory)
    keys = {row.key for row in cache.ls()}
    cache.close()
    return {name for name in ("new", "old", "hers") if key_of(name) in keys}


def test_stats(run: Run, directory: Path) -> None:
    """The numbers are those of the directory."""
    (row,) = rows(run("stats", "-o", "json"))

    assert (str(directory), 3, 1, 2) == tuple(row[n] for n in ("path", "entries", "expired", "tenants"))
    assert {"deepseek-flash": 2, "deepseek-v4-pro": 1} == row["models"]
    assert {"tenant:小明": 2, "tenant:acme": 1} == row["largest_tenants"]
    assert row["oldest"] < row["newest"]
    assert "entries" in run("stats").stdout
    assert "条目" in run("stats", lang="zh").stdout


def test_stats_of_an_empty_cache(run: Run, directory: Path) -> None:
    """A cache without answers is counted, too."""
    assert 0 == run("purge", "--all", "--yes").exit_code

    assert (0, 0, None, None) == tuple(
        rows(run("stats", "-o", "json"))[0][n] for n in ("entries", "bytes", "oldest", "newest")
    )
    assert set() == left(directory)


def test_ls(run: Run) -> None:
    """Answers are listed, the newest first, all or some."""
    listed = [row["key"] for row in rows(run("ls", "-o", "json"))]

    assert [key_of("new"), key_of("hers"), key_of("old")] == listed
    assert listed[:1] == [row["key"] for row in rows(run("ls", "-o", "json", "--limit", "1"))]
    assert listed == [row["key"] for row in rows(run("ls", "-o", "json", "--limit", "0"))]
    for only in (["--tenant", "acme"], ["--model", "deepseek-v4-pro"]):
        assert [key_of("hers")] == [row["key"] for row in rows(run("ls", "-o", "json", *only))]
    assert 2 == len(rows(run("ls", "-o", "json", "--tag", "feature=search")))


def test_ls_as_a_table_and_as_csv(run: Run) -> None:
    """A table has columns in both languages; a cell of CSV is no formula."""
    table = run("ls", lang="zh").stdout
    told = list(csv.DictReader(io.StringIO(run("ls", "-o", "csv").stdout)))

    assert all(word in table for word in ("租户", "标签", "tenant:acme", key_of("new")[:16]))
    assert [key_of("new"), key_of("hers"), key_of("old")] == [row["key"] for row in told]
    assert {"feature": "=1+1"} == json.loads(told[2]["tags"])


@pytest.mark.parametrize("output", ["table", "json", "csv"])
@pytest.mark.parametrize("name", ["stats", "ls"])
def test_nothing_is_told_that_the_directory_does_not_hold(run: Run, name: str, output: str) -> None:
    """How often answers were given is not known: what evicts them counts to three, and processes count their own."""
    assert "hits" not in run(name, "-o", output).stdout


@pytest.mark.parametrize("tenant", ["key:" + key_of("a key"), "tenant:" + "小明" * 20, "tenant:production"])
def test_a_list_fits_into_a_window(run: Run, directory: Path, tenant: str) -> None:
    """A row leaves 24 of 100 cells to its tags, which come last, and go on in further lines."""
    cache = ExactCache(directory, ttl_s=None)
    tags = (("feature", "search"), ("user", "小明"))
    keep(cache, entry_of("wide", tenant=tenant, model="deepseek-v4-flash", tags=tags, created_ms=cache.now_ms() + 1))
    cache.close()
    head, _, first, *_ = run("ls").stdout.splitlines()

    assert ["ID", "kept", "model", "tenant", "bytes", "tags"] == head.split()
    assert first.endswith(" feature=search, user=小明")
    assert cell_len(first.removesuffix("feature=search, user=小明")) <= 100 - 24


@pytest.mark.parametrize(("created_ms", "shown"), [(2**60, str(2**60)), (1_000_000_000_000, "2001-09-09")])
def test_when_an_answer_was_kept(run: Run, directory: Path, created_ms: int, shown: str) -> None:
    """What is of another year has a year, and an instant that no calendar has is a number."""
    cache = ExactCache(directory, ttl_s=None)
    keep(cache, entry_of("then", created_ms=created_ms))
    cache.close()
    (line,) = (line for line in run("ls").stdout.splitlines() if key_of("then")[:16] in line)

    assert shown in line.split()


def test_inspect(run: Run) -> None:
    """What is known of an answer is shown, and no text."""
    (row,) = rows(run("inspect", key_of("new")[:16], "-o", "json"))
    table = run("inspect", key_of("new")[:16], lang="zh").stdout

    assert ("deepseek-flash", {"feature": "search"}, {"cny": "0.001", "usd": None}, 3) == (
        row["model"],
        row["tags"],
        row["cost"],
        row["usage"]["completion_tokens"],
    )
    assert not {"text", "answer"} & row.keys()
    assert "结束原因" in table
    assert "你好" not in table + json.dumps(row, ensure_ascii=False)


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "csv"])
def test_inspect_with_texts(run: Run, output: str) -> None:
    """Texts are shown to who asks for them, without what a terminal obeys, and without a key."""
    done = run("inspect", key_of("new"), "--show-text", "-o", output)

    assert 0 == done.exit_code
    assert 2 == done.stdout.count("你好")
    assert "sk-…" in done.stdout
    assert KEY not in done.stdout
    assert "\x1b" not in done.stdout.replace("\\u001b", "\x1b")


def test_texts_are_readable(run: Run, directory: Path) -> None:
    """What was said stands below the table as people read it, each part by its name; nothing is JSON in a cell."""
    made = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "杭州"}'}}
    other = {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    message = {"content": "One\nTwo", "reasoning_content": "Let me see.", "tool_calls": [made, other]}
    choices = [
        {"index": 0, "finish_reason": "tool_calls", "message": message},
        {"index": 1, "finish_reason": "stop", "message": {"content": None, "refusal": "No."}},
    ]
    text = [{"index": 0, "finish_reason": "stop", "text": "A text"}]
    cache = ExactCache(directory, ttl_s=None)
    keep(cache, entry_of("calls", created_ms=cache.now_ms(), answer=json.dumps(answer_of(choices=choices)).encode()))
    keep(cache, entry_of("text", created_ms=cache.now_ms(), answer=json.dumps(answer_of(choices=text)).encode()))
    cache.close()
    shown = run("inspect", key_of("calls"), "--show-text").stdout.split("\n\n")[1:]

    assert [
        "[user]\n你好？",
        "[reasoning]\nLet me see.",
        "[answer]\nOne\nTwo",
        '[tool call]\nweather({"city": "杭州"})',
        "[tool call]\nshell(ls)",
        "[refusal 2]\nNo.\n",
    ] == shown
    assert run("inspect", key_of("text"), "--show-text", lang="zh").stdout.endswith("[回答]\nA text\n")


def test_capitals(run: Run) -> None:
    """Hex digits are hex digits."""
    name = key_of("new")[:16].upper()

    assert key_of("new") == rows(run("inspect", name, "-o", "json"))[0]["key"]
    assert 1 == rows(run("purge", "--id", name, "--yes", "-o", "json"))[0]["count"]


def test_a_table_in_a_pipe(run: Run, directory: Path) -> None:
    """A long value is not cut in a pipe, and draws no line as long as itself."""
    cache = ExactCache(directory, ttl_s=None)
    keep(cache, entry_of("long", created_ms=cache.now_ms(), route="r" * 300))
    cache.close()
    head, rule, *lines = run("inspect", key_of("long")).stdout.splitlines()

    assert (["fact", "value"], 100, {"─"}) == (head.split(), len(rule), set(rule))
    assert any("r" * 300 in line for line in lines)


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("xyz", 2, "hex digits"), ("0" * 64, 1, "no answer"), ("", 2, "hex digits")],
)
def test_inspect_what_is_not_there(run: Run, name: str, code: int, words: str) -> None:
    """A name that none has is an error, and one that none can have is misuse."""
    done = run("inspect", name)

    assert (code, "") == (done.exit_code, done.stdout)
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--tag", "feature=search"], {"old"}),
        (["--older-than", "7d"], {"new", "hers"}),
        (["--model", "deepseek-v4-pro"], {"new", "old"}),
        (["--tenant", "acme"], {"new", "old"}),
        (["--tenant", "acme", "--older-than", "7d"], {"new", "old", "hers"}),
        (["--id", key_of("new")], {"old", "hers"}),
        (["--id", key_of("hers")[:7]], {"new", "old"}),
        (["--id", key_of("hers")[:7], "--model", "deepseek-flash"], {"new", "old", "hers"}),
        (["--all"], set()),
    ],
)
def test_purge(run: Run, directory: Path, arguments: list[str], expected: set[str]) -> None:
    """What is purged is told before by a dry run, and gone afterwards."""
    (would,) = rows(run("purge", *arguments, "--dry-run", "-o", "json"))
    assert {"new", "old", "hers"} == left(directory)
    (did,) = rows(run("purge", *arguments, "--yes", "-o", "json"))

    assert expected == left(directory)
    assert (3 - len(expected), True) == (would["count"], would["is_dry_run"])
    assert {**would, "is_dry_run": False} == did


@pytest.mark.parametrize(("said", "code", "remaining"), [("y", 0, 0), ("n", 1, 3), (CTRL_D, 1, 3)])
def test_purge_asks(terminal: StartTerminal, directory: Path, said: str, code: int, remaining: int) -> None:
    """Nothing is removed before somebody agrees."""
    asking = terminal("--lang", "zh", "cache", "purge", "--all", "--path", str(directory))
    asking.read_until("确定删除 3 条回答")
    asking.enter(said)

    assert (code, remaining) == (asking.finish(), len(left(directory)))


@pytest.mark.parametrize("said", ["y\n", "n\n", ""])
@pytest.mark.parametrize(("lang", "words"), [("en", "give --yes"), ("zh", "需要加上 --yes")])
def test_purge_without_a_terminal(run: Run, directory: Path, said: str, lang: str, words: str) -> None:
    """A program that has nobody to ask is told what to give, whatever comes from stdin."""
    done = run("purge", "--all", text=said, lang=lang)

    assert (2, "", 3) == (done.exit_code, done.stdout, len(left(directory)))
    assert words in done.stderr


def test_purge_of_one_that_is_not_there(run: Run, directory: Path) -> None:
    """An id that none has, or several, removes nothing."""
    cache = ExactCache(directory, ttl_s=None)
    keep(cache, *(entry_of(number, created_ms=cache.now_ms()) for number in range(17)))
    cache.close()
    twice = next(digit for digit in "0123456789abcdef" if sum(key_of(n).startswith(digit) for n in range(17)) > 1)

    assert (1, 3) == tuple(run("purge", "--id", name, "--yes").exit_code for name in ("0" * 64, twice))
    assert 3 == len(left(directory))


@pytest.mark.parametrize(
    ("name", "meant"), [("flush", "purge --all"), ("clear", "purge --all"), ("rm", "purge"), ("list", "ls")]
)
def test_what_commands_are_called_elsewhere(name: str, meant: str) -> None:
    """Who takes a command from another program is led to ours."""
    done = CliRunner().invoke(app, ["cache", name])

    assert 2 == done.exit_code
    assert f"Did you mean {meant!r}?" in done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--all", "--tag", "x"], ["--all", "--id", "1"], ["--older-than", "soon", "--yes"]]
)
def test_purge_of_nothing_in_particular(run: Run, directory: Path, arguments: list[str]) -> None:
    """What is to go must be said, and once."""
    assert 2 == run("purge", *arguments).exit_code
    assert 3 == len(left(directory))


def test_purge_reaches_programs_that_run(run: Run, directory: Path) -> None:
    """A program that has an answer in its memory gives it no longer."""
    cache = ExactCache(directory, ttl_s=None)
    assert [True, True] == [found(cache, key_of("hers")) is not None for _ in range(2)]
    assert 0 == run("purge", "--tenant", "acme", "--yes").exit_code

    assert found(cache, key_of("hers")) is None
    cache.close()


def test_export_and_import(run: Run, directory: Path, tmp_path: Path) -> None:
    """What is exported can be imported elsewhere; what has ended is left behind, and what is known is skipped."""
    file = tmp_path / "answers.jsonl"
    assert "2 answers" in run("export", str(file)).stderr
    piped = run("export", "--tag", "feature=search", lang="zh")
    assert (2, True) == (len(piped.stdout.splitlines()), "共 2 条回答" in piped.stderr)
    assert 0 == run("purge", "--tenant", "acme", "--yes").exit_code

    (row,) = rows(run("import", str(file), "-o", "json"))
    assert {"kept": 1, "skipped": 1, "reasons": {"known": 1}} == row
    assert {"new", "old", "hers"} == left(directory)
    (row,) = rows(run("import", "-", "-o", "json", text=b"{}\n" + file.read_bytes()))
    assert {"kept": 0, "skipped": 3, "reasons": {"schema": 1, "known": 2}} == row


@pytest.mark.parametrize(
    ("lang", "words"), [("en", ("of another format or version", "too large")), ("zh", ("格式或版本不同", "太大"))]
)
def test_lines_that_are_skipped(run: Run, lang: str, words: tuple[str, str]) -> None:
    """Each bad line is told once, in the language that is asked for, and no word of the code; it is a failure."""
    done = run("import", "-", text=b"{}\n\n{}\n" + b"x" * 2**26, lang=lang)

    assert 1 == done.exit_code
    assert 3 == len(done.stderr.splitlines())
    assert [2, 1] == [done.stderr.count(word) for word in words]
    assert ", ".join((f"{words[0]}: 2", f"{words[1]}: 1")) in done.stdout
    assert not any(word in done.output for word in ("schema", "too_large"))


def test_many_lines_that_are_skipped(run: Run) -> None:
    """Not all of many bad lines are told one by one, and all are counted."""
    done = run("import", "-", "-o", "json", text=b"{}\n" * 50)

    assert (20, 50) == (len(done.stderr.splitlines()), json.loads(done.stdout)[0]["skipped"])


def test_importing_what_is_known_is_no_failure(run: Run, tmp_path: Path) -> None:
    """A file that is imported again, or is empty, is as it should be."""
    file = tmp_path / "answers.jsonl"
    run("export", str(file))
    again = run("import", str(file))

    assert (0, "") == (again.exit_code, again.stderr)
    assert "kept already" in again.stdout
    assert 0 == run("import", "-", text=b"").exit_code


def test_every_reason_has_words() -> None:
    """What refuses a line has words in both languages."""
    told = {*_REASONS} - {"known", "tenant", "flushed", "expired"}

    assert {"json", "schema", "key", "facts", "answer", "pieces", "too_large", "empty", "length", "incomplete"} <= told
    assert all(reason_in_words(reason, Say("en")) != reason_in_words(reason, Say("zh")) for reason in _REASONS)
    assert "new" == reason_in_words("new", Say("zh"))


def test_import_makes_a_cache(run: Run, tmp_path: Path) -> None:
    """Answers can be taken to a machine that has no cache yet."""
    file = tmp_path / "answers.jsonl"
    run("export", str(file))
    other = str(tmp_path / "other")
    done = CliRunner().invoke(app, ["cache", "import", str(file), "--path", other, "--tenant", "acme", "-o", "json"])

    assert {"kept": 1, "skipped": 1, "reasons": {"tenant": 1}} == rows(done)[0]


def test_files_that_cannot_be_used(run: Run, directory: Path, tmp_path: Path) -> None:
    """A file that cannot be read or written is one line, and the cache itself is never written over."""
    for arguments in (["import", str(tmp_path / "none")], ["export", str(tmp_path / "none" / "x")]):
        done = run(*arguments)
        assert (1, "") == (done.exit_code, done.stdout)
        assert "cannot be used" in done.stderr

    assert 3 == run("export", str(directory / "cache.db")).exit_code
    assert 3 == len(left(directory))


@pytest.mark.parametrize("name", ["stats", "ls", "inspect 12", "purge --all --yes", "export"])
def test_no_cache(tmp_path: Path, name: str) -> None:
    """Where there is no cache, that is said with how to begin one, and none is made."""
    path = tmp_path / "cache"
    done = CliRunner().invoke(app, ["--lang", "zh", "cache", *name.split(), "--path", str(path)])

    assert (3, "", False) == (done.exit_code, done.stdout, path.exists())
    assert "DEEPSEEK_SDK_CACHE=exact" in done.stderr


@pytest.mark.parametrize("name", ["stats", "ls", "inspect 12", "purge --all --yes", "export", "import -"])
@pytest.mark.parametrize("place", ["file", "file/below", "x" * 300, "other"])
def test_paths_that_cannot_be_used(tmp_path: Path, name: str, place: str) -> None:
    """What is no directory of a cache is named with what is wrong, and not by the word of a class."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("", encoding="utf-8")
    path = tmp_path / place
    done = CliRunner().invoke(app, ["--lang", "en", "cache", *name.split(), f"--path={path}"])

    assert (3, "") == (done.exit_code, done.stdout)
    assert str(path) in done.stderr
    assert (place == "file") == ("is a file" in done.stderr)
    assert "ConfigurationError" not in done.stderr
    assert {"file", "other"} == {found.name for found in tmp_path.iterdir()}


@pytest.mark.parametrize("said", ["~/cache", "cache", "./cache", "."])
def test_how_paths_may_be_written(directory: Path, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may begin at home, or where the program was started, which is then told in full."""
    monkeypatch.setenv("HOME", str(directory.parent))
    monkeypatch.setenv("USERPROFILE", str(directory.parent))
    monkeypatch.chdir(directory.parent)
    done = CliRunner().invoke(app, ["--lang", "en", "cache", "stats", "-o", "json", f"--path={said}"])

    if said == ".":
        assert f"no cache in {directory.parent}." in done.stderr
    else:
        assert str(directory) == rows(done)[0]["path"]


def test_a_home_that_nobody_has() -> None:
    """A home that is not known is misuse."""
    assert 2 == CliRunner().invoke(app, ["cache", "ls", "--path=~nobody-of-that-name/x"]).exit_code


@pytest.mark.parametrize("name", ["none.jsonl", "none/none.jsonl"])
def test_import_of_no_file_makes_no_cache(tmp_path: Path, name: str) -> None:
    """Where there is nothing to import, nothing is made."""
    path = tmp_path / "cache"
    done = CliRunner().invoke(app, ["cache", "import", str(tmp_path / name), "--path", str(path)])

    assert (1, False) == (done.exit_code, path.exists())


def test_the_usual_directory(tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path it is the directory where clients keep their answers."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    directory.rename(tmp_path / "user" / "answers")

    assert 3 == len(rows(CliRunner().invoke(app, ["cache", "ls", "-o", "json"])))


def test_signed_records(tmp_path: Path) -> None:
    """Signed records are read by who has the secret; others can list and remove them."""
    cache = ExactCache(tmp_path / "cache", secret="密钥")
    keep(cache, entry_of("one", created_ms=cache.now_ms()))
    cache.close()
    (tmp_path / "secret").write_text("密钥\n", encoding="utf-8")
    path, secret = ["--path", str(tmp_path / "cache")], ["--secret-file", str(tmp_path / "secret")]

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["--lang", "en", "cache", *arguments, *path])

    assert "--secret-file" in run("inspect", key_of("one")).stderr
    assert 0 == run("inspect", key_of("one"), *secret).exit_code
    assert 0 == len(run("export").stdout.splitlines())
    assert 1 == len(run("export", *secret).stdout.splitlines())
    assert 1 == len(rows(run("ls", "-o", "json")))
    assert 1 == rows(run("purge", "--all", "--yes", "-o", "json"))[0]["count"]


def test_a_pipe_that_breaks() -> None:
    """What is wrong with stdout is for the program to tell, as for every command."""
    with pytest.raises(BrokenPipeError), files_named("-", Say("en")):
        raise BrokenPipeError


def test_an_answer_without_an_end_in_sight(run: Run, directory: Path) -> None:
    """An instant that no calendar has is shown as a number."""
    cache = ExactCache(directory)
    keep(cache, entry_of("far", created_ms=cache.now_ms(), expires_ms=2**52))
    cache.close()

    assert str(2**52) == rows(run("ls", "-o", "json"))[0]["expires"]


@pytest.mark.slow
def test_as_a_program(directory: Path) -> None:
    """The program prints data alone on stdout, and leaves no file open."""
    done = run_program("cache", "export", "--path", str(directory), PYTHONWARNINGS="error", LANG="zh_CN.UTF-8")

    assert (0, 2) == (done.returncode, len(done.stdout.splitlines()))
    assert "共 2 条回答\n" == done.stderr
