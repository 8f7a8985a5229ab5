"""Backends by name: what is installed is found, and what is not says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Client
from deepseek_sdk.backends import load_backend
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver

MODULE = """
class Echo:
    async def __call__(self, call):
        raise ConnectionResetError("never asked")

def broken():
    raise RuntimeError("no device")
"""
ENTRY_POINTS = """
[deepseek_sdk.backends]
echo = made_up_backend:Echo
broken = made_up_backend:broken
missing = made_up_backend:Nothing
strange = made_up_backend:dict
"""


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that registers backends."""
    (tmp_path / "made_up_backend.py").write_text(MODULE + "from builtins import dict\n", encoding="utf-8")
    information = tmp_path / "made_up_backend-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-backend\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_installed")
def test_an_installed_backend() -> None:
    """A name finds the class that a package registers, and makes one."""
    assert "Echo" == type(load_backend("echo")).__name__


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ekho", "there is no backend 'ekho'; installed are broken, echo, missing, strange"),
        ("broken", "'broken' (made_up_backend:broken) cannot be made: no device"),
        ("missing", "'missing' (made_up_backend:Nothing) cannot be made: "),
        ("strange", "'strange' (made_up_backend:dict) is not an object that answers calls"),
    ],
)
def test_names_that_give_no_backend(name: str, message: str) -> None:
    """The error names the backend, and what is wrong."""
    with pytest.raises(ConfigurationError) as caught:
        Client(backend=name)

    assert message in str(caught.value)


def test_no_package_is_installed() -> None:
    """Where no package registers a backend the error says so."""
    with pytest.raises(ConfigurationError, match="no package that registers one is installed"):
        load_backend("echo")


@pytest.mark.parametrize("given", [3, object(), dict])
def test_things_that_are_no_backend(driver: Driver, given: Any) -> None:
    """What cannot answer calls is refused when the client is made."""
    with pytest.raises(ConfigurationError, match="is not an object that answers calls"):
        driver.client(backend=given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("retry", "stages must be a list of stages, not str"),
        (3, "stages must be a list of stages, not int"),
        ([3], r"stages\[0\] must be an object that answers calls, not 3"),
        ([dict], r"stages\[0\] must be an object that answers calls, not <class 'dict'>"),
    ],
)
def test_things_that_are_no_stages(driver: Driver, given: Any, message: str) -> None:
    """A pipeline that could not work is refused when the client is made."""
    with pytest.raises(ConfigurationError, match=message):
        driver.client(stages=given)


def test_requests_that_no_backend_answers(driver: Driver) -> None:
    """Without a key a client with a backend says so where its endpoint would be asked."""
    client = driver.client(api_key=None, backend=lambda call: call)
    with pytest.raises(ConfigurationError, match="for which there is no key"):
        driver.call(client.models.list)
