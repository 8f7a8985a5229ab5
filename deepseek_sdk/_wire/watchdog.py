"""Deadlines for HTTP clients that are not ours: one thread that shuts down the sockets which are overdue."""

from __future__ import annotations

import threading
import time
from math import inf
from typing import Any

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


class Watchdog:
    """A thread that lives as long as there is something to watch."""

    def __init__(self) -> None:
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

    def _run(self) -> None:
        with self._changed:
            while self._watches:
                self._fire(time.monotonic())
                self._wakes_at = min((watch.until for watch in self._watches if not watch.has_fired), default=inf)
                left = self._wakes_at - time.monotonic()
                self._changed.wait(None if left == inf else max(left, 0))
            self._thread = None

    def _fire(self, now: float) -> None:
        for watch in self._watches:
            if watch.until <= now and not watch.has_fired:
                watch.has_fired = True
                abort_socket(watch.stream)
