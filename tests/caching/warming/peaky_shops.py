"""Clients whose customers ask the same every morning, with a ledger that says so, for the tests of `prewarm()`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from deepseek_sdk import report
from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.operations import opened
from deepseek_sdk.caching.warming.memory import remembered
from deepseek_sdk.ledger import Ledger
from tests.caching.cached_calls import Wall, until
from tests.caching.warming.asked_ledgers import at
from tests.ledger.conftest import ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from deepseek_sdk.caching.prewarming import Prewarming
    from deepseek_sdk.caching.warming.memory import Remembered
    from deepseek_sdk.testing import Emulator
    from tests.conftest import Driver

# Far from the day on which the tests run: calls of the tests themselves are no history.
TODAY = 1000
NOON, PEAK_HOUR = at(TODAY, 12), 9
SYSTEM = {"role": "system", "content": "你是客服，只谈订单。"}
QUESTIONS = [f"第{number}个问题：如何退款？" for number in "一二三四五六七八九十"]


class Shop:
    """
    A client with a cache in a directory and a ledger.

    Args:
        driver: Of which colour.
        server: What it asks.
        path: Where its files are.
        wall: Its clock.
        cache: Its cache, or None: one that keeps requests, and answers for an hour.
        **given: Arguments of the client.
    """

    def __init__(
        self,
        driver: Driver,
        server: Emulator,
        path: Path,
        *,
        wall: Wall | None = None,
        cache: ExactCache | None = None,
        **given: Any,
    ) -> None:
        self.driver = driver
        self.server = server
        self.wall = wall or Wall(NOON)
        self.cache = cache or ExactCache(path / "cache", ttl_s=3_600, keep_requests=True, wall=self.wall)
        self.ledger = path / "calls.sqlite3"
        self.client = driver.client(base_url=server.url, cache=self.cache, ledger=self.ledger, **given)

    def ask(self, *texts: str, client: Any = None, **fields: Any) -> list[str]:
        """Ask questions; give the ids of their answers."""
        asked = [
            self.driver.create(client or self.client, messages=[SYSTEM, {"role": "user", "content": text}], **fields)
            for text in texts
        ]
        return [str(found.entry_id) for answer in asked if (found := report(answer).cache) is not None]

    def remember(self, ids: Iterable[str], *, days: Iterable[int] = range(-9, 1), hour: float = PEAK_HOUR) -> None:
        """Write down that each of these was asked for three times on each day, counted from today on."""
        ledger = Ledger(self.ledger)
        for day in days:
            for entry in ids:
                outcome = CacheOutcome(status="hit", entry_id=entry, model="deepseek-flash")
                for _ in range(3):
                    ledger(ended(at(TODAY + day, hour), attempts=0, cache=outcome))
        ledger.close()

    def filled(self, *texts: str, **fields: Any) -> list[str]:
        """Ask questions that were asked every morning; forget that the server was asked."""
        ids = self.ask(*(texts or QUESTIONS), **fields)
        self.remember(ids)
        self.server.forget()
        return ids

    def prewarm(self, client: Any = None, **given: Any) -> Prewarming:
        """Begin to ask what is asked in the morning."""
        found: Prewarming = self.driver.call((client or self.client).cache.prewarm, **given)
        return found

    def over(self, prewarming: Prewarming, timeout_s: float = 20.0) -> bool:
        """Wait until it is over, as its colour does."""
        wait = prewarming.await_end if self.driver.is_async else prewarming.wait
        return bool(self.driver.call(partial(wait, timeout_s)))

    def prewarmed(self, **given: Any) -> Prewarming:
        """Ask now what is asked in the morning, to the end."""
        prewarming = self.prewarm(now=True, **given)
        assert self.over(prewarming)
        return prewarming

    def eventually(self, holds: Callable[[], bool]) -> bool:
        """Look until something in the background has happened, while the loop runs where there is one."""
        look = partial(until, holds, 20.0)
        return bool(self.driver.call(partial(to_thread.run_sync, look) if self.driver.is_async else look))

    def texts(self) -> list[str]:
        """Give what the server was asked."""
        return [request.last_user_text for request in self.server.requests]

    def remembered(self) -> Remembered:
        """Read what the cache remembers of peaks."""
        with opened(self.cache) as tier:
            assert tier is not None
            return remembered(tier)
