"""`VirtualIO`: time that passes only when somebody waits, so that what waits for hours is tested in no time."""

from __future__ import annotations

import contextvars
from concurrent.futures import CancelledError, Future
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from deepseek_sdk._answers import Answers
from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from deepseek_sdk._background import Ticket, Work
    from deepseek_sdk._io import IO, Branch

__all__ = ["VirtualIO", "finish"]

T = TypeVar("T")


class VirtualIO:
    """
    `call.io` for tests of stages: nothing blocks, and the clock moves only while something waits.

        io = VirtualIO()
        reply = finish(stage(make_call(io=io), backend))
        io.now()        how long the stage waited in all
        io.slept        each sleep in the order of their beginning, in seconds
        io.settle()     lets background work come to its end
        io.failures     what background work raised

    Branches of a race and background work take turns on this thread, in the order in which their waits end.

    Args:
        start: What the clock shows at first, in seconds.
        background: How much background work may go on at a time.
    """

    is_async = False

    def __init__(self, start: float = 0.0, *, background: int = 64) -> None:
        self.answers = Answers()
        self._world = _World(start)
        self._background = Background(background)
        self._task: _Task[Any] | None = None

    @property
    def slept(self) -> list[float]:
        """Every sleep so far, those of branches and background work included."""
        return self._world.slept

    @property
    def failures(self) -> list[Exception]:
        """What background work raised so far."""
        return self._world.failures

    def now(self) -> float:
        """Tell the virtual time."""
        return self._world.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._world.slept.append(seconds)
        await self._pause(self.now() + seconds, Future())

    async def offload(self, work: Callable[..., T], *args: Any) -> T:
        """Do it here, which takes no time."""
        return work(*args)

    async def wait(self, future: Future[T], timeout: float | None = None) -> T:
        """
        Wait for a future that a branch or background work completes.

        Raises:
            TimeoutError: It took longer than *timeout* seconds.
            RuntimeError: There is no *timeout*, and nothing is left that could complete it.
        """
        await self._pause(inf if timeout is None else self.now() + timeout, future)
        return future.result(timeout=0)

    async def race(self, *branches: Branch[T], discard: Callable[[T], Awaitable[None]] | None = None) -> tuple[int, T]:
        """
        Do several things at once and take the first result; the others are cancelled where they wait.

        Raises:
            Exception: The first error, where every branch failed.
        """
        tasks = [self._start(branch) for branch in branches]
        race: _Race[T] = _Race(tasks)
        winner: _Task[T] | None = None
        try:
            await self._pause(inf, race.decided)
            winner = race.decided.result()
            return tasks.index(winner), winner.outcome.result()
        finally:
            for value in [task.outcome.result() for task in tasks if task is not winner and task.cancel()]:
                if discard is not None:
                    await discard(value)

    def spawn(self, branch: Branch[None]) -> bool:
        """Do something in the background: it goes on while something else waits, or in `settle()`."""
        return self._begin(branch, self._background.admit()) is not None

    def start(self, branch: Branch[None], lost: Callable[[], object] | None = None) -> Work | None:  # noqa: ARG002
        """Do something in the background that somebody waits for."""
        return self._begin(branch, self._background.admit(is_awaited=True))

    def _begin(self, branch: Branch[None], ticket: Ticket | None) -> Work | None:
        return None if ticket is None else self._start(lambda io: self._work(ticket, branch, io))

    def settle(self) -> None:
        """Let all background work come to its end."""
        self._world.advance(inf, Future(), is_draining=True)

    async def send(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: there is no network in virtual time."""
        message = "virtual time has no network: end the chain with a ScriptedBackend"
        raise RuntimeError(message)

    async def _work(self, ticket: Ticket, branch: Branch[None], io: VirtualIO) -> None:
        io.answers = Answers()
        try:
            await branch(io)
        except Exception as error:  # noqa: BLE001  a caller does not learn of it
            self.failures.append(error)
        finally:
            io.answers.let_go()
            self._background.leave(ticket)

    async def _pause(self, until: float, future: Future[Any]) -> None:
        if self._task is None:
            self._world.advance(until, future)
            return
        self._task.check()
        await _Pause(until, future)

    def _start(self, branch: Branch[T]) -> _Task[T]:
        io = VirtualIO()
        io._world, io._background = self._world, self._background
        io.answers = self.answers
        task = _Task(branch, io, self._world.now)
        io._task = task
        self._world.tasks.append(task)
        return task


class _Pause:
    """What a task hands to the world while it waits: until an instant, or for a future."""

    def __init__(self, until: float, future: Future[Any]) -> None:
        self.until = until
        self.future = future

    def __await__(self) -> Generator[_Pause, None, None]:
        yield self

    def is_over(self, now: float) -> bool:
        return now >= self.until or self.future.done()


class _Task(Generic[T]):
    """A branch in the virtual world, with a context of its own; it begins with its first step."""

    def __init__(self, branch: Branch[T], io: IO, now: float) -> None:
        self.outcome: Future[T] = Future()
        self.pause = _Pause(now, Future())
        self._begin = partial(branch, io)
        self._context = contextvars.copy_context()
        self._coroutine: Coroutine[Any, Any, T] | None = None
        self._is_cancelled = False

    def check(self) -> None:
        if self._is_cancelled:
            raise CancelledError

    def step(self) -> None:
        if self._coroutine is None:
            self._coroutine = self._context.run(self._begin)
        self._resume(self._coroutine.send, None)

    def cancel(self) -> bool:
        """Cancel what waits; say whether there is a result all the same."""
        self._is_cancelled = True
        if self._coroutine is None:
            self.outcome.set_exception(CancelledError())
        elif not self.outcome.done():
            self._resume(self._coroutine.throw, CancelledError())
        return self.outcome.exception() is None

    def _resume(self, resume: Callable[[Any], object], value: object) -> None:
        try:
            pause = self._context.run(resume, value)
        except StopIteration as stop:
            self.outcome.set_result(stop.value)
        except Exception as error:  # noqa: BLE001  whoever waits for the outcome raises it
            self.outcome.set_exception(error)
        else:
            self._wait(pause)

    def _wait(self, pause: object) -> None:
        if isinstance(pause, _Pause):
            self.pause = pause
        else:
            self.outcome.set_exception(RuntimeError("a branch awaited something other than its io"))


class _Race(Generic[T]):
    """Finds the first of several tasks that has a result."""

    def __init__(self, tasks: list[_Task[T]]) -> None:
        self.decided: Future[_Task[T]] = Future()
        self._errors: list[BaseException] = []
        for task in tasks:
            task.outcome.add_done_callback(lambda _, task=task: self._note(task, len(tasks)))  # type: ignore[misc]

    def _note(self, task: _Task[T], count: int) -> None:
        if self.decided.done():
            return
        if (error := task.outcome.exception()) is None:
            self.decided.set_result(task)
            return
        self._errors.append(error)
        if len(self._errors) == count:
            self.decided.set_exception(self._errors[0])


class _World:
    """The clock, and everything that waits for it."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.slept: list[float] = []
        self.failures: list[Exception] = []
        self.tasks: list[_Task[Any]] = []

    def advance(self, until: float, future: Future[Any], *, is_draining: bool = False) -> None:
        """Let things happen until an instant has come, a future is done, or, draining, nothing is left."""
        while not future.done():
            self.tasks = [task for task in self.tasks if not task.outcome.done()]
            ready = next((task for task in self.tasks if task.pause.is_over(self.now)), None)
            if ready is not None:
                ready.step()
            elif self.now >= until or (is_draining and not self.tasks):
                return
            else:
                self._jump(until)

    def _jump(self, until: float) -> None:
        instant = min([until, *(task.pause.until for task in self.tasks)])
        if instant == inf:
            message = "nothing is left that could end this wait"
            raise RuntimeError(message)
        self.now = instant
