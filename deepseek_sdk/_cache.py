"""What a call may have of the cache, and what became of that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._usage import Usage
    from deepseek_sdk.pricing.cost import Cost

__all__ = ["CacheControl", "CacheDecision", "CacheOutcome", "CacheStatus"]

CacheStatus = Literal["hit", "stale", "coalesced", "miss", "refresh", "bypass", "negative"]

_WORDS: dict[str, dict[str, bool]] = {
    "bypass": {"reads": False, "writes": False},
    "refresh": {"reads": False},
    "only": {"asks": False},
    "no-store": {"writes": False},
}
_SECONDS = {"max-age": "max_age_s", "ttl": "ttl_s"}
_DIRECTIVE = re.compile(r"([a-z-]+)(?:=(\d{1,12}(?:\.\d{1,9})?))?")
_CHOICES = (
    "'bypass', 'refresh', 'only', 'no-store', 'max-age=SECONDS', 'ttl=SECONDS', several with commas between, or a "
    "CacheControl (a cache itself is given to Client(cache=...))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheControl:
    """
    What a call may have of the cache. Whatever is said nearer to the call can only forbid more.

        CacheControl()                               it is looked up, and a new answer is kept
        CacheControl.parse("bypass")                 neither: as if there were no cache
        CacheControl.parse("refresh")                the model is asked, and the new answer takes the old one's place
        CacheControl.parse("only")                   nobody is asked: a miss raises CacheMissError
        CacheControl.parse("no-store")               it is looked up, and nothing is kept
        CacheControl.parse("max-age=60, ttl=3600")   at most a minute old; what is new is kept for an hour at most

    Attributes:
        reads: A kept answer may be used.
        writes: A new answer may be kept.
        asks: A model may be asked.
        max_age_s: How old a kept answer may be, in seconds, or None: as old as the cache allows.
        ttl_s: For how long a new answer is kept at most, in seconds, or None: as long as the cache keeps it.
    """

    reads: bool = True
    writes: bool = True
    asks: bool = True
    max_age_s: float | None = None
    ttl_s: float | None = None

    @classmethod
    def parse(cls, text: object) -> Self:
        """
        Read what a caller or a header says.

        Args:
            text: Directives with commas between them, a CacheControl, or None, which says "bypass".

        Returns:
            The control.

        Raises:
            ConfigurationError: It says something else; the message lists what can be said.
        """
        if isinstance(text, cls):
            return text
        said = "bypass" if text is None else text
        if not isinstance(said, str):
            raise _unknown(text)
        given: dict[str, Any] = {}
        for part in said.lower().split(","):
            given |= _directive(part.strip(), text)
        if given.get("reads") is False and given.get("asks") is False:
            raise ConfigurationError(f"cache={text!r} leaves nothing: no kept answer may be used, and nobody asked")
        return cls(**given)

    def tightened(self, other: CacheControl) -> CacheControl:
        """
        Forbid what either forbids.

        Args:
            other: What else is said.

        Returns:
            Both together.
        """
        return CacheControl(
            reads=self.reads and other.reads,
            writes=self.writes and other.writes,
            asks=self.asks and other.asks,
            max_age_s=_least(self.max_age_s, other.max_age_s),
            ttl_s=_least(self.ttl_s, other.ttl_s),
        )


def _directive(part: str, said: object) -> dict[str, Any]:
    found = _DIRECTIVE.fullmatch(part)
    name, value = found.groups() if found else ("", None)
    if value is None and name in _WORDS:
        return dict(_WORDS[name])
    if value is not None and name in _SECONDS:
        return {_SECONDS[name]: float(value)}
    raise _unknown(said)


def _unknown(said: object) -> ConfigurationError:
    return ConfigurationError(f"cache must be {_CHOICES}, not {said!r}")


def _least(one: float | None, other: float | None) -> float | None:
    return min((value for value in (one, other) if value is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDecision:
    """
    Why the kept answer to a similar question was given, or not.

    Attributes:
        reason: "served"; "guard": the two differ in something that a guard sees; "below": too uncertain; "vetoed",
            "quarantined": somebody said so of the nearest, and no other is sure enough; "verifier": what the caller has
            it checked with said no; "gone": the answer is no longer there; "unusable": it is not for this call;
            "no_candidate": nothing is kept to compare with;
            "volatile", "personal", "length", "content", "empty", "role": `Eligibility` has the exact tier alone answer;
            "loading", "slow", "off", "failed": nothing could be compared.
        similarity: The cosine of the two questions, or None: nothing was compared.
        score: How sure it is that one answer does for both, in logits, or None.
        probability: The same from 0 to 1, by the data that the score was fitted to, or None.
        threshold: What the score has to exceed, or None.
        margin: By how much the similarity exceeds that of the next question with another answer, or None.
        guard: The guard that said no, or None.
        correction: What labels of this answer have added to the score, in logits.
        candidates: How many kept questions were looked at.
        entry_id: The kept answer that it is about, or None.
        kept: The kept question that it is about, or None.
        place: What all of the request but the text comes to, or None.
    """

    reason: str
    similarity: float | None = None
    score: float | None = None
    probability: float | None = None
    threshold: float | None = None
    margin: float | None = None
    guard: str | None = None
    correction: float = 0.0
    candidates: int = 0
    entry_id: str | None = None
    kept: str | None = field(default=None, repr=False)
    place: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOutcome:
    """
    What became of a call in the cache.

    Attributes:
        status: "hit"; "stale": a hit past its time; "coalesced": the answer of an equal call that was under way;
            "miss"; "refresh", "bypass": it was not looked up; "negative": a refusal of a moment ago.
        tier: How it was found: "exact", "semantic", or None: it was not.
        level: Where: "memory", "disk", "flight", or None.
        similarity: How alike the two requests are, from 0 to 1: 1.0 for an exact hit; None where none was found.
        guard: What decided against a similar request, or None.
        entry_id: The name of the kept answer, or None.
        age: How old it is, in seconds, or None.
        created_ms: When it was asked for, in milliseconds since 1970, or None; what takes its place has another time.
        refused: Why a new answer is not kept, in one word, or None.
        usage: The tokens of the answer when it was generated; this call used none of them.
        model: The model that gave it, or None.
        price: Tells what the same answer would cost now, or None: nobody can.
        decision: How kept answers to similar questions were judged, or None: they were not looked at.
        question: The text that was compared, or None; it is what `feedback()` learns by.
    """

    status: CacheStatus
    tier: Literal["exact", "semantic"] | None = None
    level: Literal["memory", "disk", "flight"] | None = None
    similarity: float | None = None
    guard: str | None = None
    entry_id: str | None = None
    age: float | None = None
    created_ms: int | None = None
    refused: str | None = None
    usage: Usage | None = None
    model: str | None = None
    price: Callable[[Usage, str], Cost | None] | None = field(default=None, repr=False)
    decision: CacheDecision | None = None
    question: str | None = field(default=None, repr=False)

    @property
    def hit(self) -> bool:
        """Whether the answer is a kept one, so that nobody was asked."""
        return self.status in ("hit", "stale")

    @property
    def is_free(self) -> bool:
        """Whether the answer cost this call nothing: a kept one, or that of an equal call."""
        return self.status in ("hit", "stale", "coalesced")

    @property
    def saved(self) -> Cost | None:
        """What the answer would have cost, all of its prompt at the price of the server's own cache; None: unknown."""
        if not self.is_free or self.usage is None or self.model is None or self.price is None:
            return None
        return self.price(self.usage, self.model)

    def __getstate__(self) -> list[Any]:
        # A copy of an answer does not take the client's prices along: the saving is worked out, and that is it.
        told = partial(_told, self.saved)
        return [told if item.name == "price" else getattr(self, item.name) for item in fields(self)]


def _told(saved: Cost | None, _usage: Usage, _model: str) -> Cost | None:
    return saved
