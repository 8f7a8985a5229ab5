"""Streams that are open when their client is closed, or when the program ends: they end, and it is written down."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Budgets, Ledger, SpendBudget
from deepseek_sdk.errors import StreamInterruptedError
from tests.raw_server import ROLE, RawServer, delta, stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver

HELD = stream(ROLE, delta(content="Hi"), end="hold")

PROGRAM = """
import asyncio, os, sys
from deepseek_sdk import AsyncClient, Budgets, Client, Ledger, SpendBudget

URL, DIRECTORY = sys.argv[1:]
options = dict(
    base_url=URL,
    api_key="k",
    ledger=Ledger(DIRECTORY + "/ledger.sqlite3", flush_s=60),
    spend_budget=Budgets([SpendBudget(limit=10**5, unit="tokens")], path=DIRECTORY + "/budgets"),
)
asked = dict(model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], stream=True)

def open_stream(client):
    opened = client.chat.completions.create(**asked)
    next(iter(opened))
    return opened

async def open_async_stream():
    client = AsyncClient(**options)
    opened = await client.chat.completions.create(**asked)
    await anext(opened)
    return client, opened
"""
ENDINGS = {
    "main module ends": "opened = open_stream(Client(**options))",
    "sys.exit": "opened = open_stream(Client(**options)); sys.exit()",
    "an error": "opened = open_stream(Client(**options)); raise SystemExit('wrong')",
    "close": "client = Client(**options); opened = open_stream(client); client.close()",
    "of a child": "opened = open_stream(Client(**options).with_options(timeout=5))",
    "async": "kept = asyncio.run(open_async_stream())",
    "after another call": """
        client = Client(**options)
        open_stream(client).close()
        opened = open_stream(client)
    """,
    "a forked child ends first": """
        opened = open_stream(Client(**options))
        pid = os.fork()
        if pid == 0:
            sys.exit()
        os.waitpid(pid, 0)
        opened.response.is_closed and print("closed")
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_end_of_the_program(ending: str, tmp_path: Path) -> None:
    """However a program ends, its open streams are in the ledger, and nothing of the budget stays reserved."""
    if "fork" in ending and not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    program = PROGRAM + textwrap.dedent(ENDINGS[ending])
    with RawServer(*[HELD] * 2) as server:
        command = [sys.executable, "-W", "ignore", "-c", program, server.url, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)

    assert "" == done.stdout
    # An event loop that ends closes the generators of httpx2, which complain, under bare openai as well.
    assert "deepseek_sdk" not in done.stderr
    told = Ledger(tmp_path / "ledger.sqlite3").usage()
    count = 2 if ending == "after another call" else 1
    assert (count, count, True) == (told.total.calls, told.total.abandoned, told.is_complete)
    budgets = Budgets([SpendBudget(limit=10**5, unit="tokens")], path=tmp_path / "budgets")
    (state,) = budgets.state()
    budgets.close()
    assert 0 == state.reserved
    assert 0 < state.spent < 100 * count


def test_a_closed_client_ends_its_streams(driver: Driver) -> None:
    """What is read on after that is an error, not the end of the answer; the record is complete."""
    budgets = Budgets([SpendBudget(limit=10**5, unit="tokens")], path=":memory:")
    with RawServer(HELD, HELD) as server:
        client = driver.client(base_url=server.url, spend_budget=budgets)
        opened = [driver.create(child, stream=True) for child in (client, client.with_options(user="42"))]
        readers = [driver.iterate(one) for one in opened]
        assert ["", ""] == [next(reader).choices[0].delta.content or "" for reader in readers]
        driver.call(client.close)

        assert server.wait_until_closed()
        assert 2 == driver.call(client.usage).total.abandoned
        assert 0 == budgets.state()[0].reserved
        for reader in readers:
            with pytest.raises(StreamInterruptedError):
                list(reader)


def test_a_reader_in_another_thread_is_woken(driver: Driver) -> None:
    """A thread that waits for the next chunk learns that the client was closed."""
    if driver.is_async:
        pytest.skip("an event loop closes its own client")
    found: list[Any] = []
    with RawServer(HELD) as server:
        client = driver.client(base_url=server.url, max_retries=0)
        opened = driver.create(client, stream=True)
        begun = threading.Event()

        def read() -> None:
            try:
                for part in opened:
                    if part.choices[0].delta.content:
                        begun.set()
                found.append("complete")
            except openai.APIConnectionError as error:
                found.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        assert begun.wait(10)
        client.close()
        reader.join(10)

    assert [True] == [isinstance(one, openai.APIConnectionError) for one in found]


def test_closing_twice(driver: Driver) -> None:
    """A client without streams, or closed already, is closed in silence."""
    with RawServer(HELD) as server:
        client = driver.client(base_url=server.url)
        driver.call(client.close)
        driver.call(client.close)

        assert [] == server.requests
