"""Names: all that are emitted stand in one list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import openai
import pytest

from deepseek_sdk.telemetry import semconv

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

GOLDEN = Path(__file__).with_name("names.txt")
SPANS = {"chat", "text_completion"}


def golden() -> set[str]:
    """Read the list."""
    return {line for line in GOLDEN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")}


def test_the_module_holds_the_list() -> None:
    """The module of names and the list are equal: a name that changes has to be changed in both."""
    held = {value for name, value in vars(semconv).items() if name.isupper()}

    assert golden() == held


def test_every_emitted_name_is_listed(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Whatever a call goes through, with everything on, each name that is told stands in the list."""
    server = emulator(
        replies=["one two"] * 4,
        faults=["status_503", None, "empty_answer", None, "cut_by_eof(after_events=3)", "status_400", None],
    )
    telemetry = heard.telemetry(
        content="both", semconv="dup", currency="USD", chunk_times=True, user_ids="raw", metric_tags=["team"]
    )
    client = driver.client(
        base_url=server.url, telemetry=telemetry, user="u", session_id="s", tenant="t", tags={"team": "x"}, template="t"
    )
    driver.create(client, max_tokens=20, temperature=1, seed=1, n=1)
    driver.stream_text(driver.create(client, stream=True, tools=[{"type": "function", "function": {"name": "f"}}]))
    with pytest.raises(openai.APIConnectionError):
        driver.stream_text(driver.create(client.with_options(max_retries=0), stream=True))
    with pytest.raises(openai.BadRequestError):
        driver.create(client)
    names = {name for name in heard.names() if not name.startswith("deepseek_sdk.tags.")}

    assert set() == names - golden() - SPANS
    # Not a list of wishes: most of it is told by these few calls.
    assert len(names & golden()) > 80
