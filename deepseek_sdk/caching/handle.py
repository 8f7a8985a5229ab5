"""`client.cache`: looking at the cache and emptying it, in both colours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from deepseek_sdk._cache import CacheControl
from deepseek_sdk._call import options
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.models import DEFAULT_MODEL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from datetime import timedelta, tzinfo
    from typing import BinaryIO, TextIO

    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.deciding.calibration import Calibration
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.exchange import Imported
    from deepseek_sdk.caching.explaining import Explanation
    from deepseek_sdk.caching.learning.learner import Consequence
    from deepseek_sdk.caching.meta import Row
    from deepseek_sdk.caching.operations import Invalidated
    from deepseek_sdk.caching.prewarming import Prewarming
    from deepseek_sdk.caching.semantic import SemanticCache
    from deepseek_sdk.caching.stats import CacheStats
    from deepseek_sdk.caching.warming.pairs import Pair
    from deepseek_sdk.caching.warming.templates import Template
    from deepseek_sdk.caching.warming.warm import Warmed
    from deepseek_sdk.ledger.period import Instant

__all__ = ["AsyncCache", "Cache"]

T = TypeVar("T")


class Cache:
    """
    The cache of a client.

        client.cache.stats().hit_rate                             what share of the lookups found an answer
        client.cache.explain(messages).status                     what would become of a call
        client.cache.invalidate(tag="feature=search", dry_run=True).count
        client.cache.invalidate(older_than="7d")
        client.cache.export("answers.jsonl")
        Client(cache=client.cache.store)                          the same cache for another client

    Args:
        store: The cache itself.
        client: Whose it is.
        rehearse: Makes the call that arguments of `create()` would be, and sends nothing.

    Attributes:
        store: The cache itself, to be given to another client.
    """

    def __init__(self, store: ExactCache, client: Any, rehearse: Callable[..., Call]) -> None:
        self.store = store
        self._client = client
        self._rehearse = rehearse

    def stats(self) -> CacheStats:
        """Tell what the cache has done in this process, and what it holds."""
        return self.store.stats()

    def explain(
        self, messages: Iterable[Any] | None = None, *, model: str = DEFAULT_MODEL, **fields: Any
    ) -> Explanation:
        """
        Tell what would happen to a call now: nothing is sent, counted or changed.

        Args:
            messages: The conversation, as `chat.completions.create()` takes it.
            model: Who would answer.
            fields: The other arguments of `create()`, such as *stream*, *tools* and *extra_headers*; *prompt* in place
                of messages for a completion.

        Returns:
            Whether an answer is there and would be given, and what would be kept.

        Raises:
            ConfigurationError: There are neither messages nor a prompt, or there is nobody to ask.
            InvalidRequestError: No server could accept it.
        """
        given = {} if messages is None else {"messages": messages}
        return self.store.explain(self._rehearse(model=model, **given, **fields))

    def ls(
        self, *, tag: str | None = None, model: str | None = None, tenant: str | None = None, limit: int | None = None
    ) -> list[Row]:
        """List answers, the newest first; see `ExactCache.ls()`."""
        return self.store.ls(tag=tag, model=model, tenant=tenant, limit=limit)

    def inspect(self, name: str) -> Entry | None:
        """Give one answer by its id or the beginning of its key, or None; see `ExactCache.inspect()`."""
        return self.store.inspect(name)

    def invalidate(
        self,
        *,
        tag: str | None = None,
        model: str | None = None,
        older_than: float | str | timedelta | None = None,
        tenant: str | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Invalidated:
        """Remove answers, for all processes; see `ExactCache.invalidate()`."""
        return self.store.invalidate(
            tag=tag, model=model, older_than=older_than, tenant=tenant, key=key, dry_run=dry_run
        )

    def flush(self) -> Invalidated:
        """Empty the cache, for all processes; see `ExactCache.flush()`."""
        return self.store.flush()

    def compact(self) -> int:
        """Remove what is past its time, and give its room back to the disk; see `ExactCache.compact()`."""
        return self.store.compact()

    def export(
        self, target: str | os.PathLike[str] | TextIO | BinaryIO, *, tag: str | None = None, model: str | None = None
    ) -> int:
        """Write answers to a file, a line of JSON each; see `ExactCache.export()`."""
        return self.store.export(target, tag=tag, model=model)

    def import_(self, source: str | os.PathLike[str] | TextIO | BinaryIO, *, tenant: str | None = None) -> Imported:
        """Keep answers that were exported; see `ExactCache.import_()`."""
        return self.store.import_(source, tenant=tenant)

    def warm(
        self,
        source: Any,
        *,
        model: str = DEFAULT_MODEL,
        system: str | None = None,
        ttl_s: float | None = None,
        tags: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Warmed:
        """
        Keep answers from elsewhere, as if the model had given them to this client: a list of frequent questions.

            client.cache.warm("faq.csv")                                      columns "question" and "answer"
            client.cache.warm({"如何退款？": "在订单页点“退款”。"}, system="你是客服。")

        Only calls that say the same of everything but the question get such an answer: *model*, *system* and *fields*
        have to be those of the calls to come.

        Args:
            source: A path of CSV, TSV or JSON lines, an open file, a mapping, or pairs of a question, or messages, and
                its answer.
            model: Who would have answered.
            system: The instructions before each question that comes without its conversation.
            ttl_s: For how long the answers are kept at most, in seconds; None: as long as others.
            tags: Tags of the answers.
            fields: The other arguments of `create()` that calls will have, such as *temperature*.

        Returns:
            How many were kept, and how many were not, by the reason.

        Raises:
            ConfigurationError: An argument, or the disk, cannot be used.
            OSError: The file cannot be read.
        """
        from deepseek_sdk.caching.warm_up import warm  # noqa: PLC0415  few programs need it

        def rehearse(pair: Pair) -> Call:
            with options(tags={} if tags is None else tags, cache=CacheControl(ttl_s=ttl_s)):
                return self._rehearse(model=model, messages=list(pair.messages), **fields)

        return warm(self.store, rehearse, source, system=system)

    def templates(self, top: int = 20, *, since: Instant = "30d") -> list[Template]:
        """
        Tell what kinds of questions are asked most: such as differ only in numbers, dates and names, or hardly.

        It goes by the ledger of the client and the questions that are still in the cache, those of all tenants. Nothing
        is ever answered by it.

        Args:
            top: How many kinds at most.
            since: From when on: as `Client.usage()` takes it.

        Returns:
            The kinds, the most frequent first, each with examples.

        Raises:
            ConfigurationError: There is no ledger, or an argument, or the disk, cannot be used.
            LedgerError: The ledger cannot be read.
        """
        from deepseek_sdk.caching import prewarming  # noqa: PLC0415  few programs need it

        return prewarming.templates(self.store, self._client, top, since)

    def prewarm(
        self,
        *,
        budget_calls: int = 200,
        budget_cny: float | None = None,
        at_once: int = 1,
        now: bool = False,
        share: float | None = None,
        since: Instant = "30d",
        tz: tzinfo | str | None = None,
    ) -> Prewarming:
        """
        Ask before the daily peak what is asked in it, where the answer will have ended by then.

            prewarming = client.cache.prewarm(budget_cny=1.0)     every day, until it is cancelled or the client closed
            client.cache.prewarm(now=True).wait()                 once, at once

        When the peak is and what is asked in it, the ledger tells; how a request is asked anew, the cache, which has to
        be made with *keep_requests*. A tenth of what could be asked is at first; twice as much after a peak in which
        half of it was wanted, half as much after others. Of several processes with one cache, one asks. It goes on in
        the background, each call with the priority "batch" and the tag "prewarm".

        Args:
            budget_calls: How many calls are made before one peak at most.
            budget_cny: What they may cost, in CNY; None: whatever they do.
            at_once: How many calls go on at a time.
            now: Ask at once what the coming peak will ask, and no more after that.
            share: Which part of the peak's traffic to ask, from 0 to 1, in place of what has paid so far.
            since: What was asked before does not count: as `Client.usage()` takes it.
            tz: By whose clock hours are told, or the name of its zone; None: that of Beijing.

        Returns:
            What tells how far it has come, and cancels it.

        Raises:
            ConfigurationError: There is no ledger, nothing of requests is kept, an argument or the disk cannot be used,
                or the client is closed.
            LedgerError: The ledger cannot be read.
        """
        return self._prewarming(
            budget_calls=budget_calls, budget_cny=budget_cny, at_once=at_once, now=now, share=share, since=since, tz=tz
        ).start()

    def _prewarming(self, *, now: bool, **given: Any) -> Prewarming:
        from deepseek_sdk.caching import prewarming  # noqa: PLC0415  few programs need it

        wants = prewarming.wanted(client=self._client, **given)
        return prewarming.prepared(self.store, self._client, self._rehearse, wants, now=now)

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Load what compares questions, and wait for it; see `SemanticCache.wait_until_ready()`."""
        return self._semantic("wait_until_ready").wait_until_ready(timeout_s)

    def feedback(self, said_of: Any, *, good: bool) -> Consequence:
        """Say whether an answer was right; see `SemanticCache.feedback()`."""
        return self._semantic("feedback").feedback(said_of, good=good)

    def veto(self, one: str, other: str) -> bool:
        """Never give two questions each other's answers; see `SemanticCache.veto()`."""
        return self._semantic("veto").veto(one, other)

    def calibrate(self, pairs: Iterable[Any], max_false_hit: float = 0.01) -> Calibration:
        """Set the threshold by labelled pairs of one's own; see `SemanticCache.calibrate()`."""
        return self._semantic("calibrate").calibrate(pairs, max_false_hit)

    def _semantic(self, name: str) -> SemanticCache:
        from deepseek_sdk.caching.semantic import SemanticCache  # noqa: PLC0415  few clients have one

        if not isinstance(self.store, SemanticCache):
            raise ConfigurationError(f'{name}() needs a semantic cache: Client(cache="semantic")')
        return self.store


class AsyncCache:
    """
    The cache of an async client: everything happens in a thread, and the event loop goes on. See `Cache`.

    Args:
        store: The cache itself.
        client: Whose it is.
        rehearse: Makes the call that arguments of `create()` would be, and sends nothing.

    Attributes:
        store: The cache itself, to be given to another client.
    """

    def __init__(self, store: ExactCache, client: Any, rehearse: Callable[..., Call]) -> None:
        self.store = store
        self._cache = Cache(store, client, rehearse)

    async def stats(self) -> CacheStats:
        """Tell what the cache has done in this process, and what it holds."""
        return await _in_thread(self._cache.stats)

    async def explain(
        self, messages: Iterable[Any] | None = None, *, model: str = DEFAULT_MODEL, **fields: Any
    ) -> Explanation:
        """Tell what would happen to a call now; see `Cache.explain()`."""
        return await _in_thread(partial(self._cache.explain, messages, model=model, **fields))

    async def ls(
        self, *, tag: str | None = None, model: str | None = None, tenant: str | None = None, limit: int | None = None
    ) -> list[Row]:
        """List answers, the newest first; see `ExactCache.ls()`."""
        return await _in_thread(partial(self._cache.ls, tag=tag, model=model, tenant=tenant, limit=limit))

    async def inspect(self, name: str) -> Entry | None:
        """Give one answer by its id or the beginning of its key, or None; see `ExactCache.inspect()`."""
        return await _in_thread(partial(self._cache.inspect, name))

    async def invalidate(
        self,
        *,
        tag: str | None = None,
        model: str | None = None,
        older_than: float | str | timedelta | None = None,
        tenant: str | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> Invalidated:
        """Remove answers, for all processes; see `ExactCache.invalidate()`."""
        invalidate = self._cache.invalidate
        return await _in_thread(
            partial(invalidate, tag=tag, model=model, older_than=older_than, tenant=tenant, key=key, dry_run=dry_run)
        )

    async def flush(self) -> Invalidated:
        """Empty the cache, for all processes; see `ExactCache.flush()`."""
        return await _in_thread(self._cache.flush)

    async def compact(self) -> int:
        """Remove what is past its time, and give its room back to the disk; see `ExactCache.compact()`."""
        return await _in_thread(self._cache.compact)

    async def export(
        self, target: str | os.PathLike[str] | TextIO | BinaryIO, *, tag: str | None = None, model: str | None = None
    ) -> int:
        """Write answers to a file, a line of JSON each; see `ExactCache.export()`."""
        return await _in_thread(partial(self._cache.export, target, tag=tag, model=model))

    async def import_(
        self, source: str | os.PathLike[str] | TextIO | BinaryIO, *, tenant: str | None = None
    ) -> Imported:
        """Keep answers that were exported; see `ExactCache.import_()`."""
        return await _in_thread(partial(self._cache.import_, source, tenant=tenant))

    async def warm(
        self,
        source: Any,
        *,
        model: str = DEFAULT_MODEL,
        system: str | None = None,
        ttl_s: float | None = None,
        tags: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Warmed:
        """Keep answers from elsewhere; see `Cache.warm()`."""
        warm = self._cache.warm
        return await _in_thread(partial(warm, source, model=model, system=system, ttl_s=ttl_s, tags=tags, **fields))

    async def templates(self, top: int = 20, *, since: Instant = "30d") -> list[Template]:
        """Tell what kinds of questions are asked most; see `Cache.templates()`."""
        return await _in_thread(partial(self._cache.templates, top, since=since))

    async def prewarm(
        self,
        *,
        budget_calls: int = 200,
        budget_cny: float | None = None,
        at_once: int = 1,
        now: bool = False,
        share: float | None = None,
        since: Instant = "30d",
        tz: tzinfo | str | None = None,
    ) -> Prewarming:
        """
        Ask before the daily peak what is asked in it; see `Cache.prewarm()`.

        It goes on on the event loop that runs now. `await prewarming.await_end()` waits for it.
        """
        prepare = partial(
            self._cache._prewarming,  # noqa: SLF001  the other half of this
            budget_calls=budget_calls,
            budget_cny=budget_cny,
            at_once=at_once,
            now=now,
            share=share,
            since=since,
            tz=tz,
        )
        return (await _in_thread(prepare)).start()

    async def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Load what compares questions, and wait for it; see `SemanticCache.wait_until_ready()`."""
        return await _in_thread(partial(self._cache.wait_until_ready, timeout_s))

    async def feedback(self, said_of: Any, *, good: bool) -> Consequence:
        """Say whether an answer was right; see `SemanticCache.feedback()`."""
        return await _in_thread(partial(self._cache.feedback, said_of, good=good))

    async def veto(self, one: str, other: str) -> bool:
        """Never give two questions each other's answers; see `SemanticCache.veto()`."""
        return await _in_thread(partial(self._cache.veto, one, other))

    async def calibrate(self, pairs: Iterable[Any], max_false_hit: float = 0.01) -> Calibration:
        """Set the threshold by labelled pairs of one's own; see `SemanticCache.calibrate()`."""
        return await _in_thread(partial(self._cache.calibrate, pairs, max_false_hit))


async def _in_thread(work: Callable[[], T]) -> T:
    import anyio.to_thread  # noqa: PLC0415  the sync client does without

    # What changes files is waited for, also by who is cancelled.
    return await anyio.to_thread.run_sync(work)
