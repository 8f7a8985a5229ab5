"""Forked children, as servers make them that preload their application: each has connections and locks of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.testing import Emulator, EstimatedVocabulary
from tests.certificates import self_signed
from tests.raw_server import RawServer, answer, completion, delta, stream, whole

if TYPE_CHECKING:
    from pathlib import Path

    from tests.raw_server import Exchange

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

BEGINNING = """
import asyncio, gc, os, sys, threading, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
import httpx2
from deepseek_sdk import AsyncClient, Client, Deadlines
from deepseek_sdk.errors import TotalTimeout

URL = sys.argv[1]

def body(text, **more):
    return {"model": "deepseek-flash", "messages": [{"role": "user", "content": text}], **more}

def said(answered):
    return answered.choices[0].message.content

def in_children(count, work):
    pids = []
    for number in range(count):
        pid = os.fork()
        if pid == 0:
            work(number)
            gc.collect()
            sys.exit(0)
        pids.append(pid)
    return pids

def check(pids):
    for pid in pids:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def run(program: str, url: str) -> None:
    """Run a program in a process of its own, and expect it to end well and to print nothing."""
    command = [sys.executable, "-c", BEGINNING + textwrap.dedent(program), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def repeat(exchange: Exchange) -> None:
    """Answer with the question: a script."""
    whole(completion(f"You said: {exchange.request.body['messages'][0]['content']}"))(exchange)


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_children_and_parent_at_once(is_secure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Parent and children use one client at the same time; none gets another's answer, or keeps another's sockets."""
    program = """
    client = Client(base_url=URL, api_key="k", max_retries=0)
    assert said(client.chat.completions.create(**body("before"))) == "You said: before"

    def work(number):
        for turn in range(10):
            text = f"{number}/{turn}"
            assert said(client.chat.completions.create(**body(text))) == f"You said: {text}"
        client.close()

    pids = in_children(4, work)
    work("parent")
    check(pids)
    """
    tls = self_signed(tmp_path) if is_secure else None
    if is_secure:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with RawServer(repeat, tls=tls) as server:
        run(program, server.url)

        assert 51 == len(server.requests)
        assert 5 == server.connections


def test_a_stream_survives_the_children() -> None:
    """A stream that is open in the parent goes on to its end, whatever the children do with what they inherited."""
    program = """
    client = Client(base_url=URL, api_key="k", max_retries=0)
    opened = client.chat.completions.create(**body("one two three four five six", stream=True))
    items = iter(opened)
    first = [next(items), next(items)]

    def forget(number):
        global opened, items
        if number == 0:
            opened.close()
        if number == 1:
            client.close()
        if number == 2:
            client.chat.completions.create(**body("mine"))
        del opened, items

    check(in_children(4, forget))
    text = "".join(item.choices[0].delta.content or "" for item in [*first, *items] if item.choices)
    assert text == "You said: one two three four five six", text
    """
    with Emulator(vocabulary=EstimatedVocabulary(), tokens_per_s=50) as server:
        run(program, server.url)

        assert ["answered"] * 2 == [request.outcome for request in server.requests]


def test_a_response_that_nobody_supervises() -> None:
    """A child that closes a response which it inherited leaves the parent's connection alone, whoever reads it."""
    program = """
    client = Client(base_url=URL, api_key="k")
    request = client._client.build_request("GET", URL)
    response = client._client.send(request, stream=True)
    check(in_children(1, lambda number: response.close()))
    assert b"whole" in response.read()
    client.close()
    """

    def script(exchange: Exchange) -> None:
        exchange.head(content_length="10")
        exchange.pause(2)
        exchange.send(b"the whole.")

    with RawServer(script) as server:
        run(program, server.url)


def test_locks_that_were_held() -> None:
    """A child works although other threads of its parent were in the middle of calls when it was made."""
    program = """
    client = Client(base_url=URL, api_key="k", max_retries=0)
    client.chat.completions.create(**body("first"))  # Python 3.11 locks client.chat, for all clients, until it is made
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            client.chat.completions.create(**body("busy"))

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()

    def work(number):
        assert said(client.chat.completions.create(**body("child"))) == "You said: child"

    for _ in range(5):
        check(in_children(2, work))
    stop.set()
    for thread in threads:
        thread.join()
    """
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        run(program, server.url)

        assert {"answered"} == {request.outcome for request in server.requests}


def test_event_loops_of_children() -> None:
    """An async client that was used before the fork serves the event loops of parent and children."""
    program = """
    client = AsyncClient(base_url=URL, api_key="k", max_retries=0)

    async def ask(text):
        assert said(await client.chat.completions.create(**body(text))) == f"You said: {text}"

    async def forking():
        await ask("before")
        pids = in_children(2, lambda number: None)
        await ask("after")
        return pids

    check(asyncio.run(forking()))
    pids = in_children(3, lambda number: asyncio.run(ask(f"child {number}")))
    asyncio.run(ask("parent"))
    check(pids)
    """
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        run(program, server.url)

        assert 6 == len(server.requests)


def test_watchdog_of_a_child() -> None:
    """A child has a watchdog thread of its own: clocks hold over an HTTP client that it makes for itself."""
    program = """
    deadlines = Deadlines(total=1)
    client = Client(base_url=URL, api_key="k", http_client=httpx2.Client(), deadlines=deadlines, max_retries=0)
    opened = client.chat.completions.create(**body("watched", stream=True))

    def work(number):
        mine = client.with_options(http_client=httpx2.Client())
        try:
            for _ in mine.chat.completions.create(**body("child", stream=True)):
                pass
        except TotalTimeout:
            mine.close()
        else:
            sys.exit(1)

    check(in_children(1, work))
    opened.close()
    client.close()
    """
    with RawServer(stream(delta(role="assistant", content="Hi"), end="hold")) as server:
        run(program, server.url)

        assert 2 == len(server.requests)


def test_the_server_learns_of_a_close() -> None:
    """Where the parent closes a connection the server sees it, though children hold copies of the socket."""
    program = """
    client = Client(base_url=URL, api_key="k")
    client.chat.completions.create(**body("Hi", stream=True)).close()
    for _ in client.chat.completions.create(**body("Hi", stream=True)):
        pass
    read, write = os.pipe()
    pids = in_children(1, lambda number: (os.read(read, 1), client.close()))
    client.close()
    with Client(base_url=URL, api_key="k") as client:
        assert said(client.chat.completions.create(**body("Hi"))) == "seen"
    os.write(write, b"!")
    check(pids)
    """
    seen: list[bool] = []

    def second(exchange: Exchange) -> None:
        stream(*answer("Hi"))(exchange)
        seen.append(exchange.hold(5))

    def third(exchange: Exchange) -> None:
        while not seen:
            exchange.pause(0.01)
        stream(*answer("seen" if seen[0] else "missed"))(exchange)

    with RawServer(stream(delta(content="Hi"), end="hold"), second, third) as server:
        run(program, server.url)
