"""`models`: what the endpoint serves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.cli._app import app
from tests.cli.conftest import run_program
from tests.raw_server import RawServer, refusal, whole

if TYPE_CHECKING:
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"


def models(url: str, *arguments: str) -> Result:
    """Run `models` in this process against *url*."""
    return CliRunner().invoke(app, ["models", "--base-url", url, *arguments], env={"DEEPSEEK_API_KEY": KEY})


def test_models_are_listed(emulator: StartEmulator) -> None:
    """Each model is a row with what the API says of it, and nothing else."""
    done = models(emulator(api_key=KEY).url, "-o", "jsonl")

    assert [{"id": name, "owned_by": "deepseek"} for name in ("deepseek-flash", "deepseek-v4-pro")] == [
        json.loads(line) for line in done.stdout.splitlines()
    ]


def test_table_in_chinese(emulator: StartEmulator) -> None:
    """A table is worded in the language asked for."""
    assert "所有者" in models(emulator().url, "--lang", "zh").stdout


@pytest.mark.parametrize(("status", "code"), [(401, 3), (402, 4), (429, 4), (400, 1)])
def test_refusals_have_their_codes(status: int, code: int) -> None:
    """A refusal ends with the code of its kind, and prints no data."""
    with RawServer(refusal(status, "no", retry_after="0.01")) as server:
        done = models(server.url)

    assert (code, "") == (done.exit_code, done.stdout)


@pytest.mark.parametrize("body", [b"<html>hello</html>", {"data": 5}, ["x"]])
def test_answer_that_lists_no_models(body: object) -> None:
    """What is no list of models is said to be none."""
    with RawServer(whole(body)) as server:
        done = models(server.url)

    assert (1, "") == (done.exit_code, done.stdout)
    assert "the endpoint answered, but not with" in done.stderr


def test_bad_url_is_a_matter_of_configuration() -> None:
    """A base URL that is none ends with 3."""
    done = models("api.deepseek.com")

    assert 3 == done.exit_code
    assert "base_url" in done.stderr


@pytest.mark.slow
def test_process_in_chinese(emulator: StartEmulator) -> None:
    """A real process takes language, key and endpoint from the environment."""
    server = emulator(api_key=KEY)
    done = run_program("models", DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url, DEEPSEEK_SDK_LANG="zh")

    assert (0, "") == (done.returncode, done.stderr)
    assert all(word in done.stdout for word in ("模型", "deepseek-flash"))
