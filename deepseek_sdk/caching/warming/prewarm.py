"""`Prewarm`: asks what was chosen, one after another, in either colour."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from deepseek_sdk._finish import finish
from deepseek_sdk.caching.warming.schedule import Budget
from deepseek_sdk.errors import classify
from deepseek_sdk.resilience.checks import check_count, check_number

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

__all__ = ["Bell", "Prewarm", "Progress", "UnkeptError"]

T = TypeVar("T")
State = Literal["waiting", "running", "done", "cancelled", "budget", "failing"]

_log = logging.getLogger("deepseek_sdk")

# How often to look at the clock: it may be put forward, and the machine may have slept; and, on an event loop, whether
# somebody has cancelled.
_LOOK_S = 0.5
_FAILURES = 3
# What would be the same for the next question.
_FOR_ALL = frozenset({"authentication", "balance", "budget", "circuit_open", "configuration", "permission"})


class UnkeptError(Exception):
    """
    The model has answered, and the answer is not where it was wanted.

    Args:
        reason: Why.
        cny: What it has cost, in CNY, or None: nobody knows.
    """

    def __init__(self, reason: str, cny: float | None = None) -> None:
        super().__init__(reason)
        self.cny = cny


class Progress(NamedTuple):
    """
    How far it has come.

    Attributes:
        state: "waiting" until it begins, "running", "done"; "cancelled"; "budget": it is used up; "failing": several
            calls in a row failed, or one in a way in which the next would fail, too.
        asked: How many questions were answered.
        failed: How many were not.
        left: How many were not asked yet, or will not be.
        cny: What was spent, in CNY; where a call does not tell, what it was expected to cost.
    """

    state: State
    asked: int
    failed: int
    left: int
    cny: float


class Bell:
    """Ends waits, from any thread."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    @property
    def is_rung(self) -> bool:
        """Whether it has rung."""
        return self._rung.is_set()

    def ring(self) -> None:
        """End all waits, now and later."""
        self._rung.set()

    async def is_quiet_until(self, instant: float, wall: Callable[[], float], *, is_async: bool) -> bool:
        """
        Wait until an instant.

        Args:
            instant: In seconds since 1970.
            wall: Tells the time, likewise.
            is_async: There is an event loop that goes on.

        Returns:
            False where it has rung.
        """
        while not self.is_rung and (left := instant - wall()) > 0:
            if is_async:
                import anyio  # noqa: PLC0415  the sync colour does without

                await anyio.sleep(min(left, _LOOK_S))
            else:
                self._rung.wait(min(left, _LOOK_S))
        return not self.is_rung


class Prewarm(Generic[T]):
    """
    Asks questions before somebody does.

        Prewarm(questions).run(ask)             here, until all are asked
        Prewarm(questions).start(ask)           in a thread of its own
        await Prewarm(questions).arun(ask)      on an event loop
        prewarm.progress, prewarm.cancel()      meanwhile, from any thread

    What *ask* returns, if anything, is what the call has cost, in CNY. What it raises is counted; an `UnkeptError` has
    cost something, too.

    Args:
        questions: Each with what it is expected to cost, in CNY, or None; the most useful first.
        begins: When to begin, in seconds since 1970; None: at once.
        budget: What may be spent.
        at_once: How many questions are asked at a time.
        wall: Tells the time, in seconds since 1970.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        questions: Iterable[tuple[T, float | None]],
        *,
        begins: float | None = None,
        budget: Budget = Budget(),  # noqa: B008  nothing of it can be changed
        at_once: int = 1,
        wall: Callable[[], float] = time.time,
    ) -> None:
        check_count("at_once", at_once, least=1)
        if begins is not None:
            check_number("begins", begins)
        self._left = deque(questions)
        self._begins = begins
        self._budget = budget.check()
        self._at_once = at_once
        self._wall = wall
        self._bell = Bell()
        # A signal may come in the middle of it, and its handler cancel.
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._state: State = "waiting"
        self._begun = self._asked = self._failed = self._in_a_row = 0
        # What was spent, and what is expected of calls that are under way.
        self._cny = self._expected = 0.0

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        with self._lock:
            return Progress(self._state, self._asked, self._failed, len(self._left), round(self._cny, 9))

    def cancel(self) -> None:
        """Ask nothing more; what is under way ends by itself. May be called from any thread, and again."""
        self._bell.ring()
        self._stop("cancelled")

    def run(self, ask: Callable[[T], float | None]) -> Progress:
        """
        Wait until it is time, and ask.

        Args:
            ask: Asks one question; called by several threads where several are asked at a time.

        Returns:
            What came of it.
        """

        async def awaited(question: T) -> float | None:
            return ask(question)

        try:
            if finish(self._wait(is_async=False)):
                self._share_out(lambda: finish(self._work(awaited)))
        finally:
            self._end()
        return self.progress

    def _share_out(self, work: Callable[[], None]) -> None:
        helpers = [_thread(work) for _ in range(self._at_once - 1)]
        work()
        for helper in helpers:
            helper.join()

    def start(self, ask: Callable[[T], float | None]) -> threading.Thread:
        """
        Do as `run()` does, in a thread of its own, which ends with the process.

        Args:
            ask: Asks one question.

        Returns:
            The thread.
        """
        return _thread(lambda: self.run(ask))

    async def arun(self, ask: Callable[[T], Awaitable[float | None]]) -> Progress:
        """
        Wait until it is time, and ask, on an event loop; where the task is cancelled, so is what is under way.

        Args:
            ask: Asks one question.

        Returns:
            What came of it.
        """
        import anyio  # noqa: PLC0415  the sync colour does without

        try:
            if await self._wait(is_async=True):
                async with anyio.create_task_group() as group:
                    for _ in range(self._at_once):
                        group.start_soon(self._work, ask)
        finally:
            self._end()
        return self.progress

    def wait(self, timeout_s: float | None = None) -> bool:
        """
        Wait until all is over.

        Args:
            timeout_s: How long at most, in seconds; None: for as long as it takes.

        Returns:
            Whether it is.
        """
        return self._ended.wait(timeout_s)

    async def _wait(self, *, is_async: bool) -> bool:
        begins = self._wall() if self._begins is None else self._begins
        if not await self._bell.is_quiet_until(begins, self._wall, is_async=is_async):
            return False
        with self._lock:
            if self._state == "waiting":
                self._state = "running"
            return self._state == "running"

    async def _work(self, ask: Callable[[T], Awaitable[float | None]]) -> None:
        while (item := self._next()) is not None:
            question, expected = item
            try:
                cost = await ask(question)
            except Exception as error:  # noqa: BLE001  nobody waits for it
                self._fail(error, expected)
            else:
                self._succeed(cost, expected)

    def _next(self) -> tuple[T, float] | None:
        with self._lock:
            if self._state != "running" or not self._left:
                return None
            question, said = self._left[0]
            expected = said or 0.0
            if not self._budget.allows(self._begun + 1, self._cny + self._expected + expected):
                self._state = "budget"
                return None
            self._left.popleft()
            self._begun += 1
            self._expected += expected
            return question, expected

    def _succeed(self, cost: float | None, expected: float) -> None:
        with self._lock:
            self._asked += 1
            self._in_a_row = 0
            self._expected -= expected
            self._cny += expected if cost is None else float(cost)

    def _fail(self, error: Exception, expected: float) -> None:
        _log.debug("a question could not be asked beforehand", exc_info=error)
        with self._lock:
            self._failed += 1
            self._in_a_row += 1
            self._expected -= expected
            if isinstance(error, UnkeptError):
                self._cny += expected if error.cny is None else error.cny
            is_over = self._in_a_row >= _FAILURES
        reason = classify(error).reason
        if is_over or reason in _FOR_ALL:
            _log.warning("no more is asked beforehand: %s", reason)
            self._stop("failing")

    def _stop(self, state: State) -> None:
        with self._lock:
            if self._state in ("waiting", "running"):
                self._state = state

    def _end(self) -> None:
        with self._lock:
            if self._state in ("waiting", "running"):
                # Who was thrown out of it has not asked everything.
                self._state = "cancelled" if self._left else "done"
        self._ended.set()


def _thread(work: Callable[[], object]) -> threading.Thread:
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(work,), name="deepseek-sdk-prewarm", daemon=True)
    thread.start()
    return thread
