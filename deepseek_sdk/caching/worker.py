"""`Worker`: one thread that does what would block its callers, one thing after another."""

from __future__ import annotations

import contextlib
import queue
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from deepseek_sdk._process import PerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Worker"]

P = ParamSpec("P")
T = TypeVar("T")


class Worker:
    """
    A daemon thread that begins with its first work and ends with `close()`; a forked child gets one of its own.

    Work that waits can be cancelled through its future. What a parent had queued is not done again in its children.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = PerProcess(lambda: _Line(name))
        self._is_closed = False

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """
        Have something done, after everything that was submitted before.

        Args:
            work: What.
            args: Its arguments.
            kwargs: Likewise.

        Returns:
            Its result, or its error, once it is done.

        Raises:
            RuntimeError: The worker is closed.
        """
        if self._is_closed:
            raise RuntimeError(f"{self._name} is closed")
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = work(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  it is the caller's to handle
                future.set_exception(error)
            else:
                future.set_result(result)

        self._lines.get().put(run)
        return future

    @property
    def waiting(self) -> int:
        """How much waits to be done, in this process."""
        return self._lines.get().waiting

    def close(self, timeout_s: float | None = None) -> bool:
        """
        Take nothing more, and wait until what was taken is done; may be called again.

        Args:
            timeout_s: How long to wait, in seconds; None: for as long as it takes.

        Returns:
            Whether all of it is done.
        """
        self._is_closed = True
        return self._lines.get().close(timeout_s)

    def drop(self) -> None:
        """Do nothing of what waits; for a closed one."""
        self._lines.get().drop()


class _Line:
    """The thread of one process, and what waits for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        # A queue without a lock of its own in Python: what is collected meanwhile may submit, in the same thread.
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def put(self, run: Callable[[], None]) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError(f"{self._name} is closed")
            self._waiting.put(run)
            if self._thread is None:
                self._thread = threading.Thread(target=_work, args=(self._waiting,), name=self._name, daemon=True)
                self._thread.start()

    @property
    def waiting(self) -> int:
        return self._waiting.qsize()

    def close(self, timeout_s: float | None) -> bool:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._waiting.put(None)
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def drop(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        # Its end was among them.
        self._waiting.put(None)


def _work(waiting: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (run := waiting.get()) is not None:
        run()
        # What it holds is not kept until the next work comes.
        del run
