"""`ExactCache`: keeps answers, and gives them to requests that are the same in every field."""

from __future__ import annotations

import os
import random
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching import exchange, explaining, operations
from deepseek_sdk.caching.admission import Limits
from deepseek_sdk.caching.claims import Claims, new_owner
from deepseek_sdk.caching.eviction import policy_of
from deepseek_sdk.caching.expiry import Expiry
from deepseek_sdk.caching.flight import Flights
from deepseek_sdk.caching.frames import add_frame, frame_of, room_of
from deepseek_sdk.caching.identity import Tenants, query_of
from deepseek_sdk.caching.making import Answered, is_as_wanted, made
from deepseek_sdk.caching.memory import MemoryTier
from deepseek_sdk.caching.negative import NegativeCache
from deepseek_sdk.caching.quota import Quota
from deepseek_sdk.caching.stats import Tally
from deepseek_sdk.caching.store import Store
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number
from deepseek_sdk.structured.schemas import Validators

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta
    from typing import BinaryIO, TextIO

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._sse import Event
    from deepseek_sdk.caching.embedding.service import EmbeddingService
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exchange import Imported
    from deepseek_sdk.caching.explaining import Explanation
    from deepseek_sdk.caching.frames import Frame
    from deepseek_sdk.caching.guarded import GuardedDisk
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.lessons import Lessons
    from deepseek_sdk.caching.meta import Row
    from deepseek_sdk.caching.operations import Invalidated
    from deepseek_sdk.caching.question import Question
    from deepseek_sdk.caching.similar import Similar, Wording
    from deepseek_sdk.caching.stats import CacheStats

__all__ = ["ExactCache", "default_path"]

_MAX_BYTES = 1024 * 2**20
_MEMORY_BYTES = 64 * 2**20
_MAX_ENTRY_BYTES = 2**20
_DAY_S = 86_400.0
# How often the filter of keys may send a lookup to the disk in vain.
_FILTER_RATE = 0.01


def default_path() -> Path:
    """
    Say where the answers of a user are kept, unless he wants them elsewhere.

    Returns:
        The directory.
    """
    import platformdirs  # noqa: PLC0415  not part of importing the library

    return Path(platformdirs.user_cache_dir("deepseek-sdk", appauthor=False)) / "answers"


class ExactCache:
    """
    Keeps answers, in memory and on disk, and gives them to requests that are the same in every field.

        ExactCache()                               in the user's cache directory
        ExactCache("answers")                      there; several processes may use it at the same time
        ExactCache(max_bytes=0)                    in memory alone
        ExactCache(ttl_s=3600)                     an answer is given for an hour
        ExactCache(ttl_by_tag={"news": 60})        one with this tag for a minute
        ExactCache(stale_if_error_s=86400)         where nobody answers, one that ended within a day is better than none
        ExactCache(secret="...")                   records are signed: who has not the secret cannot plant one
        ExactCache(keep_requests=True)             what is asked before the daily peak: `client.cache.prewarm()`

    Several clients, of both colours, may be given the same one: equal calls of theirs that are under way at the same
    time are asked once.

    Args:
        path: The directory, on a disk of this machine; None for the user's cache directory.
        ttl_s: For how long an answer is given, in seconds, 10 % more or less; None: until there is no room.
        ttl_by_tag: The same for tags of calls, "key" or "key=value": the shortest that applies is taken.
        ttl_by_model: The same for models.
        stale_while_revalidate_s: For how long after its end an answer is given while a new one is fetched, in seconds.
        stale_if_error_s: For how long after its end it is given where no new one can be had.
        max_bytes: How much the answers on disk may take; 0: there is no disk.
        memory_bytes: How much the answers in memory may take; 0: there are none.
        max_entry_bytes: How large one may be.
        max_temperature: The highest temperature at which answers are kept and given, or None: any.
        eviction: Which go when there is no room: "s3-fifo", "lru", "lfu" or "lru-k".
        key_filter: A Bloom filter tells what is not on disk, without a look at it. It costs more than it saves where
            the disk is a local one.
        negative_ttl_s: For how long an equal call is refused as the server refused one, in seconds; None: never.
        secret: What records are signed with, or None.
        tenant_max_bytes: How much the answers of one tenant may take on disk, or None.
        tenant_writes_per_minute: How many answers of one tenant are kept in a minute, or None: any number.
        canary_share: What share of the hits is compared with a new answer, in the background, from 0 to 1.
        pace: How fast a stream is given again, in characters per second; None: at once.
        claim_s: For how long another process that asks the same is waited for, in seconds; None: not at all. One that
            has died is not waited for.
        keep_requests: What a request is beside the user's last text is kept on disk, too, so that
            `client.cache.prewarm()` can ask it anew: instructions, earlier turns, examples and tools then lie there to
            be read, up to 16 KiB for each kind of request. Without it only a hash of them does.
        wall: Tells the time, in seconds since 1970.
        chance: Gives a number from 0 to 1, for the canaries.

    Raises:
        ConfigurationError: One of them cannot be used.
        MissingExtraError: The extra `cache` is not installed, which a disk needs.
    """

    # The semantic tier, and what looks at a call of a tenant as that does; there is none here.
    similar: Similar | None = None
    similarly: Callable[[Call, str], Wording] | None = None
    lessons: Lessons | None = None
    service: EmbeddingService | None = None

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ttl_s: float | None = _DAY_S,
        ttl_by_tag: Mapping[str, float] | None = None,
        ttl_by_model: Mapping[str, float] | None = None,
        stale_while_revalidate_s: float = 0.0,
        stale_if_error_s: float = 0.0,
        max_bytes: int = _MAX_BYTES,
        memory_bytes: int = _MEMORY_BYTES,
        max_entry_bytes: int = _MAX_ENTRY_BYTES,
        max_temperature: float | None = None,
        eviction: str = "s3-fifo",
        key_filter: bool = False,
        negative_ttl_s: float | None = 45.0,
        secret: str | bytes | None = None,
        tenant_max_bytes: int | None = None,
        tenant_writes_per_minute: int | None = None,
        canary_share: float = 0.0,
        pace: float | None = None,
        claim_s: float | None = 60.0,
        keep_requests: bool = False,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        check_count("max_bytes", max_bytes, least=0)
        check_count("memory_bytes", memory_bytes, least=0)
        if not max_bytes and not memory_bytes:
            raise ConfigurationError("max_bytes and memory_bytes are both 0: nothing could be kept")
        _check_share(canary_share)
        if pace is not None:
            check_number("pace", pace, least=1)
        if claim_s is not None:
            check_number("claim_s", claim_s, least=1)
        self.expiry = Expiry(
            ttl_s=ttl_s,
            by_tag=ttl_by_tag or {},
            by_model=ttl_by_model or {},
            stale_while_revalidate_s=stale_while_revalidate_s,
            stale_if_error_s=stale_if_error_s,
        )
        self.limits = Limits(max_entry_bytes=max_entry_bytes, max_temperature=max_temperature)
        self.negative = None if negative_ttl_s is None else NegativeCache(negative_ttl_s)
        self.pace = pace
        self.keep_requests = keep_requests
        self.tally = Tally()
        self.flights = Flights()
        self.tenants = Tenants()
        self.path = None if not max_bytes else _directory(path)
        self._canary_share = canary_share
        self._chance = chance
        self._wall = wall
        self._claim_s = claim_s
        self._validators = Validators()
        self._owner = PerProcess(new_owner)
        self._quota = Quota(max_bytes=tenant_max_bytes, writes_per_minute=tenant_writes_per_minute)
        # A mistake is told now, and not when the first answer is kept.
        policy_of(eviction)
        self.store = Store(
            lambda: MemoryTier(memory_bytes, policy_of(eviction)) if memory_bytes else None,
            None if self.path is None else self._disk(self.path, max_bytes, eviction, key_filter=key_filter),
            secret=_secret(secret),
            count=self.tally.fail,
        )

    def __repr__(self) -> str:
        return f"ExactCache({'max_bytes=0' if self.path is None else repr(str(self.path))})"

    def _disk(self, path: Path, max_bytes: int, eviction: str, *, key_filter: bool) -> GuardedDisk:
        from deepseek_sdk.caching.disk import DiskTier  # noqa: PLC0415  only where there is a disk
        from deepseek_sdk.caching.guarded import GuardedDisk  # noqa: PLC0415  likewise

        def make(write_hits_soon: Callable[[], None]) -> DiskTier:
            rate = _FILTER_RATE if key_filter else None
            return DiskTier(path, max_bytes=max_bytes, policy=eviction, filter_rate=rate, when_due=write_hits_soon)

        return GuardedDisk(make, self.tally.fail, self.now_ms)

    def now_ms(self) -> int:
        """Tell the time, in milliseconds since 1970."""
        return int(self._wall() * 1000)

    def draws_canary(self) -> bool:
        """Decide by chance whether a hit is compared with a new answer."""
        return self._canary_share > 0 and self._chance() < self._canary_share

    def is_usable(self, entry: Entry, question: Question) -> bool:
        """
        Say whether a kept answer may be given, and is within its time.

        Args:
            entry: The answer.
            question: What is asked.

        Returns:
            Whether it may.
        """
        return (
            question.may_have(entry) and self.expiry.state(entry, self.now_ms(), question.control.max_age_s) == "fresh"
        )

    def entry_of(
        self, call: Call, question: Question, content: bytes, events: Sequence[Event] | None, *, began_ms: int
    ) -> tuple[Entry | None, str | None]:
        """
        Make of an answer what is kept; this takes a while.

        Args:
            call: What was asked upstream; its record tells how it went.
            question: The same as the cache sees it.
            content: The JSON answer.
            events: The events of a stream, or None.
            began_ms: When it was asked, in milliseconds since 1970.

        Returns:
            What is kept, or why nothing is, in one word.
        """
        is_sound = not question.is_judged or is_as_wanted(call.body, content, self._validators)
        answered = Answered(call, content, events, is_sound, began_ms)
        entry, refused = made(answered, question, expiry=self.expiry, limits=self.limits)
        if refused is not None:
            self.tally.refuse(refused)
        return entry, refused

    def frame_of(self, call: Call) -> Frame | None:
        """
        Take apart what is kept of a request beside its answer; this may take a while.

        Args:
            call: What was asked.

        Returns:
            All but the last text of the user, or None: that is not kept.
        """
        if not self.keep_requests or self.store.disk is None:
            return None
        return frame_of(call.path, call.body, query_of(call))

    async def keep(
        self, io: IO, entry: Entry, question: Question | None = None, frame: Frame | None = None
    ) -> str | None:
        """
        Keep an answer.

        Args:
            io: The caller's.
            entry: The answer.
            question: What was asked, or None: nobody has, the answer comes from elsewhere.
            frame: What is kept of the request, or None: nothing is.

        Returns:
            Why it is not kept, in one word, or None.
        """
        held = None
        if self._quota.max_bytes is not None and self.store.disk is not None:
            held = await self.store.disk.read(io, lambda tier: tier.tenant_bytes(entry.tenant), None)
        refused = self._quota.refusal(entry, held, time.monotonic_ns())
        if refused is not None:
            self.tally.refuse(refused)
            return refused
        keep_ms = self.expiry.keep_until_ms(entry.expires_ms)
        await self.store.keep(io, entry, keep_ms, self.now_ms(), beside=self.beside(entry, question, frame))
        self.was_kept(entry, question)
        self.tally.count("stored")
        return None

    def beside(
        self,
        entry: Entry,
        question: Question | None,  # noqa: ARG002  other caches have more to write
        frame: Frame | None = None,
    ) -> Callable[[Lane], object] | None:
        """
        Give what is written in the transaction of an answer.

        Args:
            entry: The answer.
            question: What was asked, or None: nobody knows.
            frame: What is kept of the request, or None: nothing is.

        Returns:
            Writes it, or None: there is nothing.
        """
        if frame is None or self.store.disk is None:
            return None
        room = room_of(self.store.disk.tier.max_bytes)
        return partial(add_frame, partition=entry.partition, frame=frame, room=room)

    def was_kept(self, entry: Entry, question: Question | None) -> None:
        """
        Do what is to be done once an answer is kept.

        Args:
            entry: The answer.
            question: What was asked, or None: nobody knows.
        """

    def embed(self, questions: Sequence[Question]) -> None:
        """
        Make ready what `beside()` will need, for many at once; this may take long.

        Args:
            questions: What was asked.
        """

    @property
    def has_claims(self) -> bool:
        """Whether other processes are waited for."""
        return self.store.disk is not None and self._claim_s is not None

    async def claim(self, io: IO, question: Question) -> bool:
        """
        Let other processes that ask the same wait.

        Args:
            io: The caller's.
            question: What is asked.

        Returns:
            False where another process was first.
        """
        disk, lease_s = self.store.disk, self._claim_s
        if disk is None or lease_s is None:
            return True
        now_ms, owner = self.now_ms(), self._owner
        return await disk.write(io, lambda tier: Claims(tier).take(question.key, owner.get(), lease_s, now_ms), True)

    async def is_claimed(self, io: IO, question: Question) -> bool:
        """
        Say whether another process asks the same.

        Args:
            io: The caller's.
            question: What is asked.

        Returns:
            Whether one does.
        """
        disk, now_ms = self.store.disk, self.now_ms()
        if disk is None:
            return False
        return await disk.read(io, lambda tier: Claims(tier).is_held(question.key, now_ms), False)

    def release(self, question: Question) -> None:
        """
        Let other processes that ask the same wait no longer; nobody waits for it.

        Args:
            question: What was asked.
        """
        if self.store.disk is not None and self._claim_s is not None and question.may_wait:
            self.store.disk.write_soon(lambda tier: Claims(tier).release(question.key, self._owner.get()))

    def stats(self) -> CacheStats:
        """Tell what the cache has done in this process, and what it holds; this reads the disk."""
        return operations.stats(self)

    def explain(self, call: Call) -> Explanation:
        """
        Tell what would happen to a call now, and change nothing.

        Args:
            call: It; `client.cache.explain()` makes it of the arguments of `create()`.

        Returns:
            That.
        """
        return explaining.explained(self, call)

    def ls(
        self, *, tag: str | None = None, model: str | None = None, tenant: str | None = None, limit: int | None = None
    ) -> list[Row]:
        """
        List answers, the newest first.

        Args:
            tag: With this tag: "key" or "key=value".
            model: Asked of, or answered by, this model.
            tenant: Of this tenant: the word that calls are given, or what a row shows.
            limit: How many at most; None: all.

        Returns:
            What is known of each.

        Raises:
            ConfigurationError: An argument, or the disk, cannot be used.
        """
        return operations.ls(self, tag=tag, model=model, tenant=tenant, limit=limit)

    def inspect(self, name: str) -> Entry | None:
        """
        Give one answer with all that is known of it.

        Args:
            name: Its id, or the beginning of its key.

        Returns:
            It; None where there is none, or its record cannot be read.

        Raises:
            ConfigurationError: Several begin like that, or the disk cannot be used.
        """
        return operations.inspect(self, name)

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
        """
        Remove answers, for all processes; what is asked just now is kept when it comes.

        Args:
            tag: Those with this tag: "key" or "key=value".
            model: Those asked of, or answered by, this model.
            older_than: Those kept so long ago: seconds, a timedelta, "7d" or "24h"; or before a date.
            tenant: Those of this tenant: the word that calls are given, or what `ls()` shows.
            key: The one with this key or id.
            dry_run: Only tell how many there are.

        Returns:
            How many there were for which all of that holds.

        Raises:
            ConfigurationError: Nothing is given (`flush()` empties the cache), or the disk cannot be used.
        """
        selection = operations.selected(
            tag=tag, model=model, older_than=older_than, tenant=tenant, key=key, now_ms=self.now_ms()
        )
        if self.negative is not None and not dry_run:
            self.negative.clear()
        return operations.invalidate(self, selection, dry_run=dry_run)

    def flush(self) -> Invalidated:
        """
        Empty the cache: from now on no process gives what was kept before; then it is removed.

        Returns:
            How many answers were removed.

        Raises:
            ConfigurationError: The disk cannot be used.
        """
        return operations.flush(self)

    def compact(self) -> int:
        """
        Remove what is past its time, and give its room back to the disk.

        Returns:
            How many answers went.

        Raises:
            ConfigurationError: The disk cannot be used.
        """
        return operations.compact(self)

    def export(
        self, target: str | os.PathLike[str] | TextIO | BinaryIO, *, tag: str | None = None, model: str | None = None
    ) -> int:
        """
        Write answers to a file, a line of JSON each.

        It holds the last texts of users, the answers, and whose they are: the caller's word, or a hash of the API key;
        never the key.

        Args:
            target: A path, or a file that is open for writing. At a path the file is put in place when it is whole, and
                only the user may read it.
            tag: Those with this tag: "key" or "key=value".
            model: Those asked of, or answered by, this model.

        Returns:
            How many.

        Raises:
            ConfigurationError: An argument, or the disk, cannot be used.
            OSError: The file cannot be written.
        """
        return exchange.take_out(self, target, operations.selected(tag=tag, model=model))

    def import_(self, source: str | os.PathLike[str] | TextIO | BinaryIO, *, tenant: str | None = None) -> Imported:
        """
        Keep answers that were exported, but for those that are expired, or older than what is kept already.

        Every line is checked, and what cannot be used is skipped, counted and logged with its number. Whether an answer
        is what a model said to that request, nobody can check.

        Args:
            source: A path, or a file that is open for reading.
            tenant: Only those of this tenant; None: all.

        Returns:
            How many were kept, and how many lines were skipped, by the reason.

        Raises:
            ConfigurationError: An argument, or the disk, cannot be used; what was kept up to then stays.
            OSError: The file cannot be read.
        """
        return exchange.bring_in(self, source, tenant=tenant)

    def close(self) -> None:
        """Write down what waits, and let go of the files; a client that is still used opens them again."""
        if self.store.disk is not None:
            self.store.disk.close()


def _directory(path: Any) -> Path:
    if path is None:
        return default_path()
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ConfigurationError(f"path must be the name of a directory or None, not {path!r}")
    return Path(path).expanduser().absolute()


def _check_share(share: Any) -> None:
    check_number("canary_share", share, least=0)
    if share > 1:
        raise ConfigurationError(f"canary_share must be at most 1, not {share!r}")


def _secret(secret: Any) -> bytes | None:
    if not isinstance(secret, str | bytes | None) or secret in {"", b""}:
        raise ConfigurationError("secret must be a string or bytes that are not empty, or None")
    return secret.encode() if isinstance(secret, str) else secret
