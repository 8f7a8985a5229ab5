"""The package of the tutorial does what its page says, and the page shows all of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk import Usage, report
from deepseek_sdk.errors import ConfigurationError
from tests.docs.conftest import DOCS, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver


@pytest.mark.slow
@pytest.mark.usefixtures("tutorial")
def test_installed_backend_is_found_by_its_name(driver: Driver) -> None:
    """Once pip has installed the package, its name is enough: plain and streamed, without a key."""
    client = driver.client(backend="echo", api_key=None)
    answer = driver.create(client, "one  two")
    stream = driver.create(client, "one  two", stream=True)

    assert "one  two" == answer.choices[0].message.content
    assert ["one", " ", " two", None] == [chunk.choices[0].delta.content for chunk in driver.iterate(stream)]
    assert ("echo", Usage(hit=0, miss=3, output=3, reasoning=0)) == (report(stream).route, report(answer).usage)


@pytest.mark.usefixtures("tutorial")
def test_installed_backend_is_chosen_by_the_environment(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that names no backend takes that of DEEPSEEK_SDK_BACKEND."""
    monkeypatch.setenv("DEEPSEEK_SDK_BACKEND", "echo")
    client = driver.client(api_key=None)

    assert "one" == driver.create(client, "one").choices[0].message.content


@pytest.mark.usefixtures("tutorial")
def test_installed_backend_says_what_it_cannot_do(driver: Driver) -> None:
    """What the backend does not serve is an error of its own, and no request to anybody."""
    client = driver.client(backend="echo", api_key=None)

    with pytest.raises(ConfigurationError, match="/completions"):
        driver.call(client.completions.create, model="echo-1", prompt="Hi")


@pytest.mark.parametrize("folder", [DOCS, DOCS / "zh"], ids=["English", "Chinese"])
def test_page_shows_every_file(folder: Path) -> None:
    """The page includes the files of the package themselves, all of them."""
    included = re.findall(r"```\{literalinclude\} (\S+)", text_of(folder / "writing-a-backend.md"))
    files = [path for path in (DOCS / "tutorial-backend").iterdir() if path.name != "__pycache__"]

    assert sorted(files) == sorted((folder / path).resolve() for path in included)
