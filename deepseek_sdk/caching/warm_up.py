"""Answers from elsewhere, such as a list of frequent questions, as if a model had given them to this client."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk._cache import CacheControl
from deepseek_sdk.caching.entry import BadRecordError, Entry, encode
from deepseek_sdk.caching.operations import opened, peek
from deepseek_sdk.caching.question import Question, questioned
from deepseek_sdk.caching.store import meta_of
from deepseek_sdk.caching.warming.pairs import read_pairs
from deepseek_sdk.caching.warming.warm import Asked, warmed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.warming.pairs import Pair
    from deepseek_sdk.caching.warming.warm import Warmed

__all__ = ["warm"]


def warm(
    cache: ExactCache, rehearse: Callable[[Pair], Call], source: Any, *, system: str | None = None, most: int = 100_000
) -> Warmed:
    """
    Keep answers from elsewhere.

    Args:
        cache: Where.
        rehearse: Makes the call that a question would be.
        source: Questions with their answers, as `read_pairs()` takes them.
        system: The instructions before each question that comes without its conversation.
        most: How many are kept at most.

    Returns:
        How many were kept, and why others were not.

    Raises:
        ConfigurationError: An argument, or the disk, cannot be used.
        OSError: The file cannot be read.
    """
    with opened(cache) as tier:
        work = _Work(cache, tier, rehearse)
        told = warmed(
            read_pairs(source, system=system),
            work.asked,
            work.keep,
            now_ms=cache.now_ms(),
            limits=cache.limits,
            most=most,
            is_known=work.is_known,
        )
        if tier is not None and told.kept:
            # What others have in memory may be older.
            tier.bump()
        return told


class _Work:
    """One warm-up of one cache."""

    def __init__(self, cache: ExactCache, tier: DiskTier | None, rehearse: Callable[[Pair], Call]) -> None:
        self._cache = cache
        self._tier = tier
        self._rehearse = rehearse
        self._questions: dict[str, Question] = {}

    def asked(self, pair: Pair) -> Asked | None:
        """Say what a question would be as a request, or None: the cache has nothing to do with it."""
        cache, call = self._cache, self._rehearse(pair)
        control = call.options.cache if isinstance(call.options.cache, CacheControl) else CacheControl()
        question = questioned(call, cache.tenants, control, cache.limits, cache.similarly)
        if question is None or not control.writes:
            return None
        self._questions[question.key] = question
        tags = tuple(call.record.tags.items())
        expires_ms = cache.expiry.expires_ms(
            key=question.key,
            asked=call.model,
            model=call.model,
            tags=tags,
            created_ms=cache.now_ms(),
            ttl_cap_s=control.ttl_s,
        )
        place = "" if question.wording is None else question.wording.place
        return Asked(question.key, call.path, call.body, question.tenant, call.model, expires_ms, tags, place)

    def is_known(self, entry: Entry) -> bool:
        """Tell whether the cache has that very answer."""
        found = peek(self._cache, self._tier, entry.key)
        return found is not None and found.entry.answer == entry.answer

    def keep(self, entries: Sequence[Entry]) -> list[str | None]:
        """Keep some, with their vectors; say of each why it is not kept, or None."""
        asked = [(entry, self._questions.pop(entry.key)) for entry in entries]
        self._cache.embed([question for _, question in asked])
        if self._tier is None:
            return [self._remembered(*one) for one in asked]
        return self._written(self._tier, asked)

    def _remembered(self, entry: Entry, question: Question) -> str | None:
        memory = self._cache.store.memory
        if memory is None or entry.size > memory.max_bytes:
            return "too_large"
        memory.put(entry, keep_ms=self._keep_ms(entry), now_ms=self._cache.now_ms())
        self._cache.was_kept(entry, question)
        return None

    def _written(self, tier: DiskTier, asked: Sequence[tuple[Entry, Question]]) -> list[str | None]:
        cache = self._cache
        try:
            records = [
                (entry.key, encode(entry, secret=cache.store.secret), meta_of(entry, self._keep_ms(entry)))
                for entry, _ in asked
            ]
            tier.put_many(records, cache.now_ms(), beside=partial(_beside, [cache.beside(*one) for one in asked]))
        except (BadRecordError, ValueError):
            # One of them is too large: it must not take the others along.
            return ["too_large"] if len(asked) == 1 else [self._written(tier, [one])[0] for one in asked]
        for one in asked:
            cache.was_kept(*one)
        return [None] * len(asked)

    def _keep_ms(self, entry: Entry) -> int | None:
        return self._cache.expiry.keep_until_ms(entry.expires_ms)


def _beside(work: Sequence[Callable[[Lane], object] | None], lane: Lane) -> None:
    for one in work:
        if one is not None:
            one(lane)
