"""What the cache would do with a call: looked at, and nothing changed or counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deepseek_sdk._background import Background
from deepseek_sdk._cache import CacheControl
from deepseek_sdk._clock import UNSET
from deepseek_sdk._finish import finish
from deepseek_sdk._io import SyncIO
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.caching import operations
from deepseek_sdk.caching.question import questioned
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from deepseek_sdk._cache import CacheDecision
    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.expiry import State
    from deepseek_sdk.caching.question import Question
    from deepseek_sdk.caching.store import Found

__all__ = ["Explanation", "explained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """
    What would happen to a call now.

    Attributes:
        status: What `report().cache.status` would say; "miss" also where nobody may be asked: then CacheMissError.
        reason: Why no kept answer is given, in one word: "no_answer", "expired", "too_old" (for *max-age*), "unjudged"
            (a stream was kept that nobody has judged), "control" (the call does not want one), "temperature",
            "no_key", "refused" (an equal call was, a moment ago), "unusable" (the disk); None: one is given.
        key: The SHA-256 of the request, or None where it has none.
        tenant: Whose it is, or None.
        level: Where the answer that is there is: "memory", "disk", or None where there is none.
        entry_id: Its name, or None.
        model: The model that gave it, or None.
        age: How old it is, in seconds, or None.
        expires: When it ends, in seconds since 1970, or None: never, or there is none.
        is_last_resort: It has ended, and is given where nobody answers.
        is_asked: A model would be asked.
        is_kept: A new answer would be kept, if it is complete.
        kept_until: When the new one would end, in seconds since 1970, or None: never, or it is not kept.
        decision: How kept answers to similar questions were judged, or None: they were not looked at. A hit with a
            decision is of such a question.
    """

    status: Literal["hit", "stale", "coalesced", "miss", "refresh", "bypass", "negative"]
    reason: str | None = None
    key: str | None = None
    tenant: str | None = None
    level: Literal["memory", "disk"] | None = None
    entry_id: str | None = None
    model: str | None = None
    age: float | None = None
    expires: float | None = None
    is_last_resort: bool = False
    is_asked: bool = False
    is_kept: bool = False
    kept_until: float | None = None
    decision: CacheDecision | None = None


def explained(cache: ExactCache, call: Call) -> Explanation:
    """
    Tell what would happen to a call.

    Args:
        cache: The cache.
        call: The call, as the stage sees it.

    Returns:
        That.
    """
    control = CacheControl() if call.options.cache is UNSET else call.options.cache
    if control.asks and not (control.reads or control.writes):
        return Explanation(status="bypass", reason="control", is_asked=True)
    question = questioned(call, cache.tenants, control, cache.limits, cache.similarly)
    if question is None:
        reason = "temperature" if cache.limits.is_too_warm(call.body) else "no_key"
        return Explanation(status="bypass" if control.asks else "miss", reason=reason, is_asked=control.asks)
    return _Look(cache, call, question).told()


class _Look:
    """One look at a cache."""

    def __init__(self, cache: ExactCache, call: Call, question: Question) -> None:
        self._cache = cache
        self._call = call
        self._question = question
        self._now_ms = cache.now_ms()

    def told(self) -> Explanation:
        if not self._question.control.reads:
            return self._asked("refresh", "control")
        found, missing = self._found(self._question.key)
        state = self._state(found)
        reason = missing if found is None else self._reason(found, state)
        if found is not None and reason is None:
            return self._given(found, state)
        similar = self._similar()
        if similar is not None:
            return self._given(similar, "fresh")
        if self._is_refused():
            return Explanation(status="negative", reason="refused", **self._facts(None), decision=self._decision)
        return self._asked("miss", reason or missing, found, state)

    def _found(self, key: str) -> tuple[Found | None, str]:
        try:
            with operations.opened(self._cache) as tier:
                return operations.peek(self._cache, tier, key), "no_answer"
        except ConfigurationError:
            # Calls go on without it, too.
            return None, "unusable"

    def _state(self, found: Found | None) -> State:
        if found is None:
            return "expired"
        return self._cache.expiry.state(found.entry, self._now_ms, self._question.control.max_age_s)

    def _similar(self) -> Found | None:
        similar, wording = self._cache.similar, self._question.wording
        if similar is None or wording is None:
            return None
        from deepseek_sdk.caching.similar import Answers  # noqa: PLC0415  only where there is such a tier

        async def look(key: str) -> Found | None:
            return self._found(key)[0]

        answers = Answers(look, lambda entry: self._cache.is_usable(entry, self._question), is_quiet=True)
        return finish(similar.look(SyncIO(Background(), Watchdog()), wording, answers))

    @property
    def _decision(self) -> CacheDecision | None:
        return None if self._question.wording is None else self._question.wording.decision

    def _is_refused(self) -> bool:
        negative = self._cache.negative
        place, now = self._question.place(self._call), self._call.io.now()
        return negative is not None and negative.get(place, now) is not None

    def _reason(self, found: Found, state: State) -> str | None:
        if not self._question.may_have(found.entry):
            return "unjudged"
        if state in ("fresh", "stale"):
            return None
        is_too_old = self._cache.expiry.state(found.entry, self._now_ms) in ("fresh", "stale")
        return "too_old" if is_too_old else "expired"

    def _given(self, found: Found, state: State) -> Explanation:
        status: Literal["hit", "stale"] = "stale" if state == "stale" else "hit"
        told = {**self._facts(found), **self._new(is_asked=state == "stale")}
        return Explanation(status=status, decision=self._decision, **told)

    def _asked(
        self, status: Literal["miss", "refresh"], reason: str, found: Found | None = None, state: State = "expired"
    ) -> Explanation:
        is_shared = self._question.control.asks and self._cache.flights.is_under_way(self._question.place(self._call))
        is_usable = found is not None and self._question.may_have(found.entry)
        return Explanation(
            status="coalesced" if is_shared else status,
            reason=reason,
            is_last_resort=is_usable and state == "error_only",
            decision=self._decision,
            **self._facts(found),
            **self._new(is_asked=self._question.control.asks and not is_shared),
        )

    def _facts(self, found: Found | None) -> dict[str, Any]:
        told: dict[str, Any] = {"key": self._question.key, "tenant": self._question.tenant}
        if found is None:
            return told
        entry = found.entry
        return told | {
            "level": found.level,
            "entry_id": entry.id,
            "model": entry.model,
            "age": max(self._now_ms - entry.created_ms, 0) / 1000,
            "expires": None if entry.expires_ms is None else entry.expires_ms / 1000,
        }

    def _new(self, *, is_asked: bool) -> dict[str, Any]:
        """Tell what would become of a new answer."""
        control, call = self._question.control, self._call
        if not (is_asked and control.writes):
            return {"is_asked": is_asked}
        until_ms = self._cache.expiry.expires_ms(
            key=self._question.key,
            asked=call.record.asked or call.model,
            model=call.model,
            tags=tuple(call.record.tags.items()),
            created_ms=self._now_ms,
            ttl_cap_s=control.ttl_s,
        )
        return {"is_asked": True, "is_kept": True, "kept_until": None if until_ms is None else until_ms / 1000}
