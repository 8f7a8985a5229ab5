"""Embedders that fail, hang, load slowly or are no good: calls go on without the semantic tier, and it is said why."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk import AsyncClient, report
from deepseek_sdk.caching import SemanticCache, calibrating
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.learning.judge import ModelJudge
from deepseek_sdk.caching.similar import Lateness
from deepseek_sdk.errors import ConfigurationError
from tests.caching.cached_calls import status, until
from tests.caching.wordings import (
    AGAIN,
    ASKED,
    DIMENSIONS,
    LATER,
    OTHER,
    SAME,
    Meanings,
    ask,
    decided,
    semantic,
    settled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.question import Question
    from tests.conftest import Driver, StartEmulator

BAD: dict[str, Any] = {
    "throws": ValueError,
    "exits": SystemExit,
    "is cancelled": concurrent.futures.CancelledError,
    "NaN": lambda rows: rows * np.nan,
    "zero": lambda rows: rows * 0,
    "too wide": lambda rows: np.hstack([rows, rows]),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_it_goes_bad(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_on_disk: bool
) -> None:
    """Where it fails, calls go on; after three times it is left alone, and that is said once."""
    server = emulator(replies="好")
    for number, kind in enumerate(["throws", "NaN"] if is_on_disk else BAD, start=1):
        embedder = Meanings()
        cache = semantic(tmp_path / kind if is_on_disk else None, embedder=embedder)
        client = driver.client(base_url=server.url, cache=cache)
        ask(driver, client)
        settled(cache)
        embedder.made = BAD[kind]
        reasons = [decided(driver, client, text).reason for text in (SAME, AGAIN, LATER, OTHER)]
        ask(driver, client, SAME)

        assert ("failed", "off") == (reasons[0], reasons[-1])
        assert {"failed", "off"} == {*reasons}
        assert 5 * number == len(server.requests)
        assert number == len([record for record in caplog.records if "semantic cache is off" in record.getMessage()])


class Constant(Meanings):
    """Gives every text the same vector."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Give it."""
        return np.ones((len(texts), DIMENSIONS))


class Unloadable(Meanings):
    """Cannot be loaded."""

    def load(self) -> None:
        """Fail."""
        raise OSError("模型文件坏了")


class Wide(Meanings):
    """Says that its vectors are wider than they are."""

    dimensions = 7


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Constant, "does not tell questions in"),
        (Unloadable, "模型文件坏了"),
        (Wide, "shape"),
        (lambda: lambda _: None, "not a row for each text"),
    ],
)
def test_it_is_no_good(
    driver: Driver, emulator: StartEmulator, caplog: pytest.LogCaptureFixture, make: Callable[[], Any], said: str
) -> None:
    """One that cannot be loaded, or tells nothing apart, is not used: the log says why, once, and calls go on."""
    server = emulator(replies="好")
    cache = semantic(embedder=make())
    client = driver.client(base_url=server.url, cache=cache)

    assert driver.call(client.cache.wait_until_ready) is False
    found = [ask(driver, client, text) for text in (ASKED, SAME, ASKED)]
    assert [("miss", "off"), ("miss", "off"), ("hit", None)] == [
        (one.status, one.decision and one.decision.reason) for one in found
    ]
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert (1, True) == (len(warnings), said in warnings[0])


def test_it_hangs(driver: Driver, emulator: StartEmulator) -> None:
    """One that hangs is waited for once, for a moment, and by nobody who comes later."""
    gate = threading.Event()
    server, embedder = emulator(replies="好"), Meanings(gate=gate)
    client = driver.client(base_url=server.url, cache=semantic(embedder=embedder, embed_s=0.5))
    try:
        ask(driver, client)
        began = time.monotonic()
        reasons = [decided(driver, client, f"{SAME}{number}").reason for number in range(30)]
        took = time.monotonic() - began
    finally:
        gate.set()

    assert {"slow"} == {*reasons}
    # Had each waited it would be 15 s.
    assert took < 10
    assert 31 == len(server.requests)


def test_how_long_calls_wait() -> None:
    """Unless something else is said a call waits for a vector for 50 ms."""
    assert 0.05 == SemanticCache(max_bytes=0, embedder=Meanings()).similar._patience.embed_s


class Slow(Meanings):
    """Takes its time to load."""

    def __init__(self) -> None:
        super().__init__()
        self.is_loaded = threading.Event()

    def load(self) -> None:
        """Wait."""
        assert self.is_loaded.wait(30)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_it_loads_slowly(driver: Driver, emulator: StartEmulator, tmp_path: Path, *, is_on_disk: bool) -> None:
    """While it loads calls go on; what was kept meanwhile is found as soon as it is loaded."""
    server, embedder = emulator(replies="好"), Slow()
    cache = semantic(tmp_path / "cache" if is_on_disk else None, embedder=embedder, embed_s=0.05)
    client = driver.client(base_url=server.url, cache=cache)
    try:
        early = [decided(driver, client, text).reason for text in (ASKED, SAME)]
        is_ready = driver.call(client.cache.wait_until_ready, 0.01)
    finally:
        embedder.is_loaded.set()

    assert (["no_candidate", "loading"], False) == (early, is_ready)
    assert driver.call(client.cache.wait_until_ready) is True
    settled(cache)
    assert until(lambda: "semantic" == ask(driver, client, AGAIN, cache="no-store").tier)


class Between(SemanticCache):
    """Has a vector ready when its answer is being written, and not before."""

    gate: threading.Event

    def beside(self, entry: Entry, question: Question | None, *others: Any) -> Any:
        """Decide, and then wait for the vector."""
        found = super().beside(entry, question, *others)
        self.gate.set()
        assert question is not None
        assert question.wording is not None
        assert question.wording.vector is not None
        question.wording.vector.result(20)
        return found


def test_a_vector_that_comes_meanwhile(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """A vector that comes while its answer is written is kept, too."""
    gate = threading.Event()
    cache = Between(tmp_path / "cache", embedder=Meanings(gate=gate), policy=Static(0.95), embed_s=20)
    cache.gate = gate
    client = driver.client(base_url=emulator(replies="好").url, cache=cache)
    ask(driver, client)

    assert "semantic" == ask(driver, client, SAME).tier


def test_many_at_once(driver: Driver, emulator: StartEmulator) -> None:
    """Many callers at once, who ask the same in several ways, all get the kept answer."""
    server, cache = emulator(replies="好"), semantic()
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    calls = [partial(_create, client, text) for text in (SAME, AGAIN, LATER) * 8]
    found = driver.together(*calls)

    assert {"hit"} == {status(answer) for answer in found}
    assert 1 == len(server.requests)
    assert 24 == cache.tally.stats().semantic


def test_many_new_ones_at_once(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Many new questions at once are all kept with their vectors."""
    server, cache = emulator(replies=lambda request: request.last_user_text), semantic(tmp_path / "cache")
    client = driver.client(base_url=server.url, cache=cache)
    texts = [f"{word}{other}怎么做" for word in "甲乙丙丁" for other in "鱼肉鸡鸭"]
    driver.together(*(partial(_create, client, text) for text in texts))
    settled(cache)
    found = [ask(driver, client, f"{text}？", cache="no-store") for text in texts]

    assert [*texts] == [one.decision.kept if one.decision else None for one in found]


def _create(client: Any, text: str) -> Any:
    return client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": text}])


def test_a_caller_who_leaves(emulator: StartEmulator) -> None:
    """One who is cancelled while he waits for a vector leaves at once, and others are served all the same."""
    gate = threading.Event()
    server, embedder = emulator(replies="好"), Meanings(gate=gate)

    client = AsyncClient(base_url=server.url, api_key="test-key", cache=semantic(embedder=embedder))

    async def leave() -> tuple[bool, Any]:
        async with client:
            await _create(client, ASKED)
            leaving = asyncio.create_task(_create(client, SAME))
            # The first is that of the question that was kept.
            await asyncio.to_thread(embedder.begun.acquire, timeout=20)
            await asyncio.sleep(0)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            is_waiting = not gate.is_set()
            gate.set()
            return is_waiting, report(await _create(client, AGAIN)).cache

    is_waiting, found = asyncio.run(leave())

    assert is_waiting
    assert ("hit", "semantic", 1) == (found.status, found.tier, len(server.requests))


def test_a_closed_service(driver: Driver, emulator: StartEmulator) -> None:
    """Where the embedder was closed calls go on."""
    cache = semantic()
    client = driver.client(base_url=emulator(replies="好").url, cache=cache)
    ask(driver, client)
    cache.service.close(20)

    assert "off" == decided(driver, client).reason


class Broken:
    """A policy that fails."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def decide(self, *_: Any) -> Any:
        """Fail."""
        raise self.kind("策略坏了")

    @staticmethod
    def threshold_at(*_: Any) -> float:
        """Tell none."""
        return 0.0


@pytest.mark.parametrize("is_on_disk", [False, True])
@pytest.mark.parametrize(
    "kind", [ZeroDivisionError, SystemExit, asyncio.CancelledError, concurrent.futures.CancelledError]
)
def test_a_policy_that_fails(
    driver: Driver,
    emulator: StartEmulator,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: type[BaseException],
    *,
    is_on_disk: bool,
) -> None:
    """Where the caller's own policy fails calls go on, and the log says so once."""
    cache = semantic(tmp_path / "cache" if is_on_disk else None, policy=Broken(kind))
    client = driver.client(base_url=emulator(replies="好").url, cache=cache)
    ask(driver, client)
    found = [decided(driver, client, text).reason for text in (SAME, AGAIN)]

    assert ["failed", "failed"] == found
    assert 1 == len([record for record in caplog.records if "策略坏了" in record.getMessage()])


def test_how_long_one_that_is_too_slow_is_waited_for() -> None:
    """After three vectors in a row that were late nobody waits for a while, then one call, and then for longer."""
    lateness = Lateness()
    for now in (0.0, 1.0, 2.0):
        assert lateness.lets(10, now)
        lateness.late(10, now, now + 0.05)

    assert [False, True, False] == [lateness.lets(10, now) for now in (2.06, 32.1, 32.2)]
    lateness.late(10, 32.1, 32.15)
    assert [False, True, False] == [lateness.lets(10, now) for now in (92.1, 92.2, 92.3)]
    lateness.in_time(10)
    assert [True, True] == [lateness.lets(10, now) for now in (92.3, 92.4)]


def test_what_is_late_at_one_moment() -> None:
    """Many who wait at one moment are late for one reason; after hours of that it is tried every ten minutes."""
    lateness = Lateness()
    for _ in range(20):
        lateness.late(10, 0.0, 0.05)
    assert lateness.lets(10, 0.06)

    for now in range(1000, 20_000, 1000):
        assert lateness.lets(10, now)
        lateness.late(10, now, now + 0.05)
    assert [False, True] == [lateness.lets(10, now + seconds) for seconds in (600, 600.1)]


def test_long_texts_are_late_by_themselves() -> None:
    """A text that is twice as long says nothing of another: short ones are still waited for."""
    lateness = Lateness()
    for now in (0.0, 1.0, 2.0):
        lateness.late(200, now, now + 0.05)

    assert [True, False, True] == [lateness.lets(size, 3.0) for size in (20, 150, 600)]
    assert [False, True, False] == [lateness.is_known(size, 3.0) for size in (20, 150, 600)]


def test_it_is_too_slow(driver: Driver, emulator: StartEmulator) -> None:
    """Calls wait three times for one that is always too slow; its vectors are kept all the same."""
    gate, server = threading.Event(), emulator(replies="好")
    embedder = Meanings(gate=gate)
    cache = semantic(embedder=embedder, embed_s=0.02)
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    reasons = []
    for number in range(6):
        gate.set()
        settled(cache)
        gate.clear()
        reasons.append(decided(driver, client, f"{SAME}{number}").reason)
    gate.set()
    settled(cache)

    assert {"slow"} == {*reasons}
    assert cache.similar._lateness.is_known(len(SAME) + 1, time.monotonic())
    assert 7 == cache.neighbours.partitions.rows


def _pairs() -> list[tuple[str, str, bool]]:
    return [
        (f"{word}怎么做", f"{word}{'如何' * is_same}做", is_same)
        for word in "甲乙丙丁戊己庚辛壬癸"
        for is_same in (True, False)
    ]


class Late(Meanings):
    """Raises what an embedder may raise that waits for something itself."""

    def __init__(self, kind: type[BaseException]) -> None:
        super().__init__()
        self.made = kind


@pytest.mark.parametrize("kind", [ValueError, TimeoutError, SystemExit, concurrent.futures.CancelledError])
def test_calibrating_with_one_that_fails(driver: Driver, kind: type[BaseException]) -> None:
    """Who calibrates learns what is wrong with the embedder, as an error of this library."""
    client = driver.client(
        cache=semantic(embedder=Late(kind), policy=Calibrated()), base_url="http://127.0.0.1:9", api_key="test-key"
    )
    with pytest.raises(ConfigurationError, match=r"the embedder cannot be used: .*坏了"):
        driver.call(client.cache.calibrate, _pairs(), 0.4)


@pytest.mark.parametrize("at", ["loading", "embedding"])
def test_calibrating_with_one_that_hangs(at: str) -> None:
    """Who calibrates does not wait for ever."""
    gate, slow = threading.Event(), Slow()
    cache = semantic(embedder=slow if at == "loading" else Meanings(gate=gate), policy=Calibrated())
    limits = calibrating.Limits(batch_s=0.05, load_s=0.05 if at == "loading" else 30)
    try:
        with pytest.raises(ConfigurationError, match=r"cannot be used: (it is not loaded|a batch takes longer)"):
            calibrating.calibrate(cache, _pairs(), 0.4, limits)
    finally:
        gate.set()
        slow.is_loaded.set()


@pytest.mark.parametrize("value", [5, 0, "", object(), [], Calibrated])
@pytest.mark.parametrize("name", ["policy", "guards", "judge", "eligibility"])
def test_what_is_no_part_of_it(name: str, value: Any) -> None:
    """What cannot do what the part is for is refused when the cache is made."""
    with pytest.raises(ConfigurationError, match=f"{name} must be"):
        semantic(**{name: value})


@pytest.mark.parametrize("share", [-0.1, 1.1, "x", True, None])
def test_how_many_are_asked_again(share: Any) -> None:
    """A share of the hits is asked again, or none."""
    assert not semantic(judge=ModelJudge(), recheck_share=0).lessons.draws_recheck()
    with pytest.raises(ConfigurationError, match="recheck_share must be from 0 to 1"):
        semantic(recheck_share=share)


@pytest.mark.parametrize("timeout", ["x", -1, True, float("nan"), [1]])
def test_how_long_is_waited_until_it_is_ready(timeout: Any) -> None:
    """What is no time is refused."""
    with pytest.raises(ConfigurationError, match="timeout_s must be a number of seconds"):
        semantic().wait_until_ready(timeout)
