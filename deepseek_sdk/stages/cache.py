"""Give a kept answer where there is one, let equal calls share one upstream call, and keep what is new."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk._attempt import Attempt
from deepseek_sdk._cache import CacheControl, CacheOutcome
from deepseek_sdk._clock import UNSET, Clock
from deepseek_sdk._rejections import stub_refusal
from deepseek_sdk._reply import Reply
from deepseek_sdk._usage import Usage
from deepseek_sdk._wire import DeadlineReached, response_for_one
from deepseek_sdk.errors import CacheMissError, classify, redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._cache import CacheStatus
    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._pipeline import Proceed, Stage
    from deepseek_sdk._reply import Ending, Source
    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.expiry import State
    from deepseek_sdk.caching.flight import Flight, Seat
    from deepseek_sdk.caching.pupil import Pupil
    from deepseek_sdk.caching.question import Question
    from deepseek_sdk.caching.store import Found
    from deepseek_sdk.pricing.cost import Cost

__all__ = ["ResponseCache"]

# How often those who wait may choose another to ask in the place of one that failed.
_ELECTIONS = 3
# What would be the same whoever asks.
_FOR_ALL = frozenset({
    "authentication", "balance", "configuration", "conflict", "context_overflow", "invalid_output", "invalid_request",
    "no_rule", "not_found", "permission", "reasoning_budget", "rejected", "unknown_model",
})  # fmt: skip
# What is between one caller and his own limits: every other one finds out for himself.
_FOR_ONE = frozenset({"budget", "total_timeout"})
# A longer answer is made into a stream off the event loop.
_LARGE = 50_000
# With these nobody is asked, or nobody answers: an answer that has ended is better than none.
_NOBODY_ANSWERS = frozenset({"circuit_open", "limiter_timeout", "rate_limit", "total_timeout"})


class ResponseCache:
    """
    Gives kept answers, and keeps new ones.

    Args:
        cache: Where they are kept, or None: nowhere.
        around: The stage that observes calls; those that are made in the background are to be observed, too.
        price: Tells what tokens would cost from the server's own cache, or None: nobody can.
    """

    def __init__(
        self,
        cache: ExactCache | None = None,
        *,
        around: Stage | None = None,
        price: Callable[[Usage, str], Cost | None] | None = None,
    ) -> None:
        self.cache = cache
        self.around = around
        self.price = price

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call from the cache, or by asking once for all who ask the same."""
        control = CacheControl() if call.options.cache is UNSET else call.options.cache
        question = None
        if self.cache is not None and (control.reads or control.writes or not control.asks):
            question = await self._question(self.cache, call, control)
        if self.cache is not None and question is not None:
            return await _Lookup(self, self.cache, question, call, proceed).begin()
        if not control.asks:
            raise CacheMissError(key=None, response=stub_refusal(call, 404))
        if self.cache is not None:
            call.record.cache = CacheOutcome(status="bypass")
            self.cache.tally.note(call.record.cache)
        return await proceed(call)

    async def _question(self, cache: ExactCache, call: Call, control: CacheControl) -> Question | None:
        from deepseek_sdk.caching.question import is_long, questioned  # noqa: PLC0415  few clients need it

        ask = partial(questioned, call, cache.tenants, control, cache.limits, cache.similarly)
        return await call.io.offload(ask) if is_long(call.body) else ask()


class _Lookup:
    """One call on its way through the cache."""

    def __init__(
        self, stage: ResponseCache, cache: ExactCache, question: Question, call: Call, proceed: Proceed
    ) -> None:
        self._stage = stage
        self._cache = cache
        self._question = question
        self._call = call
        self._proceed = proceed
        self._place = question.place(call)
        self._elections = _ELECTIONS
        self._has_last_resort = False
        self._seat: Seat | None = None

    async def begin(self) -> Reply:
        control = self._question.control
        if control.reads:
            kept = await self._kept() or await self._similar()
            if kept is not None:
                return kept
            self._refuse_again()
        if not control.asks:
            self._note(self._missed())
            raise CacheMissError(key=self._question.key, response=stub_refusal(self._call, 404))
        return await self._ask()

    def _refuse_again(self) -> None:
        negative = self._cache.negative
        # Who is asked, and what is mended before, are not in the key of an answer.
        error = None if negative is None else negative.get(self._place, self._call.io.now())
        if error is not None:
            self._note(replace(self._missed(), status="negative"))
            raise error

    async def _kept(self) -> Reply | None:
        found, state = await self._found()
        self._has_last_resort = state == "error_only"
        if found is None or state not in ("fresh", "stale"):
            return None
        if state == "stale":
            self._renew(None)
        elif self._cache.draws_canary():
            self._renew(found.entry)
        return await self._given(found.entry, found.level, is_stale=state == "stale")

    async def _found(self) -> tuple[Found | None, State]:
        """Look for an answer that the call may have, and say what it is good for."""
        cache, question, now_ms = self._cache, self._question, self._cache.now_ms()
        found = await cache.store.find(self._call.io, question.key, now_ms)
        if found is None or not question.may_have(found.entry):
            return None, "expired"
        return found, cache.expiry.state(found.entry, now_ms, question.control.max_age_s)

    async def _similar(self) -> Reply | None:
        """Give the kept answer to a question that asks the same in other words."""
        cache, wording = self._cache, self._question.wording
        if wording is None or cache.similar is None:
            return None
        found = await cache.similar.find(self._call.io, wording, cache.now_ms(), self._may_have)
        if found is None:
            return None
        if cache.lessons is not None and cache.lessons.draws_recheck():
            self._renew(found.entry)
        return await self._given(found.entry, found.level, is_stale=False)

    def _may_have(self, entry: Entry) -> bool:
        return self._cache.is_usable(entry, self._question)

    def _missed(self) -> CacheOutcome:
        """Say that a model is asked, and what was thought of the nearest kept answer."""
        wording = self._question.wording
        decision = None if wording is None else wording.decision
        if wording is None or decision is None:
            return CacheOutcome(status=self._asked)
        return CacheOutcome(
            status=self._asked,
            similarity=decision.similarity,
            guard=decision.guard,
            decision=decision,
            question=wording.text,
        )

    async def _given(self, entry: Entry, level: Any, *, is_stale: bool) -> Reply:
        from deepseek_sdk.caching.replay import Replay  # noqa: PLC0415  likewise

        call, record = self._call, self._call.record
        usage = None if entry.usage is None else json.loads(entry.usage)
        record.usage, record.finish_reason = usage, entry.finish_reason
        outcome = CacheOutcome(
            status="stale" if is_stale else "hit",
            **self._likeness(entry),
            level=level,
            entry_id=entry.id,
            age=max(self._cache.now_ms() - entry.created_ms, 0) / 1000,
            created_ms=entry.created_ms,
            usage=None if usage is None else Usage.parse(usage),
            model=entry.model,
            price=self._price(),
        )
        replay = partial(Replay, entry, call, pace=self._cache.pace)
        source = await call.io.offload(replay) if len(entry.answer) > _LARGE else replay()
        self._note(outcome)
        return _reply(call, source, Clock.of_total(call.limits, call_started=record.started, now=call.io.now()))

    def _likeness(self, entry: Entry) -> dict[str, Any]:
        wording = self._question.wording
        if entry.key == self._question.key or wording is None or wording.decision is None:
            return {"tier": "exact", "similarity": 1.0}
        decision = wording.decision
        return {
            "tier": "semantic",
            "similarity": decision.similarity,
            "decision": decision,
            "question": wording.text,
        }

    async def _ask(self) -> Reply:
        """Wait for an equal call that is under way, or be the one that asks."""
        while True:
            seat = self._cache.flights.join(self._place, self._call)
            if seat is None or (seat.is_leader and not self._begin(seat)):
                # It would wait for itself, the client is closed, or there is no thread to be had.
                self._note(self._missed())
                return await self._proceed(self._call)
            failure = await self._late(seat)
            flight = seat.flight
            if failure is None and flight.found is not None:
                seat.abort()
                if self._question.control.reads and self._cache.is_usable(flight.found.entry, self._question):
                    return await self._given(flight.found.entry, flight.found.level, is_stale=False)
                continue
            if failure is None and flight.response is not None:
                return self._boarded(seat)
            failure = failure or seat.failure()
            instead = await self._instead(seat, failure)
            if instead is not None:
                return instead
            if not self._may_elect(seat, failure):
                self._note(self._missed())
                raise failure

    @property
    def _asked(self) -> CacheStatus:
        """What is said of a call for which a model is asked."""
        return "miss" if self._question.control.reads else "refresh"

    def _begin(self, seat: Seat) -> bool:
        from deepseek_sdk.caching.asking import Asking  # noqa: PLC0415  likewise

        cache, flight = self._cache, seat.flight
        asking = Asking(flight, self._place, self._question, self._proceed, cache, self._learn)
        work = self._call.io.start(asking, asking.lost)
        if work is None:
            seat.abort()
            cache.flights.remove(self._place, flight)
            flight.fail(ConnectionAbortedError("nobody could be sent"))
            return False
        flight.steered_by(work.cancel)
        return True

    def _learn(self, io: IO, content: bytes) -> None:
        """Let the semantic tier learn from an answer that is new."""
        pupil, wording = self._pupil(), self._question.wording
        if pupil is not None and wording is not None:
            pupil.landed(io, wording, content)

    def _pupil(self) -> Pupil | None:
        lessons = self._cache.lessons
        if lessons is None:
            return None
        from deepseek_sdk.caching.pupil import Pupil  # noqa: PLC0415  likewise

        return Pupil(lessons, self._call, self._proceed, self._stage.around)

    async def _late(self, seat: Seat) -> Exception | None:
        """Wait until an answer has begun or there will be none; tell where that takes longer than the call may."""
        try:
            await seat.opened()
        except DeadlineReached:
            kind, limit = seat.clock.expired()
            return kind(request=stub_refusal(self._call, 504).request, limit=limit)
        except BaseException:
            seat.abort()
            self._note(self._missed())
            raise
        return None

    def _boarded(self, seat: Seat) -> Reply:
        is_leader = seat.is_leader
        self._call.record.cache = self._missed() if is_leader else CacheOutcome(status="coalesced")
        seat.response = response_for_one(seat.flight.response)
        self._seat = seat
        reply = _reply(self._call, seat, seat.clock)
        reply.rescue_with(self._rescue)
        reply.on_end(partial(self._over, seat))
        return reply

    async def _rescue(self, reply: Reply, error: Exception) -> Reply | None:
        seat: Any = reply.source
        if reply.has_shown:
            return None
        instead = await self._instead(seat, error)
        if instead is not None:
            return instead
        return await self._ask() if seat.flight.error is not None and self._may_elect(seat, error) else None

    async def _instead(self, seat: Seat, error: Exception) -> Reply | None:
        """Give what has ended where nobody answers; and remember what will be refused again."""
        seat.abort()
        self._remember(seat, error)
        if not self._has_last_resort or not _is_unanswered(error):
            return None
        self._has_last_resort = False
        # Looked for again: it may have been invalidated meanwhile.
        found, state = await self._found()
        if found is None or state == "expired":
            return None
        return await self._given(found.entry, found.level, is_stale=state != "fresh")

    def _remember(self, seat: Seat, error: Exception) -> None:
        # Where several were asked, the last one's refusal may not be that of the first.
        accounts = {attempt.account for attempt in seat.flight.record.attempts}
        if not seat.is_leader or self._cache.negative is None or len(accounts) > 1:
            return
        for target in self._call.targets:
            redact(error, target.secret)
        self._cache.negative.put(self._place, error, self._call.io.now())

    def _may_elect(self, seat: Seat, error: Exception) -> bool:
        """Let one of those who waited ask in the place of one that failed; who failed has tried what it could."""
        is_late, reason = self._call.io.now() >= seat.clock.total_at, classify(error).reason
        if seat.is_leader or is_late or reason in _FOR_ALL or not self._elections:
            return False
        if reason not in _FOR_ONE:
            self._elections -= 1
        return True

    def _over(self, seat: Seat, ending: Ending, error: BaseException | None) -> None:
        """Tell what became of it; of an answer that another call has asked for, what that call learnt."""
        del ending, error
        flight, outcome = seat.flight, self._call.record.cache
        if outcome is None or outcome.hit or seat is not self._seat:
            return
        if seat.is_payer or seat.is_leader:
            if outcome.status == "coalesced":
                # Whoever began has left: this is now the call that asked.
                outcome = self._missed()
            self._note(replace(outcome, **_named(flight.kept), refused=flight.refused))
            return
        for name in ("usage", "finish_reason", "answer_in_reasoning", "degradation"):
            setattr(self._call.record, name, getattr(flight.record, name))
        self._note(self._shared(flight))

    def _shared(self, flight: Flight) -> CacheOutcome:
        told = flight.record
        return CacheOutcome(
            status="coalesced",
            tier="exact",
            level="flight",
            similarity=1.0,
            **_named(flight.kept),
            usage=None if told.usage is None else Usage.parse(told.usage),
            model=told.attempts[-1].model if told.attempts else None,
            price=self._price(),
        )

    def _price(self) -> Callable[[Usage, str], Cost | None] | None:
        """Tell what the answer would have cost when this call was made, whenever that is asked."""
        price: Any = self._stage.price
        return None if price is None else partial(price, at=self._call.record.at)

    def _note(self, outcome: CacheOutcome) -> None:
        self._call.record.cache = outcome
        self._cache.tally.note(outcome)

    def _renew(self, compared: Entry | None) -> None:
        """Ask again in the background: because an answer has ended, or to see whether it is still given."""
        control = self._question.control
        if control.asks and control.writes and not self._cache.flights.is_under_way(self._place):
            self._call.io.spawn(partial(self._renewed, compared))

    async def _renewed(self, compared: Entry | None, io: IO) -> None:
        options = replace(self._call.options, cache=CacheControl(reads=False, ttl_s=self._question.control.ttl_s))
        record = self._call.record.anew(io.now(), time.time())
        call = self._call.replace(io=io, options=options, record=record)
        again: Any = partial(self._stage, proceed=self._proceed)
        around = self._stage.around
        reply = await (again(call) if around is None else around(call, again))
        answer = await reply.gather()
        self._cache.tally.count("revalidated" if compared is None else "canaries")
        if compared is not None and not await self._says_the_same(io, answer, compared):
            self._cache.tally.count("differing")

    async def _says_the_same(self, io: IO, answer: bytes, compared: Entry) -> bool:
        pupil, wording = self._pupil(), self._question.wording
        if pupil is None or wording is None or compared.key == self._question.key:
            return _says_the_same(answer, compared.answer)
        # It was given to another wording: whether it was right is more than whether the words are the same.
        return await pupil.rechecked(io, wording, compared, answer) is not False


def _named(kept: Entry | None) -> dict[str, Any]:
    return {} if kept is None else {"entry_id": kept.id, "created_ms": kept.created_ms}


def _is_unanswered(error: Exception) -> bool:
    disposition = classify(error)
    return disposition.retry or disposition.trips or disposition.reason in _NOBODY_ANSWERS


def _reply(call: Call, source: Source, clock: Clock) -> Reply:
    # Nobody was asked, as far as the books of this call go: an attempt that is over is not written down.
    attempt = Attempt(route="", model=call.model, started=0.0, ended=0.0, outcome="complete")
    return Reply(call, source, clock, attempt)


def _says_the_same(one: bytes, other: bytes) -> bool:
    said = [[choice.get("message", choice) for choice in json.loads(answer)["choices"]] for answer in (one, other)]
    return _texts(said[0]) == _texts(said[1])


def _texts(messages: list[dict[str, Any]]) -> list[Any]:
    calls = [[call.get("function") for call in message.get("tool_calls") or ()] for message in messages]
    return [[message.get("content") or message.get("text") for message in messages], calls]
