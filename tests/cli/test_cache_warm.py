"""`cache warm`: a list of frequent questions becomes kept answers, and programs find them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk import Client, report
from deepseek_sdk.caching import ExactCache, SemanticCache
from deepseek_sdk.caching.embedding import default
from deepseek_sdk.cli._app import app
from tests.caching.embedding.conftest import build_once
from tests.cli.conftest import link_model
from tests.cli.damaged_model import write_damaged

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"
SYSTEM = "你是客服。"
FAQ = [("如何退款", "在订单页点“退款”。"), ("怎么开启自动续费", "打开“我的订阅”，打开开关。")]

needs_model = pytest.mark.skipif(default.default_source() is None, reason="the model is not made for this platform")


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user a key, and an empty directory of caches."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "user"))
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    return tmp_path / "user"


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    """Write the questions down as JSON lines, one of them twice."""
    path = tmp_path / "faq.jsonl"
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in (*FAQ, FAQ[0])]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def warm(*arguments: object, lang: str = "en", text: str | None = None) -> Result:
    """Run `cache warm` in this process."""
    return CliRunner().invoke(app, ["--lang", lang, "cache", "warm", *map(str, arguments)], input=text)


def row_of(done: Result) -> dict[str, Any]:
    """Read the only row."""
    (row,) = json.loads(done.stdout)
    told: dict[str, Any] = row
    return told


def asked(client: Client, question: str, system: str | None = None) -> tuple[str, str | None, str | None]:
    """Ask; give the answer, how the cache answered, and by which tier."""
    messages: list[Any] = [] if system is None else [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": question})
    answer = client.chat.completions.create(model="deepseek-flash", messages=messages)
    outcome = report(answer).cache
    assert outcome is not None
    return answer.choices[0].message.content or "", outcome.status, outcome.tier


def test_exact(emulator: StartEmulator, faq: Path, caches: Path) -> None:
    """A program with the same key finds the answers, and one with another key does not; nothing was sent before."""
    done = warm(faq, "--exact", "-o", "json")
    row, server = row_of(done), emulator()
    cache = ExactCache(caches / "answers")

    assert (0, "") == (done.exit_code, done.stderr)
    assert {"kept": 2, "skipped": 1, "reasons": {"duplicate": 1}} == {name: row[name] for name in list(row)[:3]}
    with Client(base_url=server.url, api_key=KEY, cache=cache) as client:
        assert (FAQ[0][1], "hit", "exact") == asked(client, FAQ[0][0])
        assert [row["tenant"]] * 2 == [kept.tenant for kept in cache.ls()]
    with Client(base_url=server.url, api_key="another", cache=cache) as other:
        assert "miss" == asked(other, FAQ[0][0])[1]
    assert 1 == len(server.requests)
    cache.close()


def test_what_calls_will_say(
    emulator: StartEmulator, faq: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """System message, tags, time and tenant are those of the calls to come; with a tenant no key is needed."""
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    how = ("--system", SYSTEM, "--tag", "feature=faq", "--ttl", "7d", "--tenant", "acme", "--path", tmp_path / "c")
    row = row_of(warm(faq, "--exact", *how, "-o", "json"))
    cache = ExactCache(tmp_path / "c")

    assert (2, "tenant:acme") == (row["kept"], row["tenant"])
    (entry, _) = cache.ls(tag="feature=faq", tenant="acme")
    assert entry.expires_ms is not None
    assert 6 < (entry.expires_ms - entry.created_ms) / 86_400_000 < 8
    with Client(base_url=emulator().url, api_key=KEY, cache=cache, tenant="acme") as client:
        assert "hit" == asked(client, FAQ[1][0], SYSTEM)[1]
        assert "miss" == asked(client, FAQ[1][0])[1]
    cache.close()


@needs_model
@pytest.mark.slow
def test_semantic(emulator: StartEmulator, faq: Path, caches: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By default vectors are kept, so that a program finds an answer in other words, and they are counted."""
    link_model(caches, build_once(tmp_path_factory).directory)
    assert 2 == row_of(warm(faq, "--ttl", "never", "-o", "json"))["kept"]
    cache = SemanticCache(embed_s=5.0)

    with Client(base_url=emulator().url, api_key=KEY, cache=cache) as client:
        assert cache.wait_until_ready(50)
        assert (FAQ[0][1], "hit", "semantic") == asked(client, "退款流程是什么")
        assert ("miss", None) == asked(client, "怎么关闭自动续费")[1:]
    assert 2 == len([kept for kept in cache.ls() if kept.expires_ms is None])
    cache.close()
    told = json.loads(CliRunner().invoke(app, ["cache", "stats", "-o", "json"]).stdout)[0]
    assert 3 == told["vectors"] == sum(told["embedders"].values())
    assert "向量模型" in CliRunner().invoke(app, ["--lang", "zh", "cache", "stats"]).stdout


def test_stdin_and_tables(tmp_path: Path) -> None:
    """JSON lines may come from stdin, and a table has columns; what is no pair is told in words."""
    table = tmp_path / "faq.csv"
    table.write_text("answer,question\n好,如何退款\n,空\n", encoding="utf-8")
    text = json.dumps({"question": "q", "answer": "a"}) + "\n[1]\n"
    piped, read = warm("-", "--exact", text=text), warm(table, "--exact", lang="zh")

    assert (0, 0) == (piped.exit_code, read.exit_code)
    assert "no question with its answer: 1" in piped.stdout
    assert all(word in read.stdout for word in ("已写入", "租户", "key:", "回答为空: 1"))


def test_nothing_that_can_be_kept() -> None:
    """A file without a pair is a failure, and what is known already is none."""
    assert 1 == warm("-", "--exact", text="[1]\n").exit_code
    pair = json.dumps({"question": "q", "answer": "a"})
    assert [0, 0] == [warm("-", "--exact", text=pair).exit_code for _ in range(2)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ttl", "soon"], "such as 7d"),
        (["--ttl", "0s"], "such as 7d"),
        (["--tag", "feature"], "NAME=VALUE"),
        (["--tag", "=x"], "NAME=VALUE"),
    ],
)
def test_misuse(faq: Path, arguments: list[str], words: str, caches: Path) -> None:
    """What cannot be read ends with 2, and nothing is made."""
    done = warm(faq, "--exact", *arguments)

    assert (2, "", False) == (done.exit_code, done.stdout, caches.exists())
    assert words in done.stderr


def test_files_that_are_none(tmp_path: Path, caches: Path) -> None:
    """A file that is missing ends with 1, and one of another kind with 3."""
    (tmp_path / "faq.xlsx").write_text("", encoding="utf-8")

    assert (1, False) == (warm(tmp_path / "none.csv", "--exact").exit_code, caches.exists())
    done = warm(tmp_path / "faq.xlsx", "--exact")
    assert (3, True) == (done.exit_code, ".csv" in done.stderr)
    (tmp_path / "faq.csv").write_text("问题,答案\n如何退款,好\n", encoding="utf-16")
    done = warm(tmp_path / "faq.csv", "--exact")
    assert (3, True) == (done.exit_code, "not in UTF-16" in done.stderr)


def test_no_key(faq: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key nobody knows whose the answers are; it ends with 3."""
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    done = warm(faq, "--exact")

    assert (3, "") == (done.exit_code, done.stdout)
    assert "DEEPSEEK_API_KEY" in done.stderr


@pytest.mark.parametrize(("lang", "words"), [("en", "--exact does without"), ("zh", "也可以用 --exact")])
def test_no_model(faq: Path, lang: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no model, it ends with 3, and says what to run, and how to do without."""
    monkeypatch.setattr(default, "_WHEEL", "no_such_wheel_here")
    done = warm(faq, lang=lang)

    assert (3, "") == (done.exit_code, done.stdout)
    assert words in done.stderr


@needs_model
def test_model_that_cannot_be_built(faq: Path, caches: Path) -> None:
    """Where nothing can be written, it ends with 1 and says why."""
    caches.write_text("", encoding="utf-8")
    done = warm(faq)

    assert (1, "") == (done.exit_code, done.stdout)
    assert "the model cannot be built" in done.stderr


@needs_model
def test_model_that_cannot_be_loaded(faq: Path, caches: Path) -> None:
    """Answers without vectors are not kept in silence."""
    write_damaged(caches / "models" / default.default_directory().name)
    done = warm(faq, lang="zh")

    assert (1, "") == (done.exit_code, done.stdout)
    assert "模型无法使用" in done.stderr
    assert "也可以用 --exact" in done.stderr
