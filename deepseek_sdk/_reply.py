"""`Reply`: an answer in flight, whose source can be replaced before, or while, the caller reads it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, Protocol

import openai

from deepseek_sdk._fold import Gathered, unfold
from deepseek_sdk._progress import Progress
from deepseek_sdk._sse import DONE, Event, encode
from deepseek_sdk._wire import ConnectionLost, DeadlineReached
from deepseek_sdk.errors import QueueTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._call import Call
    from deepseek_sdk._clock import Clock
    from deepseek_sdk._wire import Upstream

__all__ = ["Check", "Ending", "Hook", "Reply", "Rescuer", "Source", "Tap"]

Ending = Literal["complete", "failed", "abandoned"]

_log = logging.getLogger("deepseek_sdk")

# What may be held back while an answer has not begun, so that another can take its place unseen.
_PREAMBLE_EVENTS, _PREAMBLE_BYTES = 64, 256 * 1024
# Clocks are checked when a wait ends, which may be a little before the instant asked for.
_TOLERANCE_S = 0.05
# A complete answer may still be followed by its usage and [DONE]; a server that sends neither is not waited for longer.
_TRAILER_S, _TRAILER_AFTER_USAGE_S = 1.0, 0.25


class Source(Protocol):
    """
    Where an answer comes from.

    Attributes:
        response: An HTTP response that stands for it: status, headers, request.
    """

    response: Any

    @property
    def upstream(self) -> Upstream | None:
        """What its bytes come from, while they may be handed on as they are, else None."""
        ...

    async def pull(self, until: float) -> list[Event] | None:
        """
        Wait for more.

        Args:
            until: The instant at which to give up.

        Returns:
            At least one event, or None at the end.

        Raises:
            DeadlineReached: Nothing came in time.
            ConnectionLost: The transport failed.
        """
        ...

    async def close(self, *, is_done: bool) -> None:
        """Let go; *is_done* says that the answer is complete."""
        ...

    def abort(self) -> None:
        """Let go without waiting, from any thread."""
        ...

    @property
    def only_waited(self) -> bool:
        """Whether keep-alives came and no event did."""
        ...


class Tap(Protocol):
    """
    Sees every event on its way to the caller; must not change it.

    A plain call hands events on to be folded: where an attempt fails in the middle of that, a tap has seen part of it.
    """

    def __call__(self, event: Event) -> None:
        """Look at an event."""
        ...


class Hook(Protocol):
    """
    Learns, once, how an answer ended.

    Where the caller forgot a stream, that is inside the garbage collector, in any thread: a hook may take an RLock, not
    a Lock that the same thread may hold.
    """

    def __call__(self, ending: Ending, error: BaseException | None) -> None:
        """Take note; what it raises is logged."""
        ...


class Check(Protocol):
    """Judges the whole answer of a plain call before the caller gets it."""

    def __call__(self, answer: bytes, /) -> bytes | None:
        """Return a mended answer, or None where it is right as it is; what it raises fails the attempt."""
        ...


class Rescuer(Protocol):
    """May answer in the place of a source that failed."""

    def __call__(self, reply: Reply, error: Exception) -> Awaitable[Reply | None]:
        """Return another reply, or None to let the error stand."""
        ...


class _Leg:
    """
    What the stages below one rescuer left on a reply: it ends with the attempt, not with the call.

    A rescuer gets the leg that was open when it was added; what is added later belongs to the stages above it.
    """

    __slots__ = ("checks", "greeters", "hooks", "rescuer", "taps")

    def __init__(self) -> None:
        self.taps: list[Tap] = []
        self.checks: list[Check] = []
        self.hooks: list[Hook] = []
        self.greeters: list[Callable[[], object]] = []
        self.rescuer: Rescuer | None = None

    def greet(self) -> None:
        greeters, self.greeters = self.greeters, []
        for greet in greeters:
            _call(greet)

    def end(self, ending: Ending, error: BaseException | None) -> None:
        hooks, self.hooks = self.hooks, []
        for hook in hooks:
            _call(hook, ending, error)


def _call(hook: Callable[..., object], *args: object) -> None:
    try:
        hook(*args)
    except Exception:  # noqa: BLE001
        # What a stage gets wrong must take neither the answer nor the other stages' turn.
        _log.exception("a hook failed")


class Reply:
    """
    An answer in flight.

    Stages do not wrap it: they leave taps, hooks and rescuers on it.

    Attributes:
        call: The call it answers.
        source: Where it comes from now.
        progress: What has come of it from there.
        clock: Its clocks.
        has_shown: The caller has seen some of the answer, so another answer can no longer take its place.
    """

    def __init__(self, call: Call, source: Source, clock: Clock, attempt: Attempt) -> None:
        self.call = call
        self.source = source
        self.progress = Progress(source.response, _choices(call), may_be_empty=call.options.on_empty == "accept")
        self.has_shown = False
        self.clock = clock
        if call.is_stream:
            clock.paused_at = call.io.now()
        self._attempt = attempt
        self._legs = [_Leg()]
        self._taps: tuple[Tap, ...] = ()
        self._held: list[Event] = []
        self._failure: Exception | None = None
        self._gathered: Gathered | None = None
        self._content: bytes | None = None
        self._has_checks = False
        self._is_finishing = False
        self._is_abandoned = False
        self._is_adopted = False
        self._is_ended = False
        self._has_closed = False
        self._watchers: list[Callable[[], object]] = []
        call.io.answers.add(self)

    def tap(self, tap: Tap) -> None:
        """
        Let something see every event.

        Args:
            tap: It.
        """
        self._legs[-1].taps.append(tap)
        self._taps = self._all_taps()

    def check_with(self, check: Check) -> None:
        """
        Let something judge the answer of a plain call before the caller gets it; streams are shown as they come.

        Args:
            check: Called with the JSON answer, of every attempt that ends well. What it raises is a failure like any
                other: rescuers are asked, innermost first.
        """
        self._legs[-1].checks.append(check)
        self._has_checks = True

    def on_first_token(self, hook: Callable[[], object]) -> None:
        """
        Let something learn that the first content, reasoning or tool call has come.

        Args:
            hook: Called once, when it is read from the source; what it raises is logged.
        """
        self._legs[-1].greeters.append(hook)

    def on_end(self, hook: Hook) -> None:
        """
        Let something learn how this ends: the attempt, for a stage inside the next rescuer, else the call.

        Args:
            hook: It.
        """
        self._legs[-1].hooks.append(hook)

    def on_switch(self, watcher: Callable[[], object]) -> None:
        """
        Let something learn that another source has taken over.

        Args:
            watcher: Called each time.
        """
        self._watchers.append(watcher)

    def rescue_with(self, rescuer: Rescuer) -> None:
        """
        Let a stage answer in the place of what failed below it.

        Args:
            rescuer: Asked, innermost first, for each failure.
        """
        self._legs[-1].rescuer = rescuer
        self._legs.append(_Leg())

    async def next(self) -> list[Event]:
        """
        Wait for more of the answer.

        Returns:
            The next events, none at the end.

        Raises:
            openai.APIError: The answer failed, and nothing took its place.
        """
        self.clock.resume(self.call.io.now())
        while not self._is_ended:
            if self._failure is not None:
                await self._fail(self._failure)
                continue
            self._held += await self._advance()
            if self._is_finishing and self._gathered is not None and not self._is_right(self._gathered):
                continue
            if self._held and not self._is_holding():
                break
        if self._is_abandoned:
            raise self.progress.interrupted("The stream was closed before its end")
        return self._release()

    async def next_bytes(self) -> bytes:
        """
        Wait for more of the answer, as bytes for openai's decoder.

        Returns:
            Whole events, none at the end.
        """
        events = await self.next()
        return events[0].raw if len(events) == 1 else b"".join([event.raw for event in events])

    def ordinary(self) -> tuple[Upstream, Callable[[bytes], bool], Clock] | None:
        """
        Say what bytes may go straight to the caller.

        Returns:
            Where to read them, what takes those that need no further look, and the clock to tell; or None where
            something has to see every event.
        """
        if self._failure is not None or self._is_ended or self._taps:
            return None
        # After the finish reason the wait for what may still come is a shorter one.
        if self.progress.is_complete or not self.progress.knows_ordinary:
            return None
        upstream = self.source.upstream
        return None if upstream is None else (upstream, self.progress.accepts, self.clock)

    async def gather(self) -> bytes:
        """
        Wait for all of the answer, as a plain call does; nothing is shown before, so anything can take its place.

        Returns:
            The JSON answer.
        """
        self._gathered = Gathered()
        try:
            while not self._is_ended:
                await self.next()
        finally:
            await self.close()
        return self._gathered.content() if self._content is None else self._content

    def _is_right(self, gathered: Gathered) -> bool:
        """Ask who has something to say about the whole answer, innermost first."""
        if self._failure is not None or not self._has_checks:
            return self._failure is None
        checks = [check for leg in self._legs for check in leg.checks]
        content = gathered.content()
        try:
            for check in checks:
                mended = check(content)
                content = content if mended is None else mended
        except Exception as error:  # noqa: BLE001  _fail() raises it, unless something takes over
            self._failure, self._is_finishing = error, False
        self._content = content
        return self._failure is None

    async def close(self) -> None:
        """Let go: at the end, keeping the connection for the next call; before it, telling the server to stop."""
        if self._is_adopted:
            return
        self._is_abandoned = self._is_abandoned or not (self._is_ended or self.progress.has_ended)
        try:
            await self._close_source(is_done=self.progress.is_done)
        finally:
            self._end("complete" if self.progress.has_ended else "abandoned", None)

    async def _close_source(self, *, is_done: bool) -> None:
        await self.source.close(is_done=is_done)
        self._has_closed = True

    def disown(self) -> None:
        """Leave it to the process that this one was forked from: whoever collects it here must not touch it."""
        self._is_adopted = True

    def abandon(self) -> None:
        """Let go without waiting: the caller has forgotten the answer, or has read it and not closed it."""
        if self._is_adopted:
            return
        # Whoever reads on, in another thread, must not take this for the end of the answer.
        self._is_abandoned = self._is_abandoned or not (self._is_ended or self.progress.has_ended)
        if not self._has_closed:
            self.source.abort()
        self._end("abandoned", None)

    async def _advance(self) -> list[Event]:
        """Take one batch from the source. A failure inside it waits until what came before it was handed on."""
        try:
            batch = await self._pull()
        except Exception as error:  # noqa: BLE001  _fail() raises it, unless something takes over
            self._failure = error
            return []
        events: list[Event] = []
        try:
            # Not a comprehension: what came before a failure is kept.
            for event in batch:
                events.append(self._observe(event))  # noqa: PERF401
        except Exception as error:  # noqa: BLE001
            self._failure = error
        self._note(events)
        return events

    def _observe(self, event: Event) -> Event:
        fit = self.progress.observe(event)
        if self._gathered is not None:
            try:
                self._gathered.take(fit)
            except (AttributeError, TypeError, KeyError, IndexError) as error:
                raise self.progress.malformed("The server sent a chunk of another shape", event) from error
        return fit

    async def _pull(self) -> list[Event]:
        if self.progress.is_complete and self.progress.usage is not None and not self.call.is_stream:
            return [DONE]
        try:
            batch = await self.source.pull(self._until())
        except (DeadlineReached, ConnectionLost) as error:
            if self.progress.has_ended:
                return [DONE]
            raise self._explain(error) from error.__cause__
        return self._at_eof() if batch is None else self._suited(batch)

    def _until(self) -> float:
        if not self.progress.is_complete:
            return self.clock.at
        trailer = _TRAILER_S if self.progress.usage is None else _TRAILER_AFTER_USAGE_S
        return min(self.clock.at, self.call.io.now() + trailer)

    def _explain(self, error: DeadlineReached | ConnectionLost) -> Exception:
        if isinstance(error, ConnectionLost):
            return self.progress.interrupted(f"The connection broke: {error}")
        if self.call.io.now() < self.clock.at - _TOLERANCE_S:
            # Not our clock but the HTTP client's own timeout, which counts silent seconds on the wire.
            return openai.APITimeoutError(self.source.response.request)
        kind, limit = self.clock.expired()
        return kind(request=self.source.response.request, limit=limit, partial=self.progress.partial())

    def _at_eof(self) -> list[Event]:
        if self.progress.has_ended:
            return [DONE]
        if self.source.only_waited:
            raise QueueTimeoutError(request=self.source.response.request, limit=None)
        raise self.progress.interrupted("The answer ended without a finish_reason")

    def _suited(self, batch: list[Event]) -> list[Event]:
        """Take a whole answer apart for a caller that wants a stream."""
        if not (batch[0].is_whole and self.call.is_stream):
            return batch
        try:
            answer = batch[0].json()
        except ValueError as error:
            raise self.progress.unreadable(batch[0]) from error
        try:
            return [*map(encode, unfold(answer)), DONE]
        except (AttributeError, TypeError, ValueError) as error:
            raise self.progress.malformed("The server sent a body that is no answer", batch[0]) from error

    def _note(self, events: list[Event]) -> None:
        progress, now = self.progress, self.call.io.now()
        if progress.has_moved:
            progress.has_moved = False
            self.clock.progress(now)
        elif now >= self.clock.at and self._failure is None and not progress.has_ended:
            self._failure = self._explain(DeadlineReached())
        if self.call.record.times.first_answer is None or self._attempt.first_token is None:
            self.call.record.note(self._attempt, progress, now)
            if progress.has_token:
                for leg in self._legs:
                    leg.greet()
        if progress.is_done or (progress.has_ended and events and events[-1].is_whole):
            progress.is_done = self._is_finishing = True

    def _is_holding(self) -> bool:
        """Hold back what comes before the first token while a rescuer could still replace it unseen."""
        if self.progress.has_token or self._is_finishing or len(self._legs) == 1 or not self.call.is_stream:
            return False
        return len(self._held) <= _PREAMBLE_EVENTS and sum(len(event.raw) for event in self._held) <= _PREAMBLE_BYTES

    def _release(self) -> list[Event]:
        events, self._held = self._held, []
        self.has_shown = self.has_shown or (bool(events) and self.call.is_stream)
        self.clock.paused_at = self.call.io.now() if self.call.is_stream else None
        for tap in self._taps:
            for event in events:
                tap(event)
        if self._is_finishing:
            self._end("complete", None)
        return events

    async def _fail(self, error: Exception) -> None:
        """Close what failed and let the rescuers, innermost first, put another in its place."""
        self._failure = None
        if self._is_abandoned:
            # It was cut off here: that is no failure of the server, and nobody is left to be rescued.
            self._end("abandoned", None)
            return
        await self._close_source(is_done=self.progress.is_done)
        self.call.record.settle(self._attempt, self.progress, self.call.io.now(), error, self.call.body)
        for level, leg in enumerate(self._legs):
            if leg.rescuer is None:
                self._finish_record("failed", error)
            leg.end("failed", error)
            if leg.rescuer is None:
                break
            try:
                other = await leg.rescuer(self, error)
            except Exception as later:  # noqa: BLE001  an outer rescuer may still help
                error, other = later, None
            if other is not None:
                await self._take_over(other, level)
                return
        self._is_ended = True
        self._held = []
        self.call.io.answers.let_go()
        self.call.blame(error)
        try:
            raise error
        finally:
            # Its traceback holds this frame: the two would keep each other, and the call.
            del error

    async def _take_over(self, other: Reply, level: int) -> None:
        if self._is_ended:
            # The caller has closed this one meanwhile, in another thread or task.
            await other.close()
        else:
            self._adopt(other, level)

    def _adopt(self, other: Reply, level: int) -> None:
        if self.has_shown:
            other.progress.follow(self.progress)
        other._is_adopted = True
        self.source, self.progress = other.source, other.progress
        self._has_closed = False
        self.clock, self._attempt = other.clock, other._attempt
        other._legs[-1].rescuer = self._legs[level].rescuer
        self._legs[: level + 1] = other._legs
        self._has_checks = self._has_checks or other._has_checks
        self._taps = self._all_taps()
        self._held = []
        if self._gathered is not None:
            self._gathered, self._content = Gathered(), None
        for watcher in self._watchers:
            watcher()

    def _all_taps(self) -> tuple[Tap, ...]:
        return tuple(tap for leg in self._legs for tap in leg.taps)

    def _end(self, ending: Ending, error: BaseException | None) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        try:
            self._settle(ending)
            self._finish_record(ending, error)
        finally:
            for leg in self._legs:
                leg.end(ending, error)
            self.call.io.answers.let_go(spare=self)

    def _settle(self, ending: Ending) -> None:
        record, now = self.call.record, self.call.io.now()
        if ending == "complete":
            record.settle(self._attempt, self.progress, now, None, self.call.body)
        else:
            record.abandon(self._attempt, self.progress, now, self.call.body)

    def _finish_record(self, ending: Ending, error: BaseException | None) -> None:
        self.call.record.end(ending, error, self.call.io.now())


def _choices(call: Call) -> int:
    n = call.body.get("n")
    return n if isinstance(n, int) and n > 0 else 1
