"""Connections that need looking after: overdue ones of HTTP clients that are not ours, and forgotten ones."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from math import inf
from typing import Any, Protocol

from deepseek_sdk._wire.thread import abort_socket

__all__ = ["Watch", "Watchdog"]


class Watch:
    """
    One watched connection.

    Attributes:
        stream: Its network stream.
        has_fired: It was overdue and its socket has been shut down.
    """

    __slots__ = ("_until", "_watchdog", "has_fired", "stream")

    def __init__(self, stream: Any, watchdog: Watchdog) -> None:
        self.stream = stream
        self.has_fired = False
        self._until = inf
        self._watchdog = watchdog

    @property
    def until(self) -> float:
        """The instant at which it is overdue."""
        return self._until

    @until.setter
    def until(self, instant: float) -> None:
        self._until = instant
        self._watchdog.reconsider(instant)


class Forgotten(Protocol):
    """A response whose reader was collected as garbage."""

    def release(self) -> None:
        """Give its connection back to the pool."""
        ...


class Watchdog:
    """
    Shuts down the sockets that are overdue, by a thread that lives as long as there is something to watch.

    It also keeps what the garbage collector finds unclosed until somebody has time for it: the collector runs at any
    point of any thread, and so also where that thread is in the middle of changing the pool.
    """

    def __init__(self) -> None:
        self._forgotten: deque[Forgotten] = deque()
        self._changed = threading.Condition()
        self._watches: set[Watch] = set()
        self._wakes_at = inf
        self._thread: threading.Thread | None = None

    def add(self, stream: Any) -> Watch:
        """
        Watch a connection.

        Args:
            stream: Its network stream.

        Returns:
            The watch, to be given back to `remove()`.
        """
        watch = Watch(stream, self)
        with self._changed:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="deepseek-sdk-watchdog", daemon=True)
                self._thread.start()
        return watch

    def reconsider(self, instant: float) -> None:
        """
        Learn that a connection has a new deadline.

        Args:
            instant: It.
        """
        with self._changed:
            # A later deadline needs no wake-up: the thread looks again when it wakes for the old one.
            if instant < self._wakes_at:
                self._changed.notify()

    def remove(self, watch: Watch) -> None:
        """
        Stop watching a connection.

        Args:
            watch: Its watch.
        """
        with self._changed:
            self._watches.discard(watch)
            self._changed.notify()

    def keep(self, response: Forgotten) -> None:
        """
        Keep a response until `release_forgotten()`; may be called by the garbage collector.

        Args:
            response: It; its socket has been shut down already.
        """
        self._forgotten.append(response)

    def release_forgotten(self) -> None:
        """Give the connections of forgotten responses back; not for the garbage collector."""
        if not self._forgotten:
            return
        with contextlib.suppress(IndexError):
            for _ in range(len(self._forgotten)):
                self._forgotten.popleft().release()

    def _run(self) -> None:
        with self._changed:
            while self._watches:
                self._fire(time.monotonic())
                # A copy: forgotten streams may be collected on this thread, here, and take their watches away.
                waiting = [watch.until for watch in list(self._watches) if not watch.has_fired]
                self._wakes_at = min(waiting, default=inf)
                left = self._wakes_at - time.monotonic()
                self._changed.wait(None if left == inf else max(left, 0))
            self._thread = None

    def _fire(self, now: float) -> None:
        for watch in list(self._watches):
            if watch.until <= now and not watch.has_fired:
                watch.has_fired = True
                abort_socket(watch.stream)
