"""`completion`: shells complete commands and options."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deepseek_sdk.cli._app import app
from tests.cli.conftest import run

BIN = Path(sys.executable).parent

COMPLETE = """
eval "$(deepseek-sdk completion bash)"
complete -p deepseek-sdk >/dev/null || exit 9
offer() {
    COMP_WORDS=(deepseek-sdk "$@"); COMP_CWORD=$#; COMPREPLY=()
    _deepseek_sdk_completion deepseek-sdk
    echo "${COMPREPLY[*]}"
}
offer config ''
offer doctor -o js
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes() -> None:
    """Bash, with the script evaluated, offers subcommands, and the values of an option."""
    done = run(["bash", "-c", COMPLETE], PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")

    assert (0, ["init path show", "json jsonl"]) == (done.returncode, done.stdout.splitlines())


@pytest.mark.parametrize(("shell", "position"), [("zsh", "1"), ("fish", "ba")])
def test_other_shells(shell: str, position: str) -> None:
    """The script of each shell asks the program by a variable, and the program answers."""
    script = CliRunner().invoke(app, ["completion", shell])
    asked = {
        "_DEEPSEEK_SDK_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "deepseek-sdk ba",
        "COMP_CWORD": position,
    }
    done = CliRunner().invoke(app, [], prog_name="deepseek-sdk", env=asked)

    assert 0 == script.exit_code
    assert f"_DEEPSEEK_SDK_COMPLETE={shell}_complete" in script.stdout
    assert (0, True) == (done.exit_code, "balance" in done.stdout)


def test_unknown_shells_are_a_usage_error() -> None:
    """Other shells end with 2."""
    assert 2 == CliRunner().invoke(app, ["completion", "tcsh"]).exit_code
