"""`Peaks`: what the files say of the peak to come, and what is written down of the one that is over."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.claims import Claims, new_owner
from deepseek_sdk.caching.operations import opened, peek
from deepseek_sdk.caching.warming.history import Hours, asks, known
from deepseek_sdk.caching.warming.memory import remember, remembered, settled
from deepseek_sdk.caching.warming.planning import planned, requested
from deepseek_sdk.caching.warming.schedule import Budget, Rollout
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.period import BEIJING, instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import tzinfo
    from pathlib import Path

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.embedding.service import EmbeddingService
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.warming.history import Ask, Known
    from deepseek_sdk.caching.warming.nearness import Vectors
    from deepseek_sdk.caching.warming.planning import Plan, Request
    from deepseek_sdk.caching.warming.schedule import Window
    from deepseek_sdk.ledger.period import Instant

__all__ = ["Coming", "Peaks", "Wants", "vectors_of"]

_log = logging.getLogger("deepseek_sdk")

# What is asked less often than so many others is no candidate.
_CANDIDATES = 2_000
# Of several processes with one cache, one asks; it holds this for so long beyond the peak, in seconds.
_CLAIM, _BEYOND_S = "prewarm", 60.0
# Texts at a time, and how long a model, and these, may take in seconds.
_TEXTS, _VECTORS_S = 64, 120.0


class Wants(NamedTuple):
    """
    What the user wants of it.

    Attributes:
        budget: What one peak may cost.
        share: Which part of the traffic of a peak, or None: as much as has paid so far.
        at_once: How many calls go on at a time.
        since: What is older does not count.
        clock: By which clock hours are told.
        is_dear: Says of an instant whether calls cost more then.
    """

    budget: Budget = Budget()
    share: float | None = None
    at_once: int = 1
    since: Instant = "30d"
    clock: tzinfo = BEIJING
    is_dear: Callable[[float], bool] | None = None


class Coming(NamedTuple):
    """
    What is asked before a peak.

    Attributes:
        window: The peak.
        starts: When to begin, in seconds since 1970.
        questions: The requests, each with what it is expected to cost, in CNY, or None.
        planned_ms: When that was decided, in milliseconds since 1970.
    """

    window: Window
    starts: float
    questions: tuple[tuple[Request, float | None], ...]
    planned_ms: int


class Peaks:
    """
    Plans for peaks and remembers them, in the database of a cache. All methods block, and any thread may call them.

    Args:
        cache: It; it has a disk.
        ledger: Writes down what waits to be, and says where the ledger is.
        own: Whose calls are that name no tenant, as the cache writes it, or None: nobody's that is known.
        wants: What the user wants.

    Attributes:
        skipped: How many questions cannot be asked, by the reason: "foreign": of another API key; "given": the answer
            comes from elsewhere; "no_frame" and "other_request": the rest of the request was not kept.
    """

    def __init__(self, cache: ExactCache, ledger: Callable[[], Path], own: str | None, wants: Wants) -> None:
        self._cache = cache
        self._ledger = ledger
        self._own = own
        self._wants = wants
        self._owner = new_owner()
        self._has_claim = False
        self._lock = threading.Lock()
        self._coming: Coming | None = None
        self.skipped: Mapping[str, int] = {}

    def now(self) -> float:
        """Tell the time, in seconds since 1970."""
        return self._cache.now_ms() / 1000

    def coming(self, within_s: float | None = None) -> Coming | None:
        """
        Plan for the next peak.

        Args:
            within_s: Only what is to begin so soon, in seconds, is not asked yet, and is left to this process by
                others; None: whatever comes.

        Returns:
            That, or None: there is nothing to do.

        Raises:
            ConfigurationError: The disk cannot be used.
            LedgerError: The ledger cannot be read.
        """
        path = self._ledger()
        with self._opened() as tier:
            rollout, window = self._settled(tier, path)
            hours = self._hours(path)
            questions = self._askable(tier, hours)
            plan = self._plan(hours, questions, rollout)
            if plan is None or (within_s is not None and not self._is_due(tier, plan, window, within_s)):
                return None
            plan = self._nearer(hours, questions, rollout) or plan
            chosen = tuple((questions[one.key][1], one.cny) for one in plan.chosen)
            self._coming = Coming(plan.window, plan.starts, chosen, self._cache.now_ms())
            return self._coming

    def settle(self) -> None:
        """
        Learn from a peak that is over, and let another process ask before the next one.

        Raises:
            ConfigurationError: The disk cannot be used.
            LedgerError: The ledger cannot be read.
        """
        with self._opened() as tier:
            self._settled(tier, self._ledger())
        self.leave()

    def leave(self) -> None:
        """Let another process ask before the next peak; nobody waits for it."""
        if self._has_claim and self._cache.store.disk is not None:
            self._has_claim = False
            self._cache.store.disk.write_soon(lambda tier: Claims(tier).release(_CLAIM, self._owner))

    def is_wanted(self, request: Request) -> bool:
        """
        Tell whether a request is still to be asked: since it was planned, somebody may have asked it himself.

        Args:
            request: It.

        Returns:
            Whether its answer is no newer than the plan.
        """
        with self._opened() as tier:
            found = peek(self._cache, tier, request.key)
        return found is None or self._coming is None or found.entry.created_ms <= self._coming.planned_ms

    def note(self, request: Request) -> None:
        """
        Remember what was asked, so that it is known later whether that paid.

        Args:
            request: It.
        """
        if self._coming is None:
            return
        try:
            with self._lock, self._opened() as tier:
                remember(tier, remembered(tier).having_asked([request.key], self._coming.window))
        except ConfigurationError:
            # It is asked already, and the answer is there.
            _log.debug("what was asked beforehand could not be noted", exc_info=True)

    def _opened(self) -> AbstractContextManager[Any]:
        return opened(self._cache)

    def _settled(self, tier: DiskTier, path: Path) -> tuple[Rollout, Window | None]:
        with self._lock:
            before = remembered(tier)
            now = settled(before, self.now(), lambda since, until: self._asks(path, since, until))
            if now != before:
                remember(tier, now)
        share = self._wants.share
        return (now.rollout if share is None else Rollout(share)), now.window

    def _asks(self, path: Path, since: float, until: float) -> Sequence[Ask]:
        # Where no call was written down yet, there is no file.
        return list(asks(path, since=since, until=until)) if path.is_file() else []

    def _hours(self, path: Path) -> Hours:
        now = self.now()
        first = instant(self._wants.since, now, self._wants.clock)
        hours = Hours(now=now, clock=self._wants.clock)
        hours.add(self._asks(path, 0.0 if first is None else first.timestamp(), now))
        return hours

    def _askable(self, tier: DiskTier, hours: Hours) -> dict[str, tuple[Known, Request]]:
        """Give what can be asked anew, by the key of its answer."""
        weights = hours.weights(range(24))
        most = sorted(weights, key=lambda entry: (-weights[entry], entry))[:_CANDIDATES]
        skipped, ours = Counter[str](), {}
        for question in known(self._cache, most):
            if question.is_given:
                skipped["given"] += 1
            elif not (question.tenant.startswith("tenant:") or question.tenant == self._own):
                skipped["foreign"] += 1
            else:
                ours[question.key] = question
        requests, others = requested(tier, ours.values())
        self.skipped = {**skipped, **others}
        return {request.key: (ours[request.key], request) for request in requests}

    def _plan(
        self,
        hours: Hours,
        questions: Mapping[str, tuple[Known, Request]],
        rollout: Rollout,
        vectors: Callable[[Sequence[Known]], Vectors | None] | None = None,
    ) -> Plan | None:
        return planned(
            hours,
            [question for question, _ in questions.values()],
            now=self.now(),
            rollout=rollout,
            budget=self._wants.budget,
            vectors=vectors,
            at_once=self._wants.at_once,
            is_dear=self._wants.is_dear,
        )

    def _nearer(self, hours: Hours, questions: Mapping[str, tuple[Known, Request]], rollout: Rollout) -> Plan | None:
        """Plan once more, by what the texts mean; that takes so long that it is done only when it is time."""
        service = self._cache.service
        if service is None:
            return None
        return self._plan(hours, questions, rollout, lambda some: vectors_of(service, [one.text for one in some]))

    def _is_due(self, tier: DiskTier, plan: Plan, asked: Window | None, within_s: float) -> bool:
        now = self.now()
        if plan.starts - now > within_s or asked == plan.window:
            return False
        lease_s = plan.window.ends - now + _BEYOND_S
        self._has_claim = Claims(tier).take(_CLAIM, self._owner, lease_s, int(now * 1000))
        return self._has_claim


def vectors_of(service: EmbeddingService, texts: Sequence[str], wait_s: float = _VECTORS_S) -> Vectors | None:
    """
    Have the vectors of texts made, behind those that somebody waits for.

    Args:
        service: Makes them.
        texts: Of what.
        wait_s: How long to wait at each step, in seconds.

    Returns:
        A row for each, or None: they cannot be had.
    """
    import numpy as np  # noqa: PLC0415  an extra

    service.begin()
    rows = []
    try:
        if not service.ready.result(wait_s):
            return None
        for first in range(0, len(texts), _TEXTS):
            made = service.submit(texts[first : first + _TEXTS], is_urgent=False)
            if made is None:
                return None
            rows.append(made.result(wait_s))
    except Exception:  # noqa: BLE001  counts alone will do
        _log.debug("there are no vectors of what is asked beforehand", exc_info=True)
        return None
    return np.concatenate(rows) if rows else None
