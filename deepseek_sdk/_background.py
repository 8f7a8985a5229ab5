"""Work that nobody waits for: how much of it there may be, and how it ends with its client."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Protocol

__all__ = ["Background", "Ticket", "Work"]

Ticket = Future[None]


class Work(Protocol):
    """Something that goes on in the background."""

    def cancel(self) -> object:
        """End it, from any thread."""
        ...


class Background:
    """Counts and holds background work, at most *limit* at a time, shared by a client and its children."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._running: dict[Ticket, Work | None] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Nothing more begins, and what went on has been cancelled."""
        return self._is_closed

    def admit(self, *, is_awaited: bool = False) -> Ticket | None:
        """
        Ask for a place.

        Args:
            is_awaited: Callers wait for the work, which bounds how much of it there can be: there is always a place.

        Returns:
            A ticket for it, which is done when the work is; or None where there is no place, or the client is closed.
        """
        with self._lock:
            if self._is_closed or (len(self._running) >= self._limit and not is_awaited):
                return None
            ticket = Ticket()
            self._running[ticket] = None
            return ticket

    def hold(self, ticket: Ticket, work: Work) -> None:
        """
        Keep work alive, since asyncio has only weak references to its tasks; and cancel it where that is too late.

        Args:
            ticket: Its place.
            work: What runs there.
        """
        with self._lock:
            if ticket in self._running:
                self._running[ticket] = work
            is_late = self._is_closed
        if is_late:
            work.cancel()

    def leave(self, ticket: Ticket) -> None:
        """
        Give a place back.

        Args:
            ticket: It.
        """
        with self._lock:
            was_there = ticket in self._running
            self._running.pop(ticket, None)
        if was_there:
            ticket.set_result(None)

    def close(self) -> list[Ticket]:
        """
        Cancel what goes on, and let nothing more begin.

        Returns:
            The tickets of what went on; each is done when its work has ended.
        """
        with self._lock:
            self._is_closed = True
            running = dict(self._running)
        for work in running.values():
            if work is not None:
                work.cancel()
        return list(running)
