"""A client that is used to answer a call of another client: retries do not multiply."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.backends.generator import reply_from
from deepseek_sdk.stages import Retry
from deepseek_sdk.testing.scripted import chunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.testing import Emulator
    from tests.conftest import Driver, StartEmulator


def down(driver: Driver, emulator: StartEmulator) -> tuple[Emulator, Any]:
    """Start a server that stays down, and make a client for it that tries three times."""
    server = emulator(faults=["status_503"] * 30)
    return server, driver.client(base_url=server.url, max_retries=2, stages=[Retry(chance=lambda: 0.0)])


async def awaited(value: Any) -> Any:
    """Wait for what has to be awaited."""
    return await value if inspect.isawaitable(value) else value


class Asking:
    """Answers with what another client answers: asked at once, or when the answer is read."""

    def __init__(self, inner: Any, *, is_lazy: bool) -> None:
        self._inner = inner
        self._is_lazy = is_lazy

    async def __call__(self, call: Call) -> Reply:
        """Ask."""
        if not self._is_lazy:
            await awaited(self._inner.chat.completions.create(**call.body))
        return reply_from(call, self._generate, route="inner")

    async def _generate(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        answer = await awaited(self._inner.chat.completions.create(**{**call.body, "stream": False}))
        yield chunk(answer.choices[0].message.content)
        yield chunk(finish="stop")


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("is_lazy", [False, True], ids=["at once", "while it is read"])
def test_a_client_inside_a_client(driver: Driver, emulator: StartEmulator, *, is_stream: bool, is_lazy: bool) -> None:
    """Retries of a client that answers for another do not multiply: the outer one makes all of them."""
    server, inner = down(driver, emulator)
    backend = Asking(inner, is_lazy=is_lazy)
    outer = driver.client(backend=backend, max_retries=2, stages=[Retry(chance=lambda: 0.0)])
    with pytest.raises(openai.InternalServerError):
        read(driver, outer, is_stream=is_stream)

    assert 3 == len(server.requests)


def read(driver: Driver, client: Any, *, is_stream: bool) -> str:
    """Ask, and give all of the text."""
    answer = driver.create(client, stream=is_stream)
    return driver.stream_text(answer) if is_stream else answer.choices[0].message.content or ""


def test_clients_one_after_the_other(driver: Driver, emulator: StartEmulator) -> None:
    """A client that has answered for another has its own retries again afterwards."""
    server, inner = down(driver, emulator)
    outer = driver.client(backend=Asking(inner, is_lazy=False), max_retries=0, stages=[Retry(chance=lambda: 0.0)])
    for asked in (outer, inner, outer):
        with pytest.raises(openai.InternalServerError):
            driver.create(asked)

    assert 1 + 3 + 1 == len(server.requests)


def test_a_client_beside_an_open_stream(driver: Driver, emulator: StartEmulator) -> None:
    """A stream that is only open does not take another client's retries away, nor does the reading of it."""
    server, client = down(driver, emulator)
    other = driver.client(base_url=emulator(replies=["one two three"]).url)
    opened = driver.iterate(driver.create(other, stream=True))
    next(opened)
    with pytest.raises(openai.InternalServerError):
        driver.create(client)
    list(opened)
    with pytest.raises(openai.InternalServerError):
        driver.create(client)

    assert 6 == len(server.requests)


def test_clients_at_the_same_time(driver: Driver, emulator: StartEmulator) -> None:
    """Clients that are used in threads, or tasks, side by side each make their own retries."""
    server, client = down(driver, emulator)
    other = driver.client(base_url=server.url, max_retries=2, stages=[Retry(chance=lambda: 0.0)])
    body: Any = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
    failures = driver.together(*[partial(asked.chat.completions.create, **body) for asked in (client, other)])

    assert [openai.InternalServerError] * 2 == [type(failure) for failure in failures]
    assert 6 == len(server.requests)
