from __future__ import annotations

import concurrent.futures
import logging
import threading
from typing import TYPE_CHECKING, Any

import anyio
import openai
import pytest

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._pipeline import compose
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.errors import (
    CircuitOpenError,
)
from deepseek_sdk.resilience.breaking.breaker import BreakerPolicy, Breakers
from deepseek_sdk.stages.breaker import CircuitBreaker
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from tests.stages.breaker_world import (
    ACCOUNT,
    TARGET,
    read,
    refused,
)

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply


def test_one_breaker_serves_both_colours(caplog: pytest.LogCaptureFixture) -> None:
    """Failures of a sync and of an async client open the same circuit, for both."""
    breakers = Breakers(BreakerPolicy())
    chain: Any = compose([CircuitBreaker(breakers)], ScriptedBackend(*[refused(503)] * 5))

    async def ask(io: Any, times: int) -> None:
        for _ in range(times):
            with pytest.raises(openai.APIStatusError):
                await chain(make_call(io=io, upstream=TARGET))

    with caplog.at_level(logging.WARNING, logger="deepseek_sdk"):
        finish(ask(SyncIO(Background(), Watchdog()), 2))
        anyio.run(ask, AsyncIO(Background()), 3)

    assert "open" == breakers[ACCOUNT].state
    assert ["consecutive failures"] == [record.getMessage().rpartition(": ")[2] for record in caplog.records]


@pytest.mark.slow
def test_nothing_is_locked_while_a_call_runs() -> None:
    """T18: 32 threads are all inside their calls at the same time, which none could pass alone."""
    count = 32
    inside = threading.Barrier(count, timeout=20)

    async def together(call: Call) -> Reply:
        inside.wait()
        return await ScriptedBackend(said("Hi"))(call)

    breakers = Breakers(BreakerPolicy())
    chain: Any = compose([CircuitBreaker(breakers)], together)

    def work() -> None:
        read(finish(chain(make_call(io=SyncIO(Background(), Watchdog()), upstream=TARGET))))

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()

    assert (count, 0, 0) == (
        breakers[ACCOUNT].calls,
        breakers[ACCOUNT].failures,
        breakers[ACCOUNT].in_flight,
    )


@pytest.mark.slow
def test_a_hundred_threads_send_one_probe() -> None:
    """T25: when a hundred calls come at the half-open moment, one reaches the server."""
    count = 100
    breakers = Breakers(BreakerPolicy())
    start, inside = threading.Barrier(count, timeout=20), threading.Event()
    asked, refused_count = [], []

    async def slow_server(call: Call) -> Reply:
        asked.append(call)
        inside.wait(20)
        return await ScriptedBackend(said("Hi"))(call)

    chain: Any = compose([CircuitBreaker(breakers)], slow_server)

    def work() -> None:
        start.wait()
        try:
            read(finish(chain(make_call(io=SyncIO(Background(), Watchdog()), upstream=TARGET))))
        except CircuitOpenError as error:
            refused_count.append(error)
            if len(refused_count) == count - 1:
                inside.set()

    breakers[ACCOUNT].open(0)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()

    assert (1, count - 1) == (len(asked), len(refused_count))
    assert "closed" == breakers[ACCOUNT].state
    assert all(error.retry_in is not None and 0 < error.retry_in <= 10 for error in refused_count)
