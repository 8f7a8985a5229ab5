"""The async client under trio: the same answers, the same clocks, nothing left behind."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import pytest
import trio

from deepseek_sdk import AsyncClient, Deadlines, report
from deepseek_sdk.errors import FirstTokenTimeout, StallTimeout
from deepseek_sdk.testing import Fault

if TYPE_CHECKING:
    from tests.conftest import StartEmulator

ASKED: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]}


async def text_of(stream: Any) -> str:
    """Read a stream to its end."""
    return "".join([part.choices[0].delta.content or "" async for part in stream if part.choices])


# openai leaves its own generators, and those of the HTTP library below, unfinished after [DONE], which trio, unlike
# asyncio, says aloud when the garbage collector comes by.
@pytest.mark.filterwarnings("ignore:Async generator '(openai|httpx2):ResourceWarning")
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <async_generator object Response:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("plain", ["direct", "stream"])
def test_answers(emulator: StartEmulator, plain: Any) -> None:
    """Plain and streamed answers come as under asyncio."""
    server = emulator(replies="Hello.")

    async def main() -> None:
        async with AsyncClient(base_url=server.url, api_key="k", plain=plain) as client:
            answer = await client.chat.completions.create(**ASKED)

            assert "Hello." == answer.choices[0].message.content
            assert "Hello." == await text_of(await client.chat.completions.create(stream=True, **ASKED))

    trio.run(main)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(Fault.keep_alive_forever(every_s=0.05), FirstTokenTimeout), (Fault.no_answer(), FirstTokenTimeout)],
    ids=["behind keep-alives", "before headers"],
)
def test_first_token(emulator: StartEmulator, fault: Fault, expected: type[Exception]) -> None:
    """The first-token clock holds."""
    server = emulator(faults=[fault])

    async def main() -> None:
        deadlines = Deadlines(first_token=0.2)
        async with AsyncClient(base_url=server.url, api_key="k", deadlines=deadlines, max_retries=0) as client:
            began = time.monotonic()
            with pytest.raises(expected):
                await client.chat.completions.create(**ASKED)

            assert 0.2 <= time.monotonic() - began < 4

    trio.run(main)


def test_stall(emulator: StartEmulator) -> None:
    """The stall clock holds, also where ordinary deltas went past the events."""
    server = emulator(
        replies="one two three four five six seven eight", tokens_per_s=200, faults=[Fault.stall(after_events=6)]
    )

    async def main() -> None:
        deadlines = Deadlines(stall=0.2)
        async with AsyncClient(base_url=server.url, api_key="k", deadlines=deadlines, max_retries=0) as client:
            stream = await client.chat.completions.create(stream=True, **ASKED)
            with pytest.raises(StallTimeout) as caught:
                await text_of(stream)

            assert caught.value.partial

    trio.run(main)


def test_cancelled_call(emulator: StartEmulator) -> None:
    """A cancelled call tells the server to stop, and the client goes on."""
    server = emulator(faults=["no_answer", None])

    async def main() -> None:
        async with AsyncClient(base_url=server.url, api_key="k") as client:
            with trio.move_on_after(0.5) as scope:
                await client.chat.completions.create(**ASKED)

            assert scope.cancelled_caught
            assert report(await client.chat.completions.create(**ASKED)).usage is not None

    trio.run(main)

    assert server.wait_until_idle()
    assert "aborted by client" == server.requests[0].outcome


def test_forgotten_stream(emulator: StartEmulator) -> None:
    """A stream that nobody read lets go of its connection."""
    server = emulator(tokens_per_s=5, replies="a long answer " * 20)

    async def main() -> None:
        async with AsyncClient(base_url=server.url, api_key="k") as client:
            stream = await client.chat.completions.create(stream=True, **ASKED)
            del stream
            gc.collect()
            with trio.fail_after(10):
                await trio.to_thread.run_sync(server.wait_until_idle)

    trio.run(main)

    assert server.wait_until_idle()
    assert "aborted by client" == server.requests[0].outcome
