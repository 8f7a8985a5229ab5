"""What a cache has done so far."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import PerProcess
from deepseek_sdk._usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._cache import CacheDecision, CacheOutcome

__all__ = ["CacheStats", "Tally"]


_NO_TOKENS = Usage(hit=0, miss=0, output=0, reasoning=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """
    What a cache has done since it was made, in this process, and what it holds.

    Attributes:
        lookups: Calls that looked for an answer.
        hits: Calls that a kept answer was given to; *stale* of these were past their time.
        semantic: The hits whose question was worded in another way.
        by_level: The hits by where they were found: "memory", "disk".
        decisions: What the semantic tier decided, by the reason (see `CacheDecision`).
        guards: How often each guard decided.
        coalesced: Calls that got the answer of an equal call that was under way.
        misses: Calls for which a model was asked.
        refreshed: Calls that asked without looking.
        bypassed: Calls that had nothing to do with the cache.
        negative: Calls that were refused as an equal one had been a moment ago.
        stored: Answers kept.
        refused: Answers not kept, by the reason.
        errors: What went wrong with the tiers, by the reason.
        revalidated: Background calls that renewed an answer.
        canaries: Background calls that compared a kept answer with a new one; *differing* of these differed.
        tokens_saved: What the hits and the coalesced calls would have used.
        cny_saved: What that would have cost with all prompts in the server's own cache, as far as prices are known.
        usd_saved: Likewise.
        entries: How many answers are on disk, or in memory where there is no disk; None: that cannot be read.
        bytes: What they take, likewise.
        memory_entries: How many are in memory.
        memory_bytes: What these take.
        filter_rate: Measured share of the key filter's false alarms, or None: there is no filter.
    """

    lookups: int = 0
    hits: int = 0
    stale: int = 0
    semantic: int = 0
    by_level: Mapping[str, int] = field(default_factory=dict)
    decisions: Mapping[str, int] = field(default_factory=dict)
    guards: Mapping[str, int] = field(default_factory=dict)
    coalesced: int = 0
    misses: int = 0
    refreshed: int = 0
    bypassed: int = 0
    negative: int = 0
    stored: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    revalidated: int = 0
    canaries: int = 0
    differing: int = 0
    tokens_saved: Usage = field(default_factory=lambda: _NO_TOKENS)
    cny_saved: Decimal = Decimal(0)
    usd_saved: Decimal = Decimal(0)
    entries: int | None = 0
    bytes: int | None = 0
    memory_entries: int = 0
    memory_bytes: int = 0
    filter_rate: float | None = None

    @property
    def hit_rate(self) -> float:
        """The share of lookups that a kept answer was given to, from 0 to 1."""
        return self.hits / self.lookups if self.lookups else 0.0


class Tally:
    """Counts what a cache does; any thread may."""

    def __init__(self) -> None:
        # How a forgotten stream ended is counted inside the garbage collector, maybe in a thread that counts just now.
        self._locks = PerProcess(threading.RLock)
        self._counts: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._levels: Counter[str] = Counter()
        self._decisions: Counter[str] = Counter()
        self._guards: Counter[str] = Counter()
        self._tokens = _NO_TOKENS
        self._saved = {"cny": Decimal(0), "usd": Decimal(0)}

    def count(self, name: str) -> None:
        """
        Count something.

        Args:
            name: A field of `CacheStats`.
        """
        with self._locks.get():
            self._counts[name] += 1

    def refuse(self, reason: str) -> None:
        """
        Count an answer that is not kept.

        Args:
            reason: Why, in one word.
        """
        with self._locks.get():
            self._refused[reason] += 1

    def fail(self, reason: str) -> None:
        """
        Count a failure of a tier.

        Args:
            reason: What, in one word.
        """
        with self._locks.get():
            self._errors[reason] += 1

    def decide(self, decision: CacheDecision) -> None:
        """
        Count what the semantic tier decided.

        Args:
            decision: That.
        """
        with self._locks.get():
            self._decisions[decision.reason] += 1
            if decision.guard is not None:
                self._guards[decision.guard] += 1

    def note(self, outcome: CacheOutcome) -> None:
        """
        Count what became of a call.

        Args:
            outcome: That.
        """
        saved = outcome.saved
        with self._locks.get():
            self._counts.update(_COUNTED[outcome.status])
            if outcome.hit and outcome.level is not None:
                self._levels[outcome.level] += 1
                self._counts["semantic"] += outcome.tier == "semantic"
            if outcome.is_free and outcome.usage is not None:
                self._tokens += outcome.usage
            if saved is not None:
                self._saved["cny"] += saved.cny or 0
                self._saved["usd"] += saved.usd or 0

    def stats(self, **held: Any) -> CacheStats:
        """
        Tell all of it.

        Args:
            **held: What the cache holds.

        Returns:
            The counts.
        """
        with self._locks.get():
            return CacheStats(
                **self._counts,
                by_level=dict(self._levels),
                decisions=dict(self._decisions),
                guards=dict(self._guards),
                refused=dict(self._refused),
                errors=dict(self._errors),
                tokens_saved=self._tokens,
                cny_saved=self._saved["cny"],
                usd_saved=self._saved["usd"],
                **held,
            )


_COUNTED = {
    "hit": ("lookups", "hits"),
    "stale": ("lookups", "hits", "stale"),
    "coalesced": ("lookups", "coalesced"),
    "miss": ("lookups", "misses"),
    "refresh": ("refreshed",),
    "bypass": ("bypassed",),
    "negative": ("lookups", "negative"),
}
