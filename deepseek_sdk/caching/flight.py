"""Single-flight: one upstream call, for any number of equal calls that wait for it, in any colour and shape."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import CancelledError, Future, InvalidStateError
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from deepseek_sdk._clock import Clock
from deepseek_sdk._loop import running_loop
from deepseek_sdk._process import PerProcess
from deepseek_sdk._rejections import stub_refusal
from deepseek_sdk._sse import Event, encode
from deepseek_sdk._wire import ConnectionLost, DeadlineReached
from deepseek_sdk.caching.negative import copied
from deepseek_sdk.caching.replay import Suiter, wants_usage
from deepseek_sdk.errors import StreamInterruptedError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Reply
    from deepseek_sdk._wire import Upstream
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.store import Found

__all__ = ["Flight", "Flights", "Seat"]

# What the one that asks takes note of while it asks, and whoever pays has in his own record as well.
_FACTS = ("usage", "finish_reason", "headers", "answer_in_reasoning", "degradation", "counted")
_ENDED = "the answer was asked for by an equal call, whose client or event loop has ended"


class Flight:
    """
    One upstream call, asked in the background on behalf of everyone who has a seat.

    It goes on for as long as one of them is there. What it costs stands in the record of the call that began it, and
    where that one has left before the end, in that of another.

    Args:
        call: The call that begins it.

    Attributes:
        record: What happens to the upstream call.
        loop: The event loop on which it goes on, or None: it has a thread of its own.
        opened: Done when an answer has begun, or there will be none.
        ended: Done when all of the answer is here, or there will be no more.
        response: An HTTP response that stands for the answer, once it has begun.
        found: A kept answer that came up meanwhile, in place of all of that.
        events: The events of a stream so far.
        content: All of the answer, as a plain call gets it, at the end.
        error: Why there will be no more, or None.
        kept: The answer as it was kept, or None.
        refused: Why it was not, in one word, or None.
    """

    def __init__(self, call: Call) -> None:
        # A copy that shares its lists: what the upstream call goes through stands in the caller's record as it happens.
        _ = call.record.id  # made now, so that both have the same
        self.record: Record = replace(call.record)
        self.call = call
        self.loop = running_loop() if call.io.is_async else None
        self.opened: Future[None] = Future()
        self.ended: Future[None] = Future()
        self.response: Any = None
        self.found: Found | None = None
        self.events: list[Event] = []
        self.content: bytes | None = None
        self.error: BaseException | None = None
        self.kept: Entry | None = None
        self.refused: str | None = None
        self._seats: list[Seat] = []
        self._payer: Record | None = call.record
        self._waiting: list[Future[None]] = []
        self._reply: Reply | None = None
        self._cancel: Callable[[], object] | None = None
        self._is_left = False
        self._is_settled = False
        self._is_over = False
        # A seat may be given up by the garbage collector, in a thread that is inside of here.
        self._lock = threading.RLock()

    def is_held_up_by(self, call: Call) -> bool:
        """
        Say whether it cannot go on while somebody waits for it.

        Args:
            call: Who would wait.

        Returns:
            True for a sync call in the thread of the event loop on which the flight goes on.
        """
        return not call.io.is_async and self.loop is not None and self.loop is running_loop()

    def lead(self) -> Seat:
        """
        Take the seat of who begins the flight.

        Returns:
            The seat.
        """
        seat = Seat(self, self.call, is_leader=True)
        with self._lock:
            self._seats.append(seat)
        return seat

    def board(self, call: Call) -> Seat | None:
        """
        Take a seat.

        Args:
            call: Who waits.

        Returns:
            The seat, or None: everyone has left already.
        """
        with self._lock:
            if self._is_left:
                return None
            seat = Seat(self, call, is_leader=False)
            self._seats.append(seat)
            return seat

    def steered_by(self, cancel: Callable[[], object]) -> None:
        """
        Say how the upstream call is cut off.

        Args:
            cancel: Does so, from any thread.
        """
        with self._lock:
            self._cancel, is_late = cancel, self._is_left
        if is_late:
            cancel()

    def open(self, reply: Reply) -> None:
        """
        Note that an answer has begun.

        Args:
            reply: It.
        """
        # Everyone who waits has a clock for the whole call; that of whoever began must not end it for the others.
        reply.clock.lift(reply.call.io.now())
        self._reply, self.response = reply, reply.source.response
        self._mirror()
        _done(self.opened)

    def publish(self, events: Iterable[Event]) -> None:
        """
        Hand on what has come of a stream.

        Args:
            events: The next events.
        """
        self._mirror()
        with self._lock:
            self.events += events
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            _done(future)

    def settle(self) -> None:
        """Note that the upstream call is over, and its costs are known: they stay on the account where they are."""
        self._mirror()
        with self._lock:
            self._is_settled = True
            self._charge_another()

    def land(self, content: bytes, last: Iterable[Event] = ()) -> None:
        """
        Note that the answer is complete.

        Args:
            content: All of it.
            last: The last events of a stream.
        """
        self.content = content
        self._arrive(last)

    def give_way(self, found: Found) -> None:
        """
        Note that somebody else has asked, and kept the answer.

        Args:
            found: The answer.
        """
        self.found = found
        self._arrive()

    def fail(self, error: BaseException) -> None:
        """
        Note that there will be no more.

        Args:
            error: Why.
        """
        self.error = error
        self._arrive()

    def _arrive(self, last: Iterable[Event] = ()) -> None:
        self._mirror()
        with self._lock:
            # Whoever leaves from now on has had all of it: it stays on his account.
            self._is_over = True
            self.events += last
            self._charge_another()
            waiting, self._waiting = [*self._waiting, self.opened, self.ended], []
        for future in waiting:
            _done(future)

    def news(self, seen: int) -> Future[None] | None:
        """
        Wait for what comes next of a stream.

        Args:
            seen: How many of the events are known.

        Returns:
            Done when there is more; None: there is.
        """
        with self._lock:
            if len(self.events) > seen or self._is_over:
                return None
            future: Future[None] = Future()
            self._waiting.append(future)
            return future

    def leave(self, seat: Seat) -> None:
        """
        Give up a seat; the last to do so ends an upstream call that is under way.

        Args:
            seat: It.
        """
        with self._lock:
            if seat not in self._seats:
                return
            self._seats.remove(seat)
            if self._is_over:
                return
            if self._seats:
                self._part_from(seat)
                return
            self._is_left = True
            cancel = self._cancel
            self._give_up()
            if self._payer is None:
                self._charge(seat)
        if cancel is not None:
            cancel()

    def _part_from(self, seat: Seat) -> None:
        """Let who began, and leaves, keep what he saw; what comes now is on another's account."""
        record = seat.call.record
        if self._payer is record and not self._is_settled:
            self._payer, seat.is_payer = None, False
            record.attempts, record.repairs, record.skipped = [], [*record.repairs], [*record.skipped]
            record.times = replace(record.times)
            self.record.watcher = None

    def _charge_another(self) -> None:
        if self._payer is None and self._seats:
            self._charge(self._seats[0])

    def _charge(self, seat: Seat) -> None:
        self._payer = seat.call.record
        _bequeath(self.record, self._payer)
        seat.is_payer = True
        self._mirror()

    def _give_up(self) -> None:
        """Settle now what was asked: nobody will be there to hear of it when the background work has ended."""
        reply = self._reply
        if reply is not None:
            # Noted before it is cut off: whoever reads it at this moment takes that for a failure.
            self.record.abandon(reply._attempt, reply.progress, self.call.io.now(), self.call.body)  # noqa: SLF001  ours
            reply.abandon()
        for attempt in self.record.attempts:
            self.record.settle(attempt, None, self.call.io.now(), CancelledError(), self.call.body)
        self._mirror()

    def _mirror(self) -> None:
        payer = self._payer
        if payer is not None:
            for name in _FACTS:
                setattr(payer, name, getattr(self.record, name))


def _done(future: Future[None]) -> None:
    # Two threads may come to the same end.
    with contextlib.suppress(InvalidStateError):
        future.set_result(None)


def _bequeath(record: Record, heir: Record) -> None:
    """Give the attempts of one call to another, whose clock began at another time."""
    shift = record.started - heir.started
    for attempt in record.attempts:
        first_token, ended = _moved(attempt.first_token, shift), _moved(attempt.ended, shift)
        moved = replace(attempt, started=attempt.started + shift, first_token=first_token, ended=ended)
        heir.attempts.append(moved)
    heir.repairs += record.repairs
    heir.skipped += record.skipped


def _moved(instant: float | None, shift: float) -> float | None:
    return None if instant is None else instant + shift


class Seat:
    """
    Where one call waits for a flight: the source of its reply.

    Attributes:
        is_payer: What the upstream call costs stands in the record of this one.
    """

    upstream: Upstream | None = None
    only_waited = False

    def __init__(self, flight: Flight, call: Call, *, is_leader: bool) -> None:
        self.flight = flight
        self.call = call
        self.is_leader = self.is_payer = is_leader
        # Silence and the first token are watched where the server is; here, only that the whole call is not too long.
        self.clock = Clock.of_total(call.limits, call_started=call.record.started, now=call.io.now())
        self.response: Any = None
        self._seen = 0
        wanted = wants_usage(call.body)
        self._suiter = None if wanted == wants_usage(flight.call.body) else Suiter(wants_usage=wanted)

    async def opened(self) -> None:
        """
        Wait until an answer has begun, or there will be none.

        Raises:
            DeadlineReached: It took longer than the whole call may.
        """
        await self._until(self.flight.opened, self.clock.at)

    async def pull(self, until: float) -> list[Event] | None:
        """Wait for more; see `Source`."""
        follows = self.call.is_stream and self.flight.call.is_stream
        return await (self._next(until) if follows else self._whole(until))

    async def _next(self, until: float) -> list[Event] | None:
        flight = self.flight
        while (future := flight.news(self._seen)) is not None:
            await self._until(future, until)
        batch = flight.events[self._seen :]
        self._seen += len(batch)
        if batch:
            return self._suited(batch) or await self._next(until)
        self._fail()
        return None

    def _suited(self, events: list[Event]) -> list[Event]:
        """Leave out, or add, what this caller wants otherwise than the one who began."""
        if self._suiter is None:
            return events
        fit: list[Event] = []
        for event in events:
            usage = self.flight.record.usage
            chunk = self._suiter.end(usage) if event.is_done else self._suiter.take(event.json())
            fit += [] if chunk is None else [encode(chunk)]
            fit += [event] if event.is_done else []
        return fit

    async def _whole(self, until: float) -> list[Event] | None:
        flight = self.flight
        await self._until(flight.ended, until)
        self._fail()
        if self._seen or flight.content is None:
            return None
        self._seen = 1
        return [Event(flight.content, flight.content, is_whole=True)]

    def failure(self) -> Exception:
        """
        Tell why there is no answer, or no more of it.

        Returns:
            An error for this call alone.
        """
        error = self.flight.error
        if isinstance(error, Exception):
            # Who asked gets what came; the others one of their own, for each writes his call into it.
            return error if self.is_leader else copied(error)
        return StreamInterruptedError(
            f"The connection broke: {_ENDED}", request=stub_refusal(self.call, 503).request, partial=None
        )

    def _fail(self) -> None:
        if isinstance(self.flight.error, Exception):
            raise self.failure()
        if self.flight.error is not None:
            # What this call has seen of the answer is known to its reply, which makes an error of it.
            raise ConnectionLost(_ENDED)

    async def _until(self, future: Future[Any], until: float) -> None:
        io: IO = self.call.io
        try:
            await io.wait(future, None if until == inf else max(until - io.now(), 0))
        except TimeoutError:
            raise DeadlineReached from None

    async def close(self, *, is_done: bool) -> None:  # noqa: ARG002  the connection is not ours
        """Give the seat up."""
        self.flight.leave(self)

    def abort(self) -> None:
        """Give the seat up."""
        self.flight.leave(self)


class Flights:
    """The flights that are under way, of every client that shares a cache; a forked child has none of them."""

    def __init__(self) -> None:
        self._under_way: PerProcess[dict[Hashable, Flight]] = PerProcess(dict)
        self._locks = PerProcess(threading.RLock)

    def join(self, key: Hashable, call: Call) -> Seat | None:
        """
        Take a seat in the flight for a request, and begin one where there is none.

        Args:
            key: What makes requests equal.
            call: Who waits.

        Returns:
            The seat; that of a leader has to let the flight begin. None where the caller would wait for itself: it
            holds the event loop on which the flight goes on.
        """
        with self._locks.get():
            under_way = self._under_way.get()
            flight = under_way.get(key)
            if flight is not None and flight.is_held_up_by(call):
                return None
            seat = None if flight is None else flight.board(call)
            if seat is None:
                under_way[key] = flight = Flight(call)
                seat = flight.lead()
            return seat

    def is_under_way(self, key: Hashable) -> bool:
        """Say whether a request is being asked."""
        return key in self._under_way.get()

    def remove(self, key: Hashable, flight: Flight) -> None:
        """
        Let nobody join any more.

        Args:
            key: What makes requests equal.
            flight: The flight.
        """
        with self._locks.get():
            under_way = self._under_way.get()
            if under_way.get(key) is flight:
                del under_way[key]
