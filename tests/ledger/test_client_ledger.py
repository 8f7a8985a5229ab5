"""A client whose ledger cannot be written: it answers all the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Client
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.testing import Emulator

if TYPE_CHECKING:
    from pathlib import Path

QUESTION: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "?"}]}


@pytest.mark.parametrize("kind", [".", "some.py/x.sqlite3", "some.py/a/x", "/proc/x.sqlite3", "a\0b"], ids=ascii)
def test_ledger_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Calls go on, `usage()` says what is missing, and `close()` how much was lost."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.py").write_text("")
    with Emulator(replies="!") as server, Client(base_url=server.url, api_key="any", ledger=kind) as client:
        assert 0 == client.usage().total.calls
        client.chat.completions.create(**QUESTION)
        assert any("1 calls of this process are not written yet" in note for note in client.usage().notes)
        client.close()
        assert "1 calls could not be written and were dropped." in client.usage().notes
        with pytest.raises(ConfigurationError, match="tz must be"):
            client.usage(tz="Mars")
        assert 0 == client.usage(tz="Europe/Berlin", by="day").total.calls
    # A ledger that another test has dropped may say the same, of its own file.
    lost = [text for text in caplog.messages if "1 calls that waited for it are lost" in text]
    assert [True] == [True for text in lost if f"the ledger {os.fspath(tmp_path / kind)} was closed" in text]
