"""`client.cache.prewarm()` day after day: when it begins, who does it, what it learns, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk import AsyncClient, options
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.embedding.service import EmbeddingService
from deepseek_sdk.caching.warming.peaks import Peaks, Wants, vectors_of
from deepseek_sdk.errors import ConfigurationError
from tests.caching.cached_calls import Wall
from tests.caching.warming.asked_ledgers import HOUR, at
from tests.caching.warming.peaky_shops import NOON, PEAK_HOUR, QUESTIONS, TODAY, Shop
from tests.caching.wordings import ASKED, CLOSE, LATER, NEAR, OTHER, SAME, Meanings, semantic
from tests.conftest import Driver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import StartEmulator

# Shortly before the peak of the next day, when it is time; and after it.
EARLY, LATE = at(TODAY + 1, PEAK_HOUR) - 120, at(TODAY + 1, PEAK_HOUR + 1) + 60


@pytest.fixture
def shop(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> Shop:
    """Make a shop."""
    return Shop(driver, emulator(replies="在订单页点“退款”。"), tmp_path)


@pytest.fixture
def plain(emulator: StartEmulator, tmp_path: Path) -> Iterator[Shop]:
    """Make a shop of the sync colour, where it is about files alone."""
    driver = Driver("sync")
    yield Shop(driver, emulator(), tmp_path)
    driver.close()


def peaks_of(shop: Shop, cache: ExactCache | None = None, **wants: Any) -> Peaks:
    """Look at the files of a shop, as another process does where *cache* is another one."""
    given = Wants(**{"share": 1.0, **wants})
    return Peaks(cache or shop.cache, lambda: shop.ledger, "key:none", given)


def test_every_day(shop: Shop) -> None:
    """Before the peak it asks, after it it learns, and waits for the next one, until it is cancelled."""
    shop.filled()
    shop.wall.seconds = EARLY
    prewarming = shop.prewarm(share=1.0)
    assert shop.eventually(lambda: prewarming.progress.state == "done")
    asked, during = sorted(shop.texts()), shop.remembered()
    shop.wall.seconds = LATE
    assert shop.eventually(lambda: shop.remembered().window is None)
    prewarming.cancel()

    assert shop.over(prewarming)
    assert (sorted(QUESTIONS), 10) == (asked, len(during.ids))
    # Nobody wanted any of them.
    assert (0.05, (), 10) == (shop.remembered().rollout.share, shop.remembered().ids, len(shop.server.requests))
    assert "Prewarming" in repr(prewarming)


def test_long_before(shop: Shop) -> None:
    """Long before the peak it waits, and asks nothing; who cancels it need not wait."""
    shop.filled()
    prewarming = shop.prewarm(share=1.0)
    is_over = shop.over(prewarming, 0.05)
    before = prewarming.progress.state
    prewarming.cancel()
    prewarming.cancel()

    assert (False, "waiting") == (is_over, before)
    assert shop.over(prewarming)
    assert ("cancelled", []) == (prewarming.progress.state, shop.texts())


def test_the_client_is_closed(shop: Shop) -> None:
    """It ends with the client, also while it waits; a client that is closed begins nothing."""
    shop.filled()
    prewarming = shop.prewarm()
    shop.driver.call(shop.client.close)

    assert shop.over(prewarming)
    assert ("cancelled", []) == (prewarming.progress.state, shop.texts())
    with pytest.raises(ConfigurationError, match="closed"):
        shop.prewarm()


def test_cancelled_while_it_asks(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What is under way ends by itself, and the rest is not asked."""
    found: list[Any] = []

    def reply(_: Any) -> str:
        for prewarming in found:
            prewarming.cancel()
        return "好"

    shop = Shop(driver, emulator(replies=reply), tmp_path)
    shop.filled()
    shop.wall.seconds = EARLY - HOUR
    found.append(shop.prewarm(share=1.0))
    shop.wall.seconds = EARLY
    assert shop.over(found[0])

    assert ("cancelled", 1, 9) == (found[0].progress.state, found[0].progress.asked, found[0].progress.left)


def test_the_loop_ends(emulator: StartEmulator, tmp_path: Path) -> None:
    """Where the event loop ends, so does what went on on it."""
    cache = ExactCache(tmp_path / "cache", keep_requests=True)

    async def main() -> Any:
        client = AsyncClient(base_url=emulator().url, api_key="any", cache=cache, ledger=tmp_path / "calls.sqlite3")
        assert client.cache is not None
        return await client.cache.prewarm()

    prewarming = asyncio.run(main())

    assert prewarming.wait(10)
    cache.close()


def test_one_of_several_processes(plain: Shop, tmp_path: Path) -> None:
    """Of several that wait for the same peak one asks; where it lets go of that, another does."""
    plain.filled()
    plain.remember(plain.ask("有租户的问题", client=plain.client.with_options(tenant="一")))
    plain.wall.seconds = EARLY
    other_cache = ExactCache(tmp_path / "cache", keep_requests=True, wall=plain.wall)
    first, other = peaks_of(plain), peaks_of(plain, other_cache)
    found = [first.coming(HOUR), other.coming(HOUR)]
    first.leave()
    first.leave()
    assert plain.eventually(lambda: other.coming(HOUR) is not None)

    assert [True, False] == [one is not None for one in found]
    assert {"foreign": 10} == first.skipped
    other_cache.close()


def test_asked_already(plain: Shop) -> None:
    """Before one peak it asks once, whoever begins anew; and what somebody has asked meanwhile is not asked."""
    ids = plain.ask(*QUESTIONS, client=plain.client.with_options(tenant="一"))
    plain.remember(ids)
    plain.wall.seconds = EARLY
    peaks = peaks_of(plain)
    coming = peaks.coming(HOUR)
    assert coming is not None
    one, other = (question for question, _ in coming.questions[:2])
    plain.wall.forward(1)
    with options(cache="refresh"):
        plain.ask(str(one.body["messages"][1]["content"]), client=plain.client.with_options(tenant="一"))
    wanted = [peaks.is_wanted(one), peaks.is_wanted(other)]
    peaks.note(one)

    assert [False, True] == wanted
    assert peaks.coming(HOUR) is None
    assert peaks.coming() is not None
    peaks_of(plain).note(other)
    assert (one.key[:16],) == plain.remembered().ids


def test_what_was_asked_meanwhile(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What somebody asks while the others are asked is not asked a second time, and costs nothing."""
    shop = Shop(driver, emulator(), tmp_path)
    shop.filled(*QUESTIONS[:3])
    shop.wall.seconds = EARLY - HOUR / 2
    prewarming = shop.prewarm(share=1.0)
    assert shop.eventually(lambda: prewarming.progress.left == 3)
    shop.wall.forward(1)
    shop.ask(QUESTIONS[1])
    shop.wall.seconds = EARLY
    assert shop.eventually(lambda: prewarming.progress.state == "done")
    prewarming.cancel()

    assert (3, sorted(QUESTIONS[:3])) == (prewarming.progress.asked, sorted(shop.texts()))
    assert shop.over(prewarming)


def test_what_cannot_be_noted(plain: Shop, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is asked is asked, also where that cannot be written down."""
    ids = plain.ask(*QUESTIONS, client=plain.client.with_options(tenant="一"))
    plain.remember(ids)
    peaks = peaks_of(plain)
    coming = peaks.coming()
    assert coming is not None
    plain.cache.close()
    (tmp_path / "cache").rename(tmp_path / "gone")
    (tmp_path / "cache").touch()
    with caplog.at_level(logging.DEBUG, "deepseek_sdk"):
        peaks.note(coming.questions[0][0])

    assert "could not be noted" in caplog.text


def test_nearness(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """With a semantic cache it is told from the meaning of questions what the peak asks, where that can be had."""
    meanings = Meanings()
    wall = Wall(NOON)
    cache = semantic(tmp_path / "cache", embedder=meanings, ttl_s=3_600, keep_requests=True, wall=wall)
    shop = Shop(driver, emulator(), tmp_path, wall=wall, cache=cache)
    assert cache.wait_until_ready(20)
    shop.filled(ASKED, CLOSE, OTHER)
    meanings.texts.clear()
    told = shop.prewarmed(share=1.0).progress

    assert ("done", 3) == told[:2]
    assert {ASKED, CLOSE, OTHER} <= set(meanings.texts)
    meanings.made = ValueError("nichts")
    wall.forward(2)
    assert 3 == shop.prewarmed(share=1.0).progress.asked


def test_vectors() -> None:
    """Vectors come in the order of their texts, however many; where they cannot be had there are none."""
    meanings = Meanings()
    service = EmbeddingService(meanings, max_waiting=8)
    texts = [ASKED, SAME, LATER, NEAR]
    found = vectors_of(service, texts)
    assert found is not None

    assert np.allclose(found, meanings.embed(texts), atol=1e-3)
    assert vectors_of(service, []) is None
    meanings.gate = threading.Event()
    while service.submit(texts, is_urgent=False) is not None:
        pass
    assert vectors_of(service, texts) is None
    meanings.gate.set()
    meanings.gate = None
    meanings.made = ValueError("nichts")
    assert vectors_of(service, texts) is None
    service.close(5)
    broken = Meanings()
    broken.embed = lambda texts: np.zeros((len(texts), 3), np.float32)  # type: ignore[method-assign]
    assert vectors_of(EmbeddingService(broken), texts) is None
