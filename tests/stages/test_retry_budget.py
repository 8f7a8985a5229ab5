from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import anyio
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.testing.scripted import make_call
from tests.resilience.failures import refused
from tests.stages.retrying import chain, target

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "attempts"), [(RetryPolicy(), 1103), (RetryPolicy(budget=None), 3000)])
async def test_a_thousand_calls_at_once(policy: RetryPolicy, attempts: int) -> None:
    """Of a thousand calls that fail at once a tenth is asked again, and three besides."""
    asked: list[None] = []
    have_all_begun = anyio.Event()

    async def down(_: Call) -> Reply:
        asked.append(None)
        if len(asked) == 1000:
            have_all_begun.set()
        await have_all_begun.wait()
        raise refused(503)

    async def one() -> None:
        io = AsyncIO(Background())
        with contextlib.suppress(openai.InternalServerError):
            await answering(make_call(io=io, max_retries=2, upstream=target()))

    answering = chain(down, policy, chance=0.0)
    async with anyio.create_task_group() as group:
        for _ in range(1000):
            group.start_soon(one)

    assert attempts == len(asked)


def test_threads_share_a_budget() -> None:
    """Threads whose calls fail all the time get a tenth more attempts, and three, whoever comes first."""
    asked: list[None] = []
    start = threading.Barrier(8)

    async def down(_: Call) -> Reply:
        asked.append(None)
        raise refused(503)

    def work() -> None:
        start.wait()
        for _ in range(25):
            with contextlib.suppress(openai.InternalServerError):
                finish(answering(make_call(max_retries=2, upstream=target())))

    answering = chain(down, chance=0.0)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            done.result()

    assert 200 + 20 + 3 == len(asked)
