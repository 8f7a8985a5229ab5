"""`tokens`: how many tokens a text or a request has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.cli._app import app

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [{"role": "user", "content": "x"}]


def tokens(*arguments: str, stdin: str | bytes = "") -> Result:
    """Run `tokens` in this process."""
    return CliRunner().invoke(app, ["tokens", *arguments], input=stdin)


@pytest.mark.parametrize("arguments", [[], ["-"], ["count"], ["count", "-"]])
def test_text_on_stdin(arguments: list[str]) -> None:
    """A text is counted alone, special spellings by their letters, with or without the verb."""
    done = tokens(*arguments, "-o", "json", stdin="<think>")

    assert 0 == done.exit_code
    assert [{"tokens": 3, "exact": True, "characters": 7, "bytes": 7}] == json.loads(done.stdout)


def test_text_in_a_file(tmp_path: Path) -> None:
    """A file is read as UTF-8, without its byte order mark."""
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeff深度求索".encode())

    assert 4 == json.loads(tokens(str(path), "-o", "json").stdout)[0]["characters"]


def test_request(tmp_path: Path) -> None:
    """A request is counted as the service bills it, for the model that it names or that is given."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"messages": MESSAGES, "thinking": {"type": "disabled"}}), encoding="utf-8")
    flash, pro = (json.loads(tokens(str(path), "--messages", *extra, "-o", "json").stdout)[0] for extra in ([], PRO))

    assert (5, True, 4) == (flash["tokens"], flash["exact"], flash["overhead"])
    assert 5 == pro["tokens"]


PRO = ["--model", "deepseek-v4-pro"]


def test_messages_alone_think() -> None:
    """A bare list of messages is a request that says nothing else, so the model thinks."""
    done = tokens("--messages", "-o", "json", stdin=json.dumps(MESSAGES))

    assert 31 == json.loads(done.stdout)[0]["tokens"]


def test_rows_by_message() -> None:
    """Each message is a row, and the template another; they add up to the total."""
    done = tokens("--messages", "--by-message", "-o", "json", stdin=json.dumps(MESSAGES))

    assert [
        {"message": 0, "role": "user", "tokens": 1},
        {"message": None, "role": None, "tokens": 30},
    ] == json.loads(done.stdout)


def test_table_in_chinese() -> None:
    """A table is worded in the language asked for."""
    assert "模板与工具" in tokens("--messages", "--lang", "zh", stdin=json.dumps(MESSAGES)).stdout


def test_estimates_are_told() -> None:
    """What is no exact count is said to be none on stderr, and its bounds are in the data."""
    body = {"model": "some-model", "messages": MESSAGES}
    done = tokens("--messages", "-o", "json", stdin=json.dumps(body))
    row: dict[str, Any] = json.loads(done.stdout)[0]

    assert "An estimate, because of: unknown model" in done.stderr
    assert (False, "unknown model") == (row["exact"], row["why"])
    assert row["low"] <= row["tokens"] <= row["high"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "said"),
    [
        (["missing.txt"], b"", 1, "missing.txt cannot be read"),
        ([], b"\xff", 1, "is not UTF-8: byte 0"),
        (["--messages"], b"{", 1, "not JSON"),
        (["--messages"], b"3", 1, "expected a JSON list of messages"),
        (["--messages"], b"[3]", 1, "expected a JSON list of messages"),
        (["--messages"], b'{"messages": 3}', 1, "expected a JSON list of messages"),
        (["--messages"], b"[" * 100_000, 1, "not JSON"),
        (["--by-message"], b"x", 2, "--by-message needs --messages"),
        (["a", "b"], b"x", 2, "give one file"),
    ],
)
def test_what_cannot_be_counted(arguments: list[str], stdin: bytes, code: int, said: str) -> None:
    """Files that cannot be read and data of another shape end with a line that says so."""
    done = tokens(*arguments, "--lang", "en", stdin=stdin)

    assert code == done.exit_code
    assert said in done.stderr
