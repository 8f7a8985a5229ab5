"""Answers that are computed, not received: a backend's generator of chunks as the source of a reply."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from deepseek_sdk._clock import Clock
from deepseek_sdk._finish import finish
from deepseek_sdk._loop import current_loop
from deepseek_sdk._reply import Reply
from deepseek_sdk._sse import Event, encode
from deepseek_sdk._wire import ConnectionLost, DeadlineReached, make_alarm, stub_response
from deepseek_sdk.resilience.retrying.nesting import Owner, is_owned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
    from concurrent.futures import Future

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO, Branch
    from deepseek_sdk._wire import Upstream

__all__ = ["reply_from"]

T = TypeVar("T")

_log = logging.getLogger("deepseek_sdk")

# What comes after the last chunk.
_END = object()

# What a generator may take to end itself once nobody listens any more.
_FAREWELL_S = 1.0


def reply_from(call: Call, generate: Callable[[Call], AsyncGenerator[Mapping[str, Any], None]], *, route: str) -> Reply:
    """
    Make an answer of chunks that are computed one by one.

    The generator may await nothing but methods of `call.io`, of the call that it is given: their waits end with the
    clocks of the answer. It is closed where the caller stops reading. An `OSError` counts as a broken connection; any
    other exception reaches the caller as it is. What goes wrong while the generator is closed is logged.

    Args:
        call: What is asked.
        generate: Yields the chunks, as a DeepSeek server would stream them. `id`, `object`, `created` and `model` are
            filled in where they are missing; the last chunk of each choice has a *finish_reason*.
        route: What reports call the backend, where the route that leads to it has no name.

    Returns:
        The answer in flight; the first chunk is computed when it is asked for.
    """
    now = call.io.now()
    name = getattr(call.upstream, "name", "") or route
    account = getattr(call.upstream, "account", None)
    attempt = call.record.begin(route=name, model=call.model, now=now, account=account)
    source = _Generated(call, generate, route)
    return Reply(call, source, Clock(call.limits, call_started=call.record.started, now=now), attempt)


class _Generated:
    """Chunks of a generator as events."""

    upstream: Upstream | None = None
    only_waited = False

    def __init__(
        self, call: Call, generate: Callable[[Call], AsyncGenerator[Mapping[str, Any], None]], route: str
    ) -> None:
        self._route = route
        self.response = stub_response(200, f"http://backend.invalid{call.path}")
        self._waits = _AsyncWaits() if call.io.is_async else _SyncWaits(call.io)
        self._chunks = generate(call if call.io.is_async else call.replace(io=self._waits))
        self._head = _head(call)
        self._now = call.io.now
        self._is_over = False
        # What is computed while it is read is still part of an attempt that a stage may repeat; of a stream, until
        # something of it may have been shown.
        self._is_owned = is_owned()
        self._is_stream = call.is_stream

    async def pull(self, until: float) -> list[Event] | None:
        if self._is_over:
            return None
        try:
            chunk: Any = await self._next(until)
        except OSError as error:
            raise ConnectionLost(str(error) or type(error).__name__) from error
        self._is_over = chunk is _END
        return None if chunk is _END else [self._event(chunk)]

    async def _next(self, until: float) -> Any:
        if not self._is_owned:
            return await self._waits.bound(anext(self._chunks, _END), until)
        with Owner():
            chunk = await self._waits.bound(anext(self._chunks, _END), until)
        self._is_owned = not self._is_stream
        return chunk

    def _event(self, chunk: Any) -> Event:
        if not isinstance(chunk, Mapping):
            raise TypeError(f"the backend {self._route!r} yielded {chunk!r}: a chunk is a mapping")
        try:
            return encode({**self._head, **chunk})
        except (TypeError, ValueError) as error:
            raise TypeError(f"the backend {self._route!r} yielded a chunk that is no JSON: {error}") from error

    async def close(self, *, is_done: bool) -> None:  # noqa: ARG002  there is no connection to keep
        try:
            await self._waits.bound(self._chunks.aclose(), self._now() + _FAREWELL_S)
        except DeadlineReached:
            _log.warning("a backend took too long to end its answer")
        except Exception:  # noqa: BLE001  the caller has left, or has an error that matters more
            _log.exception("a backend failed to end its answer")

    def abort(self) -> None:
        # One that runs right now cannot be closed; whoever runs it closes it afterwards.
        if not getattr(self._chunks, "ag_running", False):
            self._waits.see_off(partial(self.close, is_done=False))


def _head(call: Call) -> dict[str, Any]:
    kind = "chat.completion.chunk" if call.path == "/chat/completions" else "text_completion"
    return {"id": uuid.uuid4().hex, "object": kind, "created": int(time.time()), "model": call.model}


class _AsyncWaits:
    """Whatever is awaited can be cancelled when its time is over."""

    def __init__(self) -> None:
        self._alarm = make_alarm()
        self.see_off = current_loop().start

    async def bound(self, awaitable: Awaitable[T], until: float) -> T:
        try:
            return await self._alarm.guard(awaitable, until)
        finally:
            self._alarm.stop()


class _SyncWaits:
    """`call.io` for one that cannot be cancelled: its waits end when its time is over."""

    is_async = False

    def __init__(self, io: IO, until: float = inf) -> None:
        self._io = io
        self._until = until
        self.answers = io.answers
        self.now = io.now
        self.offload, self.spawn, self.start, self.send = io.offload, io.spawn, io.start, io.send

    async def bound(self, awaitable: Awaitable[T], until: float) -> T:
        self._until = until
        result = await awaitable
        # What computes in `offload()` cannot be cut short, but it can come too late.
        if self._io.now() > until:
            raise DeadlineReached
        return result

    def see_off(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        finish(work())

    async def sleep(self, seconds: float) -> None:
        left = self._until - self._io.now()
        await self._io.sleep(max(min(seconds, left), 0))
        if seconds > left:
            raise DeadlineReached

    async def wait(self, future: Future[T], timeout: float | None = None) -> T:
        left = max(self._until - self._io.now(), 0)
        try:
            return await self._io.wait(future, left if timeout is None else min(timeout, left))
        except TimeoutError:
            if timeout is None or left <= timeout:
                raise DeadlineReached from None
            raise

    async def race(self, *branches: Branch[T], discard: Callable[[T], Awaitable[None]] | None = None) -> tuple[int, T]:
        bounded = [partial(_bounded, branch, self._until) for branch in branches]
        return await self._io.race(*bounded, discard=discard)


async def _bounded(branch: Branch[T], until: float, io: IO) -> T:
    return await branch(_SyncWaits(io, until))
