"""The cache of the demo: what is asked again is answered at once, and what only looks alike is not."""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Client
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.deciding.calibrated import COLLISION
from deepseek_sdk.caching.embedding import default
from deepseek_sdk.caching.matching.guards import GUARDS as ALL_GUARDS
from deepseek_sdk.cli._decisions import GUARDS, REASONS, decision_in_words, reason_of
from deepseek_sdk.cli._demo.cached import Scenery, ask, play_cache
from deepseek_sdk.cli._demo.questions import CACHE_WORDS
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.testing.vocabulary import choose_vocabulary
from tests.caching.embedding.conftest import build_once
from tests.cli.conftest import link_model
from tests.cli.damaged_model import write_damaged

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from deepseek_sdk.cli._demo.cached import Asked

needs_model = pytest.mark.skipif(default.default_source() is None, reason="the model is not made for this platform")


def asked(demo: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """Give the rows of the calls with the cache."""
    return [row for row in json.loads(demo.stdout) if row["cache"] is not None]


def played(lang: str) -> tuple[list[Asked], str]:
    """Play the part in this process; give its calls, and what it showed."""
    shown = io.StringIO()
    return play_cache(lang, choose_vocabulary(), console_of(shown)), shown.getvalue()


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user an empty directory of caches."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "user"))
    return tmp_path / "user"


@needs_model
@pytest.mark.slow
def test_who_answers(demo: subprocess.CompletedProcess[str]) -> None:
    """The model answers what is new, the cache what was asked before, also in other words, and never the opposite."""
    rows = asked(demo)

    assert [None, "exact", "semantic", None, None] == [row["tier"] for row in rows]
    assert ["miss", "hit", "hit", "miss", "miss"] == [row["cache"] for row in rows]
    assert ["no_candidate", "exact", "served"] == [row["decision"] for row in rows[:3]]
    assert "antonym" == rows[4]["decision"]
    assert rows[4]["similarity"] > rows[2]["similarity"] > 0.9, "what asks for the opposite is more alike"
    assert all(row["is_expected"] for row in rows)


@needs_model
@pytest.mark.slow
def test_what_is_saved(demo: subprocess.CompletedProcess[str]) -> None:
    """Hits have an amount in both currencies, and their sum is told with the time."""
    saved = [(row["saved_cny"], row["saved_usd"]) for row in asked(demo)]

    assert [False, True, True, False, False] == [all(pair) for pair in saved]
    assert all(0 < float(amount) < 0.01 for pair in saved if all(pair) for amount in pair)
    assert re.search(
        r"^2 of 5 answers came from the cache\. Saved: \d\.\d s, 0\.0\d+ CNY or 0\.0", demo.stderr, re.MULTILINE
    )


@needs_model
@pytest.mark.slow
def test_lines_tell_why(demo: subprocess.CompletedProcess[str]) -> None:
    """A line for each call says who answered, how alike the questions are, what that saved, and why."""
    kept = r"How do I get a refund\?"

    assert re.search(r"^→ model, \d+ ms; nothing to compare with$", demo.stderr, re.MULTILINE)
    assert re.search(r"^→ cache, exact, \d+ ms; similarity 1\.000; saved .* the same words$", demo.stderr, re.MULTILINE)
    semantic = rf"^→ cache, semantic, \d+ ms; similarity 0\.9\d\d; saved .* USD; asks the same \({kept}\)$"
    assert re.search(semantic, demo.stderr, re.MULTILINE)
    assert "a guard says no: opposite words (How do I turn on auto-renewal?)" in demo.stderr


@needs_model
@pytest.mark.slow
def test_in_chinese(tmp_path_factory: pytest.TempPathFactory, caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in Chinese; the answers are removed afterwards."""
    link_model(caches, build_once(tmp_path_factory).directory)
    (caches / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(caches / "temporary"))
    calls, shown = played("zh")

    assert [True] * 5 == [call.is_expected for call in calls]
    assert "缓存（语义）" == calls[2].cells(CACHE_WORDS["zh"], Say("zh"))["tier"]
    assert "不能通用：词义相反（怎么开启自动续费）" in shown
    assert [] == list((caches / "temporary").iterdir())
    assert not re.search(r"\b(hit|miss|semantic|exact|ms|antonym)\b", shown)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_the_extra(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where packages are missing, a line says so with the command that installs them, and the part is left out."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("deepseek_sdk.cli._semantic.unmet", lambda _: ["onnxruntime"])
    calls, shown = played(lang)

    assert [] == calls
    assert "onnxruntime" in shown
    assert "python -m pip install 'deepseek-client-sdk[cache]'" in shown


@pytest.mark.usefixtures("caches")
def test_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model is not made for the platform, a line says so, and what takes another."""
    monkeypatch.setattr(default, "_WHEEL", "no_such_wheel_here")
    monkeypatch.setattr("deepseek_sdk.cli._semantic.unmet", lambda _: [])
    calls, shown = played("en")

    assert [] == calls
    assert "not made for this platform" in shown
    assert "Run: deepseek-sdk models check DIR" in shown


@needs_model
def test_model_that_cannot_be_built(caches: Path) -> None:
    """Where nothing can be written, the part is left out, and a line says why."""
    caches.write_text("", encoding="utf-8")
    calls, shown = played("en")

    assert [] == calls
    assert "cannot be used, so the cache is left out" in shown


@needs_model
def test_model_that_cannot_be_loaded(caches: Path) -> None:
    """A model that is no model is told, too."""
    write_damaged(caches / "models" / default.default_directory().name)
    calls, shown = played("zh")

    assert [] == calls
    assert "比较问题的模型无法使用，因此跳过缓存部分" in shown


def test_call_that_fails() -> None:
    """A call that nobody answers is shown with its error, and fails the demo."""
    words, shown = CACHE_WORDS["en"], io.StringIO()
    cache = ExactCache(max_bytes=0)
    with Client(base_url="http://127.0.0.1:9", api_key="any", backend=None, max_retries=0, cache=cache) as client:
        call = ask(words.questions[0], Scenery(client, cache, words, Say("en"), console_of(shown)))

    assert (False, 1, None) == (call.is_expected, call.code, call.answered_by)
    assert "\nAPIConnectionError: " in shown.getvalue()
    assert ("APIConnectionError", None) == (call.row()["outcome"], call.cells(words, Say("en"))["tier"])


def test_questions_fit_their_answers() -> None:
    """In both languages the same is asked: a question, again, in other words, another, and its opposite."""
    for words in CACHE_WORDS.values():
        first, again, other, on, off = words.questions
        assert first.text == again.text != other.text
        assert 1 == len({question.answer for question in (first, again, other)})
        assert 3 == len({question.answer for question in (first, on, off)})
        assert {"model", "exact", "semantic"} == {question.answered_by for question in words.questions}


def test_reasons_have_words() -> None:
    """Every guard has words in both languages, and so has every reason; what is not known is left as it is."""
    assert {*ALL_GUARDS, COLLISION} == set(GUARDS)
    assert not set(GUARDS) & set(REASONS)
    for name in (*GUARDS, *REASONS):
        en, zh = (decision_in_words(name, Say(lang)) for lang in ("en", "zh"))
        assert en != name != zh != en
    assert ("new", None) == (decision_in_words("new", Say("zh")), decision_in_words(None, Say("en")))
    assert reason_of(None) is None
