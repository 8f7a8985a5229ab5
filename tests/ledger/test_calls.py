"""Calls of clients, in both colours, as the ledger has them."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import report
from deepseek_sdk.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

MARKER, KEY = "烤鸭MARKER", "sk-0123456789abcdef0123456789abcdef"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a ledger."""
    return tmp_path / "ledger.sqlite3"


def test_calls_that_end_well(driver: Driver, emulator: StartEmulator, path: Path) -> None:
    """Plain and streamed calls are in the ledger with what their reports say, and nothing of what was said."""
    client = driver.client(base_url=emulator(replies=[MARKER] * 2).url, api_key=KEY, ledger=path, user="小明")
    answer = driver.create(client, MARKER)
    stream = driver.create(client, MARKER, stream=True, stream_options={"include_usage": True})
    driver.stream_text(stream)
    reports = [report(answer), report(stream)]
    usage = driver.call(client.usage, by="user")
    row = usage.rows[0]

    assert ("小明", 2, 0, True) == (row.key, row.calls, row.failed, usage.is_complete)
    assert row.cny == sum(told.cost.cny for told in reports if told.cost and told.cost.cny)
    assert row.output == sum(told.usage.output for told in reports if told.usage)
    written = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [] == [word for word in ("MARKER", "烤鸭", KEY) if word.encode() in written]
    assert "小明".encode() in written
    assert {told.request_id for told in reports} == ids(path)


def ids(path: Path) -> set[str]:
    """List the calls in a file."""
    import sqlite3  # noqa: PLC0415  for this alone
    from contextlib import closing  # noqa: PLC0415  likewise

    with closing(sqlite3.connect(path)) as database:
        return {name for (name,) in database.execute("SELECT request_id FROM calls")}


def test_calls_that_do_not(driver: Driver, emulator: StartEmulator, path: Path) -> None:
    """Calls that fail, are cut, closed or forgotten are in the ledger, each once, with estimates of their tokens."""
    faults = ["status_400", "cut_by_eof(after_events=3)", *["stall(after_events=3)"] * 2]
    server = emulator(replies=["one two three four five six"], faults=faults)
    client = driver.client(base_url=server.url, ledger=path, max_retries=0)
    with pytest.raises(openai.BadRequestError):
        driver.create(client)
    with pytest.raises(openai.APIConnectionError):
        driver.stream_text(driver.create(client, stream=True))
    stream: Any = driver.create(client, stream=True)
    next(driver.iterate(stream))
    driver.call(stream.close)
    forgotten: Any = driver.create(client, stream=True)
    next(driver.iterate(forgotten))
    del forgotten
    gc.collect()
    # A stream of an event loop ends when the loop comes to it.
    totals = (driver.call(client.usage).total for _ in range(200))
    total = next(found for found in totals if found.calls == 4)

    assert (4, 2, 2, 4) == (total.calls, total.failed, total.abandoned, total.attempts)
    assert 3 == total.estimated_calls  # what was refused had none
    assert 0 == total.cny_low < total.cny


def test_without_a_ledger(driver: Driver, emulator: StartEmulator) -> None:
    """A client without a ledger remembers its own calls."""
    client = driver.client(base_url=emulator(replies="x").url)
    child = client.with_options(tags={"feature": "搜索"})
    driver.create(client)
    driver.create(child)

    assert {None: 1, "搜索": 1} == {row.key: row.calls for row in driver.call(client.usage, by="tag:feature").rows}


def test_ledger_that_cannot_be_written(driver: Driver, emulator: StartEmulator, path: Path) -> None:
    """Calls go on where their ledger cannot be written."""
    path.mkdir()
    ledger = Ledger(path)
    client = driver.client(base_url=emulator(replies=json.dumps({"a": 1})).url, ledger=ledger)

    assert '{"a": 1}' == driver.create(client).choices[0].message.content
    assert not ledger.flush()
    assert "degraded" == ledger.state().status
    # Now, and not in the middle of another test.
    ledger.close()
