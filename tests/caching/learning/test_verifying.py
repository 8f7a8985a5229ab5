from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from deepseek_sdk.caching.learning.verifying import Verifier
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import run_child
from tests.caching.verdicts import COLOURS, run_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._io import IO


class Flag:
    """A truth value as numpy has it."""

    class dtype:  # noqa: N801, D106  numpy's name
        kind = "b"

    def __init__(self, *, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        """Say it."""
        return self.value


async def awaited(*_: str) -> None:
    """Say nothing, where nobody waits for it."""


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (True, "agreed"), (0.5, "agreed"), (1, "agreed"), (Flag(value=True), "agreed"),
        (False, "refused"), (0.49, "refused"), (Flag(value=False), "refused"),
        (float("nan"), "invalid"), (None, "invalid"), ("0.9", "invalid"), ([], "invalid"),
    ],
)  # fmt: skip
def test_what_a_model_says(colour: str, said: Any, expected: str) -> None:
    """Yes, or a number that is high enough, is agreement; what is neither is none."""
    counts: Counter[str] = Counter()
    verifier = Verifier(lambda *_: said, limit_s=30, count=lambda what: counts.update([what]))

    assert (expected == "agreed") == run_in(colour, lambda io: verifier.agrees(io, "如何退款", "怎么退款"))
    assert {expected: 1} == counts
    verifier.close()


def test_truth_is_no_number() -> None:
    """True agrees, also where numbers must be higher than 1."""
    verifier = Verifier(lambda *_: True, least=3.5, limit_s=30)

    assert run_in("sync", lambda io: verifier.agrees(io, "a", "b"))
    verifier.close()


def test_coroutines_are_no_answer() -> None:
    """A coroutine function is refused, and leaves nothing that nobody waited for."""
    verifier = Verifier(awaited, limit_s=30)

    assert not run_in("sync", lambda io: verifier.agrees(io, "a", "a"))
    verifier.close()


def test_both_ways_round() -> None:
    """A model must agree whichever text comes first, off the caller's thread."""
    seen: list[tuple[str, str]] = []
    threads: set[str] = set()

    def verify(one: str, other: str) -> bool:
        seen.append((one, other))
        threads.add(threading.current_thread().name)
        return one == "借给我"

    verifier = Verifier(verify, limit_s=30)

    assert not run_in("async", lambda io: verifier.agrees(io, "借给我", "我借给"))
    assert [("借给我", "我借给"), ("我借给", "借给我")] == seen
    assert {"deepseek-sdk-cache-verify"} == threads
    verifier.close()


def test_a_model_that_throws(caplog: pytest.LogCaptureFixture) -> None:
    """It is taken for a no, each time, and said once."""
    counts: Counter[str] = Counter()
    verifier = Verifier(lambda one, other: one.index(other) > 0, limit_s=30, count=lambda what: counts.update([what]))
    with caplog.at_level(logging.WARNING):
        agreed = [run_in("sync", lambda io: verifier.agrees(io, "a", "b")) for _ in range(3)]

    assert ([False] * 3, {"failed": 3}, 1) == (agreed, counts, len(caplog.records))
    verifier.close()


def hanging(count: Callable[[str], object], now: Callable[[], float]) -> tuple[Verifier, threading.Event]:
    """Give a verifier whose model hangs until it is let go."""
    gate = threading.Event()
    return Verifier(lambda *_: gate.wait(30), limit_s=0.01, count=count, now=now), gate


@pytest.mark.parametrize("colour", COLOURS)
def test_a_model_that_hangs(colour: str) -> None:
    """A call waits for as long as it was told, and those after it do not wait at all, until the model is back."""
    counts: Counter[str] = Counter()
    clock = [0.0]
    verifier, gate = hanging(lambda what: counts.update([what]), lambda: clock[0])

    async def several(io: IO) -> list[bool]:
        first = await verifier.agrees(io, "a", "b")
        clock[0] += 1
        return [first, await verifier.agrees(io, "a", "b"), await verifier.agrees(io, "c", "d")]

    assert [False] * 3 == run_in(colour, several)
    assert {"late": 1, "stuck": 2} == counts
    gate.set()
    verifier._lines.get().worker.submit(lambda: None).result(30)
    verifier._limit_s = 30
    assert run_in(colour, lambda io: verifier.agrees(io, "a", "b"))
    verifier.close()


def test_whoever_is_cancelled_leaves_nothing_behind() -> None:
    """What a cancelled call was waiting for is not begun any more."""
    seen: list[str] = []
    gate = threading.Event()
    verifier = Verifier(lambda one, _: seen.append(one), limit_s=30)
    worker = verifier._lines.get().worker
    worker.submit(gate.wait, 30)

    async def cancelled(io: IO) -> bool:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await verifier.agrees(io, "如何退款", "怎么退款")
        return scope.cancelled_caught

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run_in, "async", cancelled).result()
    gate.set()
    worker.submit(lambda: None).result(30)
    assert [] == seen
    verifier.close()


def test_too_many_pairs() -> None:
    """Where many wait already, nobody joins them."""
    counts: Counter[str] = Counter()
    verifier, gate = hanging(lambda what: counts.update([what]), lambda: 0.0)
    for _ in range(20):
        verifier._lines.get().worker.submit(lambda: gate.wait(30))

    assert not run_in("sync", lambda io: verifier.agrees(io, "a", "b"))
    assert {"stuck": 1} == counts
    gate.set()
    verifier.close()
    assert not run_in("sync", lambda io: verifier.agrees(io, "a", "b"))
    assert {"failed", "stuck"} >= {*counts}


@pytest.mark.parametrize("wrong", [{"verify": 5}, {"least": True}, {"least": float("nan")}, {"limit_s": 0}])
def test_settings_of_a_verifier(wrong: dict[str, Any]) -> None:
    """What cannot be used is refused, and named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Verifier(**{"verify": lambda *_: True, **wrong})


FORK = """
import os
from deepseek_sdk.caching.learning.verifying import Verifier
from tests.caching.verdicts import run_in
verifier = Verifier(lambda *_: True, limit_s=30)
assert run_in("sync", lambda io: verifier.agrees(io, "a", "b"))
pid = os.fork()
if not pid:
    os._exit(10 + run_in("sync", lambda io: verifier.agrees(io, "a", "b")))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')")
def test_a_child_has_a_thread_of_its_own() -> None:
    """A forked child verifies, too."""
    assert (
        "11" == run_child(FORK.replace("import os\n", "import os, warnings\nwarnings.simplefilter('ignore')\n")).strip()
    )


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, concurrent.futures.CancelledError])
@pytest.mark.parametrize("colour", COLOURS)
def test_what_ends_a_program_is_a_no(colour: str, kind: type[BaseException]) -> None:
    """What would end a program or a task does neither to those who ask."""
    counts: Counter[str] = Counter()

    def verify(*_: str) -> bool:
        raise kind

    verifier = Verifier(verify, limit_s=30, count=lambda what: counts.update([what]))

    assert not run_in(colour, lambda io: verifier.agrees(io, "a", "b"))
    assert {"failed": 1} == counts
    verifier.close()
