"""What is installed without extras says what to install; run by `.ci/wheel`, where there are none."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from deepseek_sdk import Client, RuleEngine
from deepseek_sdk.errors import MissingExtraError
from deepseek_sdk.testing import Emulator

EXTRAS = (
    "ahocorasick_rs",
    "click",
    "diskcache",
    "faiss",
    "kitoken",
    "onnxruntime",
    "opencc",
    "rich",
    "starlette",
    "tokenizers",
    "uvicorn",
)

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) for name in EXTRAS), reason="packages of the extras are installed"
)


def test_the_command_line() -> None:
    """The command line names its extra and ends with the exit code for configuration."""
    done = subprocess.run([sys.executable, "-m", "deepseek_sdk", "demo"], capture_output=True, text=True, check=False)

    assert 3 == done.returncode
    assert done.stderr.endswith("Run: python -m pip install 'deepseek-client-sdk[cli]'\n")


def test_the_emulator() -> None:
    """The emulator names its extra."""
    with pytest.raises(MissingExtraError, match=r"pip install 'deepseek-client-sdk\[testing\]'"):
        Emulator().start()


def test_the_rule_engine() -> None:
    """The rule engine names its extra."""
    with pytest.raises(MissingExtraError, match=r"pip install 'deepseek-client-sdk\[rules\]'"):
        RuleEngine([])


def test_counts_are_estimates() -> None:
    """Without an encoder tokens are counted all the same, and marked as inexact, with bounds."""
    found = Client(api_key="k").tokens.count([{"role": "user", "content": "你好，世界"}])

    assert not found.exact
    assert found.low <= found.total <= found.high
    assert found.why
