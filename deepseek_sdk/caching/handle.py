"""`client.cache`: looking at the cache and emptying it, in both colours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from deepseek_sdk.routing.models import DEFAULT_MODEL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from datetime import timedelta
    from typing import BinaryIO, TextIO

    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.exchange import Imported
    from deepseek_sdk.caching.explaining import Explanation
    from deepseek_sdk.caching.meta import Row
    from deepseek_sdk.caching.operations import Invalidated
    from deepseek_sdk.caching.stats import CacheStats

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
        rehearse: Makes the call that arguments of `create()` would be, and sends nothing.

    Attributes:
        store: The cache itself, to be given to another client.
    """

    def __init__(self, store: ExactCache, rehearse: Callable[..., Call]) -> None:
        self.store = store
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


class AsyncCache:
    """
    The cache of an async client: everything happens in a thread, and the event loop goes on. See `Cache`.

    Args:
        store: The cache itself.
        rehearse: Makes the call that arguments of `create()` would be, and sends nothing.

    Attributes:
        store: The cache itself, to be given to another client.
    """

    def __init__(self, store: ExactCache, rehearse: Callable[..., Call]) -> None:
        self.store = store
        self._cache = Cache(store, rehearse)

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


async def _in_thread(work: Callable[[], T]) -> T:
    import anyio.to_thread  # noqa: PLC0415  the sync client does without

    # What changes files is waited for, also by who is cancelled.
    return await anyio.to_thread.run_sync(work)
