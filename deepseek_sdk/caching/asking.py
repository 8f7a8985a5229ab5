"""`Asking`: the upstream call of a flight, from the claim that keeps other processes waiting to the kept answer."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from deepseek_sdk._fold import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk._sse import Event
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.flight import Flight
    from deepseek_sdk.caching.frames import Frame
    from deepseek_sdk.caching.question import Question
    from deepseek_sdk.caching.store import Found

__all__ = ["Asking"]

_log = logging.getLogger("deepseek_sdk")

# How often another process that asks the same is looked at.
_POLL_S, _POLL_MOST_S = 0.01, 0.25


class Asking:
    """
    Asks on behalf of everyone in a flight.

    Args:
        flight: It.
        place: Where it stands among the flights.
        question: What is asked.
        proceed: The rest of the chain.
        cache: Where the answer is kept.
        learn: Called with each new answer that is kept, or None.
    """

    def __init__(
        self,
        flight: Flight,
        place: Hashable,
        question: Question,
        proceed: Proceed,
        cache: ExactCache,
        learn: Callable[[IO, bytes], object] | None = None,
    ) -> None:
        self._flight = flight
        self._place = place
        self._question = question
        self._proceed = proceed
        self._cache = cache
        self._learn = learn
        self._began_ms = cache.now_ms()

    async def __call__(self, io: IO) -> None:
        """Ask, and hand on what comes."""
        flight = self._flight
        try:
            await self._fly(io)
        except Exception as error:  # noqa: BLE001  everyone in the flight raises it
            self._end()
            flight.fail(error)
        except BaseException as error:
            self._end()
            flight.fail(error)
            raise

    def lost(self) -> None:
        """Note that the event loop has ended, maybe before this could begin."""
        if not self._flight.ended.done():
            self._end()
            self._flight.fail(CancelledError())

    def _end(self) -> None:
        """Let nobody join any more: whoever comes now finds the kept answer, or asks himself."""
        self._cache.flights.remove(self._place, self._flight)
        self._cache.release(self._question)

    async def _fly(self, io: IO) -> None:
        found = await self._answered_elsewhere(io)
        if found is not None:
            self._end()
            self._flight.give_way(found)
            return
        call = self._flight.call.replace(io=io, record=self._flight.record)
        reply = await self._proceed(call)
        if self._cache.negative is not None:
            self._cache.negative.forget(self._place)
        self._flight.open(reply)
        await (self._stream(call, reply) if call.is_stream else self._whole(call, reply))

    async def _answered(self, io: IO) -> Found | None:
        """Look again: between the first look and this flight another one may have landed."""
        question, cache = self._question, self._cache
        if not question.control.reads:
            return None
        found = await cache.store.find(io, question.key, cache.now_ms())
        return found if found is not None and cache.is_usable(found.entry, question) else None

    async def _answered_elsewhere(self, io: IO) -> Found | None:
        """Wait while another process asks the same; once, so that what nobody may keep is not waited for in turn."""
        question, cache = self._question, self._cache
        if not (question.may_wait and cache.has_claims):
            return await self._answered(io)
        if await cache.claim(io, question):
            # Whoever had it before may have answered since the first look.
            return await self._answered(io)
        pause = _POLL_S
        while await cache.is_claimed(io, question):
            await io.sleep(pause)
            pause = min(pause * 1.5, _POLL_MOST_S)
        found = await self._answered(io)
        if found is None:
            await cache.claim(io, question)
        return found

    async def _whole(self, call: Call, reply: Reply) -> None:
        content = await reply.gather()
        self._flight.settle()
        await self._keep(call, content, None)
        self._end()
        self._flight.land(content)

    async def _stream(self, call: Call, reply: Reply) -> None:
        flight, last = self._flight, []
        try:
            while batch := await reply.next():
                if reply.progress.is_done:
                    last += batch
                else:
                    flight.publish(batch)
        finally:
            await reply.close()
        flight.settle()
        # It is kept before anyone learns that it is complete: who asks again then finds it.
        events = [*flight.events, *last]
        content = await call.io.offload(_folded, events)
        await self._keep(call, content, events)
        self._end()
        flight.land(content, last)

    async def _keep(self, call: Call, content: bytes, events: Sequence[Event] | None) -> None:
        question, cache, flight = self._question, self._cache, self._flight
        if not question.control.writes:
            return
        try:
            entry, flight.refused, frame = await call.io.offload(self._made, call, content, events)
            if entry is not None:
                flight.refused = await cache.keep(call.io, entry, question, frame)
                flight.kept = entry if flight.refused is None else None
            if flight.kept is not None and self._learn is not None:
                self._learn(call.io, content)
        except Exception:  # noqa: BLE001  an answer that cannot be kept is an answer all the same
            _log.debug("an answer could not be kept", exc_info=True)
            flight.refused = "unexpected"
            cache.tally.fail("unexpected")

    def _made(
        self, call: Call, content: bytes, events: Sequence[Event] | None
    ) -> tuple[Entry | None, str | None, Frame | None]:
        """Make what is kept of an answer, or tell why nothing is; and what is kept of the request."""
        made = self._cache.entry_of(call, self._question, content, events, began_ms=self._began_ms)
        return (*made, None if made[0] is None else self._cache.frame_of(call))


def _folded(events: Sequence[Event]) -> bytes:
    gathered = Gathered()
    for event in events:
        gathered.take(event)
    return gathered.content()
