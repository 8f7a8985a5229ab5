"""`call.io`: time, concurrency and the wire in the caller's colour; all that a stage may await besides `proceed`."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import logging
import queue
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import anyio

from deepseek_sdk._answers import Answers
from deepseek_sdk._finish import finish
from deepseek_sdk._loop import current_loop
from deepseek_sdk._wire import AsyncUpstream, CancelToken, SyncUpstream, Upstream, Watchdog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future

    from deepseek_sdk._background import Background, Ticket, Work

__all__ = ["IO", "AsyncIO", "Branch", "SyncIO"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_log = logging.getLogger("deepseek_sdk")


def _nothing() -> None:
    pass


class Branch(Protocol[T_co]):
    """One of several things to do at once; it must use the `io` it is given."""

    def __call__(self, io: IO, /) -> Coroutine[Any, Any, T_co]:
        """Start."""
        ...


class IO(Protocol):
    """What a stage may await. Instants are of the monotonic clock, durations are seconds."""

    @property
    def is_async(self) -> bool:
        """Whether the caller runs an event loop."""
        ...

    @property
    def answers(self) -> Answers:
        """What was answered so far to this call, its races included, or to this background work."""
        ...

    def now(self) -> float:
        """Tell the time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def offload(self, work: Callable[..., T], *args: Any) -> T:
        """Run work that blocks or computes: off the event loop, or here where there is none."""
        ...

    async def wait(self, future: Future[T], timeout: float | None = None) -> T:
        """
        Wait for a future that someone else completes. Giving up, or being cancelled, leaves it alone.

        Raises:
            TimeoutError: It took longer than *timeout* seconds.
        """
        ...

    async def race(self, *branches: Branch[T], discard: Callable[[T], Awaitable[None]] | None = None) -> tuple[int, T]:
        """
        Do several things at once and take the first result; the others are cancelled.

        Args:
            *branches: What to do.
            discard: Disposes of a result that came too late.

        Returns:
            The index of the branch that won, and its result.

        Raises:
            Exception: The first error, where every branch failed.
        """
        ...

    def spawn(self, branch: Branch[None]) -> bool:
        """
        Do something in the background.

        Returns:
            False where too much is going on already: it was not started.
        """
        ...

    def start(self, branch: Branch[None], lost: Callable[[], object] = ...) -> Work | None:
        """
        Do something on behalf of callers who wait for what comes of it, and may leave while it goes on.

        Args:
            branch: What to do.
            lost: Called where the event loop ends before that has ended, or even begun.

        Returns:
            What cancels it, or None: the client is closed, or the system has no thread to give.
        """
        ...

    async def send(self, call_upstream: Any, options: Any, until: float) -> Upstream:
        """Send a request and wait for the headers; see `_wire.upstream`."""
        ...


class SyncIO:
    """The sync colour: everything happens on the caller's thread."""

    is_async = False

    def __init__(
        self,
        background: Background,
        watchdog: Watchdog,
        token: CancelToken | None = None,
        answers: Answers | None = None,
    ) -> None:
        self.answers = answers or Answers()
        self._background = background
        self._watchdog = watchdog
        self._token = token

    now = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        if self._token is None:
            time.sleep(seconds)  # noqa: ASYNC251  this colour has no event loop
        elif _first_done((self._token.cancelled,), seconds):
            raise concurrent.futures.CancelledError

    async def offload(self, work: Callable[..., T], *args: Any) -> T:
        return work(*args)

    async def wait(self, future: Future[T], timeout: float | None = None) -> T:
        # Not concurrent.futures.wait(): it never learns of a future that is cancelled before anyone works on it.
        watched: tuple[Future[Any], ...] = (future,) if self._token is None else (future, self._token.cancelled)
        if not _first_done(watched, timeout):
            raise TimeoutError
        if not future.done():
            raise concurrent.futures.CancelledError
        return future.result(timeout=0)

    async def race(self, *branches: Branch[T], discard: Callable[[T], Awaitable[None]] | None = None) -> tuple[int, T]:
        race = _ThreadRace(self._with_token, discard)
        try:
            for index, branch in enumerate(branches):
                race.start(index, branch)
            return race.winner(len(branches), self._token)
        finally:
            race.cancel_losers()

    def _with_token(self, token: CancelToken) -> SyncIO:
        return SyncIO(self._background, self._watchdog, token, self.answers)

    def spawn(self, branch: Branch[None]) -> bool:
        return self._begin(branch, self._background.admit()) is not None

    def start(self, branch: Branch[None], lost: Callable[[], object] = _nothing) -> Work | None:  # noqa: ARG002
        return self._begin(branch, self._background.admit(is_awaited=True))

    def _begin(self, branch: Branch[None], ticket: Ticket | None) -> Work | None:
        if ticket is None:
            return None
        token = CancelToken()
        self._background.hold(ticket, token)
        work = _settled(self._background, ticket, branch, SyncIO(self._background, self._watchdog, token))
        run = contextvars.copy_context().run
        try:
            threading.Thread(target=run, args=(finish, work), name="deepseek-sdk-work", daemon=True).start()
        except RuntimeError:
            # The system has no thread to give.
            work.close()
            self._background.leave(ticket)
            return None
        return token

    async def send(self, call_upstream: Any, options: Any, until: float) -> Upstream:
        return SyncUpstream.open(
            call_upstream.client, call_upstream.send, options, until, token=self._token, watchdog=self._watchdog
        )


def _first_done(futures: tuple[Future[Any], ...], timeout: float | None) -> bool:
    """Wait until one of some futures is done; False where that took too long."""
    # Not an Event: the garbage collector may complete a future in the thread that is in the middle of waiting for it.
    done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    try:
        done.get(timeout=timeout)
    except queue.Empty:
        return False
    return True


class _ThreadRace(Generic[T]):
    """
    Branches on threads of their own.

    The socket that a loser reads from is shut down, so that it ends at once; one that is still connecting, or that is
    on an HTTP client of the caller's own and waits for headers, ends when that does. The winner keeps its connection.
    """

    def __init__(
        self, make_io: Callable[[CancelToken], SyncIO], discard: Callable[[T], Awaitable[None]] | None
    ) -> None:
        self._make_io = make_io
        self._discard = discard
        self._tokens: list[CancelToken] = []
        self._results: queue.SimpleQueue[tuple[int, T | None, BaseException | None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_over = False
        self._winner: int | None = None

    def start(self, index: int, branch: Branch[T]) -> None:
        token = CancelToken()
        self._tokens.append(token)
        io = self._make_io(token)
        context = contextvars.copy_context()
        run = (self._run, index, branch, io)
        threading.Thread(target=context.run, args=run, name="deepseek-sdk-race", daemon=True).start()

    def _run(self, index: int, branch: Branch[T], io: SyncIO) -> None:
        try:
            value = finish(branch(io))
        except BaseException as error:  # noqa: BLE001  the racing thread raises it
            self._results.put((index, None, error))
            return
        with self._lock:
            is_late = self._is_over
            if not is_late:
                self._results.put((index, value, None))
        if is_late and self._discard is not None:
            finish(_awaited(self._discard(value)))

    def winner(self, count: int, token: CancelToken | None) -> tuple[int, T]:
        if token is not None:
            token.cancelled.add_done_callback(
                lambda _: self._results.put((-1, None, concurrent.futures.CancelledError()))
            )
        errors: list[BaseException] = []
        while len(errors) < count:
            index, value, error = self._results.get()
            if error is None:
                self._crown(index, token)
                return index, value  # type: ignore[return-value]
            errors.append(error)
            if index < 0:
                raise error
        raise errors[0]

    def _crown(self, index: int, token: CancelToken | None) -> None:
        """Let the winner go on, until whoever started the race is cancelled."""
        self._winner = index
        if token is not None:
            token.cancelled.add_done_callback(lambda _: self._tokens[index].cancel())

    def cancel_losers(self) -> None:
        with self._lock:
            self._is_over = True
        for index, token in enumerate(self._tokens):
            if index != self._winner:
                token.cancel()
        self._discard_rest()

    def _discard_rest(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                _, value, error = self._results.get_nowait()
                if error is None and self._discard is not None:
                    finish(_awaited(self._discard(value)))  # type: ignore[arg-type]


async def _settled(background: Background, ticket: Ticket, branch: Branch[None], io: IO) -> None:
    try:
        await branch(io)
    except Exception:  # noqa: BLE001  nobody waits for it
        # Work that is cut off by the end of its client fails in many ways, and in none that matters.
        level = logging.DEBUG if background.is_closed else logging.WARNING
        _log.log(level, "background work failed", exc_info=True)
    finally:
        io.answers.let_go()
        background.leave(ticket)


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


class AsyncIO:
    """The async colour: on asyncio or trio."""

    is_async = True

    def __init__(self, background: Background, limiter: anyio.CapacityLimiter | None = None) -> None:
        self.answers = Answers()
        self._background = background
        self._limiter = limiter

    now = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def offload(self, work: Callable[..., T], *args: Any) -> T:
        return await anyio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._limiter)

    async def wait(self, future: Future[T], timeout: float | None = None) -> T:
        if not future.done():
            done, loop = anyio.Event(), current_loop()
            future.add_done_callback(lambda _: loop.call_soon(done.set))
            with anyio.fail_after(timeout):
                await done.wait()
        return future.result(timeout=0)

    async def race(self, *branches: Branch[T], discard: Callable[[T], Awaitable[None]] | None = None) -> tuple[int, T]:
        race = _TaskRace(self, discard)
        try:
            async with anyio.create_task_group() as group:
                for index, branch in enumerate(branches):
                    group.start_soon(race.run, index, branch, group.cancel_scope)
        except BaseException:
            # Cancelled when it was already won: nobody will take the prize.
            await race.discard_prize()
            raise
        return race.winner()

    def spawn(self, branch: Branch[None]) -> bool:
        return self._begin(branch, self._background.admit()) is not None

    def start(self, branch: Branch[None], lost: Callable[[], object] = _nothing) -> Work | None:
        return self._begin(branch, self._background.admit(is_awaited=True), lost)

    def _begin(self, branch: Branch[None], ticket: Ticket | None, lost: Callable[[], object] = _nothing) -> Work | None:
        if ticket is None:
            return None
        # Threads of its own: all that the loop has may be waiting for this very work, in functions of its callers.
        io = AsyncIO(self._background, anyio.CapacityLimiter(1))
        work = _Detached(partial(_settled, self._background, ticket, branch, io), partial(self._lost, ticket, lost))
        self._background.hold(ticket, work)
        return work

    def _lost(self, ticket: Ticket, lost: Callable[[], object]) -> None:
        self._background.leave(ticket)
        lost()

    async def send(self, call_upstream: Any, options: Any, until: float) -> Upstream:
        return await AsyncUpstream.open(call_upstream.send, options, until)


class _TaskRace(Generic[T]):
    def __init__(self, io: AsyncIO, discard: Callable[[T], Awaitable[None]] | None) -> None:
        self._io = io
        self._discard = discard
        self._won: list[tuple[int, T]] = []
        self._errors: list[Exception] = []

    async def run(self, index: int, branch: Branch[T], scope: anyio.CancelScope) -> None:
        try:
            value = await branch(self._io)
        except Exception as error:  # noqa: BLE001  winner() raises it
            self._errors.append(error)
            return
        if not self._won:
            self._won.append((index, value))
            scope.cancel()
        else:
            await self._throw_away(value)

    async def discard_prize(self) -> None:
        if self._won:
            await self._throw_away(self._won[0][1])

    async def _throw_away(self, value: T) -> None:
        if self._discard is not None:
            with anyio.CancelScope(shield=True):
                await self._discard(value)

    def winner(self) -> tuple[int, T]:
        if self._won:
            return self._won[0]
        raise self._errors[0]


class _Detached:
    """Work on the event loop that runs, which any thread may cancel."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], lost: Callable[[], object]) -> None:
        self._loop = current_loop()
        self._scope = anyio.CancelScope()
        self._work = work
        self._loop.start_here(self._run, lost)

    def cancel(self) -> None:
        self._loop.call_soon(self._scope.cancel)

    async def _run(self) -> None:
        with self._scope:
            await self._work()
