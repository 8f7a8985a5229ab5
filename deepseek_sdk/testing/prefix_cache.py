"""
The context cache on disk, as DeepSeek describes it.

A request hits only if it begins with a whole persisted unit. Units are whole blocks of 128 tokens from the start of the
prompt, persisted at the end of each input, at the end of each output, at fixed intervals, and where a request was seen
to share its beginning with an earlier one. They are usable after a delay and forgotten when nobody asks for them.
See https://api-docs.deepseek.com/guides/kv_cache; the number 128 is what every published measurement is a multiple of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["UNIT_TOKENS", "PrefixCache"]

UNIT_TOKENS = 128


@dataclass(slots=True)
class _Unit:
    usable_from: float
    forgotten_at: float


class PrefixCache:
    """
    The persisted prefixes of one account.

    Args:
        delay_s: Seconds until a new unit can be hit.
        ttl_s: Seconds after which a unit that nobody used is forgotten.
        interval_tokens: A unit is persisted at every multiple of this; a multiple of 128, or None for no such units.
    """

    def __init__(self, *, delay_s: float = 1.0, ttl_s: float = 3600.0, interval_tokens: int | None = 4096) -> None:
        if interval_tokens is not None and (interval_tokens <= 0 or interval_tokens % UNIT_TOKENS):
            raise ValueError(f"interval_tokens is a multiple of {UNIT_TOKENS} or None, not {interval_tokens!r}")
        self._delay_s = delay_s
        self._ttl_s = ttl_s
        self._interval = interval_tokens and interval_tokens // UNIT_TOKENS
        self._units: dict[Hashable, _Unit] = {}
        self._seen: dict[Hashable, float] = {}
        self._next_purge = 0.0

    def lookup(self, owner: Hashable, ids: Sequence[int], *, now: float) -> int:
        """
        Find the longest persisted unit that *ids* begins with.

        Args:
            owner: Whose cache it is: an account, a user and a model.
            ids: The tokens of the prompt.
            now: The time in seconds.

        Returns:
            The number of tokens read from the cache, a multiple of 128.
        """
        # "Each cached prefix is an independent, complete unit": there is no hit on a part of one.
        keys = _block_keys(owner, ids)
        for blocks in range(len(keys), 0, -1):
            unit = self._units.get(keys[blocks - 1])
            if unit is not None and unit.usable_from <= now < unit.forgotten_at:
                unit.forgotten_at = now + self._ttl_s
                return blocks * UNIT_TOKENS
        return 0

    def store(self, owner: Hashable, ids: Sequence[int], *, now: float) -> None:
        """
        Persist what an input, or an input with its output, leaves behind.

        Args:
            owner: Whose cache it is.
            ids: The tokens from the start of the prompt to the end of the input or of the output.
            now: The time in seconds at which that end was reached.
        """
        self._purge(now)
        keys = _block_keys(owner, ids)
        for blocks in self._ends(keys, now):
            unit = self._units.setdefault(keys[blocks - 1], _Unit(now + self._delay_s, 0.0))
            unit.forgotten_at = max(unit.forgotten_at, now + self._delay_s + self._ttl_s)
        self._seen.update(dict.fromkeys(keys, now + self._ttl_s))

    def clear(self) -> None:
        """Forget everything."""
        self._units.clear()
        self._seen.clear()

    def _ends(self, keys: Sequence[Hashable], now: float) -> set[int]:
        # Units are written at the ends of input and output, where a common prefix is detected, and at fixed intervals
        # (context caching guide).
        ends = {len(keys), self._shared_blocks(keys, now)}
        if self._interval:
            ends.update(range(self._interval, len(keys) + 1, self._interval))
        return ends - {0}

    def _shared_blocks(self, keys: Sequence[Hashable], now: float) -> int:
        for blocks in range(len(keys), 0, -1):
            if self._seen.get(keys[blocks - 1], now) > now:
                return blocks
        return 0

    def _purge(self, now: float) -> None:
        # Twice per lifetime is often enough to bound the memory and rare enough to cost nothing.
        if now < self._next_purge:
            return
        self._next_purge = now + self._ttl_s / 2
        self._units = {key: unit for key, unit in self._units.items() if unit.forgotten_at > now}
        self._seen = {key: until for key, until in self._seen.items() if until > now}


def _block_keys(owner: Hashable, ids: Sequence[int]) -> list[Hashable]:
    """Name each block by all that comes before it, so that equal names mean equal prefixes."""
    keys: list[Hashable] = []
    key: Hashable = owner
    for start in range(0, len(ids) - UNIT_TOKENS + 1, UNIT_TOKENS):
        key = hash((key, tuple(ids[start : start + UNIT_TOKENS])))
        keys.append(key)
    return keys
