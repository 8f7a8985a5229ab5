"""
Fixtures of every test: no network, no blocking in the event loop, a clean environment, and one test for both colours.

A behaviour test is a plain function that takes *driver* and runs twice, with `Client` and with `AsyncClient`:

    def test_answer(driver: Driver, emulator: StartEmulator) -> None:
        client = driver.client(base_url=emulator(replies=["Hello."]).url)

        assert driver.create(client).choices[0].message.content == "Hello."

    driver.call(client.models.list)                     calls, and awaits where there is something to await
    driver.create(client, "Hi", stream=True)            client.chat.completions.create
    for chunk in driver.iterate(stream): ...            iterates either kind of stream
    driver.stream_text(stream)                          the content of the chunks, joined
    with driver.entered(manager) as stream: ...         either kind of context manager
    driver.together(first, second)                      at the same time: threads, or tasks of one loop
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import ipaddress
import os
import pkgutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from blockbuster import blockbuster_ctx

import deepseek_sdk
from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.testing import Emulator
from deepseek_sdk.testing.vocabulary import choose_vocabulary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.testing import Vocabulary

_CONNECTING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_RESOLVING = {"socket.getaddrinfo", "socket.gethostbyname"}

StartEmulator: TypeAlias = "Callable[..., Emulator]"

# Where users import from: all that has a public name, but for the command line.
_NAMES = sorted(module.name for module in pkgutil.iter_modules(deepseek_sdk.__path__))
FACES = ("deepseek_sdk", *(f"deepseek_sdk.{name}" for name in _NAMES if name != "cli" and not name.startswith("_")))


def _is_loopback(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in {None, "", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


def _refuse_network(event: str, args: tuple[Any, ...]) -> None:
    if event in _CONNECTING and isinstance(args[1], tuple):  # a path is a Unix socket, None one already connected
        host = args[1][0]
    elif event in _RESOLVING:
        host = args[0]
    else:
        return
    if not _is_loopback(host):
        # Not an OSError: the library would retry it and a test that expects a failure would pass.
        pytest.fail(f"{event} to {host!r}: tests stay on loopback")


def pytest_configure() -> None:
    """Refuse the network by an audit hook, which sees sync and async code, in every thread; let Ctrl-C be Ctrl-C."""
    sys.addaudithook(_refuse_network)
    # Shells let what they start in the background ignore it, and so would everything that tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _no_blocking() -> Iterator[None]:
    """Fail when our code blocks an event loop; the emulator has a loop of its own and may."""
    with blockbuster_ctx("deepseek_sdk", excluded_modules=["deepseek_sdk.testing"]) as blockbuster:
        # Shared state is guarded by locks held for a few lines: waiting for one is not blocking.
        for name in ("threading.Lock.acquire", "threading.Lock.acquire_lock"):
            blockbuster.functions[name].deactivate()
        # Whether another process has emptied the cache is looked up on every lookup: the date of one file of this
        # machine, which takes a microsecond.
        blockbuster.functions["os.stat"].can_block_in("caching/directory.py", {"generation"})
        yield


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "DEEPSEEK_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", "")  # no file of this machine is read


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty directory, with an empty home, where files are read."""
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.delenv("DEEPSEEK_SDK_CONFIG")
    for name in ("HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return directory


@pytest.fixture
def anyio_backend() -> str:
    """Run tests that are coroutines on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """Load the emulators' vocabulary once for all tests; it takes half a second."""
    vocabulary = choose_vocabulary()
    vocabulary.load()
    return vocabulary


@pytest.fixture
def emulator(vocabulary: Vocabulary) -> Iterator[StartEmulator]:
    """Start emulators by calling this; they stop at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(Emulator(**{"vocabulary": vocabulary, **options}))


class Driver:
    """
    Runs the same calls through `Client` or `AsyncClient`.

    In the async colour every call runs on the one event loop of the test, in the caller's context.
    Between calls the loop stands still, so background tasks advance only during calls.
    """

    def __init__(self, colour: str) -> None:
        self.colour = colour
        self.is_async = colour == "async"
        self._clients: list[Any] = []
        self._runner = asyncio.Runner()

    def client(self, **options: Any) -> Any:
        """Build a client that is closed at the end of the test; `api_key` is made up unless given."""
        client = (AsyncClient if self.is_async else Client)(**{"api_key": "test-key", **options})
        self._clients.append(client)
        return client

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call *function*, and await what it returns where that can be awaited."""
        result = function(*args, **options)
        return self._finish(result) if inspect.isawaitable(result) else result

    def create(self, client: Any, prompt: str = "Hello", **options: Any) -> Any:
        """Ask for a chat completion of *prompt*."""
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": prompt}], **options}
        return self.call(client.chat.completions.create, **body)

    def iterate(self, stream: Any) -> Iterator[Any]:
        """Yield the items of either kind of stream."""
        if not self.is_async:
            yield from stream
            return
        items, end = aiter(stream), object()
        while (item := self.call(anext, items, end)) is not end:
            yield item

    def stream_text(self, stream: Any) -> str:
        """Join the content of a stream of chunks."""
        return "".join(c.choices[0].delta.content or "" for c in self.iterate(stream) if c.choices)

    @contextlib.contextmanager
    def entered(self, manager: Any) -> Iterator[Any]:
        """Enter either kind of context manager."""
        if not self.is_async:
            with manager as value:
                yield value
            return
        value = self.call(manager.__aenter__)
        try:
            yield value
        except BaseException as error:
            if not self.call(manager.__aexit__, type(error), error, error.__traceback__):
                raise
        else:
            self.call(manager.__aexit__, None, None, None)

    def together(self, *calls: Callable[[], Any]) -> list[Any]:
        """Run *calls* at the same time; give results, or the exceptions in their place."""

        async def gather() -> list[Any]:
            return await asyncio.gather(*(c() for c in calls), return_exceptions=True)

        if self.is_async:
            return self.call(gather)  # type: ignore[no-any-return]
        with ThreadPoolExecutor(len(calls)) as pool:
            futures = [pool.submit(contextvars.copy_context().run, c) for c in calls]
        return [f.exception() or f.result() for f in futures]

    def close(self) -> None:
        """Close the clients, then the loop."""
        with self._runner:
            for client in self._clients:
                self.call(client.close)

    def _finish(self, awaitable: Awaitable[Any]) -> Any:
        async def finish() -> Any:
            return await awaitable

        return self._runner.run(finish(), context=contextvars.copy_context())


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Run the test once per colour."""
    value: str = request.param
    return value


@pytest.fixture
def driver(colour: str) -> Iterator[Driver]:
    """Run the test with `Client` and with `AsyncClient`."""
    driver = Driver(colour)
    try:
        yield driver
    finally:
        driver.close()
