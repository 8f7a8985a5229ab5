"""Background work ends with its client."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk._background import Background, Ticket
from deepseek_sdk._family import _all_done
from deepseek_sdk._finish import finish
from deepseek_sdk.stages import default_stages
from deepseek_sdk.testing import VirtualIO
from tests.raw_server import RawServer, completion, whole

if TYPE_CHECKING:
    from deepseek_sdk.stages import IO, Call, Proceed, Reply
    from tests.conftest import Driver

HI = whole(completion("Hi"))


class Lingering:
    """A stage that begins work which would take a minute, with every call."""

    def __init__(self) -> None:
        self.admitted: list[bool] = []
        self.ended: list[bool] = []

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Let the call pass."""
        self.admitted.append(call.io.spawn(self.linger))
        return await proceed(call)

    async def linger(self, io: IO) -> None:
        """Wait; note the end, whatever it is."""
        try:
            await io.sleep(60)
        finally:
            self.ended.append(True)


def test_close_ends_it(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """Closing a client cancels what goes on, waits for its end, and logs nothing about it."""
    stage, before = Lingering(), threading.enumerate()
    with RawServer(HI) as server, caplog.at_level(logging.WARNING, "deepseek_sdk"):
        client = driver.client(base_url=server.url, stages=[stage, *default_stages()])
        for _ in range(3):
            driver.create(client)
        driver.call(client.close)

        assert [True] * 3 == stage.ended
    assert [] == caplog.records
    assert [] == ours_after(1, besides=before)


def ours_after(seconds: float, *, besides: list[threading.Thread]) -> list[threading.Thread]:
    """Wait until none of our threads is left but some, or some time has passed; give those that are."""
    until = time.monotonic() + seconds
    while ours := [t for t in threading.enumerate() if t.name.startswith("deepseek") and t not in besides]:
        if time.monotonic() > until:
            break
        ours[0].join(0.01)
    return ours


def test_nothing_begins_after_that() -> None:
    """A closed client lets no more background work begin."""
    background = Background()
    background.close()

    assert background.admit() is None


def test_work_that_is_held_too_late() -> None:
    """Work that got its place before the end, and is held after it, is cancelled."""

    class Work:
        is_cancelled = False

        def cancel(self) -> None:
            self.is_cancelled = True

    background, work = Background(), Work()
    ticket = background.admit()
    assert ticket is not None
    assert [ticket] == background.close()
    background.hold(ticket, work)

    assert work.is_cancelled


def test_work_that_does_not_end() -> None:
    """Work that cannot be cancelled is waited for a second in all, not a second each."""
    tickets, io = [Ticket() for _ in range(3)], VirtualIO()
    finish(_all_done(tickets, io))

    assert 1 == io.now()


@pytest.mark.parametrize("times", [1, 2])
def test_closing_again(driver: Driver, times: int) -> None:
    """A client that was never used, or is closed already, closes without complaint."""
    client: Any = driver.client(base_url="http://127.0.0.1:9")
    for _ in range(times):
        driver.call(client.close)

    assert client.is_closed()
